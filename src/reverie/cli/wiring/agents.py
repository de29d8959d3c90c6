"""`reverie agents`: the agents a session hired, their state, and the agent types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import (
    Invocation,
    counted,
    reverie_command,
    styled,
    table,
    tokens,
    when,
)
from reverie.cli.memories import iso, shown_path
from reverie.memory.format.frontmatter import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from reverie.subagents.letters import Letter
    from reverie.subagents.listing import AgentStatus, AgentStory
    from reverie.subagents.types import AgentType, Catalogue
    from reverie.workspace import Workspace

ACTIONS = ("list", "types", "show")

_NO_AGENTS = "No session of this project has hired an agent yet."


@dataclass(frozen=True, slots=True)
class Asked:
    """What the arguments ask for."""

    name: str | None
    session: str | None
    everything: bool


@reverie_command(name="agents")
@click.argument("action", type=click.Choice(ACTIONS), default="list")
@click.argument("name", required=False)
@click.option("--session", metavar="ID", help="The agents of this session.")
@click.option("--all", "everything", is_flag=True, help="With list: of every session.")
def command(frame: Invocation, action: str, **options: Any) -> None:
    """List the agents a session hired, their state, and the agent types.

    Without --session: the newest session that hired an agent. An agent is lost if the process of
    its session ended before the agent did.

    \b
    reverie agents
    reverie agents show rita
    reverie agents types
    reverie agents types explore
    """
    asked = Asked(**options)
    _check_usage(action, asked)
    actions: dict[str, Callable[[Invocation, Workspace, Asked], None]] = {
        "list": _list,
        "types": _types,
        "show": _show,
    }
    actions[action](frame, frame.app(), asked)


def _check_usage(action: str, asked: Asked) -> None:
    if action == "list" and asked.name:
        raise click.UsageError("to see one agent in full: reverie agents show NAME")
    if action == "show" and not asked.name:
        raise click.UsageError("say which: reverie agents show NAME")
    if action == "types" and asked.session:
        raise click.UsageError("--session goes with list or show")
    if asked.everything and (action != "list" or asked.session):
        raise click.UsageError("--all goes with list, and without --session")


def _transcripts(app: Workspace, asked: Asked) -> Iterator[Path]:
    """The chosen session, or every session that hired an agent, newest first."""
    from reverie.subagents.listing import sessions_with_agents

    if asked.session is not None:
        return iter([app.transcript(asked.session)])
    return sessions_with_agents(app)


# --- list ---


def _list(frame: Invocation, app: Workspace, asked: Asked) -> None:
    from reverie.subagents.listing import agents_of

    transcripts = islice(_transcripts(app, asked), None if asked.everything else 1)
    agents = [agent for transcript in transcripts for agent in agents_of(transcript)]
    data = [_agent_json(agent) for agent in agents]
    frame.answer(data, _list_lines(agents, asked))


def _agent_json(agent: AgentStatus) -> dict[str, Any]:
    return {
        "session": agent.session,
        "name": agent.name,
        "type": agent.agent_type,
        "how": agent.how,
        "by": agent.by,
        "state": agent.state,
        "why": agent.why,
        "since": iso(agent.since),
        "until": None if agent.until is None else iso(agent.until),
        "tokens": agent.tokens,
        "summary": agent.summary,
        "transcript": str(agent.transcript),
    }


def _list_lines(agents: Sequence[AgentStatus], asked: Asked) -> Iterator[RenderableType]:
    if not agents:
        yield _NO_AGENTS if asked.session is None else "This session has not hired an agent."
        return
    for session in dict.fromkeys(agent.session for agent in agents):
        yield styled(f"session {session}", "bold")
        yield _table([agent for agent in agents if agent.session == session])
        if asked.everything:
            yield ""
    running = sum(agent.state == "running" for agent in agents)
    count = f"{counted(len(agents), 'agent')}, {running} running"
    yield styled(f"{count}; for details: reverie agents show NAME")


def _table(agents: Sequence[AgentStatus]) -> Table:
    columns = ("name", "type", "how", "hired by", "state", "since", "tokens", "for")
    rows = (
        (
            *(agent.name, agent.agent_type, agent.how, agent.by, one_line(agent.description)),
            *(when(agent.since), tokens(agent.tokens), one_line(agent.summary)),
        )
        for agent in agents
    )
    made = table(*columns, rows=rows, fixed=len(columns))
    made.columns[4].overflow = made.columns[7].overflow = "ellipsis"
    made.columns[6].justify = "right"
    return made


# --- show ---


def _show(frame: Invocation, app: Workspace, asked: Asked) -> None:
    from reverie.subagents.listing import story_of

    story = story_of(asked.name or "", _transcripts(app, asked))
    data = {
        **_agent_json(story.agent),
        "task": story.task,
        "answer": story.answer,
        "letters": [_letter_json(letter) for letter in story.letters],
    }
    frame.answer(data, _story_lines(story, app))


def _letter_json(letter: Letter) -> dict[str, Any]:
    return {**asdict(letter), "id": letter.id or None, "at": iso(letter.at)}


def _story_lines(story: AgentStory, app: Workspace) -> Iterator[str]:
    agent = story.agent
    there = "" if agent.transcript.is_file() else " (not there)"
    until = f" to {when(agent.until)}" if agent.until is not None else ""
    facts = {
        "state": agent.description,
        "hired by": f"{agent.by}, in session {agent.session}",
        "for": agent.summary,
        "at work": f"{when(agent.since)}{until}",
        "tokens": f"{agent.tokens:,}",
        "transcript": f"{shown_path(app, agent.transcript)}{there}",
    }
    yield f"{agent.name} · {agent.agent_type} · {agent.how}"
    yield from (f"{label}: {one_line(value)}" for label, value in facts.items())
    for label, text in (("task", story.task), ("last answer", story.answer)):
        if text.strip():
            yield from ("", f"{label}:", *_indented(text))
    if story.letters:
        yield from ("", "letters:")
    for letter in story.letters:
        yield from _letter_lines(letter)


def _letter_lines(letter: Letter) -> Iterator[str]:
    answer = {True: ", agreed", False: ", not agreed", None: ""}[letter.agreed]
    kind = "" if letter.kind == "message" else f" ({letter.kind}{answer})"
    route = f"{letter.sender} to {letter.to}{kind}"
    yield f"  {when(letter.at)}  {one_line(f'{route}: {letter.summary}')}"


def _indented(text: str) -> Iterator[str]:
    """Indent an agent's text so that it cannot pass for our own output."""
    return (f"  {line}".rstrip() for line in text.strip().splitlines())


