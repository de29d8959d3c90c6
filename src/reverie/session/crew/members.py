"""Who is there: what an agent was asked to do, and how it stands."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from reverie.agent.permissions import Mode
from reverie.layers.teamwork.agent_types import AgentType

How: TypeAlias = Literal["wait", "background", "fork", "teammate", "isolated"]
WAYS: tuple[How, ...] = get_args(How)

LEAD = "lead"
DONE = "done"
FORK = "fork"


@dataclass(frozen=True, slots=True)
class Brief:
    """A task for an agent, and everything that decides how it works on it.

    A teammate that goes `apart` runs in a process of its own; one that `plans_first` changes
    nothing until the agent that hired it has approved its plan. What whoever hires may not do, it
    may not either: `mode`, `folder` and `model` are passed on, and whether the person can be asked.
    """

    name: str
    agent_type: AgentType
    how: How
    task: str
    summary: str
    by: str
    depth: int
    mode: Mode
    folder: str
    model: str | None = None
    asks: bool = False
    apart: bool = False
    plans_first: bool = False


@dataclass(slots=True)
class Member:
    """One agent of the crew, from its hiring on."""

    brief: Brief
    transcript: str
    began: float
    line: str = ""
    tokens: int = 0
    answer: str = ""
    # What else whoever hired it must know: where an isolated agent left its work.
    left_behind: str = ""
    why: str | None = None
    ended: float | None = None
    # A teammate has told what came of its first task.
    reported: bool = False
    work: asyncio.Task[None] | None = field(default=None, repr=False)
    # Why it is being stopped, while it is.
    stopped_for: str | None = None

    @property
    def name(self) -> str:
        return self.brief.name

    @property
    def running(self) -> bool:
        return self.why is None

    @property
    def hears(self) -> bool:
        """Can it be written to? A fork is somebody's thought, not somebody."""
        return self.running and self.brief.how != "fork"

    def report_of(self, why: str) -> str:
        """What came of it, for whoever hired it."""
        said = self.answer or "It said nothing."
        parts = [said] if why == DONE else [f"It ended early: {why}.", said]
        return "\n\n".join([*parts, *filter(None, [self.left_behind])])
