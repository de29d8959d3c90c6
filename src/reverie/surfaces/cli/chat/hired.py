"""The agents of the session at hand: who is at work, which types there are, and an end to one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from reverie.app.agent_types import agent_types
from reverie.app.agents import live_agents, named_agent
from reverie.errors import InputError
from reverie.memory.scalars import one_line
from reverie.surfaces.cli.agents import type_lines
from reverie.surfaces.cli.figures import printable, tokens

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.app import App
    from reverie.app.agents import AgentStatus
    from reverie.session.crew.crew import Crew
    from reverie.surfaces.cli.chat.sitting import Sitting

STOPPED = "the user stopped it"


def listed(sitting: Sitting) -> RenderableType:
    """Everybody hired in this session, with what they do or how they ended."""
    agents = live_agents(_crew(sitting), sitting.session.conversation.state)
    return _table(agents, sitting.app.clock.now()) if agents else "Nobody was hired yet."


def types(app: App) -> RenderableType:
    return Text("\n".join(printable(line) for line in type_lines(app, agent_types(app))))


async def stopped(sitting: Sitting, name: str) -> RenderableType:
    """End an agent and everybody it hired; whoever has ended is let be."""
    crew = _crew(sitting)
    agent = named_agent(live_agents(crew, sitting.session.conversation.state), name)
    if agent.state != "running":
        return Text(printable(f"{name} is not at work any more: {agent.told}"))
    before = crew.running
    await crew.stop(name, STOPPED)
    ended = [member.name for member in before if not member.running]
    return Text(printable(f"Stopped: {', '.join(ended)}"))


def _crew(sitting: Sitting) -> Crew:
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
