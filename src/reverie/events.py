"""Typed facts the loop and the layers announce, on one stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from reverie.core.prompt_cache.tracker import Broken, ExpectedBreak
from reverie.core.reply import Cleared, Reply, TextDelta, ThinkingDelta, ToolUseStarted
from reverie.core.spend import Entry, Purpose


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
    entry: Entry


@dataclass(frozen=True, slots=True)
class CapReached:
    """A spend cap was met: the call was stopped, or (main, by setting) only warned about."""

    purpose: Purpose
    reason: str
    stopped: bool


@dataclass(frozen=True, slots=True)
class TroubleNoted:
    """Something failed quietly to the next layer: counted and shown, never fatal."""

    where: str
    what: str


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
)

Announce: TypeAlias = Callable[[Event], None]


def unheard(event: Event) -> None:
    """For callers who listen to nothing."""
