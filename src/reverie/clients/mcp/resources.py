"""Memory as MCP resources: the index and every topic file, their addresses, and the memory a name refers to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_to_bytes

from reverie.clients.mcp.answers import Caller, sendable
from reverie.clients.mcp.tools import BY_NAME
from reverie.errors import InputError
from reverie.memory.format.frontmatter import one_line
from reverie.memory.format.index import capped
from reverie.memory.format.manifest import is_index
from reverie.memory.format.paths import Refused, check_name
from reverie.memory.format.taxonomy import SCOPE_ORIGINS, split
from reverie.workspace.handles import is_known, labelled, required

if TYPE_CHECKING:
    from reverie.memory.changes.handles import How
    from reverie.memory.format.manifest import ManifestEntry
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace


SCHEME = "memory://"
INDEX = f"{SCHEME}index"
TEMPLATE = f"{SCHEME}{{+file}}"


def address(file: str) -> str:
    return SCHEME + quote(file, safe="/")


def file_of(uri: str) -> str:
    """The file an address names. It is decoded only once: `located` refuses what is still encoded."""
    if not uri.startswith(SCHEME):
        raise InputError(f"{_quoted(uri)} is not a memory's address; addresses begin with {SCHEME}")
    rest = uri.removeprefix(SCHEME)
    if "?" in rest or "#" in rest:
        raise InputError(f"{_quoted(uri)} is refused: an address has no query and no fragment")
    try:
        return unquote_to_bytes(rest).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{_quoted(uri)} is refused: it is not UTF-8") from error


def located(app: Workspace, wanted: str, ways: Sequence[How] = ()) -> tuple[OpenMemory, str]:
    """The memory and file for a file name, id or title; never a file outside the memory.

    `ways` limits how it may be named; empty allows all ways.
    """
    file = wanted if not wanted or wanted.endswith(".md") else f"{wanted}.md"
    verdict = check_name(file)
    # A title may hold characters a file name may not; it is only compared, never opened.
    if isinstance(verdict, Refused) and not is_known(app, wanted):
        raise InputError(f"{verdict.reason}; give a file name as list_memories shows it")
    if is_index(file):
        raise InputError(f"{file} is the index, not a memory; list_memories or {INDEX} shows it")
    if split(file)[0] == "team" and "team" not in app.scopes:
        raise InputError(f"{file} would be team memory, which is off (features.team)")
    return required(app, wanted, ways=ways, listed_by="list_memories")


def _quoted(uri: str) -> str:
    return repr(uri if len(uri) <= 120 else f"{uri[:120]}…")


MARKDOWN = "text/markdown"
MOST_LISTED = 100

_INDEX = {
    "name": "index",
    "title": "What is remembered",
    "uri": INDEX,
    "description": "MEMORY.md: one line for each memory of this project.",
    "mimeType": MARKDOWN,
}

RESOURCE_TEMPLATE = {
    "name": "memory",
    "title": "A memory",
    "uriTemplate": TEMPLATE,
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
        "uri": address(entry.file),
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
    file = file_of(uri)
    if uri == INDEX:
        return _indexes(app.memory()) or "Nothing is remembered yet.\n"
    return BY_NAME["read_memory"].work()(app, {"file": file}, Caller()).text
