"""Runs the sub-agents of a session: in this process, in processes of their own, in git worktrees."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from reverie.agent.permissions import Answer, Ask, Asked, Call, deny_unasked
from reverie.errors import InputError, StorageError
from reverie.files.atomic import make_private
from reverie.ports import Scrubber
from reverie.session.options import SessionOptions, SubagentRole
from reverie.settings.sources import environment
from reverie.subagents.crew import Crew, Place
from reverie.subagents.identity import AgentIdentity, Approval
from reverie.subagents.letters import LEAD
from reverie.subagents.mail import TeamMail, mail_folder
from reverie.subagents.mail_store import Post
from reverie.subagents.members import Brief, Limits, Member, member_prompt
from reverie.subagents.type_files import AgentMemory, open_agent_memory
from reverie.subagents.types import AgentType
from reverie.subagents.worktrees import Kept, NoWorktree, Worktree, Worktrees

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from reverie.session.query import Session
    from reverie.workspace import Workspace

# Opens the session of a sub-agent; passed in because `session.build` imports this module.
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
    """Opens sub-agents, which share their session's options, folder and mail."""

    app: Workspace
    options: SessionOptions
    open_session: OpenSession
    folder: Path
    post: Post
    # The session that pays for them.
    account: str
    crew: Crew | None = None

    def transcript(self, brief: Brief) -> str:
        if brief.how != "fork":
            return str(self.folder / f"{brief.name}.jsonl")
        subagent = self.options.subagent
        leads = brief.by == (LEAD if subagent is None else subagent.brief.name)
        beside = self.folder.parent if leads else self.folder / brief.by
        return str(beside / "forks" / f"agent-{brief.name}-1.jsonl")

    @asynccontextmanager
    async def open(self, member: Member, identity: AgentIdentity) -> AsyncIterator[Session]:
        brief, branch = member.brief, None
        async with AsyncExitStack() as stack:
            if self.crew is not None:
                identity.mail = mail = TeamMail(
                    self.post, brief.name, self.app.clock, self.crew.announce
                )
                stack.callback(mail.close)
                if self.post.members():
                    mail.open_box()
            if brief.how == "isolated":
                worktree = await self._worktree(brief, member)
                stack.push_async_callback(self._leave, worktree, member)
                identity.folder, branch = str(worktree.folder), worktree.branch
            identity.approval = Approval(brief.by) if brief.plans_first else None
            stack.callback(self.notice_memories, brief)
            place = None if self.crew is None else Place(self.crew, identity)
            options = self.options_for(brief, place, branch)
            session = self.open_session(self._app_in(Path(identity.folder)), options)
            yield await stack.enter_async_context(session)

    def options_for(
        self, brief: Brief, place: Place | None, branch: str | None = None
    ) -> SessionOptions:
        """Options for a sub-agent: the prompt and tools of its type, the rights of its parent."""
        kind, options, memory = brief.agent_type, self.options, self._memory(brief)
        # A model object passed in by the program is shared unless the brief names another model.
        ready = options.ready if brief.model == options.model else None
        isolated = brief.how == "isolated" and brief.mode == "ask"
        return SessionOptions(
            model=brief.model,
            ready=ready,
            session=brief.name,
            # The person cannot be asked by agents in the background, nor by their sub-agents.
            ask=_ask_as(brief.name, options.ask) if brief.asks else deny_unasked,
            # Edits in its own worktree cannot touch the person's files.
            mode="accept-edits" if isolated else brief.mode,
            dreams=False,
            memory=False,
            system=options.system,
            tools=options.tools,
            subagent=SubagentRole(
                brief=brief,
                folder=self.folder,
                team=self.post.team,
                account=self.account,
                prompt="\n\n".join((kind.prompt.strip(), member_prompt(brief, branch))),
                memory_prompt="" if memory is None else memory.prompt(),
                memory_folder=None if memory is None else memory.directory,
                place=place,
                shares_model=ready is not None,
            ),
        )

    def notice_memories(self, brief: Brief) -> None:
        """Commit what a sub-agent wrote into its own memory."""
        memory = self._memory(brief)
        if memory is not None:
            memory.record(self.app.scrubber)

    def _memory(self, brief: Brief) -> AgentMemory | None:
        kind = brief.agent_type
        if kind.memory is None or not self.app.settings.memory_enabled:
            return None
        # All users would share an agent's memory, so sessions of a server's user get none.
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
        """Create the worktree; remove it again when the caller is cancelled meanwhile."""
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
        # The last characters of a session id are its random part.
        name = f"{brief.name[:32]}-{self.account[-6:]}"
        folder = self.app.project.folder / "worktrees" / name
        return Worktrees(environment()).add(Path(brief.folder), name, folder)

    async def _leave(self, worktree: Worktree, member: Member) -> None:
        """Remove an unchanged worktree; keep a changed one and report where it is."""
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
        """Run a teammate as a process; it ends with this one, when its standard input closes."""
        if self.options.ready is not None or self.options.tools:
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
            # -P: never import modules from the project's folder.
            *("-P", "-m", "reverie.cli.teammate"),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            limit=LONGEST_LINE,
            # Ctrl-C at the terminal goes to this process only.
            start_new_session=True,
        )
        if process.stderr is None:
            raise StorageError("its process has no standard error")
        logging = asyncio.create_task(log_errors(process.stderr, path, self.app.scrubber))
        try:
            await self._converse(process, member)
            if await process.wait() != 0:
                raise StorageError(f"its process failed; see {path}")
        finally:
            await _ended(process)
            # Its child processes may still hold the pipe open.
            await asyncio.wait({logging}, timeout=END_SECONDS)
            logging.cancel()

    def _open_boxes(self, name: str) -> None:
        self.post.open(name)
        identities = self.crew.identities.values() if self.crew is not None else ()
        for identity in identities:
            if isinstance(identity.mail, TeamMail):
                identity.mail.open_box()

    async def _converse(self, process: asyncio.subprocess.Process, member: Member) -> None:
        """Send the task, then read progress lines until the process closes its output."""
        if process.stdin is None or process.stdout is None:
            return
        process.stdin.write(json.dumps(self._packed(member.brief)).encode() + b"\n")
        async for line in process.stdout:
            report = _parse_report(line)
            if error := report.get("error"):
                raise InputError(str(error))
            member.answer = report.get("answer", member.answer)
            member.reported = report.get("reported", member.reported)
            if self.crew is not None:
                self.crew.remote_progress(member, report.get("tokens", 0), report.get("line", ""))

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
            "system": self.options.system,
            "brief": asdict(brief),
        }


