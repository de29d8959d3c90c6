"""Plays the script through real sessions, with its own project, home and clock, and records it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from reverie import events
from reverie.cli.demo import script
from reverie.cli.invocation import tokens
from reverie.context import microcompaction, tool_results
from reverie.context.microcompaction import FULL_WINDOW
from reverie.context.user_messages import carried
from reverie.conversation.journal import Journal
from reverie.conversation.records import Opened, Said
from reverie.core.messages import Text, new_message
from reverie.core.prompt_cache.tracker import Broken
from reverie.core.usage import MAIN, Entry, Usage
from reverie.core.window import Window
from reverie.learning.dreaming.gates import lock_of
from reverie.learning.dreaming.service import dreams, report_of
from reverie.ports import Model
from reverie.session.build import open_session
from reverie.session.options import SessionOptions
from reverie.session.query import Session
from reverie.workspace import Workspace
from reverie.workspace.changes import open_inbox

RECALL, RESULTS, CLEARING, NOTES, COMPACTION, EXTRACTION, DREAMS = range(7)
_NUMBERS = {tool_results.NAME: RESULTS, microcompaction.NAME: CLEARING}
_SUMMARIES = {"notes": "the notes become the summary", "record": "old messages become a record"}
# Small, so that the session fills it more than once.
WINDOW = Window(32_000, "the demo")
MODEL, SELECTOR = "claude-sonnet-5", "claude-haiku-5-5"
# The same day for every run: dates and ages in the requests must not change the figures.
BEGINS = datetime(2026, 11, 10, 9, 10)
# The default limit, scaled to this window.
_LONGEST_RESULT = tool_results.Budget().per_result * WINDOW.tokens // FULL_WINDOW
_PERSONAL = ("REVERIE_", "CLAUDE_", "GIT_", "XDG_")
Tell: TypeAlias = Callable[["Turn"], Awaitable[None]]
_REPLY_SECONDS, _DRAIN_SECONDS, _HOUR = 4.0, 30.0, 3600.0


@dataclass(frozen=True, slots=True)
class Fired:
    """A layer did something (0 is recall); `before` and `after` are sizes in tokens."""

    layer: int
    what: str
    before: int | None = None
    after: int | None = None

    @property
    def sizes(self) -> str:
        before, after = self.before, self.after
        return f"{tokens(before)} → {tokens(after)}" if before is not None and after is not None else ""  # fmt: skip


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the person and all that followed, side calls and learning included; `largest`
    is of the conversation alone, `away` the seconds for which the session was closed before it."""

    number: int
    asks: str
    requests: int
    usage: Usage
    cost: float
    spent: float
    context: int
    largest: int
    fired: Sequence[Fired] = ()
    away: float = 0.0


@dataclass(frozen=True, slots=True)
class Learnt:
    """What layer 5 or 6 did. `foreign` are kept memories that are not in the person's words."""

    layer: int
    name: str
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    kept: Sequence[str] = ()
    foreign: Sequence[str] = ()
    waiting: Sequence[str] = ()
    refused: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """One question asked twice; `memories` are the files that the answer with memory rests on."""

    name: str
    question: str
    with_memory: str
    without_memory: str
    memories: Sequence[str]
    origin: str


@dataclass(slots=True)
class Run:
    """The record of one variant. `found` says where early facts were when they were asked for at the end, `missing` lists the person's messages that the last request no longer has."""

    name: str
    about: str = ""
    off: Sequence[str] = ()
    turns: list[Turn] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    found: dict[str, list[str]] = field(default_factory=dict)
    missing: Sequence[str] = ()
    expected_breaks: int = 0
    unexpected_breaks: int = 0
    cost_without_cache: float = 0.0
    troubles: list[str] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    learnt: Sequence[Learnt] = ()
    answers: list[Answer] = field(default_factory=list)

    @property
    def usage(self) -> Usage:
        return sum((turn.usage for turn in self.turns), Usage())

    @property
    def cost(self) -> float:
        return self.turns[-1].spent if self.turns else 0.0

    @property
    def largest_request(self) -> int:
        return max(turn.largest for turn in self.turns)

    @property
    def full_in_turn(self) -> int | None:
        """The turn in which a request would be refused; None if all fit the window."""
        return next((turn.number for turn in self.turns if turn.largest >= WINDOW.blocking), None)

    def fired(self, layer: int) -> int:
        return sum(fired.layer == layer for turn in self.turns for fired in turn.fired)

    def spent_on(self, purpose: str = "", since: int = 0) -> tuple[int, Usage, float]:
        """Calls, tokens and dollars, for one purpose or all."""
        entries = [one for one in self.entries[since:] if purpose in ("", one.purpose)]
        usage = sum((one.usage for one in entries), Usage())
        return len(entries), usage, sum(one.cost or 0.0 for one in entries)

    @contextmanager
    def recording(self, scene: script.Scene, session: Session) -> Iterator[None]:
        """Record what happens inside as one turn."""
        before, fired = len(self.entries), list[Fired]()
        with session.announce.subscribed(lambda event: fired.extend(self._hear(event, session))):
            yield
        _, usage, cost = self.spent_on(since=before)
        main = [one.usage.prompt for one in self.entries[before:] if one.purpose == MAIN]
        size, away = session.conversation.state.tokens, 60 * scene.pause if scene.leaves else 0.0
        number, spent = len(self.turns) + 1, self.cost + cost
        self.turns.append(Turn(number, scene.person, len(main), usage, cost, spent, size, max(main, default=0), fired, away))  # fmt: skip

    def _hear(self, event: events.Event, session: Session) -> Iterator[Fired]:
        match event:
            case events.MoneySpent(entry):
                self.entries.append(entry)
                prices, usage = session.conversation.model.prices, entry.usage
                plain = Usage(input=usage.prompt, output=usage.output)
                cached = prices if usage.cache_read or usage.cache_write else None
                self.cost_without_cache += cached.cost(plain) if cached else entry.cost or 0.0
            case events.CacheBroke(_, _, Broken()):
                self.unexpected_breaks += 1
            case events.CacheBroke():
                self.expected_breaks += 1
            case events.TroubleNoted(where, what):
                self.troubles.append(f"{where}: {what}")
            case events.MemoriesSaved(files):
                self.saved += files
        yield from _fired(event, session)


