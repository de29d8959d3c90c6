"""The composition root: the only place where concrete models and stores meet the rest."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.core.capabilities import CacheRules, Capabilities
from reverie.core.prompt_cache.breakpoints import no_marks, placed, tail_only
from reverie.core.prompt_cache.simulator import Outcome, Plan, simulate
from reverie.core.spend import MAIN, Caps, Purpose
from reverie.core.usage import Prices, Usage
from reverie.core.window import Window, resolve_window, split_suffix
from reverie.errors import InputError, TranscriptError, UnknownModelError
from reverie.events import Announce, unheard
from reverie.models import catalog
from reverie.settings import Provider, Settings, Switches, load_settings, secret
from reverie.stores.ledger import Ledger
from reverie.stores.places import MemoryPlace, memory_place
from reverie.stores.projects import Project, find_project

if TYPE_CHECKING:
    from reverie.keeper.keeper import Keeper
    from reverie.memory.revisions import Author
    from reverie.ports import Clock, Model
    from reverie.session.cache_report import CacheRow
    from reverie.session.replay import Replay
    from reverie.stores.adoption import Adoption
    from reverie.stores.files import FileStore
    from reverie.stores.forgetting import Cleaned
    from reverie.stores.history import GitHistory
    from reverie.stores.scrubber import SecretScrubber
    from reverie.stores.team import SyncReport
    from reverie.stores.team_address import TeamAddress


class SystemClock:
    """The machine's own time."""

    def now(self) -> float:
        return time.time()  # noqa: TID251 - the one place that may


@dataclass(frozen=True, slots=True)
class WhatIf:
    """One transcript, priced under several ways to use the cache."""

    replay: Replay
    row: catalog.Row
    outcomes: tuple[Outcome, ...]

    @property
    def billed(self) -> Usage:
        """What the provider reported when the session really ran."""
        return sum((used.usage for used in self.replay.reported), Usage())

    @property
    def billed_cost(self) -> float:
        prices = self.row.prices
        return sum(prices.cost(used.usage) for used in self.replay.reported) if prices else 0.0


@dataclass(frozen=True, slots=True)
class OpenMemory:
    """A memory directory, ready to be used: its store, its history and the keeper over both."""

    place: MemoryPlace
    store: FileStore
    keeper: Keeper
    history: GitHistory
    scrubber: SecretScrubber
    # The project's own folder: sessions, their notes and the inbox stay there wherever memory is.
    beside: Path
    team: bool = False

    def forget_everywhere(self, file: str, author: Author) -> list[Cleaned]:
        """Remove a memory from files, history and every shadow; the receipt lists each place."""
        from reverie.stores.forgetting import forget_everywhere

        return forget_everywhere(file, self.store, self.place, author, beside=self.beside)


PLANS = (
    Plan("no caching", no_marks),
    Plan("tail only", tail_only),
    Plan("ours", placed("5m")),
    Plan("ours, ttl auto", placed("auto")),
)


