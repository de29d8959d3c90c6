"""Forgets a memory everywhere: cleans Reverie's own files, and names other files that hold it.

Reverie's own are the memory and its history, transcripts, notes, stored results, inbox, drafts, dreams, counts,
indexes, and everything else in the project's folder or in the home. A memory about the person is recalled in
every project, so the folders of all projects are cleaned. The history of team memory is kept: the next sync
needs it, and the team's repository has it, too. Files of other software, of other memories and those the
person wrote by hand are changed only on request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.api.other_files import BY_HAND, Elsewhere, OtherFiles, known_projects, stores_in
from reverie.conversation import redaction, transcripts
from reverie.conversation.records import Said
from reverie.errors import InputError, TranscriptError
from reverie.files.locks import is_held, sole
from reverie.memory import cleaning
from reverie.memory.cleaning import Cleaned, any_file, holds, plain_files
from reverie.memory.forgetting import MemoryForgetter, logs_in, versions_of
from reverie.memory.format.traces import Traces, traces_of
from reverie.memory.locations import USERS, memory_location
from reverie.memory.uses import FILE as USES
from reverie.recall.past_sessions import SDK, below, leave_out
from reverie.settings.projects import Project
from reverie.subagents.mail import mail_folder
from reverie.subagents.mail_database import MailDatabase

if TYPE_CHECKING:
    from reverie.memory.format.revisions import Author
    from reverie.memory.format.topic import Topic
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

_SHARED_HISTORY = Cleaned(
    "history.git",
    "not changed",
    remains="`reverie team sync` removes the file for all; the history is in the team's repository, "
    "too, for its owners to rewrite",
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Every place that was cleaned, and every file elsewhere that holds the memory or did."""

    file: str
    places: tuple[Cleaned, ...]
    elsewhere: tuple[Elsewhere, ...] = ()


