"""The memory directory: nothing is opened outside it, and no write is partial."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from reverie.errors import InputError, StorageError
from reverie.files.atomic import TEMPORARY, read_json, write_json
from reverie.memory import directory as module
from reverie.memory.directory import Directory


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "memory"
    made.mkdir()
    return made


@pytest.fixture
def folder(root: Path) -> Directory:
    return Directory(root)


NAMES = [
    "plain.md",
    "emoji_🦊.md",
    "שלום.md",
    "مرحبا.md",
    "ขอบคุณ.md",
    "deep/er/file.md",
    "Ünïcode.md",
]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_read(folder: Directory, name: str) -> None:
    data = b"\xef\xbb\xbfwith BOM\r\nand CRLF\r\n\xff\xfe and no UTF-8"
    folder.replace(name, data)
    assert folder.read(name) == data
    assert folder.read(name, 3) == data[:3]
    folder.remove(name)
    assert folder.read(name) is None
    folder.remove(name)


def test_a_megabyte(folder: Directory) -> None:
    data = os.urandom(1024 * 1024)
    folder.replace("big.md", data)
    assert folder.read("big.md") == data


def test_an_empty_file_is_not_a_missing_one(folder: Directory) -> None:
    folder.replace("empty.md", b"")
    assert folder.read("empty.md") == b""


def test_the_folder_is_made_when_it_is_needed(tmp_path: Path) -> None:
    far = Directory(tmp_path / "a" / "b" / "memory")
    assert far.read("x.md") is None
    assert not (tmp_path / "a").exists()
    far.replace("x.md", b"x")
    assert far.read("x.md") == b"x"
    assert stat.S_IMODE(far.root.stat().st_mode) == 0o700


def test_permissions_stay_and_new_files_are_private(folder: Directory, root: Path) -> None:
    folder.replace("new.md", b"1")
    assert stat.S_IMODE((root / "new.md").stat().st_mode) == 0o600
    (root / "new.md").chmod(0o640)
    folder.replace("new.md", b"2")
    assert stat.S_IMODE((root / "new.md").stat().st_mode) == 0o640


def test_case_is_the_disks_business(folder: Directory, root: Path) -> None:
    folder.replace("Case.md", b"upper")
    (root / "probe.md").write_bytes(b"")
    same = (root / "PROBE.md").exists()
    assert folder.read("case.md") == (b"upper" if same else None)


@pytest.fixture
def folded(root: Path) -> Iterator[Directory]:
    """A case-insensitive file system, where this machine can create one."""
    command = ["mount", "-t", "tmpfs", "-o", "casefold", "none", str(root)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("no file system without case can be mounted here (tmpfs with casefold)")
    inside = root / "memory"
    inside.mkdir()
    done = subprocess.run(["chattr", "+F", str(inside)], capture_output=True, check=False)
    try:
        if done.returncode:
            pytest.skip("this kernel's tmpfs cannot fold case")
        yield Directory(inside)
    finally:
        subprocess.run(["umount", str(root)], check=True)


def test_a_disk_without_case_keeps_one_file(folded: Directory) -> None:
    folded.replace("Case.md", b"one")
    folded.replace("case.md", b"two")
    assert folded.read("CASE.md") == b"two"
    assert len(os.listdir(folded.root)) == 1  # noqa: PTH208 -- only the count
    with pytest.raises(InputError, match="same file as the index"):
        folded.read("memory.md")


# --- links ---


def test_links_inside_are_followed(folder: Directory, root: Path) -> None:
    (root / "real.md").write_bytes(b"old")
    (root / "folder").mkdir()
    (root / "link.md").symlink_to("real.md")
    (root / "alias").symlink_to("folder")
    assert folder.read("link.md") == b"old"
    folder.replace("link.md", b"new")
    # The link stays a link; its target is replaced.
    assert (root / "link.md").is_symlink()
    assert (root / "real.md").read_bytes() == b"new"
    (root / "folder" / "a.md").write_bytes(b"a")
    assert folder.read("alias/a.md") == b"a"


OUTSIDE = {
    "to a file": ("link.md", "../secret.md"),
    "to a file, absolute": ("link.md", "/etc/passwd"),
    "to a folder": ("link", ".."),
    "to nowhere": ("link.md", "nothing.md"),
    "to itself": ("link.md", "link.md"),
    "to the folder itself": ("link.md", "."),
}


@pytest.mark.parametrize(("link", "target"), OUTSIDE.values(), ids=OUTSIDE)
def test_links_that_lead_out_are_refused(
    folder: Directory, root: Path, link: str, target: str
) -> None:
    secret = root.parent / "secret.md"
    secret.write_bytes(b"secret")
    (root / link).symlink_to(target)
    name = link if link.endswith(".md") else f"{link}/secret.md"
    with pytest.raises(InputError, match="symlink"):
        folder.read(name)
    with pytest.raises(InputError, match="symlink"):
        folder.replace(name, b"overwritten")
    with pytest.raises(InputError, match="symlink"):
        folder.remove(name)
    assert secret.read_bytes() == b"secret"


def swapping(root: Path, swap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right after the check, a component becomes a link that leads out."""
    really = module._has_link

    def and_swap(*arguments: object) -> bool:
        answer = really(*arguments)  # type: ignore[arg-type]
        if swap == "file":
            (root / "sub" / "a.md").unlink()
            (root / "sub" / "a.md").symlink_to("../../secret.md")
        else:
            (root / "sub").rename(root / "was")
            (root / "sub").symlink_to("..")
        return answer

    monkeypatch.setattr(module, "_has_link", and_swap)


