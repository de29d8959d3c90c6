"""Settings and switches: the only reader of environment and settings files."""

from reverie.settings.keys import secret
from reverie.settings.resolve import (
    Item,
    Provider,
    Settings,
    Switches,
    Threshold,
    bridge_openfeature,
    load_settings,
)
from reverie.settings.sources import Found, Origin

__all__ = [
    "Found",
    "Item",
    "Origin",
    "Provider",
    "Settings",
    "Switches",
    "Threshold",
    "bridge_openfeature",
    "load_settings",
    "secret",
]