@dataclass(slots=True)
class Forgetting:
    """Forgets one memory: finds its traces, and removes them."""

    app: Workspace
    memory: OpenMemory
    file: str
    traces: Traces = field(init=False)
    _versions: list[Topic] = field(init=False)
    _folders: tuple[Path, ...] = field(init=False)
    others: OtherFiles = field(init=False)

    def __post_init__(self) -> None:
        memory, home = self.memory, self.app.settings.home
        self._versions = versions_of(self.file, memory.store)
        folders = [memory.place.state, memory.beside, self.app.memory_location.state]
        projects = [self.app.project]
        if memory.scope == "person":
            folders += [*below(home / "projects", "*"), *below(home / "directories", "*")]
            projects += [one for one in known_projects(home) if one.folder != projects[0].folder]
        self._folders = tuple(dict.fromkeys(folders))
        self.others = OtherFiles(self.app, memory, self._folders, tuple(projects))
        found = traces_of(self.file, self._versions)
        self.traces = found.with_sentences(self._original_sentences(found))

    def run(self, author: Author, also: Sequence[Path] = ()) -> Receipt:
        """Clean every place. The memory itself goes last, so that the call can be repeated after a crash."""
        with ExitStack() as stack:
            for session in self._sessions_that_hold():
                self._lock_session(session, stack)
            redacted = self._also(also)
            known = {one.path for one in redacted}
            left = [one for one in self.elsewhere() if one.path not in known]
            self._leave_out({one.path for one in left})
            others = [*self._beside(), *self._transcripts()]
            places = [*self._itself(author), *others]
        return Receipt(self.memory.label(self.file), tuple(places), (*redacted, *left))

    # --- what to look for ---

    def _original_sentences(self, traces: Traces) -> Iterator[str]:
        """The sentences in the messages it was learnt from, which may differ: a weekday instead of a date."""
        wanted: dict[str, set[str]] = {}
        for cited in (one for version in self._versions for one in version.source):
            session, _, message = cited.partition("#")
            wanted.setdefault(session, set()).add(message)
        for revision in self.memory.history.log(self.file):
            by = revision.author
            if by.session and by.messages:
                wanted.setdefault(by.session, set()).update(by.messages)
        known = {path.stem: path for path in self._journals()} | self.others.conversations_by_id()
        for session, ids in wanted.items():
            if session in known:
                with suppress(TranscriptError):
                    for record in transcripts.load(known[session]).records:
                        if isinstance(record, Said) and record.message.id in ids:
                            yield from traces.same_words(record.message.text)

    # --- Reverie's own files ---

    def _beside(self) -> list[Cleaned]:
        folders, traces = self._folders, self.traces
        results = [path for path in self._session_files() if path.parent.name == "tool-results"]
        return [
            cleaning.from_inbox(folders, traces),
            cleaning.from_drafts(self.memory.place.state, folders, traces),
            *cleaning.from_dreams(folders, traces),
            cleaning.from_notes(self._notes(), traces),
            cleaning.clean_files("stored tool results", results, any_file(traces)),
            *self._letters(),
            cleaning.clean_files("other files", self._others(), any_file(traces)),
        ]

    def _letters(self) -> Iterator[Cleaned]:
        """Undelivered mail between agents."""
        with closing(MailDatabase(mail_folder(self.app))) as mail:
            if mail.exists:
                made, all_ = mail.rewrite(partial(any_file(self.traces), Path("letter.json")))
                yield Cleaned("letters", f"{made} of {all_} held it and were cleaned", made)

    def _transcripts(self) -> list[Cleaned]:
        """The transcripts it was learnt from come last: `_original_sentences` needs them if the call is repeated."""
        cited = {one.partition("#")[0] for version in self._versions for one in version.source}
        paths = sorted(self._journals(), key=lambda path: path.stem in cited)

        def clean(path: Path, data: bytes) -> tuple[bytes, int]:
            made = redaction.redacted(data, self.traces)
            return made.data, made.count

        return [cleaning.clean_files("transcripts", paths, clean)]

    def _itself(self, author: Author) -> list[Cleaned]:
        memory = self.memory
        if self.app.service is not None:
            return self._at_service()
        now = datetime.fromtimestamp(self.app.clock.now(), UTC).isoformat(timespec="seconds")
        titles = frozenset(version.name for version in self._versions)
        logs = logs_in(memory.store.root)
        forgetter = MemoryForgetter(memory.store, self.traces, titles, author, now, logs)
        places = [*forgetter.from_directory()]
        places.append(_SHARED_HISTORY if memory.team else forgetter.from_history())
        return [*places, *self._indexes()]

    def _at_service(self) -> list[Cleaned]:
        """The service removes it, then this machine's copy; other copies follow when they are used."""
        from reverie.memory.service.store import ServiceStore

        store = self.memory.store
        places = []
        if isinstance(store, ServiceStore):
            places = store.forget_everywhere(self.file, self.traces.sentences)
        elsewhere = Cleaned(
            "other machines",
            "their copies of the memory follow at their next command",
            remains="their transcripts: forget it there, too",
        )
        return [*places, elsewhere, *self._indexes()]

    def _indexes(self) -> list[Cleaned]:
        lines = self.memory.uses.forget(self.file)
        return [
            cleaning.drop_shadows(self._folders),
            Cleaned("use counts", f"{lines} lines spoke of it and were removed", lines),
        ]

    def _journals(self) -> list[Path]:
        found = [path for path in self._session_files() if path.suffix == ".jsonl"]
        return found + [path for one in self._folders for path in below(one / SDK, "*/*.jsonl")]

    def _notes(self) -> list[Path]:
        return [path for path in self._session_files() if path.name == "notes.md"]

    def _session_files(self) -> list[Path]:
        """All files of Reverie's sessions and of other clients' hooks."""
        folders = [folder / name for folder in self._folders for name in ("sessions", "hooks")]
        return [path for folder in folders for path in plain_files(folder)]

    def _others(self) -> Iterator[Path]:
        """Reverie's other files in the project's folder and in the home."""
        done = {*self._journals(), *self._notes()}
        done |= {path for path in self._session_files() if path.parent.name == "tool-results"}
        for folder in self._folders:
            yield from (
                path for path in plain_files(folder, self._apart(folder)) if path not in done
            )
        home = self.app.settings.home
        apart = (*stores_in(home), *(home / name for name in BY_HAND), *MailDatabase(home).files)
        for path in plain_files(home, apart):
            if not any(path.is_relative_to(folder) for folder in self._folders):
                yield path

    def _apart(self, state: Path) -> list[Path]:
        """Paths that are cleaned in another way, or belong to another memory."""
        place = self.memory.place
        own = [place.directory, state / "memory", state / "team", state / "inbox", state / "drafts"]
        own += [state / "dreams", state / USERS, state / USES, *state.glob("history.git*")]
        # Which files of a service are here; it follows when the service has forgotten.
        own.append(state / "mirror.json")
        own += (*stores_in(state), *MailDatabase(state).files)
        return own + [path for name in cleaning.SHADOWS for path in state.glob(f"{name}*")]

    # --- open sessions ---

    def _sessions_that_hold(self) -> list[Path]:
        """The folders of the sessions that hold the memory."""
        held = set()
        for sessions in (folder / "sessions" for folder in self._folders):
            for path in plain_files(sessions):
                if holds(path, self.traces):
                    name = path.relative_to(sessions).parts[0].removesuffix(".jsonl")
                    held.add(sessions / name)
        return sorted(held)

    def _lock_session(self, session: Path, stack: ExitStack) -> None:
        """Lock a session, or refuse if it is open: its process would write the memory again."""
        lock = session / "lock"
        message = (
            f"session {session.name} is open and holds what is to be forgotten; close it first, then "
            "forget again (nothing was changed)"
        )
        if is_held(lock):
            raise InputError(message)
        if lock.exists():
            stack.enter_context(sole(lock, message))

    # --- other files ---

    def elsewhere(self) -> list[Elsewhere]:
        """Files of other software, of other memories and of the person that hold the memory."""
        return self.others.holding(self.traces)

    def _leave_out(self, held: set[Path]) -> None:
        """Exclude messages that stay in other software's transcripts from the search over them."""
        for project in self.others.projects:
            for session, path in self.others.conversations_of(project).items():
                if path in held:
                    with suppress(TranscriptError, InputError):
                        records = transcripts.load(path).records
                        messages = [one.message for one in records if isinstance(one, Said)]
                        ids = [one.id for one in messages if self.traces.holds(one.text)]
                        leave_out(self._state_of(project), session, ids)

    def _state_of(self, project: Project) -> Path:
        """The folder with a project's index."""
        if project is self.app.project:
            return self.app.memory_location.state
        settings = self.app.settings
        return memory_location(project, None, home=settings.home, person=settings.person_home).state

    def _also(self, paths: Iterable[Path]) -> list[Elsewhere]:
        """Clean files elsewhere, at the person's request."""
        done = []
        for given in paths:
            path = given.absolute()
            if not path.exists():
                raise InputError(f"--also {str(given)!r} does not exist")
            count = 0
            for one in list(plain_files(path)) if path.is_dir() else [path]:
                count += cleaning.clean_file(one, any_file(self.traces))
            done.append(Elsewhere(path, "cleaned at your request", count))
        return done
