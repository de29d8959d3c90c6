"""What a conversation needs of a screen and a keyboard; a real terminal, or a dumb one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from reverie.agent.permissions import Answer
from reverie.surfaces.cli.chat.status import Status

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text


@dataclass(frozen=True, slots=True)
class Question:
    """What a tool wants to do, shown in full, and what "always" would cover."""

    shown: tuple[RenderableType, ...]
    scope: str


class Screen(Protocol):
    """Where things are shown."""

    @property
    def markdown(self) -> bool:
        """Can it show more than plain text?"""

    @property
    def width(self) -> int:
        """How many cells a line has."""

    def show(self, *renderables: RenderableType) -> None:
        """Print whole lines; they stay."""

    def under_way(self, what: Text | None, draft: str = "") -> None:
        """Say what is being done, and show the text that is not finished; None: nothing is."""


class Terminal(Screen, Protocol):
    """A screen with somebody in front of it."""

    # Called when the person wants to stop what runs; says whether anything did.
    on_interrupt: Callable[[], bool]

    def follow(self, status: Callable[[], Status]) -> None:
        """Keep telling how it stands, where there is a status line."""

    async def line(self) -> str | None:
        """The next thing the person types; None when they leave."""

    async def ask(self, question: Question) -> Answer:
        """May it be done?"""
