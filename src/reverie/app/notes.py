"""The notes of a past session: those that were kept, or drafted from its transcript by rules."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reverie.app.episodes import conversations
from reverie.errors import InputError
from reverie.layers.compaction.summary_message import is_summary
from reverie.layers.facts import read_facts
from reverie.layers.session_notes.draft import from_facts
from reverie.layers.session_notes.summary import as_summary
from reverie.layers.session_notes.template import TEMPLATE, Template, Unusable, parse_template
from reverie.layers.session_notes.update import Notebook
from reverie.session import transcripts
from reverie.session.records import Said
from reverie.stores.text_file import TextFile

if TYPE_CHECKING:
    from reverie.app import App


@dataclass(frozen=True, slots=True)
class PastSession:
    """A session of this project, ours or Claude Code's, and when it was last written to."""

    id: str
    path: Path
    last: float


@dataclass(frozen=True, slots=True)
class SessionNotes:
    """What a session was about; `made` says whether notes were kept then or are drafted now."""

    session: PastSession
    text: str
    made: Literal["kept", "drafted"]


def past_sessions(app: App) -> list[PastSession]:
    """The sessions of this project, newest first."""
    found = []
    for id_, path in conversations(app.project, {}).items():
        with suppress(OSError):
            found.append(PastSession(id_, path, path.stat().st_mtime))
    return sorted(found, key=lambda session: (-session.last, session.id))


def named_session(sessions: list[PastSession], name: str) -> PastSession:
    """A session by its id or the start of it."""
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


def notes_of(app: App, session: PastSession) -> SessionNotes:
    """The notes that were kept; without them, what the transcript tells by rules."""
    file = TextFile(app.project.sessions / session.id / "notes.md")
    template = _template(app)
    kept = as_summary(Notebook(file, template).read(), file.path)
    if kept is not None:
        return SessionNotes(session, kept, "kept")
    records = transcripts.load(session.path).records
    said = (record.message for record in records if isinstance(record, Said))
    facts = read_facts(message for message in said if not is_summary(message))
    drafted = as_summary(from_facts(facts, template), str(session.path))
    return SessionNotes(session, drafted or "", "drafted")


def _template(app: App) -> Template:
    text = TextFile(app.settings.home / "session-notes" / "template.md").read()
    template = TEMPLATE if text is None else parse_template(text)
    return TEMPLATE if isinstance(template, Unusable) else template
