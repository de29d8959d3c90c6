"""What a run of the demo's session tells: turn by turn, and as a whole. Values only."""

from __future__ import annotations

from dataclasses import dataclass, field

from reverie.core.usage import Usage
from reverie.core.window import Window


@dataclass(frozen=True, slots=True)
class Variant:
    """The session with some layers switched off."""

    name: str
    about: str
    off: tuple[str, ...] = ()

    @property
    def compacts(self) -> bool:
        return "autocompact" not in self.off

    @property
    def learns(self) -> bool:
        return "extract" not in self.off


def _without(name: str, about: str, *off: str) -> Variant:
    """Learning is off too: what is compared is the cost of the conversation."""
    return Variant(name, about, (*off, "extract", "dream"))


_RESULTS, _CLEARING, _NOTES, _COMPACTION = (
    "tool_result_storage",
    "microcompact_batch",
    "session_notes",
    "autocompact",
)

WHOLE = Variant("layers 1 to 4", "as Reverie does it")
VARIANTS = (
    WHOLE,
    _without("without 1", "long results stay in the context", _RESULTS),
    _without("without 2", "old results are never cleared", _CLEARING),
    _without("without 3", "no notes: the model writes every summary", _NOTES),
    _without("without 3 and 4", "nothing is ever summarised", _NOTES, _COMPACTION),
    _without("no layers", "everything is sent, always", _RESULTS, _CLEARING, _NOTES, _COMPACTION),
)


@dataclass(frozen=True, slots=True)
class Fired:
    """A layer did something: its number (0 for recall), and how large it made what before and after."""

    layer: int
    what: str
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the person, and all that followed. `context` is what stands in the window after it.

    `usage` and `cost` are of every call, side calls too, but for those of layers 5 and 6; `largest` is the largest request of the
    conversation itself. `away` is for how many seconds the session was closed before it.
    """

    number: int
    asks: str
    requests: int
    usage: Usage
    cost: float
    spent: float
    context: int
    largest: int
    fired: tuple[Fired, ...] = ()
    away: float = 0.0


@dataclass(frozen=True, slots=True)
class Learnt:
    """What a layer made of memory beside the conversation, in how many calls, for how much.

    `kept` are memories it wrote, `foreign` those of them that the person did not say; `waiting` is for
    them to decide, and `refused` was never done, each with its reason.
    """

    layer: int
    name: str
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    kept: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """The whole session in one variant.

    `found` says for each fact of the beginning where it was found when it was asked for at the end,
    `missing` are messages of the person that are not in the last request any more, `uncached_cost` is
    what the same requests cost without a prompt cache, `learnt` what layers 5 and 6 did meanwhile.
    """

    variant: Variant
    window: Window
    turns: tuple[Turn, ...]
    found: dict[str, tuple[str, ...]]
    missing: tuple[str, ...]
    expected_breaks: int
    unexpected_breaks: int
    uncached_cost: float
    troubles: tuple[str, ...] = ()
    learnt: tuple[Learnt, ...] = ()

    @property
    def usage(self) -> Usage:
        return sum((turn.usage for turn in self.turns), Usage())

    @property
    def cost(self) -> float:
        return self.turns[-1].spent

    @property
    def largest(self) -> int:
        return max(turn.largest for turn in self.turns)

    @property
    def full_in(self) -> int | None:
        """The turn in which a request would be refused; None when the window has room for all."""
        most = self.window.blocking
        return next((turn.number for turn in self.turns if turn.largest >= most), None)

    @property
    def forgotten(self) -> tuple[str, ...]:
        """The facts that could not be told when they were asked for."""
        return tuple(name for name, places in self.found.items() if not places)

    def fired(self, layer: int) -> int:
        """How often a layer did something."""
        return sum(fired.layer == layer for turn in self.turns for fired in turn.fired)