# --- types ---


def _types(frame: Invocation, app: Workspace, asked: Asked) -> None:
    from reverie.subagents.listing import named_type
    from reverie.subagents.type_files import agent_types

    types = agent_types(app)
    if asked.name is not None:
        kind = named_type(types, asked.name)
        frame.answer(asdict(kind), _one_type(app, kind))
        return
    data = {
        "types": [asdict(kind) for kind in types.types],
        "hidden": [asdict(kind) for kind in types.hidden],
        "unusable": [asdict(one) for one in types.unusable],
    }
    frame.answer(data, type_lines(app, types))


def type_lines(app: Workspace, types: Catalogue) -> Iterator[str]:
    """Two or three lines for each type, then the hidden and the unusable ones."""
    for kind in types.types:
        yield f"{kind.name}: {one_line(kind.description)}"
        yield f"  {' · '.join(_terms(app, kind))}"
        yield from (f"  note: {one_line(note)}" for note in kind.notes)
    for hidden in types.hidden:
        yield f"hidden by a nearer {hidden.name}: {_source(app, hidden.source)}"
    for one in types.unusable:
        yield f"not usable: {_source(app, one.source)}: {one_line(one.reason)}"
    if not app.switches.on("agents"):
        yield "Agents are off: no session can hire one (features.agents)."


def _one_type(app: Workspace, kind: AgentType) -> Iterator[str]:
    lines = (kind.name, *_terms(app, kind), *(f"note: {one}" for one in kind.notes))
    yield from map(one_line, lines)
    yield from ("", *_indented(kind.description), "", *_indented(kind.prompt))


def _terms(app: Workspace, kind: AgentType) -> Iterator[str]:
    """A type's source, tools, model, memory and limits."""
    yield _source(app, kind.source)
    every = "every tool" + (f" but {', '.join(kind.denied)}" if kind.denied else "")
    given = every if kind.tools is None else ", ".join(kind.tools) or "none"
    yield f"tools: {given}"
    yield f"model: {kind.model or 'that of the agent that hires it'}"
    if kind.memory is not None:
        yield f"memory: {kind.memory}"
    if kind.max_turns is not None:
        yield f"at most {kind.max_turns:,} requests"


def _source(app: Workspace, source: str) -> str:
    """Project files relative to the project; a built-in type's source is not a path."""
    path, root = Path(source), app.project.root
    if path.is_relative_to(root):
        return str(path.relative_to(root))
    return shown_path(app, path) if path.is_absolute() else source