def _fired(event: events.Event, session: Session) -> Iterator[Fired]:
    files = ", ".join(getattr(event, "files", ())).replace(".md", "")
    match event:
        case events.LayerFired(layer, before, after) if layer in _NUMBERS:
            yield Fired(_NUMBERS[layer], layer, before, after)
        case events.LayerFired(_, before, after):
            how = session.conversation.state.compactions[-1].how
            what = _SUMMARIES.get(how, "the model writes a summary")
            yield Fired(NOTES if how == "notes" else COMPACTION, what, before, after)
        case events.NotesUpdated(_, by):
            yield Fired(NOTES, f"notes, by {by}")
        case events.MemoriesSurfaced():
            yield Fired(RECALL, files)
        case events.MemoriesSaved(_, waiting):
            parts = (f"saved: {files}" if files else "", f"for your inbox: {waiting}" if waiting else "")  # fmt: skip
            yield from (Fired(EXTRACTION, what) for what in parts if what)
        case events.DreamEnded(_, state):
            yield Fired(DREAMS, f"a dream, {state}: {files or 'nothing to change'}")


class Unlimited(Window):
    """The same thresholds, but no request is refused: shows what would have been sent."""

    @property
    def blocking(self) -> int:
        return 1 << 60


@contextmanager
def away_from_home(person: Path) -> Iterator[None]:
    """Run with another home, so that the user's own settings do not apply."""
    person.mkdir()
    environment = os.environ  # noqa: TID251 - nothing of the demo may reach the real home
    before = dict(environment)
    for name in [name for name in before if name.startswith(_PERSONAL)]:
        del environment[name]
    environment["HOME"] = str(person)
    try:
        yield
    finally:
        environment.clear()
        environment.update(before)


