"""Notes of a past session: those kept at the time, or a draft from its transcript by rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reverie.clients.hooks.dialects import CLAUDE_CODE as CLAUDE
from reverie.context.compaction.parts import is_summary
from reverie.context.facts import read_facts
from reverie.context.session_notes import (
    TEMPLATE,
    Template,
    Unusable,
    as_summary,
    from_facts,
    parse_template,
)
from reverie.context.session_notes.update import Notebook
from reverie.conversation import transcripts
from reverie.conversation.journal import TextFile, safe_name
from reverie.conversation.records import Said
from reverie.errors import InputError
from reverie.recall.past_sessions import conversations

if TYPE_CHECKING:
    from reverie.settings.projects import Project
    from reverie.workspace import Workspace

_NOTES = "notes.md"


@dataclass(frozen=True, slots=True)
class PastSession:
    """A session of this project, Reverie's or another agent's, and when it was last written to."""

    id: str
    path: Path
    last: float


@dataclass(frozen=True, slots=True)
class SessionNotes:
    """Notes of a session; `made` says whether they were kept at the time or drafted now."""

    session: PastSession
    text: str
    made: Literal["kept", "drafted"]


def past_sessions(app: Workspace) -> list[PastSession]:
    """The sessions of this project, newest first."""
    known = conversations(app.project, {}, user=app.user)
    found = []
    for id_, path in (*_notes_without_transcript(app.project, known), *known.items()):
        with suppress(OSError):
            found.append(PastSession(id_, path, path.stat().st_mtime))
    return sorted(found, key=lambda session: (-session.last, session.id))


def _notes_without_transcript(
    project: Project, known: Mapping[str, Path]
) -> Iterator[tuple[str, Path]]:
    """Sessions of other agents with notes from hooks, but without a known transcript."""
    listed = {_hook_folder(project, id_).name for id_ in known} | known.keys()
    with suppress(OSError):
        for path in sorted(project.hooks.glob(f"*/{_NOTES}")):
            if path.parent.name not in listed:
                yield path.parent.name, path


def _hook_folder(project: Project, id_: str) -> Path:
    """Where hooks store their files for a session of Claude Code."""
    return project.hooks / safe_name(f"{CLAUDE}-{id_}")


def _candidate_paths(project: Project, session: PastSession) -> tuple[Path, ...]:
    """Where a session's notes may be: in our sessions folder, with its hooks, or beside its transcript."""
    beside = session.path.parent if session.path.is_relative_to(project.hooks) else None
    folders = (project.sessions / session.id, _hook_folder(project, session.id), beside)
    return tuple(folder / _NOTES for folder in folders if folder is not None)


def named_session(sessions: list[PastSession], name: str) -> PastSession:
    """Find a session by its id or the start of its id."""
    exact = [session for session in sessions if session.id == name]
    found = exact or [session for session in sessions if session.id.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(session.id for session in found[:5])
        raise InputError(f"{name!r} fits {len(found)} sessions: {names}; give more of the id")
    newest = ", ".join(session.id for session in sessions[:5])
    hint = f"; the newest are {newest}" if newest else "; this project has none yet"
    raise InputError(f"no session {name!r} in this project{hint}")


def notes_of(app: Workspace, session: PastSession) -> SessionNotes:
    """The notes that were kept; without them, a draft made from the transcript."""
    template = _template(app)
    for path in _candidate_paths(app.project, session):
        kept = as_summary(Notebook(TextFile(path), template).read(), str(path))
        if kept is not None:
            return SessionNotes(session, kept, "kept")
    if session.path.name == _NOTES:
        return SessionNotes(session, "", "kept")
    records = transcripts.load(session.path).records
    messages = (record.message for record in records if isinstance(record, Said))
    facts = read_facts(message for message in messages if not is_summary(message))
    drafted = as_summary(from_facts(facts, template), str(session.path))
    return SessionNotes(session, drafted or "", "drafted")


def _template(app: Workspace) -> Template:
    text = TextFile(app.settings.home / "session-notes" / "template.md").read()
    template = TEMPLATE if text is None else parse_template(text)
    return TEMPLATE if isinstance(template, Unusable) else template
