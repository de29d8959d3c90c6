"""Layer 2: clears old tool results without summarising anything.

There are four ways, depending on the provider and the state of the cache:

    time     after an hour's pause the cache has expired: clearing old results costs nothing
    cached   the provider drops results from its cached prefix; the messages here stay unchanged
    server   the provider clears by itself, as set when the session opened (`context_edits`)
    batch    otherwise: many results at once, rarely, when it saves more than it costs

Only results of tools that can be run again are cleared, and never one the model has not seen yet.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias, assert_never

from reverie.context import NotDue
from reverie.context.microcompaction.batches import Policy, RequestConditions, batch, clearable
from reverie.context.microcompaction.ledger import (
    COMPACTABLE,
    Held,
    ToolResultLedger,
    compactable,
    context_edits,
)
from reverie.context.previews import outline_line
from reverie.core.window import text_tokens
from reverie.events import Announce, LayerFired, no_listener

__all__ = [
    "CLEARED",
    "COMPACTABLE",
    "Clear",
    "Due",
    "EditCache",
    "Policy",
    "RequestConditions",
    "ToolResultLedger",
    "compactable",
    "context_edits",
    "due",
    "plan",
    "run",
]

NAME = "microcompaction"
CLEARED = "[Old tool result content cleared]"

Way: TypeAlias = Literal["time", "cached", "batch"]


@dataclass(frozen=True, slots=True)
class Due:
    """These results should be cleared in this way."""

    way: Way
    results: tuple[Held, ...]
    why: str
    after_message: str
    rewritten: int = 0
    # Lines that tell what was cleared, as far as they are known, by id.
    outlines: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Clear:
    """From now on these results are sent as these texts."""

    texts: dict[str, str]
    freed: int
    why: str
    rewritten: int = 0


@dataclass(frozen=True, slots=True)
class EditCache:
    """The provider drops these results from its cache; every later request repeats the edit."""

    tool_use_ids: tuple[str, ...]
    after_message: str
    freed: int = 0
    why: str = ""


def due(
    ledger: ToolResultLedger,
    conditions: RequestConditions,
    policy: Policy,
    edited: Container[str] = frozenset(),
) -> Due | NotDue:
    """Return the first way that applies; `edited` are results the provider was already asked to drop."""
    if not ledger.held:
        return NotDue("there are no tool results that may be cleared")
    idle = conditions.idle(ledger.replied_at)
    if policy.time and idle > policy.idle_seconds:
        return _after_pause(ledger, idle, policy)
    if policy.cached and conditions.capabilities.cache_edits and conditions.main:
        return _dropped(ledger, conditions, policy, edited)
    if not policy.batch:
        return NotDue("clearing in batches is off")
    found = batch(ledger, conditions, policy)
    if isinstance(found, NotDue):
        return found
    return Due("batch", found.results, found.why, ledger.last, found.rewritten, ledger.outlines)


def plan(due: Due) -> Clear | EditCache | NotDue:
    """Return the marker texts that replace the results, or the cache edit to ask for."""
    match due.way:
        case "cached":
            ids = tuple(held.id for held in due.results)
            return EditCache(ids, due.after_message, sum(h.tokens for h in due.results), due.why)
        case "time":
            return _cleared(due, _plain_marker, at_most=1.0)
        case "batch":
            return _cleared(due, partial(_telling_marker, due.outlines), at_most=0.5)
        case _:
            assert_never(due.way)


def run(
    change: Clear | EditCache,
    conditions: RequestConditions,
    expect_break: Callable[[str], None],
    announce: Announce = no_listener,
) -> None:
    """Register the cache break, if there is one, and announce; the session records the change."""
    if isinstance(change, Clear):
        expect_break(f"{NAME}: {change.why}")
    announce(LayerFired(NAME, conditions.context, conditions.context - change.freed, change.why))


def _after_pause(ledger: ToolResultLedger, idle: float, policy: Policy) -> Due | NotDue:
    old = tuple(ledger.held[: clearable(ledger, policy.keep)])
    if not old:
        return NotDue("all tool results are among the newest")
    return Due("time", old, f"a pause of {idle / 60:.0f} minutes", ledger.last)


def _dropped(
    ledger: ToolResultLedger, conditions: RequestConditions, policy: Policy, edited: Container[str]
) -> Due | NotDue:
    if conditions.context < policy.least_context:
        return NotDue(f"a context of {conditions.context:,} tokens is left alone")
    old = ledger.held[: clearable(ledger, policy.keep)]
    fresh = tuple(held for held in old if held.id not in edited)
    live = len(ledger.held) - len(old) + len(fresh)
    if not fresh or not (live > policy.live_above or conditions.pressed):
        return NotDue(f"{live} live tool results; more than {policy.live_above} are too many")
    return Due("cached", fresh, f"{live} live tool results", ledger.last)


def _cleared(due: Due, marker: Callable[[Held], str], *, at_most: float) -> Clear | NotDue:
    """Markers for the results; a result stays where the marker would not be clearly shorter."""
    texts: dict[str, str] = {}
    freed = 0
    for held in due.results:
        text = marker(held)
        size = text_tokens(text)
        if size < at_most * held.tokens:
            texts[held.id] = text
            freed += held.tokens - size
    if not texts:
        return NotDue("the markers would be as long as the results")
    return Clear(texts, freed, due.why, due.rewritten)


def _plain_marker(held: Held) -> str:
    return f"{CLEARED[:-1]}; it is saved in {held.path}]" if held.path else CLEARED


def _telling_marker(outlines: Mapping[str, str], held: Held) -> str:
    """A marker with what the model may still need: length, key line and path of the result."""
    where = f"; saved in {held.path}" if held.path else ""
    line = outlines.get(held.id) or outline_line(held.result.text)
    return f"[Old tool result cleared: {line}{where}]"
