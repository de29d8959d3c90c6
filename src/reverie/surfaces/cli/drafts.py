"""Texts that are being edited: kept beside the memory until they are saved, never lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reverie.memory.topic import Topic
from reverie.settings.folders import make_private


@dataclass(frozen=True, slots=True)
class Base:
    """What an edit began with, and the version a write is based on."""

    topic: Topic
    version: str


class DraftFile:
    """The file an editor opens for one memory, and which version it was made from."""

    def __init__(self, state: Path, name: str) -> None:
        self.path = state / "drafts" / name.replace("/", "__")
        self._base = self.path.with_name(f".{self.path.name}.base")

    @property
    def waiting(self) -> bool:
        """Is there a text from last time that was not saved?"""
        return self.path.is_file()

    @property
    def base(self) -> str:
        return self._base.read_text("utf-8").strip() if self._base.is_file() else ""

    def write(self, data: bytes, version: str) -> None:
        make_private(self.path.parent)
        self.path.touch(mode=0o600)
        self.path.write_bytes(data)
        self.rebase(version)

    def rebase(self, version: str) -> None:
        """The text is now meant to replace this version: the person was told what it says."""
        self._base.write_text(version, "utf-8")

    def read(self) -> bytes:
        return self.path.read_bytes()

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self._base.unlink(missing_ok=True)
