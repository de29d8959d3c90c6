"""The tools of agents: Agent hires sub-agents, send_message writes to them and to other sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from reverie.agent.tools import (
    Access,
    Arguments,
    Tool,
    ToolOutput,
    Workplace,
    always,
    parameters,
    string,
)
from reverie.core.request import ToolSpec
from reverie.errors import InputError
from reverie.subagents.crew import Place
from reverie.subagents.letters import KINDS, LEAD, LONGEST_SUMMARY, OUTSIDE, Letter, problem
from reverie.subagents.members import (
    DONE,
    FORK,
    WAYS,
    Brief,
    Member,
    agent_description,
    send_description,
)

AGENT = "Agent"
DEFAULT_TYPE = "general"


def agent_tool(place: Place) -> Tool:
    spec = ToolSpec.of(
        AGENT,
        agent_description(place.crew.types),
        parameters(
            *("task", "summary"),
            task=string(minLength=1),
            summary=string("The task in three to six words.", minLength=1, maxLength=100),
            type={"enum": list(place.crew.types), "description": "Default: general."},
            how={"enum": list(WAYS), "description": "Default: wait."},
            name=string("What it is called, to write to it; made up when left out."),
            apart={"type": "boolean"},
            plans_first={"type": "boolean"},
        ),
    )

    async def run(arguments: Arguments, workplace: Workplace) -> ToolOutput:
        return await _hire(place, arguments)

    # Hiring changes nothing; the sub-agent asks for permission itself.
    return Tool(spec, run=run, access=always("read"), headline=_agent_headline, social=True)


def _agent_headline(arguments: Arguments) -> str:
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


SEND_MESSAGE = "send_message"
EVERYBODY = "*"


def send_message_tool(place: Place) -> Tool:
    spec = ToolSpec.of(
        SEND_MESSAGE,
        send_description(),
        parameters(
            *("to", "message", "summary"),
            to=string(minLength=1),
            message=string(),
            summary=string("The message in five to ten words.", maxLength=LONGEST_SUMMARY),
            kind={"enum": list(KINDS), "description": "Default: message."},
            reply_to=string("The id of the letter answered."),
            agreed={"type": "boolean"},
        ),
    )

    async def run(arguments: Arguments, workplace: Workplace) -> ToolOutput:
        return await _send(place, arguments)

    return Tool(spec, run=run, access=_access, headline=_send_headline, social=True)


def _access(arguments: Arguments, workplace: Workplace) -> Access:
    """Letters within the team need no permission; letters to other sessions do."""
    return "network" if _is_outside(arguments["to"]) else "read"


def _send_headline(arguments: Arguments) -> str:
    return f"{SEND_MESSAGE} to {arguments['to']}: {arguments['summary']}"


async def _send(place: Place, arguments: Arguments) -> ToolOutput:
    to = arguments["to"]
    if _is_outside(to):
        return await _send_outside(place, to, arguments)
    names = place.crew.recipients(place.identity) if to == EVERYBODY else (to,)
    if not names:
        return ToolOutput.error("There is no other agent to write to")
    outcomes = [(name, await _send_to(place, name, arguments)) for name in names]
    return _report(outcomes)


async def _send_to(place: Place, to: str, arguments: Arguments) -> str | None:
    letter = _letter(place, to, arguments)
    if to == place.identity.name:
        return "that is you"
    if wrong := problem(letter):
        return wrong
    wrong = await place.crew.send(letter)
    if wrong is None:
        _apply(place, letter)
    return wrong


async def _send_outside(place: Place, address: str, arguments: Arguments) -> ToolOutput:
    """Write to another session, with this session's id as the sender, so that it can answer."""
    letter = _letter(place, LEAD, arguments)
    if place.identity.conversation is not None:
        letter = replace(letter, sender=place.identity.conversation.state.session.lower())
    wrong = problem(letter) or await place.crew.wire.send(address, letter)
    return _report([(address, wrong)])


def _letter(place: Place, to: str, arguments: Arguments) -> Letter:
    kind = arguments.get("kind", "message")
    letter = place.crew.letter(
        place.identity.name, to, arguments["message"], arguments["summary"], kind
    )
    return replace(letter, reply_to=arguments.get("reply_to"), agreed=arguments.get("agreed"))


def _apply(place: Place, letter: Letter) -> None:
    """Record that the sender agreed to shut down, or asked for approval of its plan."""
    if letter.kind == "shutdown_response" and letter.agreed and letter.to == place.identity.parent:
        place.identity.leaving = True
    approval = place.identity.approval
    if letter.kind == "plan_approval_request" and approval is not None and letter.to == approval.by:
        approval.asked = letter.id


def _report(outcomes: Sequence[tuple[str, str | None]]) -> ToolOutput:
    sent = [name for name, wrong in outcomes if wrong is None]
    failed = [f"Not sent to {name}: {wrong}" for name, wrong in outcomes if wrong is not None]
    lines = ([f"Sent to {', '.join(sent)}."] if sent else []) + failed
    return ToolOutput.of("\n".join(lines)) if sent else ToolOutput.error("\n".join(lines))


def _is_outside(to: str) -> bool:
    return to.startswith(OUTSIDE)
