"""Layer 6 in a session: starts a dream after a turn if a day and enough sessions have passed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from reverie.agent.fork import SideAgents, Task, calls_of
from reverie.agent.permissions import fenced
from reverie.agent.processes import Background
from reverie.agent.tools import FolderCopy
from reverie.context import NotDue
from reverie.context.facts.calls import action_of, shortened
from reverie.core.request import Reply
from reverie.core.usage import DREAM
from reverie.events import Announce, DreamBegan, DreamEnded, Event, Replied
from reverie.learning.dreaming.dream import Branch, Dreamer
from reverie.learning.dreaming.gates import Due
from reverie.learning.dreaming.prompts import MOST_TURNS, Surroundings, model_dreamer
from reverie.learning.dreaming.review import Report, Turn

NAME = DREAM

# The lock may be taken over after an hour; a model that takes longer than this is replaced by rules.
MOST_SECONDS = 45 * 60.0
_LONGEST_TURN = 300


@dataclass(slots=True)
class Dreaming:
    """Starts dreams in the background. `gates` cost one stat on an ordinary turn."""

    gates: Callable[[], Due | NotDue]
    dream: Callable[[], Awaitable[Report | NotDue]]
    background: Background
    announce: Announce
    on: Callable[[str], bool]

    def after_turn(self) -> None:
        """Start a dream if it is due; on an ordinary turn this costs one stat."""
        if self.on("dream") and isinstance(self.gates(), Due):
            self.begin()

    def begin(self) -> bool:
        """Start a dream in the background; False when one is running."""
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
        self.announce(
            DreamEnded(
                report.id,
                report.state,
                tuple(dict.fromkeys(files)),
                report.why,
                len(report.open),
                report.cost,
                report.notes,
            )
        )


def dreamer_of(
    agents: SideAgents, around: Surroundings, model: str, *, after: Dreamer, instead: Dreamer
) -> Dreamer:
    """A dreamer that lets a side agent edit the copy of memory and nothing else.

    The rules run `after` it, or `instead` of it when it fails.
    """

    async def ask(directive: str, branch: Branch) -> str:
        workshop = FolderCopy(around.named, branch.folder) if around.named else None
        may = fenced(branch.folder)
        task = Task(NAME, directive, may, MOST_TURNS, workshop=workshop)

        def on_event(event: Event) -> None:
            if isinstance(event, Replied):
                branch.progress(_turn(event.reply))

        async with asyncio.timeout(MOST_SECONDS):
            return (await agents.run(task, on_event)).reply.text

    return model_dreamer(ask, around, model, after=after, instead=instead)


def _turn(reply: Reply) -> Turn:
    """One reply as a turn for the status that people watch."""
    actions = [action_of(use) for use in calls_of(reply)]
    files = (Path(action.target).name for action in actions if action.kind in ("edit", "write"))
    return Turn(shortened(reply.text, _LONGEST_TURN), len(actions), tuple(dict.fromkeys(files)))
