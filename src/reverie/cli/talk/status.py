"""A session's usage, counted from its events, and the status line. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from rich.cells import cell_len
from rich.text import Text

from reverie.cli.invocation import dollars, printable, tokens
from reverie.core.usage import Entry, Usage
from reverie.events import Event, LayerFired, MemoriesSurfaced, MoneySpent, Replied


@dataclass(slots=True)
class Tally:
    """Usage counted from events: `usage` of the conversation alone, `spent` of all work."""

    usage: Usage = field(default_factory=Usage)
    requests: int = 0
    spent: list[Entry] = field(default_factory=list)
    layers: Counter[str] = field(default_factory=Counter)
    memories: list[str] = field(default_factory=list)

    def on_event(self, event: Event) -> None:
        match event:
            case Replied(reply):
                self.usage += reply.usage
                self.requests += 1
            case MoneySpent(entry):
                self.spent.append(entry)
            case LayerFired(layer):
                self.layers[layer] += 1
            case MemoriesSurfaced(files):
                self.memories += [file for file in files if file not in self.memories]
            case _:
                pass

    @property
    def cost(self) -> float:
        return cost_of(self.spent)

    @property
    def unpriced(self) -> int:
        """The number of calls without a known price."""
        return sum(entry.cost is None for entry in self.spent)


def cost_of(entries: Iterable[Entry]) -> float:
    return sum(entry.cost or 0.0 for entry in entries)


_BAR = 10
_FILL = {"ok": "green", "warning": "yellow", "compact": "yellow", "blocked": "red"}
_MODES = {"accept-edits": "edits accepted", "plan": "plan only", "bypass": "asks nothing"}


@dataclass(frozen=True, slots=True)
class Status:
    """What the status line shows; `hit_rate` is None before the first reply."""

    model: str
    tokens: int
    window: int
    state: Literal["ok", "warning", "compact", "blocked"] = "ok"
    hit_rate: float | None = None
    cost: float = 0.0
    unpriced: int = 0
    mode: str = "ask"
    running: tuple[str, ...] = ()


def render(status: Status | None, width: int) -> Text:
    """The parts that fit, in order; the least important are dropped first. None: no session yet."""
    parts = [(0, Text("opening…", "dim"))] if status is None else _parts(status)
    kept = set(range(len(parts)))
    for dropped in sorted(kept, key=lambda at: parts[at][0], reverse=True):
        if _size(parts[at][1] for at in kept) <= width or len(kept) == 1:
            break
        kept.discard(dropped)
    shown = Text(" ", no_wrap=True, overflow="ellipsis").append_text(
        Text("  ").join(parts[at][1] for at in sorted(kept))
    )
    shown.truncate(max(width, 1), overflow="ellipsis")
    return shown


def _parts(status: Status) -> list[tuple[int, Text]]:
    """Each part with its rank: 0 is dropped last."""
    filled = status.tokens / max(status.window, 1)
    colour = _FILL[status.state]
    parts = [
        (1, Text(printable(status.model), "bold")),
        (5, bar(filled, colour)),
        (0, Text(f"{filled:.0%} of {tokens(status.window)}", colour)),
    ]
    if status.hit_rate is not None:
        parts.append((3, Text(f"cache {status.hit_rate:.0%}")))
    cost = dollars(status.cost) + (" + ?" if status.unpriced else "")
    parts.append((2, Text(cost)))
    if status.mode in _MODES:
        parts.append((4, Text(_MODES[status.mode], "yellow")))
    if status.running:
        parts.append((6, Text(f"{', '.join(status.running)}…", "dim")))
    return parts


def bar(filled: float, style: str, width: int = _BAR) -> Text:
    """A share as a bar; any share above 0 shows, and only a full one looks full."""
    cells = min(width, max(0, int(filled * width)))
    if filled > 0 and cells == 0:
        cells = 1
    return Text("█" * cells, style).append("░" * (width - cells), "dim")


def _size(parts: Iterable[Text]) -> int:
    """Cells, with one space before the first part and two between any two."""
    return sum(cell_len(part.plain) + 2 for part in parts) - 1
