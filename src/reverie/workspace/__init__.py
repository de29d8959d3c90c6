"""A project's settings, memory, models and spending, each opened on first use."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from reverie.core.usage import DREAM, MAIN, Caps, Purpose
from reverie.core.window import Window
from reverie.errors import InputError
from reverie.events import Announce, no_listener
from reverie.memory.format.taxonomy import MemoryScope, split
from reverie.memory.locations import MemoryLocation, memory_location, person_location, user_folder
from reverie.models import selection as models
from reverie.models.ledger import Ledger
from reverie.settings import Provider, Settings, Switches, load_settings, secret
from reverie.settings.projects import Project, find_project

if TYPE_CHECKING:
    from reverie.memory.changes.draft import NewMemory
    from reverie.memory.changes.draft import Outcome as Remembering
    from reverie.memory.format.revisions import Author
    from reverie.memory.locations import Adoption
    from reverie.memory.opening import OpenMemory
    from reverie.memory.secrets.scrubber import SecretScrubber
    from reverie.memory.service.opening import Service
    from reverie.memory.store import FileStore
    from reverie.models.metered import MeteredModel
    from reverie.models.wrappers import Sleep
    from reverie.ports import Clock, Model


class SystemClock:
    """The system clock."""

    def now(self) -> float:
        return time.time()  # noqa: TID251 - the one place that may


class Workspace:
    """Everything that one invocation needs, opened on first use."""

    def __init__(  # noqa: PLR0913 - what differs between invocations, all but two optional
        self,
        settings: Settings,
        project: Project,
        clock: Clock | None = None,
        working_folder: Path | None = None,
        overrides: Sequence[str] = (),
        user: str | None = None,
        sleep: Sleep | None = None,
    ) -> None:
        """`user` is a user of a program that embeds Reverie; their data is in a separate folder."""
        self.settings = settings
        # Settings of this run alone; passed on to child processes.
        self.overrides = tuple(overrides)
        self.user = user
        # The project of the machine's owner.
        self.owner = project
        self.project = project if user is None else self._of_user(user)
        self.working_folder = working_folder or project.root
        self.clock: Clock = clock or SystemClock()
        self.sleep = sleep
        self.switches = Switches(settings)
        # The notice for a clone that was joined with its repository's memory.
        self.joined = ""
        # The key of the service, where a program gives it; otherwise it is in the environment.
        self.store_key = ""

    @classmethod
    def open(
        cls,
        start: Path | None = None,
        *,
        home: Path | None = None,
        overrides: Sequence[str] = (),
        clock: Clock | None = None,
        user: str | None = None,
        sleep: Sleep | None = None,
    ) -> Workspace:
        """Read the settings for the folder `start` (default: the current directory)."""
        start = start or Path.cwd()
        if not _is_folder(start):
            raise InputError(f"--project {str(start)!r} is not a folder")
        root = find_project(start, Path()).root
        settings = load_settings(root, home, overrides=overrides)
        project = find_project(start, settings.home)
        app = cls(settings, project, clock, start.resolve(), overrides, user, sleep)
        app.joined = app.join_clones()
        return app

    def join_clones(self) -> str:
        """Let a clone use its repository's memory; returns a notice for the user."""
        from reverie.memory.locations import holder_of

        owner, home = self.owner, self.settings.home
        holder = holder_of(owner.remote, home)
        plain = self.settings.memory_enabled and self.settings.memory_directory is None
        if holder is None or holder == owner.folder or not plain:
            return ""
        from reverie.memory.opening import open_memory
        from reverie.memory.sync.copies import join_clone

        def open_store(folder: Path) -> FileStore:
            place = MemoryLocation(folder / "memory", folder)
            return open_memory(place, self.clock, beside=folder).store

        return join_clone(owner, home, open_store, self.clock)

    def _of_user(self, user: str) -> Project:
        return Project(self.owner.root, user_folder(self.files_location.state, user))

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices for the person, such as settings that the project asks for without being trusted."""
        waiting = (str(wanted) for wanted in self.settings.wanted if not wanted.declined)
        about_project = filter(None, (self.project.note, self.joined))
        return (*about_project, *waiting, *self.settings.notes)

    @property
    def ledger(self) -> Ledger:
        """The owner's ledger, also for calls on behalf of a user."""
        folder, home = self.owner.folder, self.settings.home
        if self.service is None:
            return Ledger(folder, home=home, clock=self.clock)
        from reverie.workspace.spending import ServiceLedger

        return ServiceLedger(folder, home=home, clock=self.clock, service=self.service)

    @property
    def memory_location(self) -> MemoryLocation:
        """Where this project's memory is; settings may name a directory, except those of a repository."""
        if self.user is not None:
            return MemoryLocation(self.project.folder / "memory", self.project.folder)
        return self.files_location if self.service is None else self.service.store("project")[0]

    @property
    def files_location(self) -> MemoryLocation:
        """Where the memory of the machine's owner is in files, also if a service keeps it now."""
        return memory_location(
            self.owner,
            self.settings.memory_directory,
            home=self.settings.home,
            person=self.settings.person_home,
        )

    @cached_property
    def scrubber(self) -> SecretScrubber:
        """Removes secrets from everything that is written for this project."""
        from reverie.memory.secrets.scrubber import ALLOWED, SecretScrubber

        return SecretScrubber(self.memory_location.state / ALLOWED)

    @property
    def scopes(self) -> tuple[MemoryScope, ...]:
        """The scopes of memory in use. A user of a program has only their own."""
        if self.user is not None:
            return ("project",)
        person = self.settings.flag("memory.person")
        found: dict[MemoryScope, bool] = {
            "project": True,
            "person": person and self.memory_location != person_location(self.settings.home),
            "team": self.switches.on("team"),
        }
        return tuple(scope for scope, used in found.items() if used)

    @property
    def adoption(self) -> Adoption:
        """What this project's memory is linked to, and what it could be linked to."""
        from reverie.memory.locations import Adoption

        return Adoption(self.owner, self.settings.home, self.settings.person_home)

    def claude_memory(self) -> Path | None:
        """Claude Code's memory directory for this project, if it has one."""
        from reverie.memory.locations import claude_memory
        from reverie.settings.projects import claude_config

        return claude_memory(claude_config(), (self.project.root, Path.cwd()))

    def memory_of(self, file: str, wanted: MemoryScope | None = None) -> tuple[OpenMemory, str]:
        """The memory that a file (`person/x.md`, or a path) belongs to, and the file's name there."""
        scope, name = self._named(file)
        return self.memory(wanted or scope), name

    def _named(self, file: str) -> tuple[MemoryScope, str]:
        if Path(file).is_absolute():
            path = Path(file).resolve()
            for scope in reversed(self.scopes):
                root = self._stored(scope)[0].directory.resolve()
                if path.is_relative_to(root):
                    return scope, path.relative_to(root).as_posix()
        return split(file)

    def memory(self, scope: MemoryScope = "project", *, team: bool = False) -> OpenMemory:
        """Open the memory of this project, of the person, or of the team.

        Recall in the project's memory includes the others.
        """
        if not self.settings.memory_enabled:
            raise InputError(
                f"memory is off (memory.enabled, {self.settings.origin('memory.enabled')})"
            )
        from reverie.memory.opening import open_memory
        from reverie.memory.store import nothing

        scope = "team" if team else scope
        if scope == "person":
            self._require_person()
        if scope == "team" and self.user is not None:
            raise InputError(f"the team's memory is not open to the user {self.user!r}")
        about_person = scope == "person"
        others = self.scopes if scope == "project" else ()
        place, store = self._stored(scope)
        return open_memory(
            place,
            self.clock,
            beside=place.state if about_person else self.project.folder,
            scope=scope,
            instructions=None if about_person else self.project.root,
            before_write=nothing if about_person else self.adoption.recognise,
            others=tuple(self.memory(other) for other in others if other != "project"),
            store=store,
        )

    @cached_property
    def service(self) -> Service | None:
        """The service that keeps this project's memory; None: it is in files."""
        url = self.settings["store.url"]
        if url is None or self.user is not None:
            return None
        from reverie.memory.service.connection import ServiceConnection
        from reverie.memory.service.opening import Service

        variable = str(self.settings["store.key_env"])
        key = self.store_key or secret(variable, home=self.settings.home)
        if not key:
            raise InputError(
                f"there is no key for {url} in {variable}: "
                f"set it, or store it with `reverie keys set {variable}`"
            )
        name = self.settings["store.project"] or self.owner.remote or self.owner.folder.name
        connection = ServiceConnection(str(url).rstrip("/"), key)
        return Service(connection, str(name), self.settings.home, self.clock)

    def _stored(self, scope: MemoryScope) -> tuple[MemoryLocation, FileStore | None]:
        """Where the memory of a scope is, and its store where a service keeps it."""
        if self.service is not None:
            return self.service.store(scope)
        match scope:
            case "project":
                return self.memory_location, None
            case "person":
                return person_location(self.settings.home), None
            case "team":
                return self.memory_location.team, None
            case _:
                assert_never(scope)

    def _require_person(self) -> None:
        if "person" in self.scopes:
            return
        if self.user is not None:
            raise InputError(
                f"the user {self.user!r} has one memory in this project; leave the scope out"
            )
        if not self.settings.flag("memory.person"):
            origin = self.settings.origin("memory.person")
            raise InputError(f"memory about you is off (memory.person, {origin})")
        raise InputError("the memory directory in use is the one about you; leave the scope out")

    def memory_for(
        self, new_memory: NewMemory, *, team: bool = False
    ) -> tuple[OpenMemory, NewMemory]:
        """The memory that a new one belongs to, and the new one with names of that memory.

        A replacement goes to the memory it replaces; otherwise the scope, given or inferred, decides.
        """
        from reverie.memory.format.kinds import infer_scope

        if new_memory.supersedes is not None:
            memory, name = self.memory_of(new_memory.supersedes, "team" if team else None)
            if new_memory.scope not in (None, memory.scope):
                raise InputError(
                    f"{new_memory.supersedes} is not of the scope {new_memory.scope}; to change whose it is: "
                    f"reverie move {new_memory.supersedes} --scope {new_memory.scope}"
                )
            return memory, replace(new_memory, supersedes=name)
        if team:
            return self.memory("team"), new_memory
        scope = new_memory.scope or infer_scope(new_memory.text, new_memory.type)
        known = new_memory.scope is not None or scope in self.scopes
        return self.memory(scope if known else "project"), new_memory

    def remember(self, new_memory: NewMemory, author: Author) -> tuple[OpenMemory, Remembering]:
        """Save a memory where it belongs; the outcome uses names that every command accepts."""
        from reverie.memory.opening import remember

        memory, own = self.memory_for(new_memory)
        return memory, remember(memory, self.memory(), own, author)

    def move(self, file: str, scope: MemoryScope, author: Author) -> str:
        """Move a memory to another scope and return its new name."""
        from reverie.memory.changes.keeper import Endpoint, move

        source, name = self.memory_of(file)
        if source.scope == scope:
            raise InputError(f"{source.label(name)} is of the scope {scope} already")
        target = Endpoint(self.memory(scope).keeper, scope)
        return move(name, Endpoint(source.keeper, source.scope), target, author)

    def caps(self, purpose: Purpose) -> Caps:
        own = self.settings.spend_cap(purpose)
        return Caps(
            day=self.settings.money("spend.day"),
            session=self.settings.money("spend.session"),
            purpose={} if own is None else {purpose: own},
            main_stops=self.settings["spend.main_on_cap"] == "stop",
        )

    @property
    def dream_cap(self) -> float | None:
        """The most that one dream may cost, in dollars."""
        return self.settings.money("spend.dream")

    def model(
        self, name: str, *, session: str, purpose: Purpose = MAIN, announce: Announce = no_listener
    ) -> Model:
        """The model of that name, metered so that every call is on the ledger."""
        bare = self.bare_model(name)
        return self.metered(bare, session=session, purpose=purpose, announce=announce)

    def metered(
        self,
        bare: Model,
        *,
        session: str,
        purpose: Purpose = MAIN,
        announce: Announce = no_listener,
    ) -> MeteredModel:
        """Wrap a model so that its calls are recorded and limited."""
        from reverie.models.metered import MeteredModel

        if self.settings.flag("telemetry.enabled"):
            from reverie.models.wrappers import TracedModel

            bare = TracedModel(bare, self.clock, purpose)
        caps = self.caps(purpose)
        # A dream uses one meter, so the limit of the meter is the limit of the dream.
        most = self.dream_cap if purpose == DREAM else None
        return MeteredModel(bare, self.ledger, caps, self.clock, session, purpose, announce, most)

    def bare_model(self, name: str) -> Model:
        return models.patient_model(self.settings, name, self.sleep)

    def provider_of(self, name: str) -> Provider | None:
        """The provider of a model; None for the offline model."""
        return None if name == models.OFFLINE else models.find_provider(self.settings, name)[0]

    def has_key(self, provider: Provider) -> bool:
        return bool(secret(provider.api_key_env, home=self.settings.home))

    def window(self, name: str) -> Window:
        """The window of a model, as far as it is known without asking the provider."""
        return models.window_of(self.settings, name)

    async def ask_window(self, name: str) -> int | None:
        """Ask the provider for the model's window, once; the answer is stored."""
        return await models.ask_window(self.settings, name)

    def transcript(self, session: str) -> Path:
        """Find a transcript by session id, by the start of one, or by its path."""
        from reverie.conversation.transcripts import find

        return find(session, self.journals())

    def journals(self) -> list[Path]:
        """This project's transcripts, newest first."""
        found = filter(Path.exists, self.project.sessions.glob("*.jsonl"))
        return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def without_secrets(text: str) -> str:
    """Redact a text that belongs to no project, such as a line of a log."""
    from reverie.memory.secrets import redact

    return redact(text).text


def _is_folder(path: Path) -> bool:
    with suppress(OSError):
        return path.is_dir()
    return False
