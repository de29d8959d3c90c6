"""The composition root: the only place where concrete models and stores meet the rest."""

from __future__ import annotations

import time
from collections.abc import Sequence
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
from reverie.stores.projects import Project, find_project

if TYPE_CHECKING:
    from reverie.ports import Clock, Model
    from reverie.session.cache_report import CacheRow
    from reverie.session.replay import Replay


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
        if not start.is_dir():
            raise InputError(f"--project {str(start)!r} is not a folder")
        root = find_project(start, Path()).root
        settings = load_settings(root, home, overrides=overrides)
        return cls(settings, find_project(start, settings.home), clock)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.project.folder, home=self.settings.home, clock=self.clock)

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
        row = catalog.find(split_suffix(name.partition(":")[2] or name)[0])
        rules = row.capabilities.cache if row else CacheRules()
        return cache_report(transcript.stem, records, rules, self._prices(name, row))

    def transcript(self, session: str) -> Path:
        """A transcript by session id, by the start of one, or by its path."""
        path = Path(session)
        if path.is_file():
            return path
        found = [path for path in self.journals() if path.stem.startswith(session)]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(path.stem for path in found[:5])
            raise InputError(
                f"{session!r} fits {len(found)} sessions: {names}; give more of the id"
            )
        raise InputError(f"no session {session!r} here; `reverie sessions` lists them")

    def journals(self) -> list[Path]:
        """This project's transcripts, newest first."""
        found = self.project.sessions.glob("*.jsonl")
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
        input_, output = self.settings.price(model, "input"), self.settings.price(model, "output")
        if input_ is None or output is None:
            return shipped
        read = self.settings.price(model, "cache_read")
        return replace(Prices.of(input_, output), cache_read=input_ if read is None else read)


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
