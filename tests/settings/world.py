"""A home, a project and a managed file to load settings from."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from reverie.files.atomic import project_folder
from reverie.settings import Settings, load_settings
from reverie.settings.resolve import record_file
from reverie.settings.sources import Answer, answers, digest_of, rendered


@dataclass
class World:
    root: Path
    ticks: int = 0

    @property
    def home(self) -> Path:
        return self.root / "person" / ".reverie"

    def path(self, source: str) -> Path:
        return {
            "managed": self.root / "etc" / "settings.toml",
            "user": self.home / "settings.toml",
            "project": self.root / "project" / ".reverie" / "settings.toml",
            "old local": self.root / "project" / ".reverie" / "settings.local.toml",
            "local": project_folder(self.home, self.root / "project") / "settings.toml",
        }[source]

    def write(self, source: str, text: str | bytes) -> Path:
        """Write a settings file, each time with a later modification time."""
        path = self.path(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.ticks += 1
        os.utime(path, ns=(self.ticks, self.ticks))
        return path

    def agree(self, source: str = "project") -> None:
        """Say yes to a file inside the project as it is now."""
        path = self.path(source)
        content = path.read_bytes()
        answer = Answer("yes", digest_of(content), content.decode())
        record = record_file(self.home, self.root / "project")
        record.parent.mkdir(parents=True, exist_ok=True)
        known = {**answers(record), str(path): answer}
        record.write_text(json.dumps(rendered(known)))

    def load(self, *overrides: str, **environ: str) -> Settings:
        return load_settings(
            self.root / "project",
            environ={"HOME": str(self.root / "person"), **environ},
            overrides=overrides,
            managed=self.path("managed"),
        )
