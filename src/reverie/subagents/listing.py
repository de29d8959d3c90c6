"""The sub-agents of a session and their status: from its transcripts, live, and as progress lines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from reverie.conversation import journal
from reverie.conversation.records import AgentHired, AgentLeft, Record, Said, Used
from reverie.conversation.state import SessionState
from reverie.core.messages import Attachment, Message, ToolUse
from reverie.errors import InputError, ReverieError
from reverie.events import TroubleNoted
from reverie.files.locks import is_held
from reverie.memory.format.frontmatter import one_line
from reverie.subagents.crew import LOST, Crew
from reverie.subagents.identity import LETTERS
from reverie.subagents.letters import LEAD, Letter, parse_letters
from reverie.subagents.members import DONE, Member
from reverie.subagents.progress_lines import cleaned, line_of_calls
from reverie.subagents.tools import SEND_MESSAGE as SEND

if TYPE_CHECKING:
    from reverie.subagents.types import AgentType, Catalogue
    from reverie.workspace import Workspace

State: TypeAlias = Literal["running", "done", "ended early", "lost"]

# As written in a journal: a file without these bytes need not be parsed.
_HIRED = b'"agent_hired"'
_STATES: dict[str | None, State] = {None: "running", DONE: "done", LOST: "lost"}


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """A sub-agent and its status.

    The name of one that a teammate hired in its own process starts with the teammate's name:
    `paul/general-1`.
    """

    session: str
    name: str
    agent_type: str
    how: str
    by: str
    summary: str
    state: State
    why: str
    since: float
    until: float | None
    tokens: int
    transcript: Path
    # What it is doing now, if known.
    line: str = ""

    @property
    def description(self) -> str:
        """Its state in words, with the reason where there is one."""
        match self.state:
            case "ended early":
                return f"ended early: {self.why}"
            case "lost":
                return "lost with its session"
            case _:
                return self.state

    @property
    def own_name(self) -> str:
        """Its name in its own crew."""
        return self.name.rpartition("/")[2]

    @property
    def crew(self) -> str:
        """The teammate that leads the process it works in; empty for the session itself."""
        return self.name.rpartition("/")[0]

    def seconds(self, now: float) -> float:
        """How long it has worked; 0 for a lost agent, whose end is not known."""
        if self.state == "lost":
            return 0.0
        return max(0.0, (self.until or now) - self.since)


@dataclass(frozen=True, slots=True)
class AgentStory:
    """An agent in full: its task, its last answer, and its letters in order."""

    agent: AgentStatus
    task: str
    answer: str
    letters: tuple[Letter, ...]


# --- from transcripts ---


def sessions_with_agents(app: Workspace) -> Iterator[Path]:
    """The transcripts of sessions that hired sub-agents, newest first."""
    return (path for path in app.journals() if _has_agents(path))


def agents_of(transcript: Path) -> tuple[AgentStatus, ...]:
    """All sub-agents of a session in the order of hiring, those of teammates included."""
    return tuple(_agents_in(transcript, transcript.stem))


def story_of(name: str, transcripts: Iterable[Path]) -> AgentStory:
    """The first agent with that name in these sessions; InputError lists the known ones."""
    known: list[AgentStatus] = []
    for transcript in transcripts:
        agents = agents_of(transcript)
        if (agent := _find(agents, name)) is not None:
            return _story(agent, transcript, agents)
        known += agents
    raise _no_agent(name, known)


def _story(agent: AgentStatus, transcript: Path, agents: Sequence[AgentStatus]) -> AgentStory:
    messages = _messages(agent.transcript)
    task = next((m.text for m in messages if m.role == "user" and m.origin == "user"), "")
    answers = (m.text for m in reversed(messages) if m.role == "assistant" and not m.tool_uses)
    letters = _letters(agent, messages, _crew_mates(agent, transcript, agents))
    return AgentStory(agent, task, next(filter(None, answers), ""), letters)


def _has_agents(transcript: Path) -> bool:
    try:
        with transcript.open("rb") as file:
            return any(_HIRED in line for line in file)
    except OSError:
        return False


def _agents_in(transcript: Path, session: str, prefix: str = "") -> Iterator[AgentStatus]:
    records = journal.load(transcript).records
    left = {record.name: record for record in records if isinstance(record, AgentLeft)}
    held = is_held(transcript.parent / transcript.stem / "lock")
    for hired in (record for record in records if isinstance(record, AgentHired)):
        agent = _recorded(hired, left.get(hired.name), session, held=held)
        yield replace(agent, name=f"{prefix}{hired.name}")
        # Only a teammate can have its own process, and so its own crew.
        if hired.how == "teammate" and _has_agents(agent.transcript):
            yield from _agents_in(agent.transcript, session, f"{prefix}{hired.name}/")


def _recorded(
    hired: AgentHired, left: AgentLeft | None, session: str, *, held: bool
) -> AgentStatus:
    why = left.why if left is not None else None if held else LOST
    state = _state(why)
    return AgentStatus(
        session=session,
        name=hired.name,
        agent_type=hired.agent_type,
        how=hired.how,
        by=hired.by,
        summary=hired.summary,
        state=state,
        why=why or "",
        since=hired.at,
        # A lost agent's end is recorded only when the session is resumed.
        until=None if left is None or state == "lost" else left.at,
        tokens=(left.tokens if left is not None else 0) or _used(Path(hired.transcript)),
        transcript=Path(hired.transcript),
    )


def _state(why: str | None) -> State:
    return _STATES.get(why, "ended early")


def _records(transcript: Path) -> tuple[Record, ...]:
    return journal.load(transcript).records if transcript.is_file() else ()


def _used(transcript: Path) -> int:
    """The tokens an agent has used, counted as its crew counts."""
    return sum(r.usage.context for r in _records(transcript) if isinstance(r, Used))


def _messages(transcript: Path) -> list[Message]:
    return [record.message for record in _records(transcript) if isinstance(record, Said)]


# --- letters ---


def _crew_mates(
    agent: AgentStatus, transcript: Path, agents: Sequence[AgentStatus]
) -> Iterator[tuple[str, Path]]:
    """The agents that an agent could write to by name, and their transcripts."""
    lead = next((one for one in agents if one.name == agent.crew), None)
    yield (LEAD, transcript) if lead is None else (lead.own_name, lead.transcript)
    for one in agents:
        if one.crew == agent.crew and one.name != agent.name:
            yield one.own_name, one.transcript


def _letters(
    agent: AgentStatus, messages: Sequence[Message], mates: Iterable[tuple[str, Path]]
) -> tuple[Letter, ...]:
    """The letters it received, its letters that others have read, and those still unread."""
    name = agent.own_name
    received = _received(messages, name)
    read = [
        letter
        for mate, transcript in mates
        for letter in _received(_messages(transcript), mate)
        if letter.sender == name
    ]
    known = {(letter.kind, letter.summary) for letter in read}
    unread = [sent for sent in _sent(messages, name) if (sent.kind, sent.summary) not in known]
    return tuple(sorted((*received, *read, *unread), key=lambda letter: letter.at))


def _received(messages: Iterable[Message], to: str) -> Iterator[Letter]:
    for message in messages:
        for block in message.blocks:
            if isinstance(block, Attachment) and block.label == LETTERS:
                yield from parse_letters(block.text, to, message.at)


def _sent(messages: Sequence[Message], sender: str) -> Iterator[Letter]:
    """Letters from the agent's successful calls of send_message."""
    arrived = {r.tool_use_id for m in messages for r in m.tool_results if not r.is_error}
    for message in messages:
        for use in message.tool_uses:
            if use.name == SEND and use.id in arrived:
                yield _sent_letter(use, sender, message.at)


