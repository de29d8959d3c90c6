"""Who was hired in a session and how each of them stands: from its transcripts, or live."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from reverie.conversation import journal
from reverie.conversation.records import AgentHired, AgentLeft, Record, Said, Used
from reverie.conversation.state import SessionState
from reverie.core.messages import Attachment, Message, ToolUse
from reverie.errors import InputError
from reverie.files.locks import is_held
from reverie.memory.format.frontmatter import one_line
from reverie.subagents.crew import LOST, Crew
from reverie.subagents.identity import LETTERS
from reverie.subagents.letters import LEAD, Letter, parse_letters
from reverie.subagents.members import DONE, Member
from reverie.subagents.send_message import NAME as SEND

if TYPE_CHECKING:
    from reverie.subagents.types import AgentType, Catalogue
    from reverie.workspace import Workspace

State: TypeAlias = Literal["running", "done", "ended early", "lost"]

# As every journal of ours has it: a session without it need not be read record by record.
_HIRED = b'"agent_hired"'
_STATES: dict[str | None, State] = {None: "running", DONE: "done", LOST: "lost"}


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """An agent and how it stands.

    One that a teammate hired in a process of its own is called after both: `paul/general-1`.
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
    # What it does at the moment, as far as its session tells.
    line: str = ""

    @property
    def told(self) -> str:
        """Its state, with the reason where one is needed."""
        match self.state:
            case "ended early":
                return f"ended early: {self.why}"
            case "lost":
                return "lost with its session"
            case _:
                return self.state

    @property
    def own_name(self) -> str:
        """What its own crew calls it."""
        return self.name.rpartition("/")[2]

    @property
    def crew(self) -> str:
        """The name of whoever leads the process it works in; nothing for the session itself."""
        return self.name.rpartition("/")[0]

    def seconds(self, now: float) -> float:
        """How long it has been at work, or was; nothing where nobody knows."""
        if self.state == "lost":
            return 0.0
        return max(0.0, (self.until or now) - self.since)


@dataclass(frozen=True, slots=True)
class AgentStory:
    """An agent whole: what it was asked, what it said last, and its letters in their order."""

    agent: AgentStatus
    task: str
    answer: str
    letters: tuple[Letter, ...]


# --- from transcripts ---


def sessions_with_agents(app: Workspace) -> Iterator[Path]:
    """The transcripts of sessions that hired somebody, newest first."""
    return (path for path in app.journals() if _hires(path))


def agents_of(transcript: Path) -> tuple[AgentStatus, ...]:
    """Everybody hired in a session, in the order of hiring; also by teammates in other processes."""
    return tuple(_hired_in(transcript, transcript.stem))


def story_of(name: str, transcripts: Iterable[Path]) -> AgentStory:
    """The first agent of that name in these sessions; InputError says which there are."""
    everybody: list[AgentStatus] = []
    for transcript in transcripts:
        agents = agents_of(transcript)
        if (agent := _find(agents, name)) is not None:
            return _story(agent, transcript, agents)
        everybody += agents
    raise _no_agent(name, everybody)


def _story(agent: AgentStatus, transcript: Path, agents: Sequence[AgentStatus]) -> AgentStory:
    said = _said(agent.transcript)
    asked = next((m.text for m in said if m.role == "user" and m.origin == "user"), "")
    answers = (m.text for m in reversed(said) if m.role == "assistant" and not m.tool_uses)
    letters = _letters(agent, said, _crew_mates(agent, transcript, agents))
    return AgentStory(agent, asked, next(filter(None, answers), ""), letters)


def _hires(transcript: Path) -> bool:
    try:
        with transcript.open("rb") as file:
            return any(_HIRED in line for line in file)
    except OSError:
        return False


