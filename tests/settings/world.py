"""A small world to load settings in: a home, a project, a machine's managed file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from reverie.settings import Settings, load_settings


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
            "local": self.root / "project" / ".reverie" / "settings.local.toml",
        }[source]

    def write(self, source: str, text: str | bytes) -> Path:
        """Write a settings file, each time with a later modification time."""
        path = self.path(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        if source == "local":
            # A repository that does not track it: the person wrote it here.
            (path.parent.parent / ".git").mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.ticks += 1
        os.utime(path, ns=(self.ticks, self.ticks))
        return path

    def load(self, *overrides: str, **environ: str) -> Settings:
        return load_settings(
            self.root / "project",
            environ={"HOME": str(self.root / "person"), **environ},
            overrides=overrides,
            managed=self.path("managed"),
        )
