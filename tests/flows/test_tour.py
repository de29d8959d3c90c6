"""docs/tour.md and docs/quickstart.md really happened: they are played again and must print the same.

After a change that is meant: `WRITE_TOUR=1 pytest tests/flows/test_tour.py`, then read the diff.
"""

import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.place import FixedClock, git

from reverie.cli.group import cli
from reverie.files.atomic import slug

DOCS = Path(__file__).parents[2] / "docs"
TOUR = DOCS / "tour.md"
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
HOME = Path("/home/ada")


@dataclass
class Stage:
    """Ada's home, her clock, and where she stands."""

    home: Path
    clock: FixedClock
    here: Path = field(init=False)

    def __post_init__(self) -> None:
        self.here = self.home
        (self.home / "notes").mkdir()
        shop = self.home / "shop"
        shop.mkdir()
        git(shop, "init", "-q", "-b", "main")
        git(shop, "commit", "-q", "--allow-empty", "-m", "first")

    def play(self, block: str) -> str:
        """The block with what its commands print now."""
        commands = [line for line in block.splitlines() if line.startswith("$ ")]
        return "".join(f"{line}\n{self._printed(line[2:])}" for line in commands)

    def _printed(self, command: str) -> str:
        if command.startswith("cd "):
            self.here = Path(command[3:].replace("~", str(self.home)))
            return ""
        shell, pipe, reverie = command.rpartition("| reverie ")
        if pipe:
            return self._as_told(self._reverie(reverie, self._shell(shell)))
        if command.startswith("reverie "):
            return self._as_told(self._reverie(command.removeprefix("reverie "), ""))
        return self._as_told(self._shell(command))

    def _reverie(self, arguments: str, given: str) -> str:
        self.clock.advance(60)
        os.chdir(self.here)
        told = shlex.split(arguments)
        result = CliRunner().invoke(cli, told, given, prog_name="reverie", catch_exceptions=False)
        return result.output

    def _shell(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.here, capture_output=True, text=True, check=True
        )
        return done.stdout

    def _as_told(self, output: str) -> str:
        """Without what differs from home to home; trailing spaces of tables are not worth showing."""
        for name in ("shop", "notes"):
            output = output.replace(slug(self.home / name), slug(HOME / name))
        output = output.replace(str(self.home), str(HOME))
        output = re.sub(r"^✓ Python [\d.]+", "✓ Python 3", output, flags=re.MULTILINE)
        return re.sub(r"[ \t]+$", "", output, flags=re.MULTILINE)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    for name in os.environ:
        if name.startswith(("REVERIE_", "GIT_", "CLAUDE_", "COLUMNS")):
            monkeypatch.delenv(name)
    clock = FixedClock(datetime(2026, 11, 2, 9, tzinfo=UTC).timestamp())
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: clock)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.chdir(tmp_path)
    time.tzset()
    yield Stage(tmp_path, clock)
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("name", ["tour.md", "quickstart.md"])
def test_a_page_prints_what_it_says(stage: Stage, name: str) -> None:
    text = (DOCS / name).read_text("utf-8")
    played = BLOCK.sub(lambda found: stage.play(found[0]), text)
    if os.environ.get("WRITE_TOUR"):
        (DOCS / name).write_text(played, "utf-8")
    assert played.splitlines() == text.splitlines()


def test_the_tour_is_the_one_that_was_asked_for() -> None:
    blocks = "\n".join(BLOCK.findall(TOUR.read_text("utf-8")))
    types = re.findall(r"^Remembered \((\w+)\)", blocks, re.MULTILINE)
    assert len(types) >= 5
    assert set(types) == {"user", "feedback", "project", "reference"}
    for step in (
        "cd ~/hotfix",
        "cd ~/notes",
        "reverie list",
        "reverie undo",
        "--everywhere",
        "reverie log",
    ):
        assert step in blocks
