"""The instruction files of a project, as far as the write path needs them: what they say is not memory."""

from __future__ import annotations

from pathlib import Path

from reverie.settings.folders import owned_by_us

NAMES = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md")

_LARGEST = 200_000


def read_instructions(root: Path) -> dict[str, str]:
    """The instruction files at the root of a project, by name; not what a link or another user put there."""
    found = {}
    top = root.resolve()
    for name in NAMES:
        path = root / name
        try:
            real, status = path.resolve(strict=True), path.stat()
            ours = real.is_relative_to(top) and owned_by_us(status)
            if ours and path.is_file() and status.st_size <= _LARGEST:
                found[name] = path.read_text("utf-8", "replace")
        # Links that go round are a RuntimeError before Python 3.13.
        except (OSError, RuntimeError):
            continue
    return found