def _sent_letter(use: ToolUse, sender: str, at: float) -> Letter:
    given = use.input
    return Letter(
        sender,
        str(given.get("to", "")),
        str(given.get("message", "")),
        one_line(str(given.get("summary", ""))),
        given.get("kind", "message"),
        at,
        id="",
        reply_to=given.get("reply_to"),
        agreed=given.get("agreed"),
    )


# --- live ---


def live_agents(crew: Crew, state: SessionState) -> tuple[AgentStatus, ...]:
    """The agents of a session in this process; those of an earlier process as recorded."""
    return tuple(
        _living(member, state.session)
        if (member := crew.members.get(name)) is not None
        else _recorded(hired, state.left.get(name), state.session, held=False)
        for name, hired in state.hired.items()
    )


def _living(member: Member, session: str) -> AgentStatus:
    brief = member.brief
    return AgentStatus(
        session=session,
        name=brief.name,
        agent_type=brief.agent_type.name,
        how=brief.how,
        by=brief.by,
        summary=brief.summary,
        state=_state(member.why),
        why=member.why or "",
        since=member.began,
        until=member.ended,
        tokens=member.tokens,
        transcript=Path(member.transcript),
        line=member.line,
    )


# --- by name ---


def named_agent(agents: Sequence[AgentStatus], name: str) -> AgentStatus:
    """The agent with that name; InputError lists the known ones."""
    found = _find(agents, name)
    if found is None:
        raise _no_agent(name, agents)
    return found


