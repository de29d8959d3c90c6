"""What anybody may have put into a mailbox: refused and moved aside, never fatal, never waited for."""

from __future__ import annotations

import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.place import FixedClock
from tests.subagents.mailing import BOX, drained, fill, folder, letter, opened

from reverie.errors import InputError, StorageError
from reverie.subagents.letters import LARGEST_LETTER, render
from reverie.subagents.mailbox import MOST_REFUSED, Mailbox, new_reader

NAME = "000000000000.evil.evil-1.json"
GOOD = render(letter(1, "evil"))


@pytest.fixture(autouse=True)
def _never_waits() -> Iterator[None]:
    signal.alarm(20)
    yield
    signal.alarm(0)


def written(data: bytes, mode: int = 0o600) -> Callable[[Path], None]:
    def put(path: Path) -> None:
        path.write_bytes(data)
        path.chmod(mode)

    return put


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(50 * 1024**3)


def link(path: Path) -> None:
    target = path.parents[3] / "elsewhere.json"
    written(GOOD)(target)
    path.symlink_to(target)


def of_somebody_else(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    written(GOOD)(path)
    os.chown(path, 12_345, 12_345)


def socket_file(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the address of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def full_folder(path: Path) -> None:
    path.mkdir()
    (path / "more").touch()


@pytest.mark.parametrize(
    ("put", "said"),
    [
        (written(b""), "not JSON"),
        (written(GOOD[: len(GOOD) // 2]), "not JSON"),
        (written(b"\xff" + GOOD), "not UTF-8"),
        (written(b"[" * 200_000), "not JSON"),
        (written(b" " * (LARGEST_LETTER + 1)), "too large"),
        (huge, "too large"),
        (written(GOOD, 0o666), "others may write to it"),
        (written(render(letter(2, "evil"))), "not what its place says"),
        (written(render(letter(1, "worker"))), "not what its place says"),
        (written(render(replace(letter(1, "evil"), to="ben"))), "not what its place says"),
        (of_somebody_else, "belongs to another user"),
        (link, "a link"),
        (lambda path: path.symlink_to("/dev/zero"), "a link"),
        (lambda path: path.symlink_to("nowhere"), "a link"),
        (os.mkfifo, "not a plain file"),
        (full_folder, "not a plain file"),
        (socket_file, "a socket"),
    ],
)
def test_what_is_no_letter_is_moved_aside_and_told_of(
    tmp_path: Path, put: Callable[[Path], None], said: str
) -> None:
    fill(opened(tmp_path), 2)
    put(folder(tmp_path, "unread") / NAME)
    notes: list[str] = []
    box = Mailbox(tmp_path / BOX, FixedClock(), notes.append)
    assert drained(box) == ["worker-1", "worker-2"]
    assert len(notes) == 1
    assert said in notes[0]
    (aside,) = folder(tmp_path, "refused").iterdir()
    assert aside.name.startswith(NAME)
    assert aside.name in notes[0]


def test_files_named_otherwise_stay_and_are_told_of_once(tmp_path: Path) -> None:
    fill(opened(tmp_path), 1)
    unread = folder(tmp_path, "unread")
    odd = [".DS_Store", "1.evil.x.json", "٠" * 12 + ".evil.x.json", f"{NAME}\n", "a\nb"]
    for name in odd:
        (unread / name).write_bytes(GOOD)
    (unread / os.fsdecode(b"\xff\xfe")).touch()
    notes: list[str] = []
    box = Mailbox(tmp_path / BOX, FixedClock(), notes.append)
    assert box.unread() == 1
    assert drained(box) == ["worker-1"]
    assert drained(box) == []
    assert len(notes) == len(odd) + 1
    assert all("\n" not in note for note in notes)


def test_what_is_moved_aside_does_not_grow_for_ever(tmp_path: Path) -> None:
    fill(opened(tmp_path), 1)
    unread = folder(tmp_path, "unread")
    for number in range(MOST_REFUSED + 3):
        (unread / f"000000000000.evil.x{number}.json").touch(0o600)
    notes: list[str] = []
    box = Mailbox(tmp_path / BOX, FixedClock(), notes.append)
    assert drained(box) == ["worker-1"]
    assert drained(box) == []
    assert len(list(folder(tmp_path, "refused").iterdir())) == MOST_REFUSED
    assert len(notes) == MOST_REFUSED + 3


@pytest.mark.parametrize(
    "put",
    [
        lambda path: path.mkdir(),
        lambda path: path.symlink_to("/"),
        os.mkfifo,
        lambda path: path.touch(),
    ],
)
def test_readers_nobody_can_identify_hold_nothing(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    box = opened(tmp_path)
    fill(box, 1)
    put(folder(tmp_path, "claimed") / ("0" * 16))
    put(folder(tmp_path, "claimed") / "odd")
    assert drained(box) == ["worker-1"]


@pytest.mark.parametrize("body", [b"", b"\xff", b"999999999999999999999\n", b"x" * 1_000_000])
def test_a_torn_identity_is_nobodys(tmp_path: Path, body: bytes) -> None:
    box = opened(tmp_path)
    fill(box, 2)
    reader = new_reader(FixedClock())
    box.take(reader)
    (folder(tmp_path, "claimed") / reader.token / "reader").write_bytes(body)
    if body.startswith(b"9"):
        # A number no process can have says nothing: it is believed.
        assert drained(box) == []
    else:
        assert drained(box) == ["worker-1", "worker-2"]


def test_drafts_of_the_dead_are_dropped(tmp_path: Path) -> None:
    box = opened(tmp_path)
    (folder(tmp_path, "drafts") / "half").write_bytes(GOOD[:20])
    (folder(tmp_path, "drafts") / "odd").mkdir()
    box.recover()
    assert [path.name for path in folder(tmp_path, "drafts").iterdir()] == ["odd"]
    fill(box, 1)
    assert drained(box) == ["worker-1"]


def test_a_box_open_to_others_is_refused(tmp_path: Path) -> None:
    box = opened(tmp_path)
    (tmp_path / BOX / "inbox").chmod(0o770)
    with pytest.raises(InputError, match="not yours alone"):
        box.send(letter(1))


@pytest.mark.parametrize("part", ["unread", "claimed", "drafts"])
def test_a_link_in_place_of_a_folder_is_not_followed(tmp_path: Path, part: str) -> None:
    box = opened(tmp_path)
    folder(tmp_path, part).rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder(tmp_path, part).symlink_to(elsewhere)
    with pytest.raises(StorageError, match="cannot write to the mailbox"):
        box.send(letter(1))
    assert list(elsewhere.iterdir()) == []


def test_without_descriptors_no_letter_is_refused_and_no_reader_buried(tmp_path: Path) -> None:
    box = opened(tmp_path)
    fill(box, 2, "ada")
    fill(box, 1, "ben")
    living, other = new_reader(FixedClock()), new_reader(FixedClock())
    assert box.take(living) == letter(1, "ada")
    free = os.dup(0)
    os.close(free)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    outcomes = set()
    # A process with many files open has taken some of these numbers: the last has room for sure.
    for limit in (*range(free, free + 12), soft):
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        try:
            outcomes.add(box.take(other))
        except StorageError:
            outcomes.add(None)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        box.release(other)
    assert outcomes == {None, letter(1, "ben")}
    assert list(folder(tmp_path, "refused").iterdir()) == []
    assert box.acknowledge(letter(1, "ada"), living)