class App:
    """Everything one invocation needs, made when it is first asked for."""

    def __init__(self, settings: Settings, project: Project, clock: Clock | None = None) -> None:
        self.settings = settings
        self.project = project
        self.clock: Clock = clock or SystemClock()
        self.switches = Switches(settings)

    @classmethod
    def open(
        cls,
        start: Path | None = None,
        *,
        home: Path | None = None,
        overrides: Sequence[str] = (),
        clock: Clock | None = None,
    ) -> App:
        """Read the settings for the folder `start` (default: where we are)."""
        start = start or Path.cwd()
        if not _is_folder(start):
            raise InputError(f"--project {str(start)!r} is not a folder")
        root = find_project(start, Path()).root
        settings = load_settings(root, home, overrides=overrides)
        return cls(settings, find_project(start, settings.home), clock)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.project.folder, home=self.settings.home, clock=self.clock)

    @property
    def memory_place(self) -> MemoryPlace:
        """Where this project's memory is; the settings may name a directory, a repository may not."""
        return memory_place(
            self.project,
            self.settings.memory_directory,
            home=self.settings.home,
            person=self.settings.person_home,
        )

    @property
    def adoption(self) -> Adoption:
        """What this project's memory is linked to, and what it could be."""
        from reverie.stores.adoption import Adoption

        return Adoption(self.project, self.settings.home, self.settings.person_home)

    def claude_memory(self) -> Path | None:
        """The memory directory Claude Code keeps for this project, if it has one."""
        from reverie.settings.neighbours import claude_config
        from reverie.stores.adoption import claude_memory

        return claude_memory(claude_config(), (self.project.root, Path.cwd()))

    def memory_of(self, file: str, *, team: bool = False) -> tuple[OpenMemory, str]:
        """The memory a file belongs to, and its name there: `team/x.md`, or a path, says which."""
        name = file
        if Path(file).is_absolute():
            with suppress(ValueError):
                root = self.memory_place.directory.resolve()
                name = Path(file).resolve().relative_to(root).as_posix()
        shared = name.startswith("team/")
        return self.memory(team=team or shared), name.removeprefix("team/")

    def memory(self, *, team: bool = False) -> OpenMemory:
        """The memory of this project, or the part of it that is shared with the team."""
        if not self.settings.memory_enabled:
            raise InputError(
                f"memory is off (memory.enabled, {self.settings.origin('memory.enabled')})"
            )
        from reverie.keeper.keeper import Keeper
        from reverie.stores.files import FileStore
        from reverie.stores.history import GitHistory
        from reverie.stores.instructions import read_instructions
        from reverie.stores.scrubber import SecretScrubber

        place = self.memory_place
        if team:
            place = place.team
        history = GitHistory(place.history, self.clock)
        store = FileStore(
            place.directory, history, apart=("team", "logs"), before_write=self.adoption.recognise
        )
        scrubber = SecretScrubber(place.state / "allowed-secrets.json")
        keeper = Keeper(
            store,
            self.clock,
            scrubber,
            instructions=lambda: read_instructions(self.project.root),
            shared=team,
        )
        return OpenMemory(place, store, keeper, history, scrubber, self.project.folder, team)

    def sync_team(self, address: TeamAddress, author: Author) -> SyncReport:
        """Bring the shared memory and the team's branch together, both ways."""
        from reverie.settings.sources import environment
        from reverie.stores.team import TeamSync

        memory = self.memory(team=True)
        remote = address.remote(environment())
        return TeamSync(memory.store, remote, memory.scrubber, self.clock).sync(author)

    def team_address(self, chosen: tuple[str, str] | None = None) -> TeamAddress | None:
        """Where the team keeps its memory; `chosen` (address, branch) is written down first."""
        from reverie.stores.team_address import TeamAddress, read_address, write_address

        state = self.memory(team=True).place.state
        if chosen is not None:
            write_address(state, TeamAddress(*chosen))
        return read_address(state)

    def unsent_to_team(self) -> tuple[str, ...]:
        """Shared memories the team does not have yet."""
        from reverie.stores.team_address import unsent

        return unsent(self.memory(team=True).history)

    def caps(self, purpose: Purpose) -> Caps:
        own = self.settings.spend_cap(purpose)
        return Caps(
            day=_money(self.settings["spend.day"]),
            session=_money(self.settings["spend.session"]),
            purpose={} if own is None else {purpose: own},
            main_stops=self.settings["spend.main_on_cap"] == "stop",
        )

    def model(
        self,
        name: str,
        *,
        session: str,
        purpose: Purpose = MAIN,
        announce: Announce = unheard,
    ) -> Model:
        """The model of that name with its meter running: no call escapes the ledger."""
        from reverie.models.metered import MeteredModel

        bare = self.bare_model(name)
        if self.settings.flag("telemetry.enabled"):
            from reverie.models.traced import TracedModel

            bare = TracedModel(bare, self.clock, purpose)
        caps = self.caps(purpose)
        return MeteredModel(bare, self.ledger, caps, self.clock, session, purpose, announce)

    def bare_model(self, name: str) -> Model:
        if name == "offline":
            from reverie.models.offline import OfflineModel

            return OfflineModel()
        provider, model = self._split(name)
        key = secret(provider.api_key_env) if provider.api_key_env else None
        row = catalog.find(split_suffix(model)[0])
        capabilities = row.capabilities if row else Capabilities()
        prices = self._prices(model, row)
        if provider.kind == "anthropic":
            from reverie.models.anthropic import AnthropicModel

            return AnthropicModel(
                model,
                api_key=key,
                capabilities=capabilities,
                prices=prices,
                base_url=provider.base_url,
            )
        from reverie.models.openai import OpenAIModel

        return OpenAIModel(
            model,
            api_key=key,
            capabilities=capabilities,
            prices=prices,
            base_url=provider.base_url,
            protocol=provider.protocol,
        )

    def provider_of(self, name: str) -> Provider | None:
        """Who serves a model; nobody serves the offline one."""
        return None if name == "offline" else self._split(name)[0]

    def has_key(self, provider: Provider) -> bool:
        return bool(provider.api_key_env and secret(provider.api_key_env))

    def window(self, name: str) -> Window:
        """The window of a model without asking anybody: suffix, shipped table, settings."""
        model = name.partition(":")[2] or name
        row = catalog.find(split_suffix(model)[0])
        return resolve_window(
            model,
            shipped=row.capabilities.window if row else None,
            large_beta=self.settings.flag("window.beta_1m"),
            configured=self.settings.window_tokens,
        )

    def what_if(self, transcript: Path, *, model: str | None = None) -> WhatIf:
        """Replay a transcript under each plan; `model` prices it as another model."""
        from reverie.session import transcripts
        from reverie.session.replay import replay

        replayed = replay(transcripts.load(transcript).records)
        if not replayed.calls:
            raise TranscriptError(f"{transcript} holds no model call with usage figures to replay")
        row = self._row(model or replayed.model)
        prices = row.prices or Prices.of(0, 0)
        outcomes = tuple(
            simulate(replayed.calls, plan, row.capabilities.cache, prices) for plan in PLANS
        )
        return WhatIf(replayed, row, outcomes)

    def cache_report(self, transcript: Path, *, model: str | None = None) -> list[CacheRow]:
        """Hit rate and breaks of a recorded session, by purpose."""
        from reverie.session import transcripts
        from reverie.session.cache_report import cache_report
        from reverie.session.records import Used

        records = transcripts.load(transcript).records
        name = model or next((r.model for r in records if isinstance(r, Used)), "")
        name = name.partition(":")[2] or name
        row = catalog.find(split_suffix(name)[0])
        rules = row.capabilities.cache if row else CacheRules()
        return cache_report(transcript.stem, records, rules, self._prices(name, row))

    def transcript(self, session: str) -> Path:
        """A transcript by session id, by the start of one, or by its path."""
        # An id may be too long, or too strange, for a path.
        with suppress(OSError, ValueError):
            if Path(session).is_file():
                return Path(session)
        found = [path for path in self.journals() if path.stem.startswith(session)]
        exact = [path for path in found if path.stem == session]
        if len(exact or found) == 1:
            return (exact or found)[0]
        if found:
            names = ", ".join(path.stem for path in found[:5])
            raise InputError(
                f"{session!r} fits {len(found)} sessions: {names}; give more of the id"
            )
        raise InputError(f"no session {session!r} here; `reverie sessions` lists them")

    def journals(self) -> list[Path]:
        """This project's transcripts, newest first."""
        found = [path for path in self.project.sessions.glob("*.jsonl") if path.exists()]
        return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)

    def _split(self, name: str) -> tuple[Provider, str]:
        """`provider:model`, or the bare name of a model the catalog knows."""
        prefix, colon, model = name.partition(":")
        row = catalog.find(split_suffix(name)[0])
        if not colon and row is not None:
            return self.settings.provider(row.kind), name
        if not colon:
            raise UnknownModelError(_unknown_name(name))
        provider = self.settings.provider(prefix)
        if provider.kind is None:
            raise UnknownModelError(_unknown_provider(name, prefix, self.settings.provider_names))
        return provider, model

    def _row(self, name: str) -> catalog.Row:
        model = name.partition(":")[2] or name
        row = catalog.find(split_suffix(model)[0])
        if row is None:
            raise UnknownModelError(_unknown_name(model) + "; price it as another with --model")
        return replace(row, prices=self._prices(model, row))

    def _prices(self, model: str, row: catalog.Row | None) -> Prices | None:
        """What the person set, over what the table says."""
        shipped = row.prices if row else None
        if not model:
            return shipped
        input_, output = self.settings.price(model, "input"), self.settings.price(model, "output")
        if input_ is None or output is None:
            return shipped
        read = self.settings.price(model, "cache_read")
        return replace(Prices.of(input_, output), cache_read=input_ if read is None else read)


def _is_folder(path: Path) -> bool:
    with suppress(OSError):
        return path.is_dir()
    return False


def _money(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _unknown_name(name: str) -> str:
    close = catalog.similar(name)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return f"no model {name!r} in the catalog{hint} (a model it does not list: provider:{name})"


def _unknown_provider(name: str, prefix: str, known: Sequence[str]) -> str:
    close = get_close_matches(prefix, known, n=1)
    hint = f"; did you mean {close[0]}:{name.partition(':')[2]}?" if close else ""
    return (
        f"no provider {prefix!r} for the model {name!r}{hint} "
        f"(known: {', '.join(known)}; add one with providers.{prefix}.kind and .base_url)"
    )
