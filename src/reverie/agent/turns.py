"""The bare agent loop: ask the model, run its tools, until it calls none. No memory, no layers."""

from __future__ import annotations

from dataclasses import dataclass

from reverie.agent.toolbox import Toolbox
from reverie.core.messages import ToolUse
from reverie.core.request import Reply
from reverie.core.usage import Usage
from reverie.errors import ReplyBroken
from reverie.events import Announce, Replied
from reverie.ports import Exchange

# The reason when a turn used up its requests.
OUT_OF_REQUESTS = "limit of requests"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a turn: requests, continuations of cut-off replies, seconds to wait for recall."""

    requests: int = 200
    continuations: int = 3
    # None: until recall is done.
    recall_seconds: float | None = 1.0


@dataclass(frozen=True, slots=True)
class Finished:
    """How a loop ended: its last reply, its total usage, and whether it was cut short."""

    reply: Reply
    usage: Usage
    turns: int
    cut_short: bool = False


async def ask(exchange: Exchange, announce: Announce) -> Reply:
    """Send one request, announce its events, and return the reply."""
    reply: Reply | None = None
    async for event in exchange.send():
        announce(event)
        if isinstance(event, Replied):
            reply = event.reply
    if reply is None:
        raise ReplyBroken("the model ended its stream without a reply; try again")
    return reply


def calls_of(reply: Reply) -> tuple[ToolUse, ...]:
    return tuple(block for block in reply.blocks if isinstance(block, ToolUse))


async def run_turns(
    exchange: Exchange,
    toolbox: Toolbox,
    announce: Announce,
    max_turns: int,
    ends_with: str = "",
) -> Finished:
    """Run until the model calls no tool, has written the file `ends_with`, or is out of requests."""
    usage = Usage()
    for turn in range(1, max_turns + 1):
        reply = await ask(exchange, announce)
        usage += reply.usage
        calls = calls_of(reply)
        if not calls:
            return Finished(reply, usage, turn)
        if turn == max_turns:
            break
        results = await toolbox.run(calls)
        exchange.say(*results, origin="tool")
        if ends_with and _wrote(ends_with, calls) and not any(r.is_error for r in results):
            return Finished(reply, usage, turn)
    return Finished(reply, usage, max_turns, cut_short=True)


def _wrote(name: str, calls: tuple[ToolUse, ...]) -> bool:
    paths = (str(call.input.get("path") or call.input.get("file_path") or "") for call in calls)
    changes = all(call.name in ("Write", "Edit") for call in calls)
    return changes and any(path.rpartition("/")[2] == name for path in paths)
