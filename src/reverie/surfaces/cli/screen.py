"""The terminal as rich draws on it: whatever is drawn, only we steer it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from reverie.core.foreign_text import printable


class Screen(Console):
    """A console through which no text reaches the terminal unchecked.

    Colours and cursor movements are styles and control segments, never text; so every text that
    would move a cursor or turn a line round is foreign, wherever in a table or a list it stands.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(printable(text), style)

    def on_broken_pipe(self) -> None:
        # Rich would exit with 1; the group knows better.
        raise BrokenPipeError
