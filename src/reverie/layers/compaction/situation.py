"""What a compaction starts from, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from reverie.core.messages import Message
from reverie.core.window import Window
from reverie.layers.compaction.obligations import Running
from reverie.layers.compaction.plan import WHOLE, Mode
from reverie.layers.compaction.restore import Restorable
from reverie.layers.compaction.trigger import Trigger
from reverie.layers.facts import Todo

How: TypeAlias = Literal["notes", "summary", "extractive", "dropped rounds"]


@dataclass(frozen=True, slots=True)
class Notes:
    """The session notes, when they hold more than their template, and what they cover."""

    text: str
    covered: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """The conversation as it is sent, and what the session knows beside it.

    `tokens` is its size, measured where possible; `overhead` that of system prompt and tools, which
    every request carries. `transcript` is where every word stays readable. `todos` is None when the
    session does not keep them: then the messages tell.
    """

    messages: tuple[Message, ...]
    window: Window
    tokens: int
    at: float
    trigger: Trigger = "automatic"
    overhead: int = 0
    mode: Mode = WHOLE
    transcript: str = ""
    instructions: str = ""
    notes: Notes | None = None
    todos: tuple[Todo, ...] | None = None
    running: tuple[Running, ...] = ()
    questions: tuple[str, ...] = ()
    extras: tuple[Restorable, ...] = ()


@dataclass(frozen=True, slots=True)
class Compaction:
    """The conversation goes on as: messages up to `kept_up_to`, `start`, messages from `kept_from`.

    `last_compacted` is the last message that `start` stands for; `why` is for people.
    """

    start: tuple[Message, ...]
    kept_from: str | None
    kept_up_to: str | None
    trigger: Trigger
    how: How
    tokens_before: int
    tokens_after: int
    last_compacted: str
    why: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The conversation stays as it is, and why."""

    reason: str
