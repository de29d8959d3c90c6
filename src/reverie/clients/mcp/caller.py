"""The caller of a tool: which client, in which session, with which call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from reverie.memory.format.frontmatter import one_line
from reverie.memory.format.revisions import Author

# Claude Code sets these in the environment of a server it starts.
SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"
PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"

# Where clients put the session and the call in the `_meta` of a request, most specific first.
_SESSION_KEYS = ("sessionId", "session_id", "threadId", "thread_id")
_CALL_KEYS = ("claudecode/toolUseId", "toolUseId", "callId")

_LONGEST = 120


# Tells the caller how far a slow call is: done, total, in words.
Progress: TypeAlias = Callable[[int, int, str], None]


def untold(done: int, total: int, message: str) -> None:
    """For callers that did not ask."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A client, its session and its call, as far as the client says; the rest is empty."""

    client: str = ""
    session: str = ""
    call: str = ""
    progress: Progress = untold

    @classmethod
    def of(cls, client: object, meta: Mapping[str, Any] | None, session: str = "") -> Caller:
        """From untrusted values; a session in the request's `meta` wins over `session` from the environment."""
        known = meta or {}
        return cls(
            _word(client),
            _first(known, _SESSION_KEYS) or _word(session),
            _first(known, _CALL_KEYS),
        )

    @property
    def author(self) -> Author:
        """The author of an agent's write. MCP does not name the model, so the client's name takes its place."""
        calls = (self.call,) if self.call else ()
        return Author("main", self.session, calls, f"mcp:{self.client or 'unknown'}")

    @property
    def source(self) -> tuple[str, ...]:
        """The source of a memory, in the form its frontmatter keeps."""
        return (f"{self.session}#{self.call}",) if self.session and self.call else ()


def _first(values: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    return next(filter(None, (_word(values.get(key)) for key in keys)), "")


def _word(value: object) -> str:
    """One short line without spaces: it goes into a commit's trailer and a file's frontmatter."""
    if not isinstance(value, str):
        return ""
    shown = "".join(char if char.isprintable() else " " for char in value)
    return one_line(shown).replace(" ", "-")[:_LONGEST]
