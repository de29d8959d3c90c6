"""The instruction files of a project, as far as the write path needs them: what they say is not memory."""

from __future__ import annotations

from pathlib import Path

NAMES = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md")

_LARGEST = 200_000


def read_instructions(root: Path) -> dict[str, str]:
    """The instruction files at the root of a project, by name."""
    found = {}
    for name in NAMES:
        path = root / name
        try:
            if path.is_file() and path.stat().st_size <= _LARGEST:
                found[name] = path.read_text("utf-8", "replace")
        except OSError:
            continue
    return found
