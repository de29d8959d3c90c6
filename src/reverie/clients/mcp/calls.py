"""A call of a tool, from its raw arguments to a result as the protocol writes it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reverie.clients.mcp.answers import Answer, sendable
from reverie.clients.mcp.caller import Caller
from reverie.clients.mcp.tools import BY_NAME, RESOURCES, Tool, checked
from reverie.errors import InputError, ReverieError

if TYPE_CHECKING:
    from reverie.workspace import Workspace

log = logging.getLogger(__name__)


def read_only_tool(app: Workspace, name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a tool that only reads, or the list of resources; `asked` has its arguments, and who asks."""
    if name == RESOURCES:
        from reverie.clients.mcp import resources

        return resources.listed(app)
    tool = BY_NAME.get(name)
    if tool is None or not tool.reads:
        raise InputError(f"{name!r} is no tool that only reads")
    caller = Caller.of(asked.get("client"), asked.get("meta"), str(asked.get("session") or ""))
    return result_of(app, tool, asked.get("arguments"), caller)


def result_of(
    app: Workspace, tool: Tool, arguments: Mapping[str, Any] | None, caller: Caller
) -> dict[str, Any]:
    """What the tool says; a failure is a result, too, and never a traceback."""
    try:
        answer: Answer = tool.work()(app, checked(tool, arguments), caller)
    except ReverieError as error:
        return failure(str(error))
    except Exception:  # the client must get an answer, whatever went wrong
        log.exception("the tool %s failed", tool.name)
        return failure(f"{tool.name} failed inside Reverie; `reverie doctor` may say more")
    return {"content": [text(answer.text)], "structuredContent": sendable(dict(answer.data))}


def failure(message: str) -> dict[str, Any]:
    return {"content": [text(message)], "isError": True}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": sendable(said)}
