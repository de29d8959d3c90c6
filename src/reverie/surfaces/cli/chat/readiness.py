"""Whether a model can be talked to, asked before anything is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.app.models import OFFLINE
from reverie.errors import InputError

if TYPE_CHECKING:
    from reverie.app import App

OFFLINE_NOTE = (
    "No model is set: memory works, answers do not; choose one with --model or models.main"
)


def require_model(app: App, name: str) -> None:
    """Raise, with what to do, for a model nobody serves or whose key is missing."""
    provider = app.provider_of(name)
    if provider is None or provider.api_key_env is None or app.has_key(provider):
        return
    raise InputError(
        f"{name} has no key: set the environment variable {provider.api_key_env}, "
        f"or go on without a model (--model {OFFLINE})"
    )
