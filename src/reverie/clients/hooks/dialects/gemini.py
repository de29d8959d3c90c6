"""Gemini CLI's hooks: context beside a prompt, the first of which is told what a session begins with.

Observed with 0.61.0. What SessionStart answers goes before the first prompt, and a session that is resumed
has lost a prompt that begins so: it is not answered. PreCompress comes before every model call, not
only before a compression, and AfterTool can replace an output only as an error: neither is of use. Its
chat files hold patches, so that what was said is taken from the hooks themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from reverie.clients.hooks import events as fields
from reverie.clients.hooks.events import (
    Context,
    HookEvent,
    Ignored,
    Instructions,
    Json,
    Moment,
    Nothing,
    Outcome,
    Prompted,
    ReplacedOutput,
    SessionEnded,
    SessionMet,
    Stopped,
)

CLIENT = "gemini"

# What hooks said at the start of a session stands in its first prompt, before what was typed; within
# it, `<` and `>` are escaped.
_CONTEXT = re.compile(r"\s*<hook_context>.*?</hook_context>\s*", re.DOTALL)


def parse(event: str, data: Json) -> HookEvent:
    read = _MOMENTS.get(event)
    moment = Ignored(f"{event} is nothing to us") if read is None else read(data)
    return HookEvent(CLIENT, fields.text(data, "session_id"), fields.text(data, "cwd"), moment)


def render(event: str, outcome: Outcome) -> bytes:
    match outcome:
        case Context(text):
            told = {"hookEventName": event, "additionalContext": text}
            return fields.written({"hookSpecificOutput": told})
        case ReplacedOutput() | Instructions() | Nothing():
            return b""


def _prompted(data: Json) -> Moment:
    text = fields.text(data, "prompt")
    context = _CONTEXT.match(text)
    return Prompted(text[context.end() :] if context else text, opens=True)


def _stopped(data: Json) -> Moment:
    return Stopped(data.get("stop_hook_active") is True, fields.text(data, "prompt_response"))


_MOMENTS: Mapping[str, Callable[[Json], Moment]] = {
    "SessionStart": lambda data: SessionMet(fields.text(data, "source") == "resume"),
    "BeforeAgent": _prompted,
    "AfterAgent": _stopped,
    "SessionEnd": lambda data: SessionEnded(),
}

EVENTS = frozenset(_MOMENTS)
