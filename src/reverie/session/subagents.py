"""Where the agents of a session work: sessions in this process, processes of their own, worktrees."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from reverie.agent.permissions import Answer, Ask, Asked, Call, nobody_to_ask
from reverie.conversation.conversation import Conversation
from reverie.conversation.records import AgentLeft
from reverie.core.messages import Message, Text, new_message
from reverie.core.request import Head, Options, Request
from reverie.core.usage import Purpose
from reverie.errors import InputError, StorageError
from reverie.events import Announce
from reverie.files.folders import make_private
from reverie.models.selection import OFFLINE
from reverie.ports import Model, Scrubber, complete
from reverie.session.options import SessionOptions, SubagentRole
from reverie.settings.sources import environment
from reverie.subagents.agent_memory import AgentMemory, open_agent_memory
from reverie.subagents.crew import LOST, Crew, Place
from reverie.subagents.identity import AgentIdentity, Approval
from reverie.subagents.letters import LEAD, Letter, outside_problem
from reverie.subagents.mail import SessionWire, TeamMail, mail_folder, open_post, team_name
from reverie.subagents.mail_store import Post
from reverie.subagents.members import Brief, Limits, Member, member_prompt
from reverie.subagents.progress import Watch
from reverie.subagents.progress_lines import digest, directive
from reverie.subagents.type_files import agent_types
from reverie.subagents.types import AgentType
from reverie.subagents.worktrees import Kept, NoWorktree, Worktree, Worktrees

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from reverie.session.query import Session
    from reverie.workspace import Workspace

# How the session of an agent is opened.
OpenSession: TypeAlias = (
    "Callable[[Workspace, SessionOptions], AbstractAsyncContextManager[Session]]"
)

_LISTS = frozenset({"tools", "denied", "notes"})
LONGEST_LINE = 8 * 1024 * 1024
_CHUNK = 64 * 1024
# How long a process may take to end after it was asked to.
END_SECONDS = 5.0


@dataclass(slots=True)
class SubagentHost:
    """What the agents of one session share with it: the app, its wishes, a folder for their files."""

    app: Workspace
    wish: SessionOptions
    open_session: OpenSession
    folder: Path
    post: Post
    # The session on whose account they work.
    account: str
    crew: Crew | None = None

    def transcript(self, brief: Brief) -> str:
        if brief.how != "fork":
            return str(self.folder / f"{brief.name}.jsonl")
        hired = self.wish.hired
        leads = brief.by == (LEAD if hired is None else hired.brief.name)
        beside = self.folder.parent if leads else self.folder / brief.by
        return str(beside / "forks" / f"agent-{brief.name}-1.jsonl")

    @asynccontextmanager
    async def open(self, member: Member, seat: AgentIdentity) -> AsyncIterator[Session]:
        brief, branch = member.brief, None
        async with AsyncExitStack() as stack:
            if self.crew is not None:
                seat.mail = mail = TeamMail(
                    self.post, brief.name, self.app.clock, self.crew.announce
                )
                stack.callback(mail.close)
                if self.post.members():
                    mail.open_box()
            if brief.how == "isolated":
                worktree = await self._worktree(brief, member)
                stack.push_async_callback(self._leave, worktree, member)
                seat.folder, branch = str(worktree.folder), worktree.branch
            seat.approval = Approval(brief.by) if brief.plans_first else None
            stack.callback(self.notice_memories, brief)
            place = None if self.crew is None else Place(self.crew, seat)
            wish = self.wish_for(brief, place, branch)
            session = self.open_session(self._app_in(Path(seat.folder)), wish)
            yield await stack.enter_async_context(session)

    def wish_for(
        self, brief: Brief, place: Place | None, branch: str | None = None
    ) -> SessionOptions:
        """What an agent is like: its type's prompt and tools, the rights of whoever hired it."""
        kind, wish, memory = brief.agent_type, self.wish, self._memory(brief)
        # A model of the program's own has no name; it is used unless another one is named.
        ready = wish.ready if brief.model == wish.model else None
        isolated = brief.how == "isolated" and brief.mode == "ask"
        return SessionOptions(
            model=brief.model,
            ready=ready,
            session=brief.name,
            # Nobody sees the question of an agent in the background, or of whom it hires.
            ask=_asking_as(brief.name, wish.ask) if brief.asks else nobody_to_ask,
            # What it edits in a worktree of its own meets nothing of the person's.
            mode="accept-edits" if isolated else brief.mode,
            dreams=False,
            memory=False,
            system=wish.system,
            tools=wish.tools,
            hired=SubagentRole(
                brief=brief,
                under=self.folder,
                team=self.post.team,
                account=self.account,
                role="\n\n".join((kind.prompt.strip(), member_prompt(brief, branch))),
                remembers="" if memory is None else memory.prompt(),
                writes_to=None if memory is None else memory.directory,
                place=place,
                borrows_model=ready is not None,
            ),
        )

    def notice_memories(self, brief: Brief) -> None:
        """What an agent wrote into its own memory becomes part of its history."""
        memory = self._memory(brief)
        if memory is not None:
            memory.record(self.app.scrubber)

    def _memory(self, brief: Brief) -> AgentMemory | None:
        kind = brief.agent_type
        if kind.memory is None or not self.app.settings.memory_enabled:
            return None
        # An agent's memory is one for all; a user's must not reach another.
        if self.app.user is not None:
            return None
        app = self.app
        return open_agent_memory(
            kind.name, kind.memory, app.project.root, app.settings.home, app.clock
        )

    # --- worktrees ---

    def _app_in(self, folder: Path) -> Workspace:
        from reverie.workspace import Workspace

        app = self.app
        return Workspace(app.settings, app.owner, app.clock, folder, app.overrides, app.user)

    async def _worktree(self, brief: Brief, member: Member) -> Worktree:
        """Whoever is interrupted meanwhile leaves none behind."""
        making = asyncio.ensure_future(asyncio.to_thread(self._make_worktree, brief))
        try:
            made = await asyncio.shield(making)
        except asyncio.CancelledError:
            made = await making
            if isinstance(made, Worktree):
                await self._leave(made, member)
            raise
        if isinstance(made, NoWorktree):
            raise InputError(f"it could not be isolated: {made.reason}")
        return made

    def _make_worktree(self, brief: Brief) -> Worktree | NoWorktree:
        # The end of a session's id is what tells it from others.
        name = f"{brief.name[:32]}-{self.account[-6:]}"
        folder = self.app.project.folder / "worktrees" / name
        return Worktrees(environment()).add(Path(brief.folder), name, folder)

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
        if self.wish.ready is not None or self.wish.tools:
            raise InputError(
                "a model or tools that a program brings along cannot go to another process; "
                "hire the teammate without apart"
            )
        self._open_boxes(member.name)
        make_private(self.folder)
        path = self.folder / f"{member.name}.log"
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            # Nothing in the project's folder is taken for a module of ours.
            *("-P", "-m", "reverie.cli.teammate"),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            limit=LONGEST_LINE,
            # An interrupt at the terminal is ours to pass on.
            start_new_session=True,
        )
        if process.stderr is None:
            raise StorageError("its process has no standard error")
        logging = asyncio.create_task(log_errors(process.stderr, path, self.app.scrubber))
        try:
            await self._converse(process, member)
            if await process.wait() != 0:
                raise StorageError(f"its process failed; {path} tells how")
        finally:
            await _ended(process)
            # What it started may still hold the pipe open.
            await asyncio.wait({logging}, timeout=END_SECONDS)
            logging.cancel()

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
            told = _told(line)
            if error := told.get("error"):
                raise InputError(str(error))
            member.answer = told.get("answer", member.answer)
            member.reported = told.get("reported", member.reported)
            if self.crew is not None:
                self.crew.heard_from_afar(member, told.get("tokens", 0), told.get("line", ""))

    def _packed(self, brief: Brief) -> dict[str, Any]:
        app, crew = self.app, self.crew
        limits = asdict(crew.limits) if crew is not None else {}
        if crew is not None:
            limits["tokens"] = max(0, crew.limits.tokens - crew.tokens)
            limits["concurrent"] = max(0, crew.limits.concurrent - len(crew.running))
        return {
            "project": brief.folder,
            "home": str(app.settings.home),
            "overrides": list(app.overrides),
            "user": app.user,
            "team": self.post.team,
            "folder": str(self.folder),
            "account": self.account,
            "limits": limits,
            "system": self.wish.system,
            "brief": asdict(brief),
        }


