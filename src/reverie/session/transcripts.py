"""Any transcript we can read, whoever wrote it, as records."""

from __future__ import annotations

from pathlib import Path

from reverie.errors import TranscriptError
from reverie.session import claude_code, journal
from reverie.session.journal import Loaded, read_lines
from reverie.session.records import Said

OURS = "reverie"


def load(path: Path) -> Loaded:
    """Records of one of our journals, or of a Claude Code session."""
    try:
        found = path.is_file()
    except OSError as error:
        raise TranscriptError(f"cannot read the transcript {path}: {error.strerror}") from error
    if not found:
        raise TranscriptError(f"there is no transcript at {path}; give the path of a file")
    loaded = journal.load(path) if author(path) == OURS else claude_code.load(path)
    if not any(isinstance(record, Said) for record in loaded.records):
        seen = f" ({loaded.notes[0]})" if loaded.notes else ""
        raise TranscriptError(
            f"{path} holds no conversation{seen}; expected JSON lines by Reverie or Claude Code"
        )
    return loaded


def author(path: Path) -> str:
    """Who wrote it, judged by its first readable records."""
    for _, value in read_lines(path, []):
        if isinstance(value, dict) and value.get("type") in ("session", "head", "message"):
            return OURS
        if isinstance(value, dict) and ({"uuid", "sessionId", "messageId"} & value.keys()):
            return claude_code.PROVIDER
    return OURS
