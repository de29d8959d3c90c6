"""Agent: the tool with which an agent hires sub-agents."""

from __future__ import annotations

import asyncio

from reverie.agent.tools import Arguments, Tool, ToolOutput, Workplace, always
from reverie.core.request import ToolSpec
from reverie.errors import InputError
from reverie.subagents.crew import Place
from reverie.subagents.members import DONE, FORK, WAYS, Brief, Member, agent_description

NAME = "Agent"
DEFAULT_TYPE = "general"


def agent_tool(place: Place) -> Tool:
    spec = ToolSpec.of(
        NAME,
        agent_description(place.crew.types),
        {
            "type": "object",
            "properties": {
                "task": {"type": "string", "minLength": 1},
                "summary": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 100,
                    "description": "The task in three to six words.",
                },
                "type": {"enum": list(place.crew.types), "description": "Default: general."},
                "how": {"enum": list(WAYS), "description": "Default: wait."},
                "name": {
                    "type": "string",
                    "description": "What it is called, to write to it; made up when left out.",
                },
                "apart": {"type": "boolean"},
                "plans_first": {"type": "boolean"},
            },
            "required": ["task", "summary"],
            "additionalProperties": False,
        },
    )

    async def run(arguments: Arguments, workplace: Workplace) -> ToolOutput:
        return await _hire(place, arguments)

    # Hiring changes nothing; the sub-agent asks for permission itself.
    return Tool(spec, run=run, access=always("read"), headline=_headline, social=True)


def _headline(arguments: Arguments) -> str:
    how = arguments.get("how", "wait")
    kind = FORK if how == FORK else arguments.get("type", DEFAULT_TYPE)
    return f"Agent {kind}" + (f" ({how})" if how != "wait" else "") + f": {arguments['summary']}"


async def _hire(place: Place, arguments: Arguments) -> ToolOutput:
    if refused := place.crew.refusal(place.identity):
        return ToolOutput.error(refused)
    member = await place.crew.hire(place.identity, _brief(place, arguments))
    if member.brief.how == "wait":
        return await _wait_for(place, member)
    return ToolOutput.of(_started(member))


def _brief(place: Place, arguments: Arguments) -> Brief:
    how = arguments.get("how", "wait")
    identity = place.identity
    kind = place.crew.types[arguments.get("type", DEFAULT_TYPE)].within(identity.agent_type)
    apart, plans_first = bool(arguments.get("apart")), bool(arguments.get("plans_first"))
    if how != "teammate" and (apart or plans_first):
        raise InputError(f"apart and plans_first are for teammates; this is how: {how}")
    return Brief(
        name=place.crew.free_name(
            identity, arguments.get("name"), FORK if how == FORK else kind.name
        ),
        agent_type=kind,
        how=how,
        task=arguments["task"],
        summary=arguments["summary"],
        by=identity.name,
        depth=identity.depth + 1,
        mode=identity.may,
        folder=identity.folder,
        model=kind.model or identity.model,
        asks=identity.asks and how == "wait",
        apart=apart,
        plans_first=plans_first,
    )


async def _wait_for(place: Place, member: Member) -> ToolOutput:
    if member.work is not None:
        try:
            await asyncio.wait({member.work})
        except asyncio.CancelledError:
            await place.crew.stop(member.name, "the agent that waited for it was interrupted")
            raise
    why = member.why or DONE
    report = member.report_of(why)
    return ToolOutput.of(report) if why == DONE else ToolOutput.error(f"{member.name}: {report}")


def _started(member: Member) -> str:
    name = member.name
    match member.brief.how:
        case "teammate":
            return f"{name} is at work and stays. Write to it as {name!r}; it reports by letter."
        case "fork":
            return f"{name} is at work. Its answer will come as a letter; it cannot be written to."
        case _:
            return f"{name} is at work. Its answer will come as a letter; go on meanwhile."