@pytest.mark.parametrize("swap", ["file", "folder"])
@pytest.mark.parametrize("verb", ["read", "replace", "remove"])
def test_a_link_swapped_in_after_the_check_is_not_followed(
    folder: Directory, root: Path, monkeypatch: pytest.MonkeyPatch, swap: str, verb: str
) -> None:
    secret = root.parent / "secret.md"
    secret.write_bytes(b"secret")
    (root.parent / "a.md").write_bytes(b"secret too")
    (root / "sub").mkdir()
    (root / "sub" / "a.md").write_bytes(b"a")
    swapping(root, swap, monkeypatch)
    arguments = ("sub/a.md", b"written") if verb == "replace" else ("sub/a.md",)
    try:
        got = getattr(folder, verb)(*arguments)
    except (InputError, StorageError):
        got = None
    # Refused, or applied to the link itself, never to its target.
    assert got is None
    assert secret.read_bytes() == b"secret"
    assert (root.parent / "a.md").read_bytes() == b"secret too"


# --- what is not a file ---


def test_a_folder_and_a_pipe_are_refused_and_leak_nothing(folder: Directory, root: Path) -> None:
    (root / "folder.md").mkdir()
    os.mkfifo(root / "pipe.md")
    before = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc").exists() else 0
    for _ in range(3):
        for name in ("folder.md", "pipe.md"):
            with pytest.raises(InputError, match="not a plain file"):
                folder.read(name)
    after = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc").exists() else 0
    assert after == before


# --- disk errors ---


@pytest.fixture
def sealed(folder: Directory, root: Path) -> Iterator[Directory]:
    """A folder that not even root can write to (a read-only bind mount)."""
    (root / "old.md").write_bytes(b"old")
    if os.geteuid() != 0:
        root.chmod(0o500)
        yield folder
        root.chmod(0o700)
        return
    bind = subprocess.run(
        ["mount", "--bind", str(root), str(root)], capture_output=True, check=False
    )
    if bind.returncode:
        pytest.skip("root may write anywhere, and mounting is not allowed here")
    subprocess.run(["mount", "-o", "remount,ro,bind", str(root)], check=True)
    yield folder
    subprocess.run(["umount", str(root)], check=True)


