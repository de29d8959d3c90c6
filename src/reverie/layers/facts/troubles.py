"""Calls that failed, and what made them work again."""

from __future__ import annotations

from dataclasses import dataclass, field

from reverie.layers.facts.calls import Deed
from reverie.layers.facts.kept import Ends
from reverie.layers.facts.outcomes import Outcome
from reverie.layers.facts.values import Trouble

_FIRST, _LAST = 10, 30
_MOST_OPEN = 40
_MOST_CHANGED = 5


@dataclass(slots=True)
class _Open:
    """A failure that nothing has made up for yet."""

    deed: Deed
    parts: frozenset[str]
    lines: tuple[str, ...]
    times: int = 1
    changed: dict[str, None] = field(default_factory=dict)
    fixed_by: str = ""

    def as_fact(self) -> Trouble:
        changed = tuple(self.changed)[-_MOST_CHANGED:] if self.fixed_by else ()
        return Trouble(self.deed.headline, self.lines, self.times, changed, self.fixed_by)


class Troubles:
    def __init__(self) -> None:
        self._all: Ends[_Open] = Ends(_FIRST, _LAST)
        self._open: list[_Open] = []

    def did(self, deed: Deed, outcome: Outcome) -> None:
        match outcome.status:
            case "failed":
                self._failed(deed, outcome.lines)
            case "ok" if not outcome.lines:
                self._worked(deed)
            case _:
                pass

    @property
    def facts(self) -> tuple[Trouble, ...]:
        return tuple(trouble.as_fact() for trouble in self._all.items)

    def _failed(self, deed: Deed, lines: tuple[str, ...]) -> None:
        for known in self._open:
            if known.deed == deed and known.lines == lines:
                known.times += 1
                return
        trouble = _Open(deed, deed.parts, lines)
        self._all.add(trouble)
        self._open = [*self._open, trouble][-_MOST_OPEN:]

    def _worked(self, deed: Deed) -> None:
        """The same again, or something like it, went well; a changed file may yet be the reason."""
        parts = deed.parts
        still: list[_Open] = []
        for trouble in self._open:
            if trouble.parts and trouble.parts <= parts:
                trouble.fixed_by = deed.headline
                continue
            if deed.kind in ("edit", "write"):
                trouble.changed.pop(deed.target, None)
                trouble.changed[deed.target] = None
            still.append(trouble)
        self._open = still
