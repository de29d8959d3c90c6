"""API keys: from the environment or the keyring of the system, never from a file, never logged."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from reverie.settings.sources import environment

if TYPE_CHECKING:
    from collections.abc import Mapping

SERVICE = "reverie"


def secret(name: str | None, environ: Mapping[str, str] | None = None) -> str | None:
    """The key that a variable of this name holds, or the keyring under it; None without one."""
    if not name:
        return None
    environ = environment() if environ is None else environ
    # A key that was pasted with its newline makes a header no server accepts.
    return environ.get(name, "").strip() or _from_keyring(name)


def _from_keyring(name: str) -> str | None:
    try:
        stored = import_module("keyring").get_password(SERVICE, name)
    # Backends raise what they like; one that is broken or locked is as good as none.
    except Exception:  # noqa: BLE001
        return None
    return stored.strip() or None if isinstance(stored, str) else None
