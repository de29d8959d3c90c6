"""Which memory a name means, and under which address it is offered as a resource."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

from reverie.errors import InputError
from reverie.memory.manifest import is_index
from reverie.memory.paths import Refused, check_name
from reverie.memory.scopes import split

if TYPE_CHECKING:
    from reverie.app import App
    from reverie.app.memory import OpenMemory
    from reverie.memory.topic import Topic

SCHEME = "memory://"
INDEX = f"{SCHEME}index"
TEMPLATE = f"{SCHEME}{{+file}}"


def address(file: str) -> str:
    return SCHEME + quote(file, safe="/")


def file_of(uri: str) -> str:
    """The file an address names. It is decoded once: what is still encoded then is refused later."""
    if not uri.startswith(SCHEME):
        raise InputError(f"{_quoted(uri)} is no address of a memory; they begin with {SCHEME}")
    rest = uri.removeprefix(SCHEME)
    if "?" in rest or "#" in rest:
        raise InputError(f"{_quoted(uri)} is refused: an address has no query and no fragment")
    try:
        return unquote_to_bytes(rest).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{_quoted(uri)} is refused: it is not UTF-8") from error


def located(app: App, file: str) -> tuple[OpenMemory, str]:
    """The memory a file lies in and its name there; only exact names inside it are taken."""
    verdict = check_name(file)
    if isinstance(verdict, Refused):
        raise InputError(f"{verdict.reason}; give a file name as list_memories shows it")
    if is_index(file):
        raise InputError(f"{file} is the index, no memory; list_memories or {INDEX} shows it")
    if split(file)[0] == "team" and "team" not in app.scopes:
        raise InputError(f"{file} would be team memory, which is off (features.team)")
    return app.memory_of(file)


def required(memory: OpenMemory, name: str) -> Topic:
    """The memory under a name, or an error that names what is close to it."""
    stored = memory.store.read(name)
    if stored is not None:
        return stored.topic
    file = labelled(memory, name)
    known = [labelled(memory, entry.file) for entry in memory.store.entries()]
    close = get_close_matches(file, known, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "list_memories shows them all"
    raise InputError(f"no memory {file!r}; {hint}")


def labelled(memory: OpenMemory, file: str) -> str:
    """A file's name as every tool takes it: others than the project's say whose they are."""
    return memory.label(file)


def _quoted(uri: str) -> str:
    return repr(uri if len(uri) <= 120 else f"{uri[:120]}…")
