"""Who calls a tool: which program, in which of its sessions, by which of its messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reverie.memory.format.frontmatter import one_line
from reverie.memory.format.revisions import Author

# Claude Code names its session in the environment of a server it starts.
SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"
PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"

# Where clients put the session and the call in the `_meta` of a request, most telling first.
_SESSION_KEYS = ("sessionId", "session_id", "threadId", "thread_id")
_CALL_KEYS = ("claudecode/toolUseId", "toolUseId", "callId")

_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Caller:
    """A client as it introduced itself; what it did not say is empty."""

    client: str = ""
    session: str = ""
    call: str = ""

    @classmethod
    def of(cls, client: object, meta: Mapping[str, Any] | None, session: str = "") -> Caller:
        """From what strangers say: `session` is what the environment says, the request knows better."""
        told = meta or {}
        return cls(
            _word(client),
            _first(told, _SESSION_KEYS) or _word(session),
            _first(told, _CALL_KEYS),
        )

    @property
    def author(self) -> Author:
        """An agent's own write. Which model it runs is not told over MCP: its program stands there."""
        calls = (self.call,) if self.call else ()
        return Author("main", self.session, calls, f"mcp:{self.client or 'unknown'}")

    @property
    def source(self) -> tuple[str, ...]:
        """Where it was said, in the form a memory keeps."""
        return (f"{self.session}#{self.call}",) if self.session and self.call else ()


def _first(told: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    return next(filter(None, (_word(told.get(key)) for key in keys)), "")


def _word(value: object) -> str:
    """One short line without spaces: it goes into a commit's trailer and a file's frontmatter."""
    if not isinstance(value, str):
        return ""
    shown = "".join(char if char.isprintable() else " " for char in value)
    return one_line(shown).replace(" ", "-")[:_LONGEST]
