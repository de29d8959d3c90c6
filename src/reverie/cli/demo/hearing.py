"""Listening to a session: what its layers did, what its calls cost, how the cache fared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from reverie.cli.demo.runs import Fired, Turn
from reverie.cli.demo.script import Scene
from reverie.context import microcompaction, tool_results
from reverie.core.prompt_cache.tracker import Broken
from reverie.core.usage import MAIN, Entry, Prices, Usage
from reverie.events import (
    CacheBroke,
    DreamEnded,
    Event,
    LayerFired,
    MemoriesSaved,
    MemoriesSurfaced,
    MoneySpent,
    NotesUpdated,
    TroubleNoted,
)
from reverie.session.query import Session

RECALL, RESULTS, CLEARING, NOTES, COMPACTION, EXTRACTION, DREAMS = range(7)

# What is spent on learning is no part of what the conversation costs.
_ASIDE = ("extract", "dream")
_NUMBERS = {tool_results.NAME: RESULTS, microcompaction.NAME: CLEARING}


@dataclass(slots=True)
class Hearing:
    """What was heard since the session began, and in the turn that is under way."""

    expected_breaks: int = 0
    unexpected_breaks: int = 0
    uncached_cost: float = 0.0
    troubles: list[str] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    _aside: list[Entry] = field(default_factory=list)
    _spent: float = 0.0
    _turns: int = 0
    _entries: list[Entry] = field(default_factory=list)
    _fired: list[Fired] = field(default_factory=list)

    @contextmanager
    def of(self, session: Session) -> Iterator[None]:
        """Hear one turn of a session."""
        self._entries, self._fired = [], []

        def hear(event: Event) -> None:
            self._hear(event, session)

        with session.announce.heard_by(hear):
            yield

    def aside(self, purpose: str) -> list[Entry]:
        """What was spent on it in the whole session."""
        return [entry for entry in self._aside if entry.purpose == purpose]

    def turn(self, scene: Scene, session: Session) -> Turn:
        """The turn that was heard last."""
        self._turns += 1
        cost = sum(entry.cost or 0.0 for entry in self._entries)
        self._spent += cost
        main = [entry.usage.prompt for entry in self._entries if entry.purpose == MAIN]
        return Turn(
            number=self._turns,
            asks=scene.asks,
            requests=len(main),
            usage=sum((entry.usage for entry in self._entries), Usage()),
            cost=cost,
            spent=self._spent,
            context=session.conversation.state.tokens,
            largest=max(main, default=0),
            fired=tuple(self._fired),
            away=scene.pause if scene.leaves else 0.0,
        )

    def _hear(self, event: Event, session: Session) -> None:
        match event:
            case MoneySpent(entry) if entry.purpose in _ASIDE:
                self._aside.append(entry)
            case MoneySpent(entry):
                self._entries.append(entry)
                self.uncached_cost += _uncached(entry, session.conversation.model.prices)
            case CacheBroke(_, _, Broken()):
                self.unexpected_breaks += 1
            case CacheBroke():
                self.expected_breaks += 1
            case TroubleNoted(where, what):
                self.troubles.append(f"{where}: {what}")
            case _:
                self.saved += event.files if isinstance(event, MemoriesSaved) else ()
                self._fired += _fired(event, session)


def _uncached(entry: Entry, prices: Prices | None) -> float:
    """The cost of a call had nothing been cached; side models never cache anything here."""
    if prices is None or not (entry.usage.cache_read or entry.usage.cache_write):
        return entry.cost or 0.0
    return prices.cost(Usage(input=entry.usage.prompt, output=entry.usage.output))


def _fired(event: Event, session: Session) -> tuple[Fired, ...]:
    match event:
        case LayerFired(layer, before, after) if layer in _NUMBERS:
            return (Fired(_NUMBERS[layer], layer, before, after),)
        case LayerFired(_, before, after):
            return (_compacted(session.conversation.state.compactions[-1].how, before, after),)
        case NotesUpdated(_, by):
            return (Fired(NOTES, f"notes, by {by}"),)
        case MemoriesSurfaced() | MemoriesSaved() | DreamEnded():
            return tuple(_remembered(event))
        case _:
            return ()


def _remembered(event: MemoriesSurfaced | MemoriesSaved | DreamEnded) -> Iterator[Fired]:
    match event:
        case MemoriesSurfaced(files):
            yield Fired(RECALL, _named(files))
        case MemoriesSaved(files, waiting):
            yield from (Fired(EXTRACTION, what) for what in _saved(files, waiting))
        case DreamEnded(_, state, files):
            yield Fired(DREAMS, f"a dream, {state}: {_named(files) or 'nothing to change'}")


def _saved(files: Sequence[str], waiting: int) -> Iterator[str]:
    if files:
        yield f"saved: {_named(files)}"
    if waiting:
        yield f"for your inbox: {waiting}"


def _named(files: Sequence[str]) -> str:
    return ", ".join(file.removesuffix(".md") for file in files)


def _compacted(how: str, before: int, after: int) -> Fired:
    if how == "notes":
        return Fired(NOTES, "the notes become the summary", before, after)
    return Fired(COMPACTION, "the model writes a summary", before, after)
