"""Find the models a person can use now: providers with a key, and servers on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from reverie.core.usage import Prices
from reverie.models import catalog
from reverie.models.selection import OFFLINE, price_of, window_of
from reverie.settings import Provider, Settings
from reverie.settings.keys import find_key

# A server on this machine answers at once or is not there.
_PATIENCE = 0.4
_LARGEST_LIST = 1 << 20
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

# In order of preference: the first with a key is offered first.
_RECOMMENDED = ("claude-sonnet-5-5", "gpt-5.6-terra")


@dataclass(frozen=True, slots=True)
class UsableModel:
    """A model that can be used now; `reason` says why: a key, or a server that answers."""

    name: str
    window: int | None
    prices: Prices | None
    reason: str

    @property
    def is_local(self) -> bool:
        return self.prices is None and self.reason.startswith("http")


@dataclass(frozen=True, slots=True)
class Missing:
    """A provider that cannot be used yet, and what it needs."""

    provider: str
    needs: str


def usable_models(settings: Settings) -> tuple[list[UsableModel], list[Missing]]:
    """The usable models, recommended ones first, and the providers that cannot be used yet."""
    found: list[UsableModel] = []
    missing: list[Missing] = []
    providers = [settings.provider(name) for name in settings.provider_names if name != "*"]
    local = [provider for provider in providers if _is_local(provider)]
    with ThreadPoolExecutor(max_workers=max(1, len(local))) as pool:
        served = dict(zip((p.name for p in local), pool.map(_served, local), strict=True))
    for provider in providers:
        if provider.name in served:
            names = served[provider.name]
            found += [_local(settings, provider, name) for name in names]
            if not names:
                missing.append(Missing(provider.name, f"no server answers at {provider.base_url}"))
            continue
        key = find_key(provider.api_key_env, home=settings.home) if provider.api_key_env else None
        if key is None and provider.api_key_env:
            missing.append(Missing(provider.name, f"reverie keys set {provider.name}"))
        elif key is not None:
            found += _listed(settings, provider, f"{provider.api_key_env} ({key[1]})")
    return sorted(found, key=_rank), missing


def recommended(models: list[UsableModel]) -> UsableModel | None:
    return models[0] if models else None


def _rank(model: UsableModel) -> tuple[bool, int]:
    bare = model.name.partition(":")[2]
    order = _RECOMMENDED.index(bare) if bare in _RECOMMENDED else len(_RECOMMENDED)
    return model.is_local, order


def _listed(settings: Settings, provider: Provider, reason: str) -> Iterator[UsableModel]:
    for row in catalog.ROWS:
        if row.kind == provider.name:
            name = f"{provider.name}:{row.name}"
            yield UsableModel(
                name, window_of(settings, name).tokens, price_of(settings, row.name, row), reason
            )


def _local(settings: Settings, provider: Provider, model: str) -> UsableModel:
    name = f"{provider.name}:{model}"
    return UsableModel(name, window_of(settings, name).tokens, None, str(provider.base_url))


def _is_local(provider: Provider) -> bool:
    """Only servers on this machine are contacted unasked."""
    return bool(provider.base_url) and urlsplit(str(provider.base_url)).hostname in _LOOPBACK


def _served(provider: Provider) -> list[str]:
    """The models a local server lists; none if it does not answer soon."""
    address = f"{str(provider.base_url).rstrip('/')}/models"
    try:
        with build_opener(ProxyHandler({})).open(address, timeout=_PATIENCE) as answer:
            listed = json.loads(answer.read(_LARGEST_LIST))
        return [str(row["id"]) for row in listed["data"] if row.get("id")]
    except (URLError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


__all__ = ["OFFLINE", "Missing", "UsableModel", "recommended", "usable_models"]