@dataclass(frozen=True, slots=True)
class Packed:
    """What another process needs to open an agent's session."""

    app: Workspace
    quarters: SubagentHost
    brief: Brief
    wish: SessionOptions


def unpacked(data: Mapping[str, Any], open_session: OpenSession) -> Packed:
    """The other end of `Quarters.launch`."""
    from reverie.workspace import Workspace

    project, home = Path(data["project"]), Path(data["home"])
    app = Workspace.open(project, home=home, overrides=data["overrides"], user=data["user"])
    brief = _unpacked_brief(data["brief"])
    told = SessionOptions(model=brief.model, mode=brief.mode, system=data["system"])
    post = Post(mail_folder(app), data["team"], app.clock)
    quarters = SubagentHost(app, told, open_session, Path(data["folder"]), post, data["account"])
    wish = quarters.wish_for(brief, None)
    if wish.hired is not None:
        wish = replace(wish, hired=replace(wish.hired, limits=Limits(**data["limits"])))
    return Packed(app, quarters, brief, wish)


def _unpacked_brief(data: Mapping[str, Any]) -> Brief:
    kind = data["agent_type"]
    lists = {key: tuple(kind[key]) for key in _LISTS if kind[key] is not None}
    return Brief(**{**data, "agent_type": AgentType(**{**kind, **lists})})