def _hired_in(transcript: Path, session: str, prefix: str = "") -> Iterator[AgentStatus]:
    records = journal.load(transcript).records
    left = {record.name: record for record in records if isinstance(record, AgentLeft)}
    held = is_held(transcript.parent / transcript.stem / "lock")
    for hired in (record for record in records if isinstance(record, AgentHired)):
        agent = _recorded(hired, left.get(hired.name), session, held=held)
        yield replace(agent, name=f"{prefix}{hired.name}")
        # Only a teammate can have a process, and so a crew, of its own.
        if hired.how == "teammate" and _hires(agent.transcript):
            yield from _hired_in(agent.transcript, session, f"{prefix}{hired.name}/")


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
        # Who was lost is written off later, whenever the session goes on.
        until=None if left is None or state == "lost" else left.at,
        tokens=(left.tokens if left is not None else 0) or _used(Path(hired.transcript)),
        transcript=Path(hired.transcript),
    )


def _state(why: str | None) -> State:
    return _STATES.get(why, "ended early")


def _records(transcript: Path) -> tuple[Record, ...]:
    return journal.load(transcript).records if transcript.is_file() else ()


def _used(transcript: Path) -> int:
    """What an agent used so far, counted as its crew counts."""
    return sum(r.usage.context for r in _records(transcript) if isinstance(r, Used))


def _said(transcript: Path) -> list[Message]:
    return [record.message for record in _records(transcript) if isinstance(record, Said)]


# --- letters ---


def _crew_mates(
    agent: AgentStatus, transcript: Path, agents: Sequence[AgentStatus]
) -> Iterator[tuple[str, Path]]:
    """Whoever an agent could write to by name, and where they were shown it."""
    lead = next((one for one in agents if one.name == agent.crew), None)
    yield (LEAD, transcript) if lead is None else (lead.own_name, lead.transcript)
    for one in agents:
        if one.crew == agent.crew and one.name != agent.name:
            yield one.own_name, one.transcript


def _letters(
    agent: AgentStatus, said: Sequence[Message], mates: Iterable[tuple[str, Path]]
) -> tuple[Letter, ...]:
    """What it was shown, what others were shown of it, and what it sent that nobody read yet."""
    name = agent.own_name
    got = _told(said, name)
    read = [
        letter
        for mate, transcript in mates
        for letter in _told(_said(transcript), mate)
        if letter.sender == name
    ]
    known = {(letter.kind, letter.summary) for letter in read}
    unread = [sent for sent in _sent(said, name) if (sent.kind, sent.summary) not in known]
    return tuple(sorted((*got, *read, *unread), key=lambda letter: letter.at))


def _told(said: Iterable[Message], to: str) -> Iterator[Letter]:
    for message in said:
        for block in message.blocks:
            if isinstance(block, Attachment) and block.label == LETTERS:
                yield from parse_letters(block.text, to, message.at)


def _sent(said: Sequence[Message], sender: str) -> Iterator[Letter]:
    """The calls by which it wrote; one that failed sent nothing."""
    arrived = {r.tool_use_id for m in said for r in m.tool_results if not r.is_error}
    for message in said:
        for use in message.tool_uses:
            if use.name == SEND and use.id in arrived:
                yield _written(use, sender, message.at)


def _written(use: ToolUse, sender: str, at: float) -> Letter:
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
    """The agents of a session that is open here; those of an earlier process as they were recorded."""
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
    """The agent of that name; InputError says which there are."""
    found = _find(agents, name)
    if found is None:
        raise _no_agent(name, agents)
    return found


def _no_agent(name: str, agents: Sequence[AgentStatus]) -> InputError:
    return InputError(f"there is no agent {name!r}; {_hint(name, [a.name for a in agents])}")


def _find(agents: Sequence[AgentStatus], name: str) -> AgentStatus | None:
    return next((agent for agent in agents if agent.name == name), None)


def named_type(types: Catalogue, name: str) -> AgentType:
    """The agent type of that name; InputError says why a file made none, or which there are."""
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
    return f"there are: {', '.join(dict.fromkeys(known))}" if known else "nobody was hired"
