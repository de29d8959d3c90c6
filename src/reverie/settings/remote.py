"""Switches that an organisation flips, through OpenFeature and whichever flag service it uses.

What a flag says goes above defaults and files, and below the environment and the command line:
who sits at the machine has the last word. A service that fails, or does not know the flag,
changes nothing. Flags are called as the settings are, after `reverie.`: the boolean
`reverie.features.recall`, or `reverie.tools.read.result_threshold`, an integer or "never".
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from reverie.errors import SettingsError
from reverie.settings import lookup
from reverie.settings.values import check_text

if TYPE_CHECKING:
    from openfeature.client import OpenFeatureClient

    from reverie.settings.resolve import Threshold
    from reverie.settings.switches import Switches


def bridge_openfeature(switches: Switches, domain: str | None = None) -> None:
    """From now on ask the OpenFeature provider (of that domain) about every switch."""
    try:
        # An extra; and its import is slow.
        from openfeature import api  # noqa: PLC0415
    except ImportError:
        raise SettingsError(
            "remote switches need OpenFeature; run: pip install 'reverie[openfeature]'"
        ) from None
    switches.remote = _OpenFeature(api.get_client(domain))


class _OpenFeature(NamedTuple):
    """The SDK never raises: it gives back the default it was passed."""

    client: OpenFeatureClient

    def switch(self, key: str, *, local: bool) -> bool:
        return self.client.get_boolean_value(f"reverie.{key}", local)

    def threshold(self, key: str, local: Threshold | None) -> Threshold | None:
        flag = f"reverie.{key}"
        number = self.client.get_integer_value(flag, -1)
        # A flag has one type: one that can say "never" is text, and no integer to the SDK.
        raw = str(number) if number >= 0 else self.client.get_string_value(flag, "")
        found = lookup.find(key)
        try:
            return cast("Threshold", check_text(found[0], key, raw, Path())) if found else local
        except ValueError:
            return local
