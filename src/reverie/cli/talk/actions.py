"""The slash commands of a chat."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rich.table import Table
from rich.text import Text

from reverie.agent import tools as todos
from reverie.cli.context.reports import BAR, drawn, measured
from reverie.cli.history import redo_in_chat, undo_in_chat
from reverie.cli.invocation import counted, dollars, printable, share, table, tokens
from reverie.cli.memories import PERSON, shown_path
from reverie.cli.memory.finding import found_list, recalled
from reverie.cli.memory.writing import saved_lines
from reverie.cli.talk import chat_session as past
from reverie.cli.talk import render
from reverie.cli.talk.chat_session import ChatSession
from reverie.cli.talk.slash import COMMANDS
from reverie.cli.talk.terminal import cost_of
from reverie.cli.wiring.agents import type_lines
from reverie.cli.wiring.models import require_model
from reverie.context import snip
from reverie.core.usage import Usage
from reverie.errors import InputError
from reverie.learning.dreaming.dreamer import NAME as DREAM
from reverie.memory.changes.keeper import Declined, NewMemory
from reverie.memory.format.frontmatter import one_line
from reverie.memory.format.index import capped
from reverie.memory.format.taxonomy import OWN_SCOPES, MemoryScope, OwnScope
from reverie.recall import service as recall_service
from reverie.recall.hits import read_hits
from reverie.subagents.listing import live_agents, named_agent
from reverie.subagents.type_files import agent_types
from reverie.workspace.changes import waiting

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.core.usage import Entry
    from reverie.session.options import SessionOptions
    from reverie.subagents.crew import Crew
    from reverie.subagents.listing import AgentStatus
    from reverie.workspace import Workspace

_SCOPE = re.compile(r"--scope[= ](\w+)\s+")


def remember(app: Workspace, text: str) -> str:
    """Save a memory and describe it; raise with the reason if it is declined."""
    scope, body = _scope_in(text)
    memory, outcome = app.remember(NewMemory(body, scope=scope), PERSON)
    if isinstance(outcome, Declined):
        raise InputError("; ".join(filter(None, (outcome.reason, outcome.advice))))
    return "\n".join(saved_lines(app, memory, outcome, in_chat=True))


def _scope_in(text: str) -> tuple[OwnScope | None, str]:
    """Split off the scope of `/remember --scope project …`."""
    found = _SCOPE.match(text)
    if found is None:
        return None, text
    scope = next((one for one in OWN_SCOPES if one == found[1]), None)
    if scope is None:
        raise InputError(f"--scope {found[1]!r} is unknown; choose one of: {', '.join(OWN_SCOPES)}")
    return scope, text[found.end() :]


STOPPED = "the user stopped it"


def _agent_list(chat: ChatSession) -> RenderableType:
    """The agents hired in this session, with their current activity or how they ended."""
    agents = live_agents(_crew(chat), chat.session.conversation.state)
    return _agent_table(agents, chat.app.clock.now()) if agents else "No agents were hired yet."


def _type_list(app: Workspace) -> RenderableType:
    return Text("\n".join(printable(line) for line in type_lines(app, agent_types(app))))


async def _stop_agent(chat: ChatSession, name: str) -> RenderableType:
    """Stop an agent and every agent it hired; one that has ended is left alone."""
    crew = _crew(chat)
    agent = named_agent(live_agents(crew, chat.session.conversation.state), name)
    if agent.state != "running":
        return Text(printable(f"{name} is no longer running: {agent.description}"))
    before = crew.running
    await crew.stop(name, STOPPED)
    ended = [member.name for member in before if not member.running]
    return Text(printable(f"Stopped: {', '.join(ended)}"))


def _crew(chat: ChatSession) -> Crew:
    place = chat.session.place
    if place is None:
        raise InputError("agents are off; turn them on with features.agents = true in the settings")
    return place.crew


def _agent_table(agents: tuple[AgentStatus, ...], now: float) -> Table:
    def cells(agent: AgentStatus) -> tuple[str, ...]:
        doing = agent.line or "at work" if agent.state == "running" else agent.description
        spent = f"{agent.seconds(now):,.0f} s" if agent.state != "lost" else "–"
        about = one_line(f"{doing} ({agent.summary})")
        return agent.name, agent.agent_type, agent.how, tokens(agent.tokens), spent, about

    columns = ("name", "type", "how", "tokens", "time", "")
    made = table(*columns, rows=map(cells, agents), fixed=5)
    made.columns[3].justify = made.columns[4].justify = "right"
    return made


class Leave:
    """The user leaves the chat."""


# After a command: stay in this session (None), open another one, or leave.
Next: TypeAlias = "SessionOptions | Leave | None"
Action: TypeAlias = Callable[[ChatSession, str], Awaitable[Next]]

_LINES = (
    ("# TEXT", "save a memory, like /remember"),
    ("!COMMAND", "run a command; the model sees its output with your next message"),
    ("@PATH", "name a file; pictures are sent along"),
    ("exit", "leave"),
)

_KEYS = (
    ("Enter", "send; while an answer is coming, the message waits for its turn"),
    ("Alt-Enter, Ctrl-J", "a new line; \\ at the end of a line does the same"),
    ("Tab", "complete a /command or an @file"),
    ("↑ ↓, Ctrl-R", "earlier messages in this project"),
    ("Ctrl-C", "interrupt; at an empty prompt, twice: leave"),
    ("Ctrl-D", "leave"),
)
_RECALLED = 5
_FOUND = 10


async def _help(chat: ChatSession, rest: str) -> Next:
    listed = _rows((command.usage, command.about) for command in COMMANDS)
    chat.show(listed, "", _rows(_LINES), "", _rows(_KEYS))
    return None


async def _remember(chat: ChatSession, rest: str) -> Next:
    saved = await asyncio.to_thread(remember, chat.app, rest)
    chat.show(Text(printable(saved)))
    return None


async def _recall(chat: ChatSession, rest: str) -> Next:
    found = await asyncio.to_thread(recall_service.recall, chat.app, rest, limit=_RECALLED)
    shown = await asyncio.to_thread(read_hits, chat.app, found, rest)
    chat.show(*recalled(found, shown))
    return None


async def _undo(chat: ChatSession, rest: str) -> Next:
    lines = await asyncio.to_thread(undo_in_chat, chat.app, rest or None)
    chat.show(Text(printable("\n".join(lines))))
    return None


async def _redo(chat: ChatSession, rest: str) -> Next:
    lines = await asyncio.to_thread(redo_in_chat, chat.app)
    chat.show(Text(printable("\n".join(lines))))
    return None


async def _search(chat: ChatSession, rest: str) -> Next:
    await asyncio.to_thread(recall_service.index_past_sessions, chat.app)
    found = await asyncio.to_thread(recall_service.search, chat.app, rest, limit=_FOUND)
    shown = await asyncio.to_thread(read_hits, chat.app, found, rest)
    chat.show(*found_list(found, shown))
    return None


_WHOSE: dict[MemoryScope, str] = {
    "project": "",
    "person": "about you, known in every project, ",
    "team": "of the team ",
}


async def _memory(chat: ChatSession, rest: str) -> Next:
    memory = chat.app.memory()
    for part in memory.parts:
        index = part.store.index()
        count = len(index.pointers)
        if part is not memory and not count:
            continue
        where = shown_path(chat.app, part.place.directory)
        text = capped(index).text.strip()
        body: RenderableType = render.prose(text, markdown=chat.terminal.markdown) if text else ""
        memories = counted(count, "memory", "memories")
        about = f"{memories} {_WHOSE[part.scope]}in {printable(where)}"
        chat.show(Text(about, "bold"), body)
    return None


async def _inbox(chat: ChatSession, rest: str) -> Next:
    items = await asyncio.to_thread(waiting, chat.app)
    if not items:
        chat.show("Nothing waits in the inbox.")
        return None
    rows = ((item.id[:8], item.proposal.text) for item in items)
    chat.show(_rows(rows), render.line("decide with: reverie inbox approve|reject ID", "dim"))
    return None


async def _dream(chat: ChatSession, rest: str) -> Next:
    dreaming = chat.session.dreaming
    if dreaming is None:
        raise InputError("memory is off, so there is nothing to dream about (memory.enabled)")
    if rest == "stop":
        await chat.session.background.cancel(DREAM)
        chat.show("No dream is running any more; memory is as it was before it, or as it left it.")
    elif not dreaming.begin():
        chat.show("A dream is under way already; /dream stop ends it.")
    return None


async def _context(chat: ChatSession, rest: str) -> Next:
    state, window = chat.session.conversation.state, chat.session.upkeep.window
    chat.show(drawn(measured(state, window), min(chat.terminal.width, BAR)))
    return None


async def _compact(chat: ChatSession, rest: str) -> Next:
    """Compaction announces what it did, or why it could not, as an event."""
    if not chat.session.conversation.state.messages:
        chat.show("Nothing was said yet: there is nothing to compact.")
        return None
    chat.terminal.under_way(Text("compacting"))
    await chat.session.upkeep.compact_now("manual", instructions=rest)
    return None


async def _snip(chat: ChatSession, rest: str) -> Next:
    if not chat.app.switches.on("snip"):
        raise InputError("snip is off; turn it on with features.snip = true in the settings")
    count, _, note = rest.partition(" ")
    if not count.isdecimal() or not int(count):
        raise InputError(
            f"/snip takes how many rounds, and a note: /snip 3 the search, not {rest!r}"
        )
    request = snip.SnipRequest(note.strip() or "finished work", rounds=int(count))
    chat.show(chat.session.folding.mark(request))
    return None


async def _notes(chat: ChatSession, rest: str) -> Next:
    file = chat.session.notes.notebook.file
    text = await asyncio.to_thread(file.read)
    if not text:
        chat.show("No notes yet: they begin when there is something to lose.")
        return None
    where = render.line(file.path, "dim")
    chat.show(render.prose(text, markdown=chat.terminal.markdown), where)
    return None


async def _todos(chat: ChatSession, rest: str) -> Next:
    listed = chat.session.toolbox.workplace.todos
    chat.show(Text(printable(todos.render(listed))) if listed else "Nothing is on the list.")
    return None


async def _agents(chat: ChatSession, rest: str) -> Next:
    word, _, name = rest.partition(" ")
    match word, name.strip():
        case "", _:
            chat.show(_agent_list(chat))
        case "types", "":
            chat.show(await asyncio.to_thread(_type_list, chat.app))
        case "stop", name if name:
            chat.show(await _stop_agent(chat, name))
        case _:
            raise InputError(f"/agents takes nothing, types, or stop NAME, not {rest!r}")
    return None


async def _cost(chat: ChatSession, rest: str) -> Next:
    spent = chat.spent
    if not spent:
        chat.show("Nothing was spent in this session.")
        return None
    today = chat.app.ledger.spent("main", "").day
    total = f"{dollars(cost_of(spent))} in this session, {dollars(today)} today in all projects"
    chat.show(_spending(spent), Text(total, "dim"))
    return None


async def _model(chat: ChatSession, rest: str) -> Next:
    window = chat.session.upkeep.window
    if not rest:
        name = chat.session.conversation.model.name
        chat.show(f"{name}, window {tokens(window.tokens)} ({window.source})")
        return None
    require_model(chat.app, rest)
    return replace(chat.options, model=rest, resume=_journal(chat))


async def _clear(chat: ChatSession, rest: str) -> Next:
    return replace(chat.options, resume=None)


async def _resume(chat: ChatSession, rest: str) -> Next:
    if rest:
        return replace(chat.options, resume=past.chosen_chat(chat.app, rest))
    listed = await asyncio.to_thread(past.recent_chats, chat.app)
    if not listed:
        chat.show("There are no conversations in this project yet.")
        return None
    chat.show(
        past.chat_table(listed, chat.terminal.width),
        Text("continue one with: /resume NUMBER", "dim"),
    )
    return None


async def _exit(chat: ChatSession, rest: str) -> Next:
    return Leave()


ACTIONS: Mapping[str, Action] = {
    "help": _help,
    "remember": _remember,
    "recall": _recall,
    "undo": _undo,
    "redo": _redo,
    "search": _search,
    "memory": _memory,
    "inbox": _inbox,
    "dream": _dream,
    "context": _context,
    "compact": _compact,
    "snip": _snip,
    "notes": _notes,
    "todos": _todos,
    "agents": _agents,
    "cost": _cost,
    "model": _model,
    "clear": _clear,
    "resume": _resume,
    "exit": _exit,
}


def _journal(chat: ChatSession) -> Path | None:
    """The journal to resume; None if the session has no messages yet."""
    state = chat.session.conversation.state
    return chat.app.project.journal(state.session) if state.messages else None


def _rows(pairs: Iterable[tuple[str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="cyan", no_wrap=True)
    for left, right in pairs:
        table.add_row(left, right)
    return table


def _spending(entries: Iterable[Entry]) -> Table:
    by_purpose: dict[str, list[Entry]] = {}
    for entry in entries:
        by_purpose.setdefault(entry.purpose, []).append(entry)
    table = Table("for", box=None, pad_edge=False)
    for column in ("calls", "input", "read", "written", "output", "hit rate", "cost"):
        table.add_column(column, justify="right")
    for purpose, calls in by_purpose.items():
        usage = sum((call.usage for call in calls), Usage())
        counts = (usage.input, usage.cache_read, usage.cache_write, usage.output)
        cost = dollars(cost_of(calls))
        table.add_row(purpose, str(len(calls)), *map(tokens, counts), share(usage.hit_rate), cost)
    return table
