"""Settings and switches: the only reader of environment and settings files."""

from reverie.settings.keys import secret
from reverie.settings.remote import bridge_openfeature
from reverie.settings.resolve import Item, Provider, Settings, Threshold, load_settings
from reverie.settings.sources import Found, Origin
from reverie.settings.switches import Switches

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
