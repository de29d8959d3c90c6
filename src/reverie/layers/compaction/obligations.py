"""What is still owed when a conversation is compacted: from state, never from a model. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from reverie.core.messages import Attachment
from reverie.core.tokens import text_tokens
from reverie.layers.clipping import clipped
from reverie.layers.facts import Todo

LABEL = "obligations"

_LEAD = "Still owed at this point, from the session's own records."
_REQUEST = "The user's last request, word for word:"
_REQUEST_ELSEWHERE = (
    "The user's last request is the last of their messages, word for word beside this."
)


@dataclass(frozen=True, slots=True)
class Running:
    """A sub-agent or background task at work; `id` is what it is addressed by."""

    id: str
    what: str


@dataclass(frozen=True, slots=True)
class Obligations:
    """`request` is empty when it still stands in the conversation itself."""

    request: str = ""
    todos: tuple[Todo, ...] = ()
    running: tuple[Running, ...] = ()
    questions: tuple[str, ...] = ()


def render(owed: Obligations, room: int) -> Attachment | None:
    """All of it in at most so many tokens; nothing when nothing is owed.

    A long request is not repeated: it is the last of the user's messages, which are carried whole.
    """
    lists = [
        *_listed("Open todos:", [_todo(todo) for todo in owed.todos if todo.open]),
        *_listed("Running now:", [f"{running.id}: {running.what}" for running in owed.running]),
        *_listed("Questions that wait for an answer:", list(owed.questions)),
    ]
    quoted = "\n".join([_REQUEST, *(f"> {line}" for line in owed.request.split("\n"))])
    for request in (quoted, _REQUEST_ELSEWHERE):
        parts = [request, *lists] if owed.request else lists
        text = "\n\n".join([_LEAD, *parts])
        if text_tokens(text) <= room:
            break
    return Attachment(LABEL, clipped(text, room)) if parts else None


def _listed(title: str, items: list[str]) -> list[str]:
    return ["\n".join([title, *(f"- {item}" for item in items)])] if items else []


def _todo(todo: Todo) -> str:
    return f"{todo.text} ({todo.status.replace('_', ' ')})"
