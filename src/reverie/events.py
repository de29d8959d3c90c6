"""Typed events that the loop and the layers announce on one stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from reverie.core.messages import ToolResult
from reverie.core.prompt_cache.tracker import Broken, ExpectedBreak
from reverie.core.request import Cleared, Reply, TextDelta, ThinkingDelta, ToolUseStarted
from reverie.core.usage import Entry, Purpose, Usage


@dataclass(frozen=True, slots=True)
class Replied:
    """A model answered in full."""

    reply: Reply


@dataclass(frozen=True, slots=True)
class CacheBroke:
    """Cached tokens were lost: expected, with the layer's reason, or not, with the causes."""

    session: str
    purpose: Purpose
    verdict: Broken | ExpectedBreak


@dataclass(frozen=True, slots=True)
class ContextCleared:
    """The provider removed content from the window on its side."""

    session: str
    cleared: Cleared


@dataclass(frozen=True, slots=True)
class MoneySpent:
    """A call was paid for; the entry is on the ledger."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class CapReached:
    """A spend cap was reached: the call was stopped, or (main model, by setting) only a warning."""

    purpose: Purpose
    reason: str
    stopped: bool


@dataclass(frozen=True, slots=True)
class TroubleNoted:
    """Something failed and a fallback was used: counted and shown, never fatal."""

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call started; `headline` is the call in one line."""

    id: str
    name: str
    headline: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call ended, with its result."""

    id: str
    name: str
    headline: str
    result: ToolResult


@dataclass(frozen=True, slots=True)
class LayerFired:
    """A layer changed what is sent: which layer, by how much, and why."""

    layer: str
    tokens_before: int
    tokens_after: int
    why: str


@dataclass(frozen=True, slots=True)
class MemoriesSurfaced:
    """These memories were attached to the person's message."""

    files: tuple[str, ...]
    how: str


@dataclass(frozen=True, slots=True)
class MemoriesLate:
    """Recall did not finish in time, so the model starts without memories.

    Memories found later are attached at the next boundary, unless `recall.late` is "drop".
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class MemoriesSaved:
    """These memories were written after a turn; `waiting` proposals are in the inbox for a person."""

    files: tuple[str, ...]
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class DreamBegan:
    """A dream started to consolidate memory, on a branch; nothing is visible until it is checked."""


@dataclass(frozen=True, slots=True)
class DreamEnded:
    """A dream ended: its state and the memories it changed; `id` identifies it for undo.

    `waiting` changes are for a person to decide; `cost` is in dollars, None when it is not known.
    """

    id: str
    state: str
    files: tuple[str, ...]
    why: str = ""
    waiting: int = 0
    cost: float | None = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotesUpdated:
    """The session's notes cover everything up to a message; `by` is "model" or "rules"."""

    up_to: str
    by: str


@dataclass(frozen=True, slots=True)
class ForkStarted:
    """A side agent starts on the conversation's prefix."""

    purpose: Purpose


@dataclass(frozen=True, slots=True)
class ForkEnded:
    """A side agent ended; `trouble` says why it failed, if it did."""

    purpose: Purpose
    usage: Usage
    turns: int
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class AgentStarted:
    """Another agent started a task; `how` it runs: wait, background, fork, teammate, isolated."""

    name: str
    agent_type: str
    how: str
    summary: str


@dataclass(frozen=True, slots=True)
class AgentProgressed:
    """What an agent is doing, in a few words."""

    name: str
    line: str


@dataclass(frozen=True, slots=True)
class AgentEnded:
    """An agent ended; `why` is "done", or what ended it."""

    name: str
    why: str
    tokens: int


@dataclass(frozen=True, slots=True)
class LetterSent:
    """An agent wrote to another one; `kind` is "message", or a step that both must agree on."""

    sender: str
    to: str
    kind: str
    summary: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The agent finished its turn; `why` is the model's stop reason."""

    why: str


Event: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | ToolUseStarted
    | Replied
    | CacheBroke
    | ContextCleared
    | MoneySpent
    | CapReached
    | TroubleNoted
    | ToolStarted
    | ToolFinished
    | LayerFired
    | MemoriesSurfaced
    | MemoriesLate
    | MemoriesSaved
    | DreamBegan
    | DreamEnded
    | NotesUpdated
    | ForkStarted
    | ForkEnded
    | AgentStarted
    | AgentProgressed
    | AgentEnded
    | LetterSent
    | TurnEnded
)

Announce: TypeAlias = Callable[[Event], None]


def no_listener(event: Event) -> None:
    """Discard an event: the default for callers without a listener."""