def _told(line: bytes) -> dict[str, Any]:
    """What a line of the process says; nothing when it is not one of ours."""
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _asking_as(name: str, ask: Ask) -> Ask:
    """The person sees who it is that asks."""

    async def asked(call: Call, question: Asked) -> Answer:
        words = f"{name}: {question.question}"
        return await ask(call, replace(question, question=words, by=name))

    return asked


async def log_errors(stream: asyncio.StreamReader, path: Path, scrubber: Scrubber) -> None:
    """Write down what a process says on its standard error, without secrets, by whole lines."""
    rest, more = b"", True
    with path.open("a", encoding="utf-8") as log:
        while more:
            piece = await stream.read(_CHUNK)
            more = bool(piece)
            whole, mark, rest = (rest + piece).rpartition(b"\n")
            if not more or len(rest) > LONGEST_LINE:
                mark, rest = mark + rest, b""
            log.write(scrubber.scrub((whole + mark).decode("utf-8", "replace")).text)
            log.flush()


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


def new_crew(
    app: Workspace,
    wish: SessionOptions,
    folder: Path,
    announce: Announce,
    open_session: OpenSession,
) -> Place:
    """The place of whoever leads in this process, with a crew of its own."""
    hired = wish.hired
    account = folder.name if hired is None else hired.account
    post = open_post(app, team_name(app, account) if hired is None else hired.team, announce)
    if (old := app.project.folder / "teams" / account).is_dir():
        post.adopt(old)
    quarters = SubagentHost(app, wish, open_session, folder / "agents", post, account)
    crew = quarters.crew = Crew(
        {kind.name: kind for kind in agent_types(app).types},
        quarters,
        announce,
        app.clock,
        SessionWire(post),
        _limits(app, wish),
        prefix="" if hired is None else f"{hired.brief.name}-",
        scrubber=app.scrubber,
    )
    seat = _first_seat(app, wish)
    seat.mail = mail = TeamMail(post, seat.name, app.clock, announce)
    if post.members():
        mail.open_box()
    crew.seats[seat.name] = seat
    return Place(crew, seat)


def _first_seat(app: Workspace, wish: SessionOptions) -> AgentIdentity:
    mode, folder = wish.mode or app.settings.permission_mode, str(app.place)
    if wish.hired is None:
        return AgentIdentity(LEAD, 0, LEAD, mode, folder, model=wish.model)
    brief = wish.hired.brief
    seat = AgentIdentity(
        brief.name, brief.depth, brief.by, mode, folder, brief.agent_type, brief.model, asks=False
    )
    seat.approval = Approval(brief.by) if brief.plans_first else None
    return seat


def _limits(app: Workspace, wish: SessionOptions) -> Limits:
    if wish.hired is not None and wish.hired.limits is not None:
        return wish.hired.limits
    numbers = app.settings.number
    return Limits(
        depth=int(numbers("agents.depth")),
        concurrent=int(numbers("agents.concurrent")),
        tokens=int(numbers("agents.tokens")),
        seconds=60 * numbers("agents.minutes"),
    )


def keep_crew(crew: Crew, conversation: Conversation) -> None:
    """Who is hired is written down; who was lost with an earlier process is, too."""
    state = conversation.state
    crew.record = conversation.record
    crew.taken = frozenset(state.hired)
    for name in state.hired.keys() - state.left.keys():
        conversation.record(AgentLeft(name, LOST, 0, conversation.now))


@asynccontextmanager
async def watched(
    app: Workspace, crew: Crew, metered: Callable[[Purpose, Model | None], Model]
) -> AsyncIterator[None]:
    """While the session is open, the cheapest model says what agents do, when that is wanted."""
    name = app.settings.model("summary")
    name = app.settings.model("side") if name == OFFLINE else name
    if name == OFFLINE:
        yield
        return

    def make() -> Model:
        return metered("summary", app.bare_model(name))

    watch = Watch(crew, partial(describe, make), partial(app.switches.on, "agent_summary"))
    keeping = asyncio.create_task(watch.keep())
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})


@contextmanager
def reachable(place: Place, session: str) -> Iterator[None]:
    """Other sessions of this person can write to this one, under its id."""

    def refusal(letter: Letter) -> str | None:
        ours = letter.sender in place.crew.members
        return "the sender is not the id of a session" if ours else outside_problem(letter)

    if isinstance(place.seat.mail, TeamMail):
        with place.seat.mail.accepting(session, refusal):
            yield


async def dismiss(place: Place) -> None:
    """The session ends: nobody it hired stays, and what is still unread is in the transcript."""
    await place.crew.aclose()
    for unread in iter(place.seat.news, None):
        if place.seat.conversation is not None:
            place.seat.conversation.say(unread, origin="reverie")
    place.seat.settle()
    if isinstance(place.seat.mail, TeamMail):
        place.seat.mail.close()
    if isinstance(place.crew.quarters, SubagentHost):
        place.crew.quarters.post.close()


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
