"""Layer 1 for another client: long outputs of a tool go to files, and previews stand in their places."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from reverie.core.messages import Text, ToolResult
from reverie.layers import NotDue
from reverie.layers.tool_results import Budget, Due, plan, run

if TYPE_CHECKING:
    from reverie.app.hooks.moments import ToolFinished
    from reverie.events import Announce
    from reverie.ports import BlobStore

# Clients cut or store by themselves from about 30,000 characters on.
LIMIT = 20_000


def replaced(tool: ToolFinished, budget: Budget, blobs: BlobStore, announce: Announce) -> Any:
    """The response with previews for what is too long in it; None when it stays as it is."""
    texts = {field: text for field in tool.outputs if isinstance(text := _output(tool, field), str)}
    found = {
        field: stand_in
        for field, text in texts.items()
        if (
            stand_in := _stored(_named(tool, field, text), tool.name, text, budget, blobs, announce)
        )
    }
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


def _stored(
    name: str, tool: str, text: str, budget: Budget, blobs: BlobStore, announce: Announce
) -> str | None:
    limit = budget.threshold(tool)
    if limit is None or len(text) <= limit:
        return None
    planned = plan(Due(((ToolResult(name, (Text(text),)), tool),)), budget)
    if isinstance(planned, NotDue):
        return None
    # Without a file there is nothing to read on in: then the output stays whole.
    return next((one.text for one in run(planned, blobs, announce) if one.path), None)
