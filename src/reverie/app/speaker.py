"""Who speaks in a session: the model, the one that takes over from it, and the meter on both."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reverie.app.wish import Wish
from reverie.core.spend import MAIN, Purpose
from reverie.core.window import Window, resolve_window
from reverie.events import Announce
from reverie.models.unthinking import UnthinkingModel

if TYPE_CHECKING:
    from reverie.app import App
    from reverie.ports import Model


@dataclass(slots=True)
class Speaker:
    """`now` is the model in use, without its meter; what is made here is closed with the session."""

    app: App
    wish: Wish
    session: str
    announce: Announce
    stack: AsyncExitStack
    now: Model = field(init=False)
    _other: Model | None = None

    def __post_init__(self) -> None:
        self.now = self.wish.ready or self.app.bare_model(self._name)
        hired = self.wish.hired
        if hired is None or not hired.borrows_model:
            self.stack.push_async_callback(self.now.aclose)

    @property
    def _name(self) -> str:
        return self.wish.model or self.app.settings.model("main")

    @property
    def purpose(self) -> Purpose:
        """What the conversation itself is booked under."""
        return MAIN if self.wish.hired is None else f"agent:{self.wish.hired.brief.name}"

    @property
    def window(self) -> Window:
        """Of the model the session began with."""
        if self.wish.ready is None:
            return self.app.window(self._name)
        return resolve_window(self.now.name, shipped=self.now.capabilities.window)

    def metered(self, purpose: Purpose, model: Model | None = None) -> Model:
        """Whoever speaks now, or another model, with a meter for a purpose."""
        hired, led = self.wish.hired, self.wish.led
        if model is None:
            model = UnthinkingModel(self.now) if led is not None and led.reworded else self.now
        # What agents spend is the session's, by which its cap is kept.
        account = self.session if hired is None else hired.account
        return self.app.metered(model, session=account, purpose=purpose, announce=self.announce)

    def fallback(self) -> tuple[Model, Window] | None:
        """The model that takes over, and its window; from then on forks and heads are its own."""
        name = self.app.settings["models.fallback"]
        if not isinstance(name, str):
            return None
        if self._other is None:
            self._other = self.now = self.app.bare_model(name)
            self.stack.push_async_callback(self._other.aclose)
        return self.metered(self.purpose, self._other), self.app.window(name)
