"""Our layers on a recorded session: the session's own upkeep, fed with what was said and used.

No model is asked: notes and summaries are what rules make of the transcript, and what forks would
cost that refine the notes is added. Files that a compaction restores are as the agent last read
them.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from counterfactual import Prompt, SideCall
from trajectories import Trajectory, row_of

from reverie.agent.permissions import Consent, by_mode
from reverie.agent.processes import Background
from reverie.agent.toolbox import Toolbox
from reverie.agent.tools import Workplace
from reverie.context.facts.calls import action_of
from reverie.context.profiles import PROFILES, Profile
from reverie.context.session_notes.update import Notebook, NoteTaker, plan
from reverie.context.tool_results import PRINTING, Budget
from reverie.context.upkeep import Upkeep
from reverie.conversation.conversation import Conversation
from reverie.conversation.journal import Journal
from reverie.conversation.records import Said, Used
from reverie.core.messages import Message, Text, ToolUse, new_message
from reverie.core.request import Head
from reverie.core.usage import Prices, Usage
from reverie.core.window import Ttl
from reverie.events import LayerFired, NotesUpdated, TroubleNoted
from reverie.learning import extraction
from reverie.learning.extraction.fork import MOST_TURNS
from reverie.learning.extraction.prompts import (
    Spending,
    affordable,
    as_texts,
    directive,
    occasion,
    offers,
    past_directive,
)
from reverie.models.offline import ScriptedModel
from reverie.session.layers import SOON
from reverie.settings.schema import SETTINGS

# What a fork that refines the notes is taken to write: its edits, then a word that it is done.
EDITS_TOKENS = 800
DONE_TOKENS = 30
# What extraction is taken to write when it finds something.
SAVED_TOKENS = 250
# System prompt and tools of an agent that is told the new messages alone.
APART_HEAD = 2_500

# Commands and searches of the recorded agents.
SEEN_ONCE = (
    "Bash",
    "bash",
    "Grep",
    "grep",
    "Glob",
    "WebFetch",
    "WebSearch",
    "shell",
    "execute_bash",
)

_ON = {setting.key: bool(setting.default) for setting in SETTINGS}
_NUMBERS = {
    s.key: float(str(s.default))
    for s in SETTINGS
    if s.key.startswith("learning.") and s.key != "learning.batch"
}
PAUSE, SHARE = _NUMBERS["learning.pause"], _NUMBERS["learning.share"]


def as_shipped(name: str) -> bool:
    """A switch as it is when nobody touched it."""
    return _ON[f"features.{name}"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a session left unread, and what it had cost since a model last read it."""

    session: str
    person: str
    messages: tuple[Message, ...]
    spent: float


class Unread:
    """What the sessions so far left unread. Each person learns from their own sessions."""

    def __init__(self) -> None:
        self._waiting: list[Waiting] = []

    def of(self, trajectory: Trajectory) -> tuple[Waiting, ...]:
        return tuple(one for one in self._waiting if one.person == trajectory.person)

    def add(self, trajectory: Trajectory, messages: tuple[Message, ...], spent: float) -> None:
        self._waiting.append(Waiting(trajectory.name, trajectory.person, messages, spent))

    def drop(self, read: Collection[Waiting]) -> None:
        self._waiting = [one for one in self._waiting if one not in read]

    def settle(self) -> dict[str, float]:
        """By session, the most that reading the rest may cost under the rule; nothing waits then."""
        left, self._waiting = self._waiting, []
        return {one.session: SHARE * one.spent for one in left}


