"""What a session used so far, counted from its events: money, tokens, layers, memories. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from reverie.core.spend import Entry
from reverie.core.usage import Usage
from reverie.events import Event, LayerFired, MemoriesSurfaced, MoneySpent, Replied


@dataclass(slots=True)
class Tally:
    """`usage` is the conversation's own; `spent` has every purpose, background work too."""

    usage: Usage = field(default_factory=Usage)
    requests: int = 0
    spent: list[Entry] = field(default_factory=list)
    layers: Counter[str] = field(default_factory=Counter)
    memories: list[str] = field(default_factory=list)

    def hear(self, event: Event) -> None:
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
        """Calls nobody knows the price of."""
        return sum(entry.cost is None for entry in self.spent)


def cost_of(entries: Iterable[Entry]) -> float:
    return sum(entry.cost or 0.0 for entry in entries)
