"""Finds the memory a name refers to, and maps memories to resource addresses and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

from reverie.errors import InputError
from reverie.memory.format.manifest import is_index
from reverie.memory.format.paths import Refused, check_name
from reverie.memory.format.taxonomy import split
from reverie.workspace.handles import is_known, required

if TYPE_CHECKING:
    from reverie.memory.changes.handles import How
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
