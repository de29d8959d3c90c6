"""What a session is to be like: what a person, a program or another agent wants of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reverie.agent.permissions import Ask, Mode, nobody_to_ask
from reverie.agent.tools import Tool
from reverie.core.messages import Text
from reverie.core.request import Options
from reverie.core.usage import MAIN, Purpose
from reverie.core.window import Window, resolve_window
from reverie.events import Announce
from reverie.models.scripted import UnthinkingModel
from reverie.subagents.crew import Place
from reverie.subagents.members import Brief, Limits

if TYPE_CHECKING:
    from reverie.memory.opening import OpenMemory
    from reverie.ports import Model
    from reverie.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ExternalLoop:
    """Somebody else leads the conversation: head and tools are theirs, nothing of ours is added.

    `reworded` when they put into words of their own what is sent: it has not our bytes then.
    """

    system: tuple[Text, ...] = ()
    options: Options | None = None
    reworded: bool = False


@dataclass(frozen=True, slots=True)
class SubagentRole:
    """An agent of somebody's crew: its own prompt, tools and files, and no memory of the project's.

    `role` stands where the session's own prompt would, `remembers` is a section on its own memory,
    which it may write `to`. `place` is where it belongs in a crew of this process.
    """

    brief: Brief
    under: Path
    team: str
    # The session that pays.
    account: str
    role: str
    remembers: str = ""
    writes_to: Path | None = None
    place: Place | None = None
    borrows_model: bool = False
    # What is left of the session's limits, in another process.
    limits: Limits | None = None


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What a person wants of a session: another model, an older conversation, other rules."""

    model: str | None = None
    resume: Path | None = None
    # The name of a new session; one is made up when there is none.
    session: str | None = None
    mode: Mode | None = None
    ask: Ask = nobody_to_ask
    tools: Sequence[Tool] = ()
    # May it dream after a turn? Not where nobody will wait for it.
    dreams: bool = True
    system: str = ""
    # A model that is already there, instead of one by name: for tests, demos and embedding.
    ready: Model | None = None
    # Another memory than the project's own; False for none.
    memory: OpenMemory | Literal[False] | None = None
    led: ExternalLoop | None = None
    # What makes another agent of it, hired for a task: see `app.crew`.
    hired: SubagentRole | None = None


@dataclass(slots=True)
class SessionModel:
    """`now` is the model in use, without its meter; what is made here is closed with the session."""

    app: Workspace
    wish: SessionOptions
    session: str
    announce: Announce
    stack: AsyncExitStack
    now: Model = field(init=False)
    _fallback: Model | None = None

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

    def change_to_fallback(self) -> tuple[Model, Window] | None:
        """Make the fallback model the one in use; None, and no change, where that is no other one."""
        name = self.app.settings["models.fallback"]
        if not isinstance(name, str):
            return None
        if self._fallback is None:
            self._fallback = self.app.bare_model(name)
            self.stack.push_async_callback(self._fallback.aclose)
        if self._fallback.name == self.now.name:
            return None
        self.now = self._fallback
        return self.metered(self.purpose, self.now), self.app.window(name)
