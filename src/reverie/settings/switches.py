"""Switches, read live: a flip in a settings file or by the organisation holds from the next look."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from reverie.errors import SettingsError
from reverie.settings import lookup, schema
from reverie.settings.resolve import merge
from reverie.settings.sources import read_file, stamp_of
from reverie.settings.values import check_text

if TYPE_CHECKING:
    from openfeature.client import OpenFeatureClient

    from reverie.settings.resolve import Settings, Threshold
    from reverie.settings.sources import Layer


class Remote(Protocol):
    """What an organisation says; `local` comes back where it says nothing."""

    def switch(self, key: str, *, local: bool) -> bool: ...

    def threshold(self, key: str, local: Threshold | None) -> Threshold | None: ...


class Switches:
    """Settings that follow their files.

    A look costs one `stat` a file; only a file whose stamp changed is read again. A file that
    became invalid keeps its last good values: a typo must not stop a session that runs.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._problems: dict[Path, str] = {}
        self.remote: Remote | None = None

    def on(self, name: str) -> bool:
        """Is this system on now? One that works on memory is off while memory is."""
        if name not in schema.FEATURES:
            known = ", ".join(schema.FEATURES)
            raise SettingsError(f"no switch is called {name!r}; there are: {known}")
        settings = self.settings
        if name in schema.NEED_MEMORY and not settings.memory_enabled:
            return False
        key = f"features.{name}"
        local = settings.flag(key)
        if self.remote is None or settings.origin(key).is_personal:
            return local
        return self.remote.switch(key, local=local)

    def result_threshold(self, tool: str) -> Threshold | None:
        """The same for the size from which results of a tool go to a file."""
        settings = self.settings
        local = settings.result_threshold(tool)
        item = settings.item(f"tools.{tool}.result_threshold")
        if self.remote is None or item.origin.is_personal:
            return local
        return self.remote.threshold(item.key, local)

    @property
    def settings(self) -> Settings:
        """All settings as the files have them now."""
        old = self._settings
        layers = tuple(self._followed(layer) for layer in old.layers)
        if any(new is not layer for new, layer in zip(layers, old.layers, strict=True)):
            self._settings = merge(layers, old.person_home)
        return self._settings

    @property
    def problem(self) -> str | None:
        """Why a file is not followed at the moment, one problem a line; None when all are."""
        # Looking at the files first: the answer is about now.
        _ = self.settings
        return "\n".join(self._problems.values()) or None

    def _followed(self, layer: Layer) -> Layer:
        """The layer itself while its file is as it was, else what the file says now."""
        file = layer.file
        if file is None or stamp_of(file.path) == layer.stamp:
            return layer
        fresh = read_file(file, self._settings.person_home)
        if not fresh.problems:
            self._problems.pop(file.path, None)
            return fresh
        self._problems[file.path] = "\n".join(fresh.problems)
        _warn(self._problems[file.path])
        # With the new stamp: the same broken version is read, and complained of, once.
        return layer._replace(stamp=fresh.stamp)


def _warn(problem: str) -> None:
    # Not at the top: only a session with a broken file needs it.
    from reverie.logs import logger  # noqa: PLC0415

    logger(__name__).warning(
        "a settings file became invalid; its last good values stay: %s", problem
    )


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
