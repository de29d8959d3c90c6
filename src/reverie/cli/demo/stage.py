"""Where the demo plays: a project and a home of its own, time of its own, and real sessions in them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from reverie.cli.demo.actor import Actor
from reverie.cli.demo.hearing import Hearing
from reverie.cli.demo.learnt import lay_out_past, learnt
from reverie.cli.demo.past import SEEDS
from reverie.cli.demo.project import lay_out
from reverie.cli.demo.rehearsal import let_select, rehearsed
from reverie.cli.demo.runs import Run, Turn, Variant
from reverie.cli.demo.script import HOUR, Scene
from reverie.context.microcompaction.batches import FULL_WINDOW
from reverie.context.tool_results import Budget
from reverie.context.user_messages import carried
from reverie.core.window import Window
from reverie.events import Replied
from reverie.ports import Model
from reverie.session.build import open_session
from reverie.session.options import SessionOptions
from reverie.session.query import Session
from reverie.workspace import Workspace

SESSION = "demo"
# Small, so that a session of forty turns fills it more than once.
WINDOW = Window(32_000, "the demo")
MODEL = "claude-sonnet-5"
SELECTOR = "claude-haiku-5-5"

# In characters, the share of this window that the default is of a window of 200,000 tokens.
_LONGEST_RESULT = Budget().per_result * WINDOW.tokens // FULL_WINDOW

# Whatever somebody set for themselves: nothing of it holds here.
_PERSONAL = ("REVERIE_", "CLAUDE_", "GIT_", "XDG_")

_REPLY_SECONDS = 4.0
_DAY = 24 * HOUR
_DRAIN_SECONDS = 30.0

Tell: TypeAlias = Callable[[Turn], Awaitable[None]]


@dataclass(slots=True)
class StageClock:
    """Time that passes when the script says so."""

    at: float

    def now(self) -> float:
        return self.at

    def wait(self, seconds: float) -> None:
        self.at += seconds


class Unlimited(Window):
    """The same window with its thresholds, but nothing is refused: to see what would have been sent."""

    @property
    def blocking(self) -> int:
        return 1 << 60


@contextmanager
def away_from_home(person: Path) -> Iterator[None]:
    """Until this is left, the process has another home, and no setting of the one who started it."""
    person.mkdir()
    environment = os.environ  # noqa: TID251 - nothing of the demo may reach the real home
    before = dict(environment)
    for name in before:
        if name.startswith(_PERSONAL):
            del environment[name]
    environment["HOME"] = str(person)
    try:
        yield
    finally:
        environment.clear()
        environment.update(before)


@dataclass(slots=True)
class Stage:
    """One variant of the session, from the first scene to the last."""

    folder: Path
    variant: Variant
    clock: StageClock
    app: Workspace = field(init=False)
    _actor: Actor = field(init=False)
    _model: Model = field(init=False)
    _selector: Model = field(init=False)

    def __post_init__(self) -> None:
        project, memory = self.folder / "ferry", self.folder / "memory"
        project.mkdir(parents=True)
        memory.mkdir()
        lay_out(project)
        for name, text in SEEDS:
            (memory / name).write_text(text, encoding="utf-8")
        self._actor = Actor(str(memory))
        self._model = rehearsed(
            self._actor.speak, like=MODEL, window=WINDOW.tokens, clock=self.clock
        )
        self._selector = rehearsed(
            self._actor.select, like=SELECTOR, window=WINDOW.tokens, clock=self.clock
        )
        self.app = Workspace.open(
            project, home=self.folder / "home", overrides=self._settings(memory), clock=self.clock
        )

    def _settings(self, memory: Path) -> tuple[str, ...]:
        return (
            f"tools.Bash.result_threshold={_LONGEST_RESULT}",
            f"tools.Grep.result_threshold={_LONGEST_RESULT}",
            # What is installed beside Reverie must not change the figures.
            "recall.embedder=none",
            *(f"features.{name}=false" for name in self.variant.off),
            f"memory_directory={memory}",
            "telemetry.enabled=false",
        )

    async def play(self, scenes: tuple[Scene, ...], tell: Tell) -> Run:
        """All scenes, each told when it is over; where the person leaves, the session is resumed."""
        if self.variant.learns:
            lay_out_past(self.app, self.clock.now() + _begins_last(scenes) - _DAY)
        hearing = Hearing()
        turns: list[Turn] = []
        for sitting in _sittings(scenes):
            async with self._session(resume=bool(turns)) as session:
                for scene in sitting:
                    self.clock.wait(scene.pause)
                    with hearing.of(session):
                        await self._act(scene, session)
                    turns.append(hearing.turn(scene, session))
                    await tell(turns[-1])
                said = carried(session.conversation.assembled().request.messages)
        missing = tuple(scene.asks for scene in scenes if scene.asks not in said)
        return Run(
            variant=self.variant,
            window=WINDOW,
            turns=tuple(turns),
            found=self._actor.found,
            missing=missing,
            expected_breaks=hearing.expected_breaks,
            unexpected_breaks=hearing.unexpected_breaks,
            uncached_cost=hearing.uncached_cost,
            troubles=tuple(hearing.troubles),
            learnt=learnt(self.app, hearing) if self.variant.learns else (),
        )

    async def _act(self, scene: Scene, session: Session) -> None:
        self._actor.enter(scene)
        if scene.compacts and self.variant.compacts:
            await session.upkeep.compact_now(instructions=scene.compacts)
        async with aclosing(session.run(scene.asks)) as events:
            async for event in events:
                if isinstance(event, Replied):
                    self.clock.wait(_REPLY_SECONDS)
        await session.background.drain(_DRAIN_SECONDS)

    @asynccontextmanager
    async def _session(self, *, resume: bool) -> AsyncIterator[Session]:
        journal = self.app.project.journal(SESSION) if resume else None
        wish = SessionOptions(ready=self._model, mode="bypass", session=SESSION, resume=journal)
        async with open_session(self.app, wish) as session:
            let_select(self._selector, session, self.app)
            if not self.variant.compacts:
                session.upkeep.window = Unlimited(WINDOW.tokens, WINDOW.source)
            yield session


def _begins_last(scenes: tuple[Scene, ...]) -> float:
    """How long after the beginning the last scene starts: then a day has passed since the last dream."""
    replies = sum(len(scene.replies) for scene in scenes[:-1])
    return sum(scene.pause for scene in scenes) + replies * _REPLY_SECONDS


def _sittings(scenes: tuple[Scene, ...]) -> Iterator[tuple[Scene, ...]]:
    """The scenes, parted where the person closes the session."""
    starts = [i for i, scene in enumerate(scenes) if i == 0 or scene.leaves]
    for start, end in pairwise([*starts, len(scenes)]):
        yield scenes[start:end]
