"""Where each client keeps its configuration, for a person and for a project."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Places:
    """The folders clients look into; their own variables were honoured when this was made."""

    person: Path
    project: Path
    # Claude Code: its folder, and the file it keeps its own state and the person's servers in.
    claude: Path
    claude_state: Path
    codex: Path
    opencode: Path

    @property
    def gemini(self) -> Path:
        return self.person / ".gemini"

    @property
    def cursor(self) -> Path:
        return self.person / ".cursor"
