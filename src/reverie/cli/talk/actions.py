"""Saving a memory from within a conversation."""

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
from reverie.cli.context import context
from reverie.cli.formatting import counted, dollars, printable, share, tokens
from reverie.cli.memories import PERSON, shown_path
from reverie.cli.memory import recall, search
from reverie.cli.memory.hits import read_hits
from reverie.cli.memory.remember import saved_lines
from reverie.cli.talk import past_chats as past
from reverie.cli.talk import render
from reverie.cli.talk.chat_session import ChatSession
from reverie.cli.talk.slash import COMMANDS
from reverie.cli.talk.status import cost_of
from reverie.cli.talk.terminal import require_model
from reverie.cli.wiring.agents import type_lines
from reverie.context import snip
from reverie.core.usage import Usage
from reverie.errors import InputError
from reverie.learning.dreaming.in_session import NAME as DREAM
from reverie.memory.changes.keeper import Declined, NewMemory
from reverie.memory.format.frontmatter import one_line
from reverie.memory.format.index import capped
from reverie.memory.format.taxonomy import OWN_SCOPES, MemoryScope, OwnScope
from reverie.recall import service as recall_service
from reverie.subagents.listing import live_agents, named_agent
from reverie.subagents.type_files import agent_types
from reverie.workspace.inbox import waiting

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.core.usage import Entry
    from reverie.session.options import SessionOptions
    from reverie.subagents.crew import Crew
    from reverie.subagents.listing import AgentStatus
    from reverie.workspace import Workspace


_SCOPE = re.compile(r"--scope[= ](\w+)\s+")


def remember(app: Workspace, text: str) -> str:
    """What was saved, in words; a memory that is not saved is an error that says why."""
    scope, said = _scope_in(text)
    memory, outcome = app.remember(NewMemory(said, scope=scope), PERSON)
    if isinstance(outcome, Declined):
        raise InputError("; ".join(filter(None, (outcome.reason, outcome.advice))))
    return "\n".join(saved_lines(app, memory, outcome))


def _scope_in(text: str) -> tuple[OwnScope | None, str]:
    """`/remember --scope project …` says whose it is."""
    told = _SCOPE.match(text)
    if told is None:
        return None, text
    scope = next((one for one in OWN_SCOPES if one == told[1]), None)
    if scope is None:
        raise InputError(f"--scope {told[1]!r} is none; there are: {', '.join(OWN_SCOPES)}")
    return scope, text[told.end() :]


STOPPED = "the user stopped it"


def listed(sitting: ChatSession) -> RenderableType:
    """Everybody hired in this session, with what they do or how they ended."""
    agents = live_agents(_crew(sitting), sitting.session.conversation.state)
    return _table(agents, sitting.app.clock.now()) if agents else "Nobody was hired yet."


def types(app: Workspace) -> RenderableType:
    return Text("\n".join(printable(line) for line in type_lines(app, agent_types(app))))


async def stopped(sitting: ChatSession, name: str) -> RenderableType:
    """End an agent and everybody it hired; whoever has ended is let be."""
    crew = _crew(sitting)
    agent = named_agent(live_agents(crew, sitting.session.conversation.state), name)
    if agent.state != "running":
        return Text(printable(f"{name} is not at work any more: {agent.told}"))
    before = crew.running
    await crew.stop(name, STOPPED)
    ended = [member.name for member in before if not member.running]
    return Text(printable(f"Stopped: {', '.join(ended)}"))


def _crew(sitting: ChatSession) -> Crew:
    place = sitting.session.place
    if place is None:
        raise InputError("agents are off; turn them on with features.agents = true in the settings")
    return place.crew


