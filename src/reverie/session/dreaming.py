"""Layer 6 at work in a session: after a turn, if a day and enough sessions have passed, a dream begins."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from reverie.agent.fork import Task
from reverie.agent.sandbox import fenced
from reverie.agent.tools import Workshop
from reverie.events import Announce, DreamBegan, DreamEnded
from reverie.layers import NotDue
from reverie.layers.dreaming.dream import Branch, Dreamer
from reverie.layers.dreaming.gates import Due
from reverie.layers.dreaming.prompts import MOST_TURNS, Surroundings, model_dreamer
from reverie.layers.dreaming.review import Report
from reverie.session.background import Background
from reverie.session.forks import Forks

NAME = "dream"


@dataclass(slots=True)
class Dreaming:
    """`gates` cost one look at a file on an ordinary turn; `dream` does the rest, elsewhere."""

    gates: Callable[[], Due | NotDue]
    dream: Callable[[], Awaitable[Report | NotDue]]
    background: Background
    announce: Announce
    on: Callable[[str], bool]

    def after_turn(self) -> None:
        """Dream if it is time; on an ordinary turn this is one look at a file."""
        if self.on("dream") and isinstance(self.gates(), Due):
            self.begin()

    def begin(self) -> bool:
        """Dream now, beside the conversation; False when one is under way."""
        return self.background.start(NAME, self._dream())

    async def _dream(self) -> None:
        self.announce(DreamBegan())
        try:
            report = await self.dream()
        except asyncio.CancelledError:
            self.announce(DreamEnded("", "killed", (), "it was stopped; memory is as it was"))
            raise
        if isinstance(report, NotDue):
            self.announce(DreamEnded("", "not begun", (), report.reason))
            return
        files = (file for change in report.with_standing("made") for file in change.files)
        self.announce(DreamEnded(report.id, report.state, tuple(dict.fromkeys(files)), report.why))


def dreamer_of(forks: Forks, around: Surroundings) -> Dreamer:
    """A fork of the conversation that works on a copy of memory, behind the fence."""

    async def ask(directive: str, branch: Branch) -> str:
        workshop = Workshop(around.named, branch.folder) if around.named else None
        may = fenced(branch.folder)
        task = Task(NAME, directive, may, MOST_TURNS, workshop=workshop)
        return (await forks.run(task)).reply.text

    return model_dreamer(ask, around)
