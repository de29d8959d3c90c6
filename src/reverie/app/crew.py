"""Where the agents of a session work: sessions in this process, processes of their own, worktrees."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agent.permissions import Mode, nobody_to_ask
from reverie.app.agent_types import agent_types
from reverie.app.models import OFFLINE
from reverie.app.team_mail import SessionWire, TeamMail
from reverie.app.wish import Hired, Wish
from reverie.core.agent_mail import Letter
from reverie.core.messages import Message, Text, new_message
from reverie.core.request import Head, Options, Request
from reverie.core.spend import Purpose
from reverie.errors import InputError, StorageError
from reverie.events import Announce
from reverie.layers.teamwork.agent_types import AgentType
from reverie.layers.teamwork.limits import Limits
from reverie.layers.teamwork.lines import digest, directive
from reverie.ports import Model, complete
from reverie.session.background import Background
from reverie.session.conversation import Conversation
from reverie.session.crew.crew import LOST, Crew, Place
from reverie.session.crew.members import LEAD, Brief, Member
from reverie.session.crew.prompts import member_prompt
from reverie.session.crew.seat import Approval, Seat
from reverie.session.crew.watching import Watch
from reverie.session.records import AgentLeft
from reverie.settings.sources import environment
from reverie.stores import agent_socket, bridges
from reverie.stores.agent_memory import AgentMemory, open_agent_memory
from reverie.stores.mailbox import Post
from reverie.stores.socket_files import socket_path
from reverie.stores.worktrees import Kept, NoWorktree, Worktree, Worktrees

if TYPE_CHECKING:
    from reverie.app import App
    from reverie.session.query import Session

_LISTS = frozenset({"tools", "denied", "notes"})
# How long a process may take to end after it was asked to.
END_SECONDS = 5.0


@dataclass(slots=True)
class Quarters:
    """What the agents of one session share with it: the app, its wishes, a folder for their files."""

    app: App
    wish: Wish
    folder: Path
    post: Post
    crew: Crew | None = None

    def transcript(self, brief: Brief) -> str:
        if brief.how != "fork":
            return str(self.folder / f"{brief.name}.jsonl")
        hired = self.wish.hired
        leads = brief.by == (LEAD if hired is None else hired.brief.name)
        beside = self.folder.parent if leads else self.folder / brief.by
        return str(beside / "forks" / f"agent-{brief.name}-1.jsonl")

    @asynccontextmanager
    async def open(self, member: Member, seat: Seat) -> AsyncIterator[Session]:
        brief = member.brief
        async with AsyncExitStack() as stack:
            seat.mail = mail = TeamMail(self.post, brief.name, self.app.clock)
            stack.callback(mail.close)
            if self.post.members():
                mail.open_box()
            app, branch = self.app, None
            if brief.how == "isolated":
                worktree = await asyncio.to_thread(self._worktree, brief)
                stack.push_async_callback(self._leave, worktree, member)
                app, branch = self._app_in(worktree.folder), worktree.branch
            if brief.plans_first:
                seat.approval = Approval(brief.by)
            stack.callback(self.notice_memories, brief)
            place = None if self.crew is None else Place(self.crew, seat)
            wish = self.wish_for(brief, place, branch)
            yield await stack.enter_async_context(app.session(wish))

    def notice_memories(self, brief: Brief) -> None:
        """What an agent wrote into its own memory becomes part of its history."""
        memory = self._memory(brief)
        if memory is not None:
            memory.store.notice_hand_edits()

    def wish_for(self, brief: Brief, place: Place | None, branch: str | None = None) -> Wish:
        """What an agent is like: its type's prompt and tools, the rights of whoever hired it."""
        kind, wish, memory = brief.agent_type, self.wish, self._memory(brief)
        isolated = brief.how == "isolated" and self.mode == "ask"
        return Wish(
            model=kind.model or wish.model,
            ready=None if kind.model else wish.ready,
            session=brief.name,
            # Nobody sees the question of an agent in the background.
            ask=wish.ask if brief.how == "wait" else nobody_to_ask,
            # What it edits in a worktree of its own meets nothing of the person's.
            mode="accept-edits" if isolated else self.mode,
            dreams=False,
            memory=False,
            system=wish.system,
            tools=wish.tools,
            hired=Hired(
                brief=brief,
                under=self.folder,
                team=self.post.team,
                role="\n\n".join((kind.prompt.strip(), member_prompt(brief, branch))),
                remembers="" if memory is None else memory.prompt(),
                writes_to=None if memory is None else memory.directory,
                place=place,
                borrows_model=kind.model is None and wish.ready is not None,
            ),
        )

    @property
    def mode(self) -> Mode:
        return self.wish.mode or self.app.settings.permission_mode

    def _memory(self, brief: Brief) -> AgentMemory | None:
        kind = brief.agent_type
        if kind.memory is None or not self.app.settings.memory_enabled:
            return None
        app = self.app
        return open_agent_memory(
            kind.name, kind.memory, app.project.root, app.settings.home, app.clock
        )

    # --- worktrees ---

    def _app_in(self, folder: Path) -> App:
        from reverie.app import App

        app = self.app
        return App(app.settings, app.project, app.clock, folder, app.overrides)

    def _worktree(self, brief: Brief) -> Worktree:
        # The end of a session's id is what tells it from others.
        name = f"{brief.name[:32]}-{self.folder.parent.name[-6:]}"
        folder = self.app.project.folder / "worktrees" / name
        made = Worktrees(environment()).add(self.app.project.root, name, folder)
        if isinstance(made, NoWorktree):
            raise InputError(f"it could not be isolated: {made.reason}")
        return made

    async def _leave(self, worktree: Worktree, member: Member) -> None:
        """Nothing was changed: the worktree goes. Otherwise it stays, and is named."""
        remove = partial(Worktrees(environment()).remove, worktree, keep_branch=False)
        left = await asyncio.to_thread(remove)
        if isinstance(left, Kept):
            files = ", ".join(left.changes.files[:20]) if left.changes else left.reason
            member.left_behind = (
                f"Its work is in {left.folder} on branch {left.branch}: {files}. Look at it, and merge "
                f"what should stay; then `git worktree remove` the folder."
            )

    # --- processes ---

    async def launch(self, member: Member) -> None:
        """The process ends when we do: it reads from a pipe that only we hold open."""
        self._open_boxes(member.name)
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{member.name}.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "reverie.surfaces.teammate"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        try:
            await self._converse(process, member)
            if await process.wait() != 0:
                raise StorageError(f"its process failed; {log.name} tells how")
        finally:
            await _ended(process)

    def _open_boxes(self, name: str) -> None:
        self.post.open(name)
        seats = self.crew.seats.values() if self.crew is not None else ()
        for seat in seats:
            if isinstance(seat.mail, TeamMail):
                seat.mail.open_box()

    async def _converse(self, process: asyncio.subprocess.Process, member: Member) -> None:
        """Give it its task; then hear how it gets on, until it has nothing more to say."""
        if process.stdin is None or process.stdout is None:
            return
        process.stdin.write(json.dumps(self._packed(member.brief)).encode() + b"\n")
        async for line in process.stdout:
            told = json.loads(line)
            member.answer = told.get("answer", member.answer)
            if self.crew is not None:
                self.crew.heard_from_afar(member, told.get("tokens", 0), told.get("line", ""))

    def _packed(self, brief: Brief) -> dict[str, Any]:
        app, wish = self.app, self.wish
        return {
            "project": str(app.place),
            "home": str(app.settings.home),
            "overrides": list(app.overrides),
            "team": str(self.post.team),
            "folder": str(self.folder),
            "mode": wish.mode,
            "model": wish.model,
            "system": wish.system,
            "brief": asdict(brief),
        }


