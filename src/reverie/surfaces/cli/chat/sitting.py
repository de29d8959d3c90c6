"""One session in front of a terminal, and everything a typed line may be about."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reverie.app.models import OFFLINE
from reverie.core.reply import TextDelta, ThinkingDelta
from reverie.surfaces.cli.chat.status import Status
from reverie.surfaces.cli.chat.tally import Tally, cost_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.app import App
    from reverie.app.wish import Wish
    from reverie.core.spend import Entry
    from reverie.events import Event
    from reverie.session.query import Session
    from reverie.surfaces.cli.chat.telling import Telling
    from reverie.surfaces.cli.chat.terminal import Terminal


@dataclass(slots=True)
class Sitting:
    """`before` is what the session had cost when it was resumed."""

    app: App
    session: Session
    terminal: Terminal
    telling: Telling
    wish: Wish
    before: list[Entry] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    _status: Status = field(init=False)

    def __post_init__(self) -> None:
        self.refresh()

    @property
    def offline(self) -> bool:
        return self.session.conversation.model.name == OFFLINE

    @property
    def spent(self) -> list[Entry]:
        """Every call of this session, in this process and before it."""
        return [*self.before, *self.tally.spent]

    def hear(self, event: Event) -> None:
        self.tally.hear(event)
        self.telling.hear(event)
        # Counting the window takes time; a piece of text does not change it by much.
        if not isinstance(event, TextDelta | ThinkingDelta):
            self.refresh()

    def show(self, *what: RenderableType) -> None:
        """Show the outcome of a command, set apart from what came before."""
        self.terminal.show("", *what)

    def refresh(self) -> None:
        """Measure what the status line tells."""
        state, window = self.session.conversation.state, self.session.upkeep.window
        spent = self.spent
        self._status = Status(
            model=self.session.conversation.model.name,
            tokens=state.tokens,
            window=window.tokens,
            state=window.state(state.tokens),
            hit_rate=state.usage.hit_rate if state.usage.prompt else None,
            cost=cost_of(spent),
            unpriced=sum(entry.cost is None for entry in spent),
            mode=self.wish.mode or self.app.settings.permission_mode,
        )

    def status(self) -> Status:
        return replace(self._status, running=self.session.background.running)
