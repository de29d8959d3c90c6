"""Shared by the memory and history commands: options, finding a memory, showing a change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reverie.cli.invocation import note
from reverie.errors import InputError
from reverie.memory.format.revisions import Author, Revision
from reverie.memory.format.taxonomy import SCOPES, MemoryScope

if TYPE_CHECKING:
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

# The author of every change a command makes.
PERSON = Author("user")


def team_option(handler: Decorated) -> Decorated:
    """Add `--team`: work on the shared memory."""
    return click.option("--team", is_flag=True, help="Work on the memory shared with the team.")(
        handler
    )


def scope_option(handler: Decorated) -> Decorated:
    """Add `--scope` project, person or team; `--team` is short for `--scope team`."""

    @wraps(handler)
    def scoped(*args: Any, team: bool, scope: MemoryScope | None, **given: Any) -> Any:
        if team and scope not in (None, "team"):
            raise click.UsageError("give --scope or --team: one of them")
        return handler(*args, scope="team" if team else scope, **given)

    about = "Only the memory of this project, about you, or of the team."
    choice = click.option("--scope", type=click.Choice(SCOPES), help=about)
    wrapped: Any = choice(team_option(scoped))
    result: Decorated = wrapped
    return result


def opened(app: Workspace, scope: MemoryScope | None = None) -> OpenMemory:
    """Open the memory of a scope (default: the project's); team memory must be turned on."""
    wanted = scope or "project"
    require_team(app, team=wanted == "team")
    return app.memory(wanted)


def private(app: Workspace, scope: MemoryScope | None = None) -> tuple[OpenMemory, ...]:
    """The memories that are not shared, or only the one of `scope`."""
    return app.memory().private if scope is None else (opened(app, scope),)


def opened_for(app: Workspace, file: str, *, team: bool = False) -> tuple[OpenMemory, str]:
    """Find a memory file by its name, its short id, or words of its title."""
    from reverie.workspace.handles import required

    return required(app, file, scope="team" if team else None)


def superseded_label(app: Workspace, wanted: str, *, team: bool = False) -> str:
    """The label of the memory a new one replaces; the new one is saved in the same scope."""
    found, file = opened_for(app, wanted, team=team)
    if found.team and not team:
        raise InputError(
            f"{found.label(file)} is shared: replace it with --team, or save yours beside it"
        )
    return found.label(file)


def require_team(app: Workspace, *, team: bool) -> None:
    if team and not app.settings.flag("features.team"):
        raise InputError("team memory is off; turn it on with features.team = true in the settings")


def shown_path(app: Workspace, path: Path) -> str:
    """A path with `~` for the person's home."""
    person = app.settings.person_home
    return f"~/{path.relative_to(person)}" if path.is_relative_to(person) else str(path)


def up_to_date(memory: OpenMemory) -> OpenMemory:
    """Record edits made by hand in the history; create nothing if there is no memory."""
    if memory.place.directory.is_dir():
        memory.store.notice_hand_edits()
    return memory


def tell_age(memories: Iterable[OpenMemory]) -> None:
    """Say how old the shown copy is, if the service that keeps the memory is away."""
    for told in dict.fromkeys(told for memory in memories for told in memory.notes):
        note(told)


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def revision_json(revision: Revision) -> dict[str, Any]:
    author = revision.author
    return {
        "revision": revision.id,
        "at": iso(revision.at),
        "writer": author.writer,
        "session": author.session,
        "messages": list(author.messages),
        "model": author.model,
        "dream": author.dream,
        "undoes": list(author.undoes),
        "summary": revision.summary,
        "files": list(revision.files),
    }


def author_of(revision: Revision) -> str:
    """The writer of a change, with its session or dream."""
    author = revision.author
    of = author.dream or author.session
    return f"{author.writer} {of[:8]}" if of else author.writer


def undo_hint(revision: Revision, *, team: bool = False, command: str = "reverie undo") -> str:
    return f"undo with: {command} {revision.short}" + (" --team" if team else "")


def mention_former(app: Workspace) -> None:
    """In a repository that was moved, say where its memory is before starting an empty one."""
    if app.memory_location.directory.is_dir() or app.adoption.current:
        return
    for folder, identity in app.adoption.former():
        if (folder / "memory").is_dir() or identity.adopted:
            note(
                f"this repository has a memory from when it was {identity.root}; "
                f"continue it with: reverie adopt --from {folder.name}"
            )
