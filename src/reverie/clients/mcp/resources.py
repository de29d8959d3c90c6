"""Memory as MCP resources: the index, and every topic file by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reverie.clients.mcp import places
from reverie.clients.mcp.answers import sendable
from reverie.clients.mcp.caller import Caller
from reverie.clients.mcp.tools import BY_NAME
from reverie.memory.format.frontmatter import one_line
from reverie.memory.format.index import capped
from reverie.memory.format.taxonomy import SCOPE_ORIGINS
from reverie.workspace.handles import labelled

if TYPE_CHECKING:
    from reverie.memory.format.manifest import ManifestEntry
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

MARKDOWN = "text/markdown"
MOST_LISTED = 100

_INDEX = {
    "name": "index",
    "title": "What is remembered",
    "uri": places.INDEX,
    "description": "MEMORY.md: one line for each memory of this project.",
    "mimeType": MARKDOWN,
}

TEMPLATE = {
    "name": "memory",
    "title": "A memory",
    "uriTemplate": places.TEMPLATE,
    "description": "One memory by its file name, such as memory://project_release_freeze.md.",
    "mimeType": MARKDOWN,
}


def listed(app: Workspace) -> dict[str, Any]:
    """The index and the newest memories; older ones are not listed but can be read."""
    entries = [entry for entry in labelled(app) if entry.listed]
    return {"resources": [_INDEX, *map(_described, entries[:MOST_LISTED])]}


def _described(entry: ManifestEntry) -> dict[str, str]:
    description = sendable(one_line(entry.description))
    return {
        "name": entry.file,
        "title": sendable(one_line(entry.name)),
        "uri": places.address(entry.file),
        **({"description": description} if description else {}),
        "mimeType": MARKDOWN,
    }


def completed(app: Workspace, typed: str) -> list[str]:
    """Files whose names begin with what was typed, then those that contain it."""
    names = [entry.file for entry in labelled(app) if entry.listed]
    wanted = typed.casefold()
    first = [name for name in names if name.casefold().startswith(wanted)]
    return [*first, *(name for name in names if wanted in name.casefold() and name not in first)]


def _indexes(memory: OpenMemory) -> str:
    """The project's MEMORY.md, then those of the other scopes that are recalled with it."""
    own, *others = ((part, capped(part.store.index()).text) for part in memory.parts)
    titled = [f"\n## {SCOPE_ORIGINS[part.scope]}\n\n{text}" for part, text in others if text]
    return "".join((own[1], *titled))


def read(app: Workspace, uri: str) -> str:
    """The text at an address; addresses outside memory are refused."""
    file = places.file_of(uri)
    if uri == places.INDEX:
        return _indexes(app.memory()) or "Nothing is remembered yet.\n"
    return BY_NAME["read_memory"].work()(app, {"file": file}, Caller()).text
