"""Layer 1 for another client: long outputs of a tool go to files, and previews stand in their places."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from reverie.core.messages import Text, ToolResult
from reverie.layers import NotDue
from reverie.layers.tool_results import Budget, Due, Plan, plan, run

if TYPE_CHECKING:
    from reverie.app.hooks.moments import ToolFinished
    from reverie.events import Announce
    from reverie.ports import BlobStore, Scrubber

# Clients cut or store by themselves from about 30,000 characters on.
LIMIT = 20_000


def replaced(
    tool: ToolFinished,
    budget: Budget,
    blobs: BlobStore,
    announce: Announce,
    scrubber: Scrubber | None = None,
) -> Any:
    """The response with previews for what is too long in it; None when it stays as it is."""
    texts = {field: text for field in tool.outputs if isinstance(text := _output(tool, field), str)}
    found: dict[str, str] = {}
    for field, text in texts.items():
        planned = _planned(_named(tool, field, text), tool.name, text, budget)
        if not isinstance(planned, NotDue):
            # Without a file there is nothing to read on in: then the output stays whole.
            done = run(planned, blobs, announce, scrubber)
            text = next((one.text for one in done if one.path), None)
            found |= {} if text is None else {field: text}
    if not found:
        return None
    if tool.outputs == ("",):
        return found[""]
    return {**tool.response, **found}


def _output(tool: ToolFinished, field: str) -> object:
    return tool.response.get(field) if field else tool.response


def _named(tool: ToolFinished, field: str, text: str) -> str:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return "-".join(part for part in (tool.id or digest, field) if part)


def _planned(name: str, tool: str, text: str, budget: Budget) -> Plan | NotDue:
    limit = budget.threshold(tool)
    if limit is None or len(text) <= limit:
        return NotDue("it is not too long")
    return plan(Due(((ToolResult(name, (Text(text),)), tool),)), budget)
