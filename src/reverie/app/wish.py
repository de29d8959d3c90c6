"""What a session is to be like: what a person, a program or another agent wants of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reverie.agent.permissions import Ask, Mode, nobody_to_ask
from reverie.agent.tools import Tool
from reverie.core.messages import Text
from reverie.core.request import Options
from reverie.layers.teamwork.limits import Limits
from reverie.session.crew.crew import Place
from reverie.session.crew.members import Brief

if TYPE_CHECKING:
    from reverie.app.memory import OpenMemory
    from reverie.ports import Model


@dataclass(frozen=True, slots=True)
class Led:
    """Somebody else leads the conversation: head and tools are theirs, nothing of ours is added.

    `reworded` when they put into words of their own what is sent: it has not our bytes then.
    """

    system: tuple[Text, ...] = ()
    options: Options | None = None
    reworded: bool = False


@dataclass(frozen=True, slots=True)
class Hired:
    """An agent of somebody's crew: its own prompt, tools and files, and no memory of the project's.

    `role` stands where the session's own prompt would, `remembers` is a section on its own memory,
    which it may write `to`. `place` is where it belongs in a crew of this process.
    """

    brief: Brief
    under: Path
    team: Path
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
class Wish:
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
    led: Led | None = None
    # What makes another agent of it, hired for a task: see `app.crew`.
    hired: Hired | None = None
