"""Creates a model from its name and the settings, with its prices and window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.core.usage import Prices
from reverie.core.window import Capabilities, Window, resolve_window, split_suffix
from reverie.errors import UnknownModelError
from reverie.files.atomic import read_json, write_json
from reverie.models import catalog
from reverie.ports import ExactCounter
from reverie.settings import Provider, Settings, secret

if TYPE_CHECKING:
    from reverie.models.wrappers import Sleep
    from reverie.ports import Model


OFFLINE = "offline"

_RETRIES_BEFORE_FALLBACK = 2


def patient_model(settings: Settings, name: str, sleep: Sleep | None = None) -> Model:
    """The model of that name, with retries."""
    from reverie.models.wrappers import PatientModel

    model = make_model(settings, name)
    retries = int(str(settings["models.retries"]))
    if settings["models.fallback"] and name == settings.model("main"):
        # The fallback model takes over soon.
        retries = min(retries, _RETRIES_BEFORE_FALLBACK)
    return PatientModel(model, retries, sleep) if sleep else PatientModel(model, retries)


def make_model(settings: Settings, name: str) -> Model:
    """The model of that name, without metering and retries."""
    if name == OFFLINE:
        from reverie.models.offline import OfflineModel

        return OfflineModel()
    provider, model = find_provider(settings, name)
    key = secret(provider.api_key_env, home=settings.home)
    row = catalog.find(split_suffix(model)[0])
    capabilities = row.capabilities if row else Capabilities()
    prices = price_of(settings, model, row)
    idle_timeout = float(str(settings["models.idle_timeout"]))
    if provider.kind == "anthropic":
        from reverie.models.anthropic import AnthropicModel

        return AnthropicModel(
            model,
            api_key=key,
            capabilities=capabilities,
            prices=prices,
            base_url=provider.base_url,
            retries=0,
            idle_timeout=idle_timeout,
        )
    from reverie.models.openai import OpenAIModel

    return OpenAIModel(
        model,
        api_key=key,
        capabilities=capabilities,
        prices=prices,
        base_url=provider.base_url,
        protocol=provider.protocol,
        retries=0,
        idle_timeout=idle_timeout,
    )


def find_provider(settings: Settings, name: str) -> tuple[Provider, str]:
    """Split `provider:model`, or find the provider of a model in the catalog."""
    prefix, colon, model = name.partition(":")
    row = catalog.find(split_suffix(name)[0])
    if not colon and row is not None:
        return settings.provider(row.kind), name
    if not colon:
        raise UnknownModelError(_unknown_name(name))
    provider = settings.provider(prefix)
    if provider.kind is None:
        raise UnknownModelError(_unknown_provider(name, prefix, settings.provider_names))
    return provider, model


def window_of(settings: Settings, name: str) -> Window:
    """A model's window from the name's suffix, the provider, the built-in table, or settings."""
    model = name.partition(":")[2] or name
    row = catalog.find(split_suffix(model)[0])
    return resolve_window(
        model,
        looked_up=read_window(settings.home, split_suffix(model)[0]),
        shipped=row.capabilities.window if row else None,
        large_beta=settings.flag("window.beta_1m"),
        configured=settings.window_tokens,
    )


async def ask_window(settings: Settings, name: str) -> int | None:
    """Ask the provider for the window and save the answer; None if it does not say."""
    model = make_model(settings, name)
    try:
        tokens = await model.look_up_window() if isinstance(model, ExactCounter) else None
    finally:
        await model.aclose()
    if tokens:
        write_window(settings.home, split_suffix(model.name)[0], tokens)
    return tokens


def find_row(settings: Settings, name: str) -> catalog.Row | None:
    """The catalog's row for a model, with the prices from settings."""
    model = name.partition(":")[2] or name
    row = catalog.find(split_suffix(model)[0])
    return None if row is None else replace(row, prices=price_of(settings, model, row))


def require_row(settings: Settings, name: str) -> catalog.Row:
    row = find_row(settings, name)
    if row is None:
        model = name.partition(":")[2] or name
        raise UnknownModelError(_unknown_name(model) + "; price it as another with --model")
    return row


def price_of(settings: Settings, model: str, row: catalog.Row | None) -> Prices | None:
    """The prices from settings, else those of the built-in table."""
    shipped = row.prices if row else None
    if not model:
        return shipped
    input_, output = settings.price(model, "input"), settings.price(model, "output")
    if input_ is None or output is None:
        return shipped
    read = settings.price(model, "cache_read")
    return replace(Prices.of(input_, output), cache_read=input_ if read is None else read)


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


FILE = "windows.json"


def read_window(home: Path, model: str) -> int | None:
    """The saved window that the provider reported, or None."""
    found = _read(home).get(model)
    return found if isinstance(found, int) and found > 0 else None


def write_window(home: Path, model: str, tokens: int) -> None:
    write_json(home / FILE, _read(home) | {model: tokens})


def _read(home: Path) -> dict[str, object]:
    known = read_json(home / FILE)
    return known if isinstance(known, dict) else {}
