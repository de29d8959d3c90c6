"""Finds and loads transcripts of Reverie, Claude Code and Codex as records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from reverie.conversation import claude_code, codex, journal
from reverie.conversation.journal import Loaded, read_lines
from reverie.conversation.records import Said
from reverie.errors import InputError, TranscriptError

OURS = "reverie"
# The folders of a session's sub-agents and forks.
_AGENTS = ("agents", "forks")


def load(path: Path) -> Loaded:
    """Load a transcript of any known format; TranscriptError when it holds no conversation."""
    try:
        found = path.is_file()
    except OSError as error:
        raise TranscriptError(f"cannot read the transcript {path}: {error.strerror}") from error
    if not found:
        raise TranscriptError(f"there is no transcript at {path}; give the path of a file")
    loaded = _LOADERS[author(path)](path)
    if path.parent.name in _AGENTS:
        loaded = replace(loaded, of_agent=True)
    if not any(isinstance(record, Said) for record in loaded.records):
        seen = f" ({loaded.notes[0]})" if loaded.notes else ""
        raise TranscriptError(
            f"{path} holds no conversation{seen}; expected JSON lines by Reverie, Claude Code or Codex"
        )
    return loaded


def changed_at(path: Path) -> float:
    """When a file was last written; 0 if it cannot be looked at."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def find(session: str, journals: Sequence[Path]) -> Path:
    """A transcript by its path, or one of the journals by its session id or the start of it."""
    # An id may be too long for a path, or contain invalid characters.
    with suppress(OSError, ValueError):
        if Path(session).is_file():
            return Path(session)
    found = [path for path in journals if path.stem.startswith(session)]
    exact = [path for path in found if path.stem == session]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if found:
        names = ", ".join(path.stem for path in found[:5])
        raise InputError(f"{session!r} fits {len(found)} sessions: {names}; give more of the id")
    raise InputError(f"no session {session!r} here; `reverie sessions` lists them")


def author(path: Path) -> str:
    """Which program wrote it, by its first readable records."""
    for _, value in read_lines(path, []):
        if not isinstance(value, dict):
            continue
        if value.get("type") in ("session", "head", "message"):
            return OURS
        if "payload" in value and value.get("type") in codex.TYPES:
            return codex.PROVIDER
        if {"uuid", "sessionId", "messageId"} & value.keys():
            return claude_code.PROVIDER
    return OURS


_LOADERS: Mapping[str, Callable[[Path], Loaded]] = {
    OURS: journal.load,
    claude_code.PROVIDER: claude_code.load,
    codex.PROVIDER: codex.load,
}