def _table(agents: tuple[AgentStatus, ...], now: float) -> Table:
    table = Table("name", "type", "how", "tokens", "time", "", box=None, pad_edge=False)
    for column in table.columns[:5]:
        column.no_wrap = True
    table.columns[3].justify = table.columns[4].justify = "right"
    for agent in agents:
        doing = agent.line or "at work" if agent.state == "running" else agent.told
        spent = f"{agent.seconds(now):,.0f} s" if agent.state != "lost" else "–"
        told = (agent.name, agent.agent_type, agent.how, tokens(agent.tokens), spent)
        table.add_row(*map(printable, told), printable(one_line(f"{doing} ({agent.summary})")))
    return table


class Leave:
    """The person is done."""


# What comes after a command: the same session goes on (None), another one, or none at all.
Next: TypeAlias = "SessionOptions | Leave | None"
Action: TypeAlias = Callable[[ChatSession, str], Awaitable[Next]]

_KEYS = (
    ("Enter", "send; while an answer is coming, the message waits for its turn"),
    ("Alt-Enter, Ctrl-J", "a new line; so does \\ at the end of one"),
    ("Tab", "complete a /command or an @file"),
    ("↑ ↓, Ctrl-R", "earlier messages in this project"),
    ("Ctrl-C", "interrupt; at an empty prompt, twice: leave"),
    ("Ctrl-D", "leave"),
)
_RECALLED = 5
_FOUND = 10


async def _help(sitting: ChatSession, rest: str) -> Next:
    listed = _rows((command.usage, command.about) for command in COMMANDS)
    sitting.show(listed, "", _rows(_KEYS))
    return None


async def _remember(sitting: ChatSession, rest: str) -> Next:
    saved = await asyncio.to_thread(remember, sitting.app, rest)
    sitting.show(Text(printable(saved)))
    return None


async def _recall(sitting: ChatSession, rest: str) -> Next:
    found = await asyncio.to_thread(recall_service.recall, sitting.app, rest, limit=_RECALLED)
    shown = await asyncio.to_thread(read_hits, sitting.app, found, rest)
    sitting.show(recall.listed(found, shown))
    return None


async def _search(sitting: ChatSession, rest: str) -> Next:
    await asyncio.to_thread(recall_service.index_past_sessions, sitting.app)
    found = await asyncio.to_thread(recall_service.search, sitting.app, rest, limit=_FOUND)
    shown = await asyncio.to_thread(read_hits, sitting.app, found, rest)
    sitting.show(search.listed(found, shown))
    return None


_WHOSE: dict[MemoryScope, str] = {
    "project": "",
    "person": "about you, known in every project, ",
    "team": "of the team ",
}


async def _memory(sitting: ChatSession, rest: str) -> Next:
    memory = sitting.app.memory()
    for part in memory.parts:
        index = part.store.index()
        count = len(index.pointers)
        if part is not memory and not count:
            continue
        where = shown_path(sitting.app, part.place.directory)
        text = capped(index).text.strip()
        body: RenderableType = (
            render.prose(text, markdown=sitting.terminal.markdown) if text else ""
        )
        memories = counted(count, "memory", "memories")
        about = f"{memories} {_WHOSE[part.scope]}in {printable(where)}"
        sitting.show(Text(about, "bold"), body)
    return None


async def _inbox(sitting: ChatSession, rest: str) -> Next:
    items = await asyncio.to_thread(waiting, sitting.app)
    if not items:
        sitting.show("Nothing waits in the inbox.")
        return None
    rows = ((item.id[:8], item.proposal.text) for item in items)
    sitting.show(_rows(rows), render.line("decide with: reverie inbox approve|reject ID", "dim"))
    return None


async def _dream(sitting: ChatSession, rest: str) -> Next:
    dreaming = sitting.session.dreaming
    if dreaming is None:
        raise InputError("memory is off, so there is nothing to dream about (memory.enabled)")
    if rest == "stop":
        await sitting.session.background.cancel(DREAM)
        sitting.show("No dream is under way now; memory is as it was before it, or as it left it.")
    elif not dreaming.begin():
        sitting.show("A dream is under way already; /dream stop ends it.")
    return None


