"""A session over its calls: what filled the window, what each call cost, what the layers did.

Made from the records of a transcript, so that a running session can be read again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.conversation import journal, transcripts
from reverie.conversation.cache_report import Break, cache_report
from reverie.conversation.records import (
    CacheEdited,
    Compacted,
    CompactionFailed,
    Folded,
    MemoriesShown,
    NotesTaken,
    Record,
    Replaced,
    Rewound,
    Said,
    ToolResultsCleared,
    Unfolded,
    Used,
)
from reverie.conversation.state import SessionState, window_fill
from reverie.core.usage import Prices, Usage
from reverie.core.window import CacheRules
from reverie.models import selection as choosing

if TYPE_CHECKING:
    from reverie.models.ledger import Ledger
    from reverie.settings import Settings

# In a long session the window is measured at this many calls; all other figures cover every call.
MOST_MEASURED = 120


@dataclass(frozen=True, slots=True)
class LayerEvent:
    """What a layer did before a call."""

    call: int
    layer: str
    what: str


@dataclass(frozen=True, slots=True)
class CallPoint:
    """One call of the main model: its time, tokens and cost, and what filled the window."""

    call: int
    at: float
    usage: Usage
    cost: float | None
    fill: dict[str, int]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A session as series: one point a call, with the events and cache breaks between them."""

    session: str
    model: str
    window: int
    points: tuple[CallPoint, ...] = ()
    events: tuple[LayerEvent, ...] = ()
    breaks: tuple[Break, ...] = ()
    state: SessionState = field(default_factory=SessionState)

    @property
    def cost(self) -> float | None:
        """What the main calls cost; None when a price is not known."""
        costs = [point.cost for point in self.points]
        return None if None in costs else sum(cost or 0.0 for cost in costs)

    @property
    def usage(self) -> Usage:
        return sum((point.usage for point in self.points), Usage())


def read_timeline(settings: Settings, path: Path) -> Timeline:
    """The series of a transcript of any client."""
    records = transcripts.load(path).records
    model = next((r.model for r in records if isinstance(r, Used) and r.purpose == "main"), "")
    row = choosing.find_row(settings, model) if model else None
    prices = row.prices if row else None
    prices = prices or choosing.price_of(settings, model.partition(":")[2] or model, None)
    rules = row.capabilities.cache if row else CacheRules()
    rows = cache_report(path.stem, records, rules, prices)
    breaks = next((row.breaks for row in rows if row.purpose == "main"), ())
    points, events, state = _series(records, prices)
    window = choosing.window_of(settings, model).tokens if row else 0
    return Timeline(state.session or path.stem, model, window, points, events, breaks, state)


def _series(
    records: Sequence[Record], prices: Prices | None
) -> tuple[tuple[CallPoint, ...], tuple[LayerEvent, ...], SessionState]:
    state = SessionState()
    main = [r for r in records if isinstance(r, Used) and r.purpose == "main"]
    # A response of several blocks is recorded once for each; the last figures are the whole.
    last = {used.response: used for used in main}
    stride = max(1, -(-len(last) // MOST_MEASURED))
    points: dict[str, CallPoint] = {}
    events: list[LayerEvent] = []
    for record in records:
        state.apply(record)
        if isinstance(record, Used) and record.purpose == "main":
            number = len(points) + (record.response not in points)
            used = last[record.response]
            measured = number % stride == 0 or number in (1, len(last))
            fill = window_fill(state).parts if measured else {}
            cost = prices.cost(used.usage) if prices else None
            points[record.response] = CallPoint(number, record.at, used.usage, cost, fill)
        elif (event := _event(record)) is not None:
            events.append(LayerEvent(len(points) + 1, *event))
    return tuple(points.values()), tuple(events), state


def _event(record: Record) -> tuple[str, str] | None:  # noqa: C901, PLR0911, PLR0912 - one case a record kind
    match record:
        case Replaced():
            return "1 tool results", "a long result was stored, a preview sent"
        case ToolResultsCleared(texts, why):
            return "2 microcompaction", f"{len(texts)} old results cleared: {why}"
        case CacheEdited(ids):
            return "2 microcompaction", f"the provider dropped {len(ids)} old results"
        case NotesTaken():
            return "3 session notes", "notes brought up to date"
        case Compacted(tokens_before=before, how=how, trigger=trigger):
            return "4 compaction", f"{before:,} tokens compacted ({how or trigger})"
        case CompactionFailed(why):
            return "4 compaction", f"failed: {why}"
        case Folded(kind=kind):
            return kind, "a span of messages is sent as a marker"
        case Unfolded():
            return "collapse", "a span is sent in full again"
        case Rewound():
            return "history", "messages were taken back"
        case MemoriesShown(files, size):
            return "recall", f"{', '.join(files)} ({size:,} bytes)"
        case _:
            return None


def session_row(path: Path, ledger: Ledger | None = None) -> dict[str, Any]:
    """A transcript as one row: its size, model, cost on the ledger, and first words."""
    # Our own may have no message yet; another client's file without messages is not a conversation.
    ours = transcripts.author(path) == transcripts.OURS
    loaded = journal.load(path) if ours else transcripts.load(path)
    state = SessionState.replay(loaded.records)
    entries = () if ledger is None else ledger.entries()
    spent = [e.cost for e in entries if e.session == path.stem and e.cost is not None]
    first = next((m.text for m in state.messages if m.origin == "user" and m.text), "")
    last = state.usages[-1].model if state.usages else ""
    return {
        "session": path.stem,
        "last": path.stat().st_mtime,
        "messages": len(state.messages),
        "tokens": state.tokens,
        "cost": sum(spent),
        "model": state.head.model if state.head else last,
        "compactions": len(state.compactions),
        "starts": first[:200],
        "notes": list(loaded.notes),
    }


def said_and_sent(records: Sequence[Record]) -> list[tuple[Any, Any]]:
    """Every message that was said, with the message sent instead; None when it is no longer sent."""
    state = SessionState.replay(records)
    shown = {message.id: message for message in state.shown}
    said = [record.message for record in records if isinstance(record, Said)]
    known = {message.id for message in said}
    added = [(message, message) for message in state.shown if message.id not in known]
    return [*((message, shown.get(message.id)) for message in said), *added]
