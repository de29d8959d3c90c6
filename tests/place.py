"""A scratch home and project, and a clock that only the test moves."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from reverie.conversation.journal import Journal
from reverie.conversation.records import Record
from reverie.files.atomic import project_folder
from reverie.workspace import Workspace

# A day before any of these tests was written, at an hour when all time zones from UTC-11 to
# UTC+12:45 have the same day.
NOON = datetime(2025, 6, 15, 11, tzinfo=UTC).timestamp()


@dataclass
class FixedClock:
    at: float = NOON

    def now(self) -> float:
        return self.at

    def advance(self, seconds: float) -> None:
        self.at += seconds


class Place:
    """`person` is their home folder, `home` is Reverie's, `root` is the project."""

    def __init__(self, base: Path, clock: FixedClock) -> None:
        self.base = base
        self.clock = clock
        self.person = base / "person"
        self.home = self.person / ".reverie"
        self.root = base / "project"
        self.person.mkdir()
        self.root.mkdir()

    def app(self, *overrides: str) -> Workspace:
        return Workspace.open(self.root, overrides=overrides, clock=self.clock)

    def journal(self, session: str, *records: Record) -> Path:
        """A session of this project; the later it is written, the newer it is."""
        path = self.app().project.journal(session)
        with Journal(path) as journal:
            journal.append(*records)
        others = len(list(path.parent.iterdir()))
        os.utime(path, (NOON + others, NOON + others))
        return path

    def settings(self, text: str, source: str = "user") -> Path:
        path = {
            "user": self.home / "settings.toml",
            "project": self.root / ".reverie" / "settings.toml",
            "old local": self.root / ".reverie" / "settings.local.toml",
            "local": project_folder(self.home, self.root) / "settings.toml",
        }[source]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


def git(folder: Path, *arguments: str | Path) -> None:
    """Run git with a name and settings of its own."""
    who = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")
    settings: Sequence[str] = (
        *who,
        "-c",
        "protocol.file.allow=always",
        "-c",
        "commit.gpgsign=false",
    )
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(folder), *settings, *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True, env=environment)