def test_a_read_only_folder(sealed: Directory) -> None:
    with pytest.raises(StorageError, match=r"cannot write .*nothing was lost"):
        sealed.replace("new.md", b"new")
    with pytest.raises(StorageError, match=r"cannot write .*nothing was lost"):
        sealed.replace("old.md", b"new")
    with pytest.raises(StorageError, match=r"cannot remove .*nothing was lost"):
        sealed.remove("old.md")
    assert sealed.read("old.md") == b"old"


def test_a_full_disk_leaves_the_old_file_and_no_debris(folder: Directory, root: Path) -> None:
    folder.replace("a.md", b"old")
    # A limit on file sizes is met half-way through a write, like the end of a disk.
    was = resource.getrlimit(resource.RLIMIT_FSIZE)
    handled = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, was[1]))
    try:
        with pytest.raises(StorageError, match="cannot write"):
            folder.replace("a.md", b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, was)
        signal.signal(signal.SIGXFSZ, handled)
    assert folder.read("a.md") == b"old"
    assert [path.name for path in root.iterdir()] == ["a.md"]


# --- the lock ---


def test_one_at_a_time(folder: Directory, root: Path) -> None:
    order: list[str] = []
    held = threading.Event()

    def second() -> None:
        held.wait()
        with Directory(root).locked():
            order.append("second")

    other = threading.Thread(target=second)
    other.start()
    with folder.locked():
        held.set()
        other.join(timeout=0.05)
        order.append("first")
    other.join()
    assert order == ["first", "second"]


def test_the_lock_puts_nothing_into_the_folder_and_lets_go(folder: Directory, root: Path) -> None:
    with pytest.raises(RuntimeError), folder.locked():
        raise RuntimeError
    with folder.locked():
        assert list(root.iterdir()) == []


def test_sweeping_takes_only_what_dead_writers_left(folder: Directory, root: Path) -> None:
    (root / "sub").mkdir()
    for place in (root, root / "sub"):
        (place / f"{TEMPORARY}1").write_bytes(b"half")
        (place / ".theirs").write_bytes(b"kept")
    folder.sweep(["sub/a.md", "gone/b.md"])
    assert not (root / "sub" / f"{TEMPORARY}1").exists()
    assert (root / f"{TEMPORARY}1").exists()
    folder.sweep(["a.md"])
    assert sorted(path.name for path in root.rglob("*")) == [".theirs", ".theirs", "sub"]


# --- a single file, wherever it is ---


def test_two_writers_of_one_file_do_not_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state" / "known.json"
    in_place, between = os.replace, [{"by": "second"}]

    def interrupted(*names: object, **folders: object) -> None:
        """Another writer begins and ends just before the first one is done."""
        if between:
            write_json(path, between.pop())
            assert read_json(path) == {"by": "second"}
        in_place(*names, **folders)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", interrupted)
    write_json(path, {"by": "first"})
    assert read_json(path) == {"by": "first"}
    assert [one.name for one in path.parent.iterdir()] == ["known.json"]


def test_a_file_and_its_folder_are_on_disk_before_the_write_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    synced, in_place = os.fsync, os.replace

    def sync(file: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
        synced(file)

    def replace(*names: object, **folders: object) -> None:
        steps.append("replace")
        in_place(*names, **folders)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    write_json(tmp_path / "known.json", {})
    assert steps == ["file", "replace", "folder"]
    assert (tmp_path / "known.json").stat().st_mode & 0o777 == 0o600


def test_a_link_in_its_place_is_replaced(tmp_path: Path) -> None:
    precious, path = tmp_path / "precious", tmp_path / "link"
    precious.write_text("mine")
    path.symlink_to(precious)
    write_json(path, "ours")
    assert (precious.read_text(), read_json(path), path.is_symlink()) == ("mine", "ours", False)


def test_a_file_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(StorageError, match="state"):
        write_json(tmp_path / "state" / "known.json", {})