@dataclass(frozen=True, slots=True)
class Packed:
    """Everything another process needs to open a sub-agent's session."""

    app: Workspace
    host: SubagentHost
    brief: Brief
    options: SessionOptions


def unpacked(data: Mapping[str, Any], open_session: OpenSession) -> Packed:
    """Rebuild in the teammate's process what `SubagentHost.launch` sent."""
    from reverie.workspace import Workspace

    project, home = Path(data["project"]), Path(data["home"])
    app = Workspace.open(project, home=home, overrides=data["overrides"], user=data["user"])
    brief = _unpacked_brief(data["brief"])
    shared = SessionOptions(model=brief.model, mode=brief.mode, system=data["system"])
    post = Post(mail_folder(app), data["team"], app.clock)
    host = SubagentHost(app, shared, open_session, Path(data["folder"]), post, data["account"])
    options = host.options_for(brief, None)
    if options.subagent is not None:
        options = replace(
            options, subagent=replace(options.subagent, limits=Limits(**data["limits"]))
        )
    return Packed(app, host, brief, options)


def _unpacked_brief(data: Mapping[str, Any]) -> Brief:
    kind = data["agent_type"]
    lists = {key: tuple(kind[key]) for key in _LISTS if kind[key] is not None}
    return Brief(**{**data, "agent_type": AgentType(**{**kind, **lists})})


def _parse_report(line: bytes) -> dict[str, Any]:
    """One progress line of a teammate's process; empty for any other output."""
    try:
        report = json.loads(line)
    except ValueError:
        return {}
    return report if isinstance(report, dict) else {}


def _ask_as(name: str, ask: Ask) -> Ask:
    """Put the agent's name before each question, so that the person sees which agent asks."""

    async def asked(call: Call, question: Asked) -> Answer:
        words = f"{name}: {question.question}"
        return await ask(call, replace(question, question=words, by=name))

    return asked


async def log_errors(stream: asyncio.StreamReader, path: Path, scrubber: Scrubber) -> None:
    """Append a process's standard error to a file, in whole lines and without secrets."""
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
    """Terminate the process; kill it when it does not end in time."""
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
