"""Cursor's hooks: context at the start of a session; prompts and answers are only heard.

From its documentation, not observed. beforeSubmitPrompt takes leave or refusal and nothing else, so
that it is not answered. What was said is taken from the hooks themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reverie.clients.hooks import events as fields
from reverie.clients.hooks.events import (
    AboutToCompact,
    Answered,
    Context,
    HookEvent,
    Ignored,
    Instructions,
    Json,
    Moment,
    Nothing,
    Outcome,
    PromptSeen,
    ReplacedOutput,
    SessionEnded,
    SessionStarted,
    Stopped,
)

CLIENT = "cursor"


def parse(event: str, data: Json) -> HookEvent:
    read = _MOMENTS.get(event)
    moment = Ignored(f"{event} is nothing to us") if read is None else read(data)
    session = fields.text(data, "conversation_id", "session_id")
    return HookEvent(CLIENT, session, _place(data), moment)


def render(event: str, outcome: Outcome) -> bytes:
    match outcome:
        case Context(text):
            return fields.written({"additional_context": text})
        case ReplacedOutput() | Instructions() | Nothing():
            return b""


def _place(data: Json) -> str:
    roots = data.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else None
    return first if isinstance(first, str) else fields.text(data, "cwd")


_MOMENTS: Mapping[str, Callable[[Json], Moment]] = {
    "sessionStart": lambda data: SessionStarted("startup"),
    "beforeSubmitPrompt": lambda data: PromptSeen(fields.text(data, "prompt")),
    "afterAgentResponse": lambda data: Answered(fields.text(data, "text")),
    "preCompact": lambda data: AboutToCompact(fields.text(data, "trigger"), ""),
    "stop": lambda data: Stopped(again=False, answer=""),
    "sessionEnd": lambda data: SessionEnded(),
}

EVENTS = frozenset(_MOMENTS)
