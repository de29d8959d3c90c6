"""A full, read-only or damaged disk: each a clear line, an answer where there is one, no traceback."""

import json
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import SortMode
from tests.cli.memories import AUDIT, TESTS, directory, remembered
from tests.cli.run import data, done, environment, process, run
from tests.place import Place

from reverie.cli.group import COMMANDS

CALLS = {
    "remember": ("--", "Deploys freeze on Fridays"),
    "recall": ("freeze",),
    "search": ("freeze",),
    "show": ("x.md",),
    "forget": ("x.md",),
    "pin": ("x.md",),
    "import": ("note.md",),
    "export": ("out.zip",),
    "blame": ("x.md",),
    "extract": ("s1",),
    "chat": ("-p", "hi", "--model", "offline"),
    "edit": ("x.md",),
    "dream": ("--force", "-q"),
    "move": ("x.md", "--scope", "person"),
    "retire": ("x.md", "--off"),
    "compact": ("s1",),
    "completion": ("bash",),
    "migrate": ("files", "http://127.0.0.1:9"),
}
PLAIN = {*COMMANDS} - {"hook", "mcp", "demo", "install", "uninstall", "daemon"}


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_a_file_in_the_place_of_the_home(place: Place, name: str) -> None:
    (place.base / "file").write_text("")
    (place.root / "note.md").write_text(AUDIT)
    result = run(name, "--home", place.base / "file", *CALLS.get(name, ()))
    assert result.exit_code in (0, 1)
    assert "Traceback" not in result.output
    if result.exit_code and name != "doctor":
        assert len(result.stderr.strip().splitlines()) == 1, result.stderr


def test_an_index_that_cannot_be_written(place: Place) -> None:
    remembered(AUDIT)
    remembered(TESTS)
    # A folder in its place is as good as a full disk, also for root.
    index = place.app().memory_location.state / "index.sqlite"
    index.unlink(missing_ok=True)
    index.mkdir()
    (index / "x").touch()
    told = data("recall", "when do deploys freeze?")
    assert told["hits"][0]["snippet"].startswith("Deploys freeze")
    assert told["hits"][0]["snippet"].count("Deploys freeze") == 1
    [note] = told["notes"]
    assert note.startswith("the index cannot be written: ")
    assert note.endswith("answered from the files, by words alone")
    text = done("recall", "when do deploys freeze?")
    assert "Nothing found" not in text
    assert "the index cannot be written" in text
    assert "Nothing found" in done("recall", "zebra")


def test_a_full_disk(place: Place) -> None:
    """The largest file this process may write is smaller than an index."""
    remembered(AUDIT)
    (place.app().memory_location.state / "index.sqlite").unlink(missing_ok=True)
    script = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "sys.dont_write_bytecode = True\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))\n"
        "from reverie.cli import main\n"
        "sys.argv = ['reverie', *sys.argv[1:]]\n"
        "main()\n"
    )

    def limited(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", script, *arguments],
            cwd=place.root, env=environment(place), capture_output=True, text=True, check=False, timeout=240,
        )  # fmt: skip

    found = limited("recall", "when do deploys freeze?")
    assert found.returncode == 0, found.stderr
    assert "Deploys freeze" in found.stdout
    assert "the index cannot be written" in found.stdout
    saved = limited("remember", "--", f"The {'harbour ' * 200} opens at nine")
    assert saved.returncode == 1
    assert saved.stderr.startswith("reverie: ")
    assert "Traceback" not in saved.stderr
    assert process(place, "doctor").returncode in (0, 1)


@pytest.mark.parametrize("damage", [b"", b"rubbish", None])
def test_damaged_history_is_a_finding(place: Place, damage: bytes | None) -> None:
    remembered(AUDIT)
    objects = place.app().memory_location.history / "objects"
    for path in [found for found in objects.rglob("*") if found.is_file()]:
        path.chmod(0o600)
        if damage is None:
            path.unlink()
        else:
            path.write_bytes(damage)
    result = run("doctor")
    assert result.exit_code == 1
    assert "history cannot be read" in result.stdout
    assert "files are the truth" in result.stdout
    assert AUDIT in (directory(place) / data("list")[0]["file"]).read_text()


def in_history(place: Place, name: str) -> Path:
    """The file of an object: of the newest or the first commit, its tree, or a file in it."""
    repo = pygit2.Repository(str(place.app().memory_location.history))
    commit = repo.references["refs/heads/main"].peel(pygit2.Commit)
    if name.startswith("first"):
        commit = next(iter(repo.walk(commit.id, SortMode.REVERSE)))
    object_id = commit.id
    if not name.endswith("commit"):
        object_id = commit.tree_id if name.endswith("tree") else next(iter(commit.tree)).id
    path = Path(repo.path) / "objects" / str(object_id)[:2] / str(object_id)[2:]
    path.chmod(0o600)
    return path