class OurLayers:
    """One session under our layers."""

    def __init__(
        self,
        trajectory: Trajectory,
        journals: Path,
        profile: Profile = PROFILES["balanced"],
        on: Callable[[str], bool] = as_shipped,
        unread: Unread | None = None,
    ) -> None:
        """`unread` is what earlier sessions left to learn from, and takes what this one leaves."""
        self._learnt: str | None = None
        self._unread = unread if unread is not None else Unread()
        self._carried = self._unread.of(trajectory)
        self._gathered: list[tuple[Message, ...]] = [one.messages for one in self._carried]
        self._spending = Spending()
        self._trajectory = trajectory
        self._refine_from = trajectory.window.compaction - SOON
        self._forks: list[SideCall] = []
        self._runner = asyncio.Runner()
        self._runner.get_loop().set_default_executor(_AtOnce())
        self._now = trajectory.calls[0].at
        row = row_of(trajectory.model)
        model = ScriptedModel(name=row.name, capabilities=row.capabilities, prices=row.prices)
        self._head = Head(row.name, (Text("head" * trajectory.head),))
        self._journal = Journal(journals / f"{trajectory.name}.jsonl")
        self._conversation = _Watched(self._journal, model, self)
        self._conversation.open(trajectory.name, self._head)
        self._background = Background(self._hear)
        self._stored = _Shelf()
        self._notebook = Notebook(_Page(self._stored), announce=self._hear)
        self._notes = NoteTaker(
            self._conversation, self._notebook, self._background, self._hear, on
        )
        workplace = Workplace(journals)
        consent = Consent(by_mode("plan", workplace))
        self._upkeep = _Upkeep(
            self._conversation,
            Toolbox((), workplace, consent),
            trajectory.window,
            self._stored,
            self._notes,
            on,
            self._hear,
            lambda: self._head,
            transcript=f"sessions/{trajectory.name}.jsonl",
            budget=_budget(profile),
            policy=profile.clearing,
            lean=profile.lean,
        )
        self._spoken = trajectory.spoken
        self.fired: Counter[str] = Counter()

    def now(self) -> float:
        return self._now

    @property
    def stored(self) -> Mapping[str, str]:
        return self._stored.texts

    def feed(self, message: Message) -> None:
        said = self._conversation.state.messages
        if message.role == "user" and said and said[-1].role == "assistant":
            self._runner.run(self._take_notes())
            if not said[-1].tool_uses:
                self._turn_ended(said[-1].at, message.at)
        self._upkeep.look(message)
        self._conversation.record(Said(message))

    def request(self, call: Used) -> Prompt:
        self._now = call.at
        self._conversation.breaks.clear()
        self._upkeep.store_tool_results()
        self._upkeep.microcompact()
        self._runner.run(self._upkeep.compact())
        shown = tuple(self._conversation.state.shown)
        side, self._forks = tuple(self._forks), []
        return Prompt(shown, "; ".join(self._conversation.breaks) or None, side)

    def answered(self, call: Used, usage: Usage, ttl: Ttl) -> None:
        self._conversation.kept_for = ttl
        counted = replace(usage, output=self._spoken.get(call.response, usage.output))
        self._conversation.record(Used(call.response, "main", call.model, counted, call.at))

    def ended(self) -> tuple[SideCall, ...]:
        last = self._conversation.state.messages[-1].at
        self._turn_ended(last, math.inf)
        side, self._forks = tuple(self._forks), []
        return side

    def close(self) -> None:
        self._runner.close()
        self._journal.close()

    async def _take_notes(self) -> None:
        self._notes.start_when_due()
        await self._background.drain()

    def _hear(self, event: object) -> None:
        match event:
            case LayerFired(layer):
                self.fired[layer] += 1
            case NotesUpdated():
                self.fired["notes"] += 1
                if self._conversation.state.tokens >= self._refine_from:
                    self.fired["notes refined"] += 1
                    self._forks += self._refinement()
            case TroubleNoted(where, what):
                raise SystemExit(f"{self._trajectory.name}: {where}: {what}")

    def _turn_ended(self, at: float, next_at: float) -> None:
        """Gather what was said; a model is asked after a pause, or when enough was gathered."""
        shown = tuple(self._conversation.state.shown)
        new = extraction.new_messages(shown, self._learnt)
        if not new:
            return
        self._learnt = new[-1].id
        if occasion(new) is not None:
            self._gathered.append(new)
        paused = next_at - at > PAUSE
        if self._gathered and (paused or len(self._gathered) >= MOST_TURNS):
            self._learn_if_affordable(
                shown, at + PAUSE if paused else at, ending=next_at == math.inf
            )

    def _learn_if_affordable(self, shown: tuple[Message, ...], at: float, *, ending: bool) -> None:
        """Ask a model if its price is a small share of what was paid; else the turns wait.

        Turns that wait when the session ends are read with those of the person's next sessions.
        """
        prices = self._conversation.model.prices or Prices.of(0, 0)
        spent = self._spending.follow(self._conversation.state.usages, prices)
        carried = sum(one.spent for one in self._carried)
        new = tuple(message for turn in self._gathered for message in turn)
        offer = offers(as_texts(new), self._conversation.state.tokens, prices, prices)
        apart = bool(self._carried) or offer.apart_is_cheaper
        price = offer.apart if apart else offer.fork
        if affordable(price, spent, SHARE, ending=ending, carried=carried):
            self._spending.dollars = 0.0
            self._gathered.clear()
            self._unread.drop(self._carried)
            self._carried = ()
            self._learn(shown, new, at, apart=apart)
        elif ending:
            own = self._gathered[len(self._carried) :]
            messages = tuple(message for turn in own for message in turn)
            if messages:
                self.fired["left unread"] += 1
                self._unread.add(self._trajectory, messages, self._spending.dollars)

    def _learn(
        self, shown: tuple[Message, ...], new: tuple[Message, ...], at: float, *, apart: bool
    ) -> None:
        """What extraction asks a model: a fork, or an agent of its own."""
        self.fired["extraction"] += 1
        make = past_directive if apart else directive
        task = new_message("user", Text(make(new, "memory", "")), origin="reverie")
        messages = (task,) if apart else (*shown, task)
        head = APART_HEAD if apart else 0
        call = SideCall(messages, SAVED_TOKENS, not apart, head, purpose="learning", at=at)
        self._forks.append(call)

    def _refinement(self) -> tuple[SideCall, SideCall]:
        """The two requests of a fork: the task, and the edits with their results."""
        shown = tuple(self._conversation.state.shown)
        task = plan(self._notebook.read(), self._notebook.file.path)
        asked = (*shown, new_message("user", Text(task), origin="reverie"))
        edits = new_message("assistant", Text("edit" * EDITS_TOKENS))
        done = (*asked, edits, new_message("user", Text("The files were edited."), origin="tool"))
        return (
            SideCall(asked, EDITS_TOKENS, on_prefix=True, purpose="notes"),
            SideCall(done, DONE_TOKENS, on_prefix=True, purpose="notes"),
        )


