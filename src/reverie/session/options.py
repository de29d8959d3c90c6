"""How a session is configured by a person, a program or another agent."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reverie.agent.permissions import Ask, Mode, deny_unasked
from reverie.agent.tools import Tool
from reverie.core.messages import Text
from reverie.core.request import Options, ToolSpec
from reverie.core.usage import MAIN, Purpose
from reverie.core.window import Window, resolve_window
from reverie.events import Announce
from reverie.models.wrappers import UnthinkingModel
from reverie.subagents.crew import Place
from reverie.subagents.members import Brief, Limits

if TYPE_CHECKING:
    from reverie.memory.opening import OpenMemory
    from reverie.ports import Model
    from reverie.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ExternalLoop:
    """Another program runs the agent loop: it brings its own head and tools.

    `reworded` means that it sends requests in its own wording, not the bytes prepared here. `tools`
    are those it declares, where they need not be checked here; None: the session's own.
    """

    system: tuple[Text, ...] = ()
    options: Options | None = None
    reworded: bool = False
    tools: tuple[ToolSpec, ...] | None = None


@dataclass(frozen=True, slots=True)
class SubagentRole:
    """Makes a session a sub-agent: its own prompt, tools and files, without the project's memory.

    `prompt` replaces the session's own system prompt, `memory_prompt` describes the agent's own
    memory, which it may write in `memory_folder`. `place` is its place in a crew of this process.
    """

    brief: Brief
    folder: Path
    team: str
    # The session that pays.
    account: str
    prompt: str
    memory_prompt: str = ""
    memory_folder: Path | None = None
    place: Place | None = None
    shares_model: bool = False
    # What is left of the session's limits when the agent runs in another process.
    limits: Limits | None = None


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Options of one session; settings apply where an option is None."""

    model: str | None = None
    resume: Path | None = None
    # The id of a new session; generated when None.
    session: str | None = None
    mode: Mode | None = None
    ask: Ask = deny_unasked
    tools: Sequence[Tool] = ()
    # Whether it may dream after a turn; False where the process will not wait for it.
    dreams: bool = True
    system: str = ""
    # A model object instead of a model by name: for tests, demos and embedding.
    ready: Model | None = None
    # A memory other than the project's own; False for none.
    memory: OpenMemory | Literal[False] | None = None
    external_loop: ExternalLoop | None = None
    # Set when the session is a sub-agent hired for a task.
    subagent: SubagentRole | None = None


@dataclass(slots=True)
class SessionModel:
    """The model of a session and its fallback, both closed with the session.

    `now` is the model in use, without a meter.
    """

    app: Workspace
    options: SessionOptions
    session: str
    announce: Announce
    stack: AsyncExitStack
    now: Model = field(init=False)
    _fallback: Model | None = None

    def __post_init__(self) -> None:
        self.now = self.options.ready or self.app.bare_model(self._name)
        subagent = self.options.subagent
        if subagent is None or not subagent.shares_model:
            self.stack.push_async_callback(self.now.aclose)

    @property
    def _name(self) -> str:
        return self.options.model or self.app.settings.model("main")

    @property
    def purpose(self) -> Purpose:
        """The purpose that the conversation's own requests are metered under."""
        return (
            MAIN if self.options.subagent is None else f"agent:{self.options.subagent.brief.name}"
        )

    @property
    def window(self) -> Window:
        """The window of the model the session began with."""
        if self.options.ready is None:
            return self.app.window(self._name)
        return resolve_window(self.now.name, shipped=self.now.capabilities.window)

    def metered(self, purpose: Purpose, model: Model | None = None) -> Model:
        """The model in use, or the given one, with a meter for a purpose."""
        subagent, external = self.options.subagent, self.options.external_loop
        if model is None:
            model = (
                UnthinkingModel(self.now)
                if external is not None and external.reworded
                else self.now
            )
        # Sub-agents spend on the session's account, so that its cap covers them.
        account = self.session if subagent is None else subagent.account
        return self.app.metered(model, session=account, purpose=purpose, announce=self.announce)

    def change_to_fallback(self) -> tuple[Model, Window] | None:
        """Switch to the fallback model; None when there is no other model to switch to."""
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
