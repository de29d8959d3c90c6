"""Gemini CLI's hooks: context at the start of a session and before each turn.

Observed with 0.61.0. PreCompress comes before every model call, not only before a compression, and
AfterTool can replace an output only as an error: neither is of use. Its chat files hold patches, so
that what was said is taken from the hooks themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reverie.app.hooks.moments import (
    Context,
    Ignored,
    Instructions,
    Moment,
    Nothing,
    Occasion,
    Outcome,
    Prompted,
    ReplacedOutput,
    SessionEnded,
    Stopped,
)
from reverie.surfaces.hooks import fields
from reverie.surfaces.hooks.dialects.claude_code import started
from reverie.surfaces.hooks.fields import Json

CLIENT = "gemini"


def parse(event: str, data: Json) -> Occasion:
    read = _MOMENTS.get(event)
    moment = Ignored(f"{event} is nothing to us") if read is None else read(data)
    return Occasion(CLIENT, fields.text(data, "session_id"), fields.text(data, "cwd"), moment)


def render(event: str, outcome: Outcome) -> bytes:
    match outcome:
        case Context(text):
            told = {"hookEventName": event, "additionalContext": text}
            return fields.written({"hookSpecificOutput": told})
        case ReplacedOutput() | Instructions() | Nothing():
            return b""


def _prompted(data: Json) -> Moment:
    return Prompted(fields.text(data, "prompt"))


def _stopped(data: Json) -> Moment:
    return Stopped(data.get("stop_hook_active") is True, fields.text(data, "prompt_response"))


_MOMENTS: Mapping[str, Callable[[Json], Moment]] = {
    "SessionStart": started,
    "BeforeAgent": _prompted,
    "AfterAgent": _stopped,
    "SessionEnd": lambda data: SessionEnded(),
}
