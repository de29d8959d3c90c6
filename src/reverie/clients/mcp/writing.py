"""Memories as resources, and the tools that change them: remember and forget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_to_bytes

from reverie.clients.mcp.answers import Answer, Caller, bulleted, sendable
from reverie.clients.mcp.tools import BY_NAME
from reverie.errors import InputError
from reverie.memory.changes.draft import Declined, NewMemory, Related, Remembered
from reverie.memory.format import attachment
from reverie.memory.format.frontmatter import one_line
from reverie.memory.format.index import capped
from reverie.memory.format.manifest import is_index
from reverie.memory.format.paths import Refused, check_name
from reverie.memory.format.taxonomy import SCOPE_ORIGINS, MemoryScope, split
from reverie.workspace.handles import EXACT, is_known, labelled, required

if TYPE_CHECKING:
    from reverie.clients.mcp.tools import Arguments
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


def remember(app: Workspace, arguments: Arguments, caller: Caller) -> Answer:
    """Save a memory; the answer says if it was not saved, and why."""
    supersedes = arguments.get("supersedes")
    if supersedes is not None:
        old, name = located(app, supersedes, EXACT)
        if old.team:
            raise InputError(f"{supersedes} is shared: {_BY_A_PERSON}")
        supersedes = old.label(name)
    new = NewMemory(
        arguments["text"],
        arguments.get("type"),
        arguments.get("name"),
        arguments.get("description"),
        supersedes,
        source=caller.source,
        origin="assistant",
        even_if_known=arguments["even_if_known"],
        replace=arguments["replace"],
        scope=arguments.get("scope"),
    )
    memory, outcome = app.remember(new, caller.author)
    if isinstance(outcome, Remembered):
        return _saved(outcome, memory.scope)
    return _declined(outcome)


_BY_A_PERSON = "what the team shares is changed by a person, with `reverie … --team`"


def _saved(outcome: Remembered, scope: MemoryScope) -> Answer:
    changes = [f"“{change.before}” became {change.after}" for change in outcome.dates]
    if held := attachment.holds(outcome.topic.valid_from, outcome.topic.valid_until):
        changes.append(f"it {held}")
    if outcome.secrets:
        changes.append(f"a secret was removed ({', '.join(outcome.secrets)})")
    if outcome.superseded:
        changes.append(f"{outcome.superseded} is replaced, and kept for history")
    changes += [_related(one) for one in outcome.related]
    topic = outcome.topic
    undo = f"reverie undo {outcome.revision.short}"
    data: dict[str, Any] = {"saved": True, "file": topic.file, "scope": scope, "undo": undo}
    data |= {"changes": changes} if changes else {}
    data |= {"related": [asdict(one) for one in outcome.related]} if outcome.related else {}
    lines = [
        *changes,
        *filter(None, (SCOPE_ORIGINS[scope],)),
        f"a person can take it back with: {undo}",
    ]
    return Answer(data, bulleted(f"Remembered in {topic.file} ({topic.type}).", lines))


def _related(near: Related) -> str:
    if near.guessed:
        return (
            f"{near.file} is perhaps about the same thing ({near.text}); both are kept. If yours "
            f'replaces it, call remember again with supersedes "{near.file}"'
        )
    if near.likeness == "restates":
        return (
            f"{near.file} seems to say the same ({near.text}); both are kept. If one is enough, call "
            f'remember again with supersedes "{near.file}"'
        )
    if near.likeness != "update":
        return f"related: {near.file} ({near.text})"
    return (
        f"{near.file} holds another value ({near.text}); both are kept. If yours replaces it, call "
        f'remember again with supersedes "{near.file}"'
    )


def _declined(outcome: Declined) -> Answer:
    advice = outcome.advice
    if outcome.existing:
        # The keeper's advice names command-line options; name the tool's arguments instead.
        advice = (
            f"Look at it with read_memory. If yours says more, call remember again with "
            f'supersedes "{outcome.existing}"; to keep both, with even_if_known.'
        )
    data: dict[str, Any] = {"saved": False, "reason": outcome.reason, "next": advice}
    data |= {"existing": outcome.existing} if outcome.existing else {}
    return Answer(data, f"Not saved: {outcome.reason}\n{advice}")


def forget(app: Workspace, arguments: Arguments, caller: Caller) -> Answer:
    """Remove the memory with this exact name or id, never one found by its title; history keeps it."""
    memory, name = located(app, arguments["file"], EXACT)
    file = memory.label(name)
    if memory.team:
        raise InputError(f"{file} is shared: {_BY_A_PERSON}")
    title = memory.keeper.require(name).topic.name
    revision = memory.keeper.forget(name, caller.author)
    undo = f"reverie undo {revision.short}" if revision else ""
    data = {"forgotten": file, "name": title, "undo": undo}
    return Answer(data, f"Forgot {file}: {title}\nA person can take that back with: {undo}")