async def _context(sitting: ChatSession, rest: str) -> Next:
    state, window = sitting.session.conversation.state, sitting.session.upkeep.window
    width = min(sitting.terminal.width, context.BAR)
    sitting.show(context.drawn(context.measured(state, window), width))
    return None


async def _compact(sitting: ChatSession, rest: str) -> Next:
    """The layer announces what it did, or why it could not."""
    if not sitting.session.conversation.state.messages:
        sitting.show("Nothing was said yet: there is nothing to compact.")
        return None
    sitting.terminal.under_way(Text("compacting"))
    await sitting.session.upkeep.compact_now("manual", instructions=rest)
    return None


async def _snip(sitting: ChatSession, rest: str) -> Next:
    if not sitting.app.switches.on("snip"):
        raise InputError("snip is off; turn it on with features.snip = true in the settings")
    count, _, note = rest.partition(" ")
    if not count.isdecimal() or not int(count):
        raise InputError(
            f"/snip takes how many rounds, and a note: /snip 3 the search, not {rest!r}"
        )
    wish = snip.SnipRequest(note.strip() or "finished work", rounds=int(count))
    sitting.show(sitting.session.folding.mark(wish))
    return None


async def _notes(sitting: ChatSession, rest: str) -> Next:
    file = sitting.session.notes.notebook.file
    text = await asyncio.to_thread(file.read)
    if not text:
        sitting.show("No notes yet: they begin when there is something to lose.")
        return None
    where = render.line(file.path, "dim")
    sitting.show(render.prose(text, markdown=sitting.terminal.markdown), where)
    return None


async def _todos(sitting: ChatSession, rest: str) -> Next:
    listed = sitting.session.toolbox.workplace.todos
    sitting.show(Text(printable(todos.render(listed))) if listed else "Nothing is on the list.")
    return None


async def _agents(sitting: ChatSession, rest: str) -> Next:
    word, _, name = rest.partition(" ")
    match word, name.strip():
        case "", _:
            sitting.show(listed(sitting))
        case "types", "":
            sitting.show(await asyncio.to_thread(types, sitting.app))
        case "stop", name if name:
            sitting.show(await stopped(sitting, name))
        case _:
            raise InputError(f"/agents takes nothing, types, or stop NAME, not {rest!r}")
    return None


async def _cost(sitting: ChatSession, rest: str) -> Next:
    spent = sitting.spent
    if not spent:
        sitting.show("Nothing was spent in this session.")
        return None
    today = sitting.app.ledger.spent("main", "").day
    total = f"{dollars(cost_of(spent))} in this session, {dollars(today)} today in all projects"
    sitting.show(_spending(spent), Text(total, "dim"))
    return None


async def _model(sitting: ChatSession, rest: str) -> Next:
    window = sitting.session.upkeep.window
    if not rest:
        name = sitting.session.conversation.model.name
        sitting.show(f"{name}, window {tokens(window.tokens)} ({window.source})")
        return None
    require_model(sitting.app, rest)
    return replace(sitting.wish, model=rest, resume=_journal(sitting))


async def _clear(sitting: ChatSession, rest: str) -> Next:
    return replace(sitting.wish, resume=None)


async def _resume(sitting: ChatSession, rest: str) -> Next:
    if rest:
        return replace(sitting.wish, resume=past.chosen(sitting.app, rest))
    listed = await asyncio.to_thread(past.recent, sitting.app)
    if not listed:
        sitting.show("There are no conversations in this project yet.")
        return None
    sitting.show(past.table(listed), Text("go on with one: /resume NUMBER", "dim"))
    return None


async def _exit(sitting: ChatSession, rest: str) -> Next:
    return Leave()


ACTIONS: Mapping[str, Action] = {
    "help": _help,
    "remember": _remember,
    "recall": _recall,
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


def _journal(sitting: ChatSession) -> Path | None:
    """Where this session goes on; one in which nothing was said begins anew."""
    state = sitting.session.conversation.state
    return sitting.app.project.journal(state.session) if state.messages else None


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
