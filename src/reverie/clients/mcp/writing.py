"""The tools that change memory: remember and forget."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from reverie.clients.mcp.answers import Answer, bulleted
from reverie.clients.mcp.resources import located
from reverie.errors import InputError
from reverie.memory.changes.draft import Declined, NewMemory, Related, Remembered
from reverie.memory.format import age
from reverie.memory.format.taxonomy import SCOPE_ORIGINS, MemoryScope
from reverie.workspace.handles import EXACT

if TYPE_CHECKING:
    from reverie.clients.mcp.answers import Caller
    from reverie.clients.mcp.tools import Arguments
    from reverie.workspace import Workspace


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
    if held := age.holds(outcome.topic.valid_from, outcome.topic.valid_until):
        changes.append(f"it {held}")
    if outcome.secrets:
        changes.append(f"a secret was taken out ({', '.join(outcome.secrets)})")
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
