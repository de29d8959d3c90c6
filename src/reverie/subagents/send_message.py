"""send_message: the tool with which agents write to each other, and to other sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reverie.agent.tools import Access, Arguments, Tool, ToolOutput, Workplace
from reverie.core.request import ToolSpec
from reverie.subagents.crew import Place
from reverie.subagents.letters import KINDS, LEAD, LONGEST_SUMMARY, OUTSIDE, Letter, problem
from reverie.subagents.members import send_description

NAME = "send_message"
EVERYBODY = "*"


def send_message_tool(place: Place) -> Tool:
    spec = ToolSpec.of(
        NAME,
        send_description(),
        {
            "type": "object",
            "properties": {
                "to": {"type": "string", "minLength": 1},
                "message": {"type": "string"},
                "summary": {
                    "type": "string",
                    "maxLength": LONGEST_SUMMARY,
                    "description": "The message in five to ten words.",
                },
                "kind": {"enum": list(KINDS), "description": "Default: message."},
                "reply_to": {"type": "string", "description": "The id of the letter answered."},
                "agreed": {"type": "boolean"},
            },
            "required": ["to", "message", "summary"],
            "additionalProperties": False,
        },
    )

    async def run(arguments: Arguments, workplace: Workplace) -> ToolOutput:
        return await _send(place, arguments)

    return Tool(spec, run=run, access=_access, headline=_headline, social=True)


def _access(arguments: Arguments, workplace: Workplace) -> Access:
    """Letters within the team need no permission; letters to other sessions do."""
    return "network" if _is_outside(arguments["to"]) else "read"


def _headline(arguments: Arguments) -> str:
    return f"{NAME} to {arguments['to']}: {arguments['summary']}"


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