def _no_agent(name: str, agents: Sequence[AgentStatus]) -> InputError:
    return InputError(f"there is no agent {name!r}; {_hint(name, [a.name for a in agents])}")


def _find(agents: Sequence[AgentStatus], name: str) -> AgentStatus | None:
    return next((agent for agent in agents if agent.name == name), None)


def named_type(types: Catalogue, name: str) -> AgentType:
    """The agent type with that name; InputError says why its file is unusable, or lists types."""
    found = types.find(name)
    if found is not None:
        return found
    for file in types.unusable:
        if Path(file.source).stem == name:
            raise InputError(f"{file.source} makes no agent type: {file.reason}")
    raise InputError(
        f"there is no agent type {name!r}; {_hint(name, [t.name for t in types.types])}"
    )


def _hint(name: str, known: Sequence[str]) -> str:
    if close := get_close_matches(name, known, n=3, cutoff=0.5):
        return f"did you mean {' or '.join(dict.fromkeys(close))}?"
    return f"there are: {', '.join(dict.fromkeys(known))}" if known else "no agent was hired"


EVERY_SECONDS = 30.0

# Asks a model for a line on these messages; the second argument is the previous line.
Describe = Callable[[Sequence[Message], str], Awaitable[str]]


@dataclass(slots=True)
class Watch:
    """Describes running agents that have new messages: by a model, or else by their tool calls."""

    crew: Crew
    describe: Describe
    on: Callable[[], bool] = lambda: True
    every: float = EVERY_SECONDS
    _seen: dict[str, str] = field(default_factory=dict)
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)

    async def keep(self) -> None:
        while not self._stopped.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self.every):
                    await self._stopped.wait()
                    return
            await self.look()

    def stop(self) -> None:
        self._stopped.set()

    async def look(self) -> None:
        """Update every agent once, unless it is switched off."""
        for member in self.crew.running if self.on() else ():
            identity = self.crew.identities.get(member.name)
            if (
                identity is None
                or identity.conversation is None
                or not identity.conversation.messages
            ):
                continue
            messages = identity.conversation.messages
            if self._seen.get(member.name) != messages[-1].id:
                self._seen[member.name] = messages[-1].id
                await self._update(member, messages)

    async def _update(self, member: Member, messages: Sequence[Message]) -> None:
        line = None
        try:
            line = cleaned(await self.describe(messages, member.line), member.line)
        except ReverieError as error:
            self.crew.announce(TroubleNoted("agents", f"no line for {member.name}: {error}"))
        line = line or line_of_calls(messages)
        if line:
            self.crew.progressed(member, line)