@dataclass(slots=True)
class Player:
    """Plays one variant of the session in its own folder; it is also the clock of the session."""

    folder: Path
    run: Run
    at: float = BEGINS.timestamp()

    def __post_init__(self) -> None:
        for name in ("ferry", "memory", "no-memory"):
            (self.folder / name).mkdir(parents=True)
        script.lay_out(self.folder / "ferry", self.folder / "memory")

    def now(self) -> float:
        return self.at

    def app(self, memory: str = "memory") -> Workspace:
        settings = (
            f"tools.Bash.result_threshold={_LONGEST_RESULT}",
            f"tools.Grep.result_threshold={_LONGEST_RESULT}",
            # Installed packages and the load of the machine must not change the figures.
            "recall.embedder=none",
            f"recall.timeout={_DRAIN_SECONDS}",
            *(f"features.{name}=false" for name in self.run.off),
            f"memory_directory={self.folder / memory}",
            "telemetry.enabled=false",
        )
        home = self.folder / "home"
        return Workspace.open(self.folder / "ferry", home=home, overrides=settings, clock=self)

    async def play(self, scenes: Sequence[script.Scene], tell: Tell | None = None) -> None:
        """Play all scenes; where the person leaves, the session is closed and resumed."""
        app, actor, run = self.app(), script.Actor(str(self.folder / "memory")), self.run
        models = self._models(actor)
        self._lay_out_past(app, scenes)
        starts = [i for i, scene in enumerate(scenes) if i == 0 or scene.leaves]
        for start, end in pairwise([*starts, len(scenes)]):
            async with self._session(app, models, "demo") as session:
                for scene in scenes[start:end]:
                    self.at += scene.pause * 60
                    with run.recording(scene, session):
                        await self._act(scene, actor, session)
                    if tell:
                        await tell(run.turns[-1])
                said = carried(session.conversation.assembled().request.messages)
        run.found = actor.found
        run.missing = [scene.person for scene in scenes if scene.person not in said]
        run.learnt = _learnt(app, run)

    async def ask(self, questions: Sequence[script.Scene]) -> None:
        """A week later, ask each question in two new sessions: with this memory, and without any."""
        self.at += 7 * 24 * _HOUR
        for number, question in enumerate(questions, 1):
            known, files = await self.answer(question, f"with-{number}", "memory")
            unknown, _ = await self.answer(question, f"without-{number}", "no-memory")
            kept = (one for one in self.run.learnt if {*files} & {*one.kept})
            origin = next(
                (f"layer {one.layer}, {one.name}" for one in kept), "saved in the session"
            )
            name = question.fact["name"]
            self.run.answers.append(Answer(name, question.person, known, unknown, files, origin))

    async def answer(
        self, question: script.Scene, session: str, memory: str
    ) -> tuple[str, list[str]]:
        """The answer in a new session with this memory folder, and the memories it rests on."""
        actor = script.Actor(str(self.folder / memory))
        async with self._session(self.app(memory), self._models(actor), session) as opened:
            return await self._act(question, actor, opened), actor.recalled

    async def _act(self, scene: script.Scene, actor: script.Actor, session: Session) -> str:
        actor.enter(scene)
        if scene.compacts and "autocompact" not in self.run.off:
            await session.upkeep.compact_now(instructions=scene.compacts)
        reply = ""
        async with aclosing(session.run(scene.person)) as stream:
            async for event in stream:
                if isinstance(event, events.Replied):
                    reply = event.reply.text
                    self.at += _REPLY_SECONDS
        await session.background.drain(_DRAIN_SECONDS)
        return reply

    def _models(self, actor: script.Actor) -> list[Model]:
        """The main model and the selector, billed like real ones."""
        parts = ((actor.speak, MODEL), (actor.select, SELECTOR))
        return [
            script.rehearsed(part, like=like, window=WINDOW.tokens, clock=self)
            for part, like in parts
        ]

    @asynccontextmanager
    async def _session(
        self, app: Workspace, models: list[Model], name: str
    ) -> AsyncIterator[Session]:
        """A new session of this name, or the one that exists, resumed."""
        (model, selector), journal = models, app.project.journal(name)
        resume = journal if journal.exists() else None
        options = SessionOptions(ready=model, mode="bypass", session=name, resume=resume)
        async with open_session(app, options) as session:
            script.let_select(selector, session, app)
            script.let_learn(selector, session, app)
            if "autocompact" in self.run.off:
                session.upkeep.window = Unlimited(WINDOW.tokens, WINDOW.source)
            yield session

    def _lay_out_past(self, app: Workspace, scenes: Sequence[script.Scene]) -> None:
        """The last dream was a day before the last scene; conversations came after it."""
        replies = sum(len(scene.replies) for scene in scenes[:-1])
        length = sum(scene.pause * 60 for scene in scenes) + replies * _REPLY_SECONDS
        dreamt = self.at + length - 24 * _HOUR
        lock = lock_of(app.memory().place, app.clock).path
        for folder in (lock.parent, app.project.journal("earlier").parent):
            folder.mkdir(parents=True, exist_ok=True)
        lock.touch()
        os.utime(lock, (dreamt, dreamt))
        for number, one in enumerate(script.CONVERSATIONS, 1):
            name, at = f"earlier-{number}", dreamt + number * _HOUR
            asked = new_message("user", Text(one["person"]), at=at)
            answered = new_message("assistant", Text(one["answer"]), after=asked, at=at)
            with Journal(app.project.journal(name), app.scrubber) as journal:
                journal.append(Opened(name, at, str(app.project.root)), Said(asked), Said(answered))
            os.utime(app.project.journal(name), (at, at))


def _learnt(app: Workspace, run: Run) -> tuple[Learnt, Learnt]:
    """What layers 5 and 6 did in the session."""
    extract, dream, memory = run.spent_on("extract"), run.spent_on("dream"), app.memory()
    stored = {file: memory.topics.read(file) for file in run.saved}
    foreign = [file for file, one in stored.items() if one is None or one.topic.origin != "user"]
    proposals = (item.proposal for item in open_inbox(app, memory).items())
    waiting = [f"{one.text} ({one.reason})" for one in proposals]
    entries = report_of(memory).entries if dreams(memory) else ()
    kept = [file for entry in entries if entry.standing == "made" for file in entry.change.files]
    undecided = [entry.why for entry in entries if entry.standing == "for a person"]
    refused = [entry.why for entry in entries if entry.standing == "refused"]
    return (
        Learnt(EXTRACTION, "extraction", *extract, run.saved, foreign, waiting),
        Learnt(DREAMS, "dream", *dream, kept, (), undecided, refused),
    )