@dataclass(frozen=True, slots=True)
class Packed:
    """What another process needs to open an agent's session."""

    app: App
    quarters: Quarters
    brief: Brief


def unpacked(data: Mapping[str, Any]) -> Packed:
    """The other end of `Quarters.launch`."""
    from reverie.app import App

    project, home = Path(data["project"]), Path(data["home"])
    app = App.open(project, home=home, overrides=data["overrides"])
    wish = Wish(model=data["model"], mode=data["mode"], system=data["system"])
    post = Post(Path(data["team"]), app.clock)
    quarters = Quarters(app, wish, Path(data["folder"]), post)
    return Packed(app, quarters, _unpacked_brief(data["brief"]))


def _unpacked_brief(data: Mapping[str, Any]) -> Brief:
    kind = data["agent_type"]
    lists = {
        key: value if value is None else tuple(value)
        for key, value in kind.items()
        if key in _LISTS
    }
    return Brief(**{**data, "agent_type": AgentType(**{**kind, **lists})})


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Ask it to end, then insist."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.terminate()
    with suppress(TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            await process.wait()
            return
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()


# --- a session's own crew ---


def new_crew(app: App, wish: Wish, folder: Path, announce: Announce) -> Place:
    """The place of whoever leads in this process, with a crew of its own."""
    hired = wish.hired
    team = app.project.folder / "teams" / folder.name if hired is None else hired.team
    post = Post(team, app.clock)
    quarters = Quarters(app, wish, folder / "agents", post)
    numbers = app.settings.number
    crew = quarters.crew = Crew(
        {kind.name: kind for kind in agent_types(app).types},
        quarters,
        announce,
        app.clock,
        SessionWire(app.settings.home),
        Limits(
            depth=int(numbers("agents.depth")),
            concurrent=int(numbers("agents.concurrent")),
            tokens=int(numbers("agents.tokens")),
            seconds=60 * numbers("agents.minutes"),
        ),
    )
    if hired is None:
        seat = Seat(LEAD, 0, LEAD)
    else:
        seat = Seat(hired.brief.name, hired.brief.depth, hired.brief.by)
        seat.approval = Approval(hired.brief.by) if hired.brief.plans_first else None
    seat.mail = mail = TeamMail(post, seat.name, app.clock)
    if post.members():
        mail.open_box()
    crew.seats[seat.name] = seat
    return Place(crew, seat)


def keep_crew(
    app: App,
    crew: Crew,
    conversation: Conversation,
    background: Background,
    metered: Callable[[Purpose, Model | None], Model],
) -> None:
    """Who is hired is written down; who was lost with an earlier process is, too."""
    state = conversation.state
    crew.record = conversation.record
    crew.taken = frozenset(state.hired)
    for name in state.hired.keys() - state.left.keys():
        conversation.record(AgentLeft(name, LOST, 0, conversation.now))
    side = app.settings.model("side")
    if side != OFFLINE:

        def make() -> Model:
            return metered("summary", app.bare_model(side))

        on = partial(app.switches.on, "agent_summary")
        watch = Watch(crew, partial(describe, make), on)
        background.start("agent lines", watch.keep(), watch.stop)


@asynccontextmanager
async def reachable(app: App, seat: Seat, session: str) -> AsyncIterator[None]:
    """Other sessions of this person can write to this one: `bridge:ID`, or its socket."""
    path = socket_path(app.settings.home, session)

    def deliver(letter: Letter) -> str | None:
        seat.receive(letter)
        return None

    async with agent_socket.listening(path, deliver):
        with bridges.register(app.settings.home, session, path, app.clock):
            yield


async def dismiss(place: Place) -> None:
    """The session ends: nobody it hired stays, and what is still unread is in the transcript."""
    await place.crew.aclose()
    unread = place.seat.news()
    if unread is not None and place.seat.conversation is not None:
        place.seat.conversation.say(unread, origin="reverie")
    place.seat.settle()
    if isinstance(place.seat.mail, TeamMail):
        place.seat.mail.close()


async def describe(make: Callable[[], Model], messages: Sequence[Message], previous: str) -> str:
    """The last steps in short, for the cheapest model: another model's cache is no use to it."""
    model = make()
    text = f"{digest(messages)}\n\n{directive(previous or None)}"
    asked = new_message("user", Text(text), origin="reverie")
    head = Head(model.name, (), (), Options(max_tokens=60))
    try:
        return (await complete(model, Request(head, (asked,)))).text
    finally:
        await model.aclose()