def _budget(profile: Profile) -> Budget:
    """The thresholds of the profile for the tools of all the recorded agents."""
    limits = {name: profile.threshold(name, 50_000) for name in SEEN_ONCE}
    return Budget(thresholds={**limits, PRINTING: profile.longest_print})


class _AtOnce(ThreadPoolExecutor):
    """Runs in this thread: handing work to another costs more than the work on a busy machine."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


class _Watched(Conversation):
    """Knows which breaks of the cache were announced before a request."""

    def __init__(self, journal: Journal, model: ScriptedModel, clock: OurLayers) -> None:
        super().__init__(journal, model, clock)
        self.breaks: list[str] = []
        self.kept_for: Ttl = "5m"

    @property
    def ttl(self) -> Ttl:
        return self.kept_for

    def expect_break(self, reason: str) -> None:
        self.breaks.append(reason)
        super().expect_break(reason)


class _Upkeep(Upkeep):
    """Restores files as far as the agent saw and changed them: the real ones are elsewhere."""

    def look(self, message: Message) -> None:
        for use in message.tool_uses:
            self._calls[use.id] = use
        for result in message.tool_results:
            called = self._calls.get(result.tool_use_id)
            if called is not None and not result.is_error:
                self._disk.follow(called, result.text)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._calls: dict[str, ToolUse] = {}
        self._disk = _Disk()

    def _read_file(self, path: str) -> str | None:
        return self._disk.read(path)


class _Disk:
    """The files of a session, as far as its calls tell: what was read, by line, and what changed."""

    def __init__(self) -> None:
        self._files: dict[str, list[str]] = {}

    def read(self, path: str) -> str | None:
        lines = self._files.get(path)
        return None if lines is None else "\n".join(lines)

    def follow(self, use: ToolUse, result: str) -> None:
        deed, given = action_of(use), use.input
        lines = self._files.setdefault(deed.target, [])
        match deed.kind:
            case "read":
                for found in _NUMBERED.finditer(result):
                    number = int(found[1])
                    if number <= _LONGEST_FILE:
                        lines += [""] * (number - len(lines))
                        lines[number - 1] = found[2]
            case "write":
                self._files[deed.target] = str(given.get("content") or "").split("\n")
            case "edit":
                old, new = str(given.get("old_string") or ""), str(given.get("new_string") or "")
                text = "\n".join(lines)
                self._files[deed.target] = text.replace(old, new, 1).split("\n") if old else lines
            case _:
                pass
        if not self._files[deed.target]:
            del self._files[deed.target]


# A line as a client shows it: its number, an arrow or a tab, its text.
_NUMBERED = re.compile(r"^ *(\d+)(?:→|\t)(.*)$", re.MULTILINE)
_LONGEST_FILE = 50_000


class _Shelf:
    """What was put aside, in memory."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def put(self, name: str, text: str) -> str:
        path = f"sessions/tool-results/{name}"
        self.texts[path] = text
        return path


class _Page:
    """The notes, in memory."""

    path = "sessions/notes.md"

    def __init__(self, shelf: _Shelf) -> None:
        self._shelf = shelf

    def read(self) -> str | None:
        return self._shelf.texts.get(self.path)

    def write(self, text: str) -> None:
        self._shelf.texts[self.path] = text
