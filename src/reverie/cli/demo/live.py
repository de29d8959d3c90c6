"""The live view: one line a turn, as it happens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.cli.demo.hearing import (
    CLEARING,
    COMPACTION,
    DREAMS,
    EXTRACTION,
    NOTES,
    RECALL,
    RESULTS,
)
from reverie.cli.demo.report import came_of
from reverie.cli.demo.runs import Fired, Run, Turn
from reverie.cli.demo.stage import MODEL, WINDOW
from reverie.cli.figures import dollars, tokens

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

# How a layer is called in a line, its colour, and what the legend says of it.
_LAYERS = {
    RESULTS: ("1", "cyan", "long results go to files"),
    CLEARING: ("2", "yellow", "old results are cleared"),
    NOTES: ("3", "green", "notes, ready to be the summary"),
    COMPACTION: ("4", "magenta", "the model writes a summary"),
    EXTRACTION: ("5", "bright_cyan", "what should last is saved"),
    DREAMS: ("6", "bright_magenta", "a dream puts memory in order"),
    RECALL: ("M", "blue", "memories recalled"),
}
_FILL = {"ok": "green", "warning": "yellow", "compact": "red", "blocked": "red"}

_WIDEST = 132
# The columns that hold figures.
_FIGURES = (0, 2, 4, 5)
_BAR = 8


@dataclass(frozen=True, slots=True)
class LiveView:
    """Prints turns; after each it waits `seconds`, so that a person can follow."""

    console: Console
    seconds: float = 0.0

    def open(self, turns: int) -> None:
        """What is about to be seen."""
        from rich.text import Text

        self.console.print(
            Text(
                f"A session of {turns} turns through layers 1 to 6, with a scripted model: no key, no "
                "network, and nothing of yours is touched."
            )
        )
        self.console.print(
            Text(
                f"Real tools on a made-up project; a window of {WINDOW.tokens:,} tokens; prices and "
                f"cache rules of {MODEL}. Layers 5 and 6 are billed apart, at the end.",
                "dim",
            )
        )
        legend = Text()
        for mark, colour, about in _LAYERS.values():
            legend.append(f"{mark} ", f"bold {colour}").append(f"{about}   ")
        self.console.print(legend)
        self.console.print()
        names = ("#", "asked", "sent", "window", "cache", "cost", "layers (before → after)")
        self.console.print(self._row(*(Text(name, "dim") for name in names)))

    async def tell(self, turn: Turn) -> None:
        from rich.rule import Rule

        if turn.away:
            title = f"closed for lunch; resumed from its journal {turn.away / 60:.0f} minutes later"
            self.console.print(Rule(title, style="dim"), width=self._width)
        self.console.print(self._line(turn))
        if self.seconds:
            await asyncio.sleep(self.seconds)

    def close(self, run: Run) -> None:
        """What the dream at the end came to."""
        from rich.text import Text

        mark, colour, _ = _LAYERS[DREAMS]
        for dream in (one for one in run.learnt if one.layer == DREAMS and one.calls):
            told = Text.assemble((f"{mark}: ", f"bold {colour}"), "the dream: ")
            self.console.print(told.append("; ".join(came_of(dream))))

    @property
    def _width(self) -> int:
        return min(self.console.width, _WIDEST)

    def _line(self, turn: Turn) -> Table:
        from rich.text import Text

        return self._row(
            Text(str(turn.number), "dim"),
            Text(turn.asks.replace("\n", " "), overflow="ellipsis", no_wrap=True),
            Text(tokens(turn.usage.prompt)),
            _bar(turn.context),
            Text(f"{turn.usage.hit_rate * 100:.0f} %"),
            Text(dollars(turn.spent)),
            _flowed([_fired(fired) for fired in turn.fired], self._widths[-1]),
        )

    @property
    def _widths(self) -> tuple[int, ...]:
        """Of all columns; what the figures leave is shared by what was asked and what was done."""
        figures = (6, _BAR + 6, 5, 7)
        left = self._width - 2 - sum(figures) - len(figures) - 2
        return 2, left * 2 // 5, *figures, left - left * 2 // 5

    def _row(self, *cells: Text) -> Table:
        from rich.table import Table

        row = Table.grid(padding=(0, 1, 0, 0))
        for place, width in enumerate(self._widths):
            row.add_column(width=width, justify="right" if place in _FIGURES else "left")
        row.add_row(*cells)
        return row


def _bar(context: int) -> Text:
    from rich.text import Text

    share = context / WINDOW.tokens
    full = min(_BAR, round(share * _BAR))
    bar = Text().append("█" * full, _FILL[WINDOW.state(context)])
    return bar.append("░" * (_BAR - full), "dim").append(f" {share * 100:3.0f} %")


def _fired(fired: Fired) -> Text:
    from rich.text import Text

    mark, colour, _ = _LAYERS[fired.layer]
    text = Text().append(f"{mark}: ", f"bold {colour}")
    if fired.before is None or fired.after is None:
        return text.append(fired.what)
    return text.append(f"{tokens(fired.before)} → {tokens(fired.after)}")


def _flowed(pieces: Sequence[Text], width: int) -> Text:
    """As many pieces a line as fit: none is torn, one that is too long is cut."""
    from rich.text import Text

    text, used = Text(), 0
    for piece in pieces:
        piece.truncate(width, overflow="ellipsis")
        if used:
            fits = used + 2 + len(piece) <= width
            text.append("  " if fits else "\n")
            used = used + 2 if fits else 0
        text.append_text(piece)
        used += len(piece)
    return text
