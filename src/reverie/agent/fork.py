"""A side agent on the parent's exact prefix: it shares the bytes, and changes nothing of the parent.

What is shared byte for byte: head, tools, options of the cache key, every message so far. Cloned:
the workplace. Its own: transcript, permission, usage. Cancelling the parent cancels it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reverie.agent.permissions import Call, Consent, Decision, Denied, Permission, nothing
from reverie.agent.toolbox import Toolbox
from reverie.agent.tools import Workshop
from reverie.agent.turns import Finished, run_turns
from reverie.core.messages import Block, Message, Text, ToolResult
from reverie.core.spend import Purpose
from reverie.core.transcript import open_tool_uses
from reverie.core.usage import Usage
from reverie.events import (
    Announce,
    CacheBroke,
    Event,
    ForkEnded,
    ForkStarted,
    TroubleNoted,
    unheard,
)
from reverie.ports import Exchange

# Every fork answers open calls with the same words, so that only the directive differs.
PLACEHOLDER = "[The main agent runs this tool; its result is not needed here]"

_MARK = "<side-task>"


def directive_blocks(messages: Sequence[Message], directive: str) -> tuple[Block, ...]:
    """The fork's own message: the same placeholder for every open call, then its task."""
    results = (ToolResult(use.id, (Text(PLACEHOLDER),)) for use in open_tool_uses(messages))
    return (*results, Text(f"{_MARK}\n{directive}"))


def is_fork(messages: Sequence[Message]) -> bool:
    """Does this history belong to a fork? Then it must not fork again."""
    return any(message.origin == "reverie" and _MARK in message.text for message in messages)


def alone(permission: Permission, messages: Sequence[Message]) -> Permission:
    """The same permission, but who is a fork by its own history deals with no other agents."""

    def decide(call: Call) -> Decision:
        if call.tool.social and is_fork(messages):
            return Denied(
                f"{call.tool.name}: a fork starts no agents and writes to none; do the task yourself"
            )
        return permission(call)

    return decide


@dataclass(frozen=True, slots=True)
class Task:
    """What a fork is to do and may do.

    `shown` are files whose content the directive tells, `workshop` a folder it works on a copy of.
    """

    purpose: Purpose
    directive: str
    permission: Permission = nothing
    max_turns: int = 1
    shown: tuple[Path, ...] = ()
    workshop: Workshop | None = None


async def fork(
    side: Exchange, toolbox: Toolbox, task: Task, announce: Announce, hear: Announce = unheard
) -> Finished:
    """Give the side conversation its task and let it work; failures are announced, then raised.

    What concerns the parent is announced; `hear` gets everything.
    """

    def aside(event: Event) -> None:
        hear(event)
        if isinstance(event, CacheBroke | TroubleNoted):
            announce(event)

    announce(ForkStarted(task.purpose))
    side.say(*directive_blocks(side.messages, task.directive), origin="reverie")
    try:
        permission = alone(task.permission, side.messages)
        tools = toolbox.fork(Consent(permission), task.shown, task.workshop)
        done = await run_turns(side, tools, aside, task.max_turns)
    except BaseException as error:
        announce(ForkEnded(task.purpose, Usage(), 0, str(error) or "it was stopped"))
        raise
    announce(ForkEnded(task.purpose, done.usage, done.turns))
    return done
