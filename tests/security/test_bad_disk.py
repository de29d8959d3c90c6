"""A full, read-only or damaged disk: each a clear line, an answer where there is one, no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
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
