"""opencode: our own plugin speaks here, so the JSON is ours; its events have opencode's names.

The title of a session is asked of a model through the same seam: that agent is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from reverie.clients.hooks import events as fields
from reverie.clients.hooks.events import (
    AboutToCompact,
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
    SessionStarted,
    Stopped,
    ToolFinished,
)

CLIENT = "opencode"

_OWN_AGENTS = ("title", "summary", "compaction")
# What these return is on disk already.
_FILES = ("read", "edit", "write", "patch")

_QUOTED = re.compile(r'"((?:[^"]|(?<=\\)")*)"')


def parse(event: str, data: Json) -> HookEvent:
    return HookEvent(
        CLIENT,
        fields.text(data, "sessionID", "session_id"),
        fields.text(data, "directory", "cwd"),
        _moment(event, data),
    )


def render(event: str, outcome: Outcome) -> bytes:
    match outcome:
        case Context(text) | Instructions(text):
            return fields.written({"context": text})
        case ReplacedOutput(_, response):
            return fields.written({"output": response})
        case Nothing():
            return b""


def _moment(event: str, data: Json) -> Moment:
    if fields.text(data, "agent") in _OWN_AGENTS:
        return Ignored("an agent of the client's own")
    read = _MOMENTS.get(event)
    return Ignored(f"{event} is nothing to us") if read is None else read(data)


def _prompted(data: Json) -> Moment:
    """`opencode run` puts quotes around what it is given, and backslashes before quotes therein."""
    text = fields.text(data, "text")
    quoted = _QUOTED.fullmatch(text)
    return Prompted(quoted[1].replace('\\"', '"') if quoted else text)


def _finished(data: Json) -> Moment:
    name, output = fields.text(data, "tool"), data.get("output")
    if not isinstance(output, str) or name in _FILES:
        return Ignored(f"the output of {name or 'this tool'} is left as it is")
    return ToolFinished(
        name, fields.text(data, "callID"), fields.table(data, "args"), output, ("",)
    )


_MOMENTS: Mapping[str, Callable[[Json], Moment]] = {
    "session.created": lambda data: SessionStarted("startup"),
    "session.compacted": lambda data: SessionStarted("compact"),
    "chat.message": _prompted,
    "tool.execute.after": _finished,
    "experimental.session.compacting": lambda data: AboutToCompact("", ""),
    "session.idle": lambda data: Stopped(again=False, answer=fields.text(data, "text")),
    "session.deleted": lambda data: SessionEnded(),
}

EVENTS = frozenset(_MOMENTS)