OBJECTS = [
    f"{which} {what}" for which in ("newest", "first") for what in ("commit", "tree", "file")
]
DAMAGES = {
    "gone": None,
    "rubbish": b"rubbish",
    "another kind": zlib.compress(b"tree 4\0\xff\xff\0x"),
}
READS = ("log", "undo", "redo", "stats", "doctor", "list"), ("diff", "HEAD~1"), ("show", "HEAD")


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", OBJECTS)
def test_damage_anywhere_in_the_history_is_told_in_a_line(
    place: Place, name: str, damage: str
) -> None:
    remembered(AUDIT)
    remembered(TESTS)
    path, content = in_history(place, name), DAMAGES[damage]
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    plain, *others = READS
    for call in (*((one,) for one in plain), *others):
        # What is not expected would be raised here.
        result = run(*call)
        if result.exit_code and call != ("doctor",):
            assert result.stderr.startswith("reverie: "), call
            assert len(result.stderr.splitlines()) == 1, call


@pytest.mark.parametrize("name", OBJECTS)
def test_a_cut_object_does_not_hold_up_the_doctor(place: Place, name: str) -> None:
    """libgit2 reads it forever."""
    remembered(AUDIT)
    remembered(TESTS)
    path = in_history(place, name)
    path.write_bytes(path.read_bytes()[:-10])
    told = process(place, "doctor", seconds=60)
    assert told.returncode == 1
    assert f"history cannot be read: its object {path.parent.name}{path.name}" in told.stdout


# In a mount namespace of its own: a small disk that is filled, or made read-only.
ON_A_BAD_DISK = """
import json, os, subprocess, sys
base, how, reverie = sys.argv[1:]
def mount(*words): subprocess.run(["mount", *words], check=True)
mount("-t", "tmpfs", "-o", "size=6m", "none", base)
home, project = f"{base}/home", f"{base}/project"
os.mkdir(home), os.mkdir(project)
env = {**os.environ, "HOME": home, "PYTHONDONTWRITEBYTECODE": "1"}
def call(*words, typed=""):
    done = subprocess.run([reverie, *words], cwd=project, env=env, input=typed, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr
assert call("remember", "Deploys freeze on Fridays")[0] == 0
if how == "full":
    with open(f"{base}/filler", "wb", 0) as filler:
        try:
            while filler.write(b"x" * 512): pass
        except OSError: pass
else:
    mount("-o", "remount,ro", base)
event = {"session_id": "s1", "cwd": project, "transcript_path": f"{base}/t.jsonl", "prompt": "when do deploys freeze?"}
told = {
    "remember": call("remember", "The harbour opens at nine"),
    "recall": call("recall", "when do deploys freeze?"),
    "chat": call("chat", "-p", "when do deploys freeze?", "--model", "offline"),
    "hook": call("hook", "UserPromptSubmit", "--client", "claude-code", typed=json.dumps(event)),
    "dream": call("dream", "--force", "-q"),
    "doctor": call("doctor"),
}
if how == "full": os.unlink(f"{base}/filler")
else: mount("-o", "remount,rw", base)
told["after"] = call("list", "--json")
told["again"] = call("remember", "The harbour opens at nine")
call("daemon", "stop")
print(json.dumps(told))
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["full", "read-only"])
def test_a_full_or_read_only_disk_is_told_in_a_line_and_loses_nothing(
    place: Place, how: str
) -> None:
    base = place.base / "disk"
    base.mkdir()
    # The name may be hidden where a user may not mount anything.
    command = ["unshare", "--mount", sys.executable, "-c", ON_A_BAD_DISK, str(base), how]
    reverie = str(Path(sys.executable).with_name("reverie"))
    if (
        shutil.which("unshare") is None
        or subprocess.run(
            ["unshare", "--mount", "mount", "-t", "tmpfs", "none", str(base)],
            capture_output=True,
            check=False,
        ).returncode
    ):
        pytest.skip("nothing may be mounted here")
    done = subprocess.run(
        [*command, reverie],
        env=environment(place),
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "Traceback" not in done.stdout
    for name in ("remember", "dream"):
        code, out, error = told[name]
        assert (code, out) == (1, ""), told[name]
        [line] = error.splitlines()
        assert line.startswith("reverie: cannot ")
    assert told["recall"][0] == 0
    assert "Deploys freeze" in told["recall"][1]
    assert told["hook"][:2] == [0, ""]
    assert told["hook"][2].count("\n") == 1
    assert told["doctor"][0] == 1
    assert ("is full" if how == "full" else "cannot be written") in told["doctor"][1]
    code, out, error = told["chat"]
    if how == "full":
        assert code == 0
        assert "Deploys freeze" in out
        assert error.count("cannot write to the transcript") <= 1
    else:
        assert code == 1
        assert [line.startswith("reverie: cannot ") for line in error.splitlines()] == [True]
    assert [one["description"] for one in json.loads(told["after"][1])] == [
        "Deploys freeze on Fridays"
    ]
    assert told["again"][0] == 0, told["again"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_home(place: Place) -> None:
    remembered(AUDIT)
    for folder, _, _ in os.walk(place.home):
        Path(folder).chmod(0o500)
    try:
        result = run("remember", "--", TESTS)
        assert result.exit_code == 1
        assert len(result.stderr.splitlines()) == 1
        assert "Deploys freeze" in done("recall", "freeze")
    finally:
        for folder, _, _ in os.walk(place.home):
            Path(folder).chmod(0o700)
