"""Feature switches, read live: a changed file or organisation flag applies at the next check."""

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
    """An organisation's flags; they return `local` where no flag is set."""

    def switch(self, key: str, *, local: bool) -> bool: ...

    def threshold(self, key: str, local: Threshold | None) -> Threshold | None: ...


class Switches:
    """Settings that follow their files.

    A check costs one `stat` per file; only a file whose stamp changed is read again. A file that
    became invalid keeps its last good values: a typo must not stop a running session.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._problems: dict[Path, str] = {}
        self.remote: Remote | None = None

    def on(self, name: str) -> bool:
        """Whether a feature is on now. Features that need memory are off while memory is off."""
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
        """The current size from which results of a tool go to a file."""
        settings = self.settings
        local = settings.result_threshold(tool)
        item = settings.item(f"tools.{tool}.result_threshold")
        if self.remote is None or item.origin.is_personal:
            return local
        return self.remote.threshold(item.key, local)

    @property
    def settings(self) -> Settings:
        """All settings with the files' current content."""
        old = self._settings
        layers = tuple(self._followed(layer) for layer in old.layers)
        if any(new is not layer for new, layer in zip(layers, old.layers, strict=True)):
            self._settings = merge(layers, old.person_home)
        return self._settings

    @property
    def problem(self) -> str | None:
        """Problems of the files that are invalid now, one per line; None if there are none."""
        # Check the files first.
        _ = self.settings
        return "\n".join(self._problems.values()) or None

    def _followed(self, layer: Layer) -> Layer:
        """The same layer if its file is unchanged, else a new one."""
        file = layer.file
        if file is None or stamp_of(file.path) == layer.stamp:
            return layer
        fresh = read_file(file, self._settings.person_home)
        if not fresh.problems:
            self._problems.pop(file.path, None)
            return fresh
        self._problems[file.path] = "\n".join(fresh.problems)
        _warn(self._problems[file.path])
        # Keep the new stamp, so that a broken version is read and reported once.
        return layer._replace(stamp=fresh.stamp)


def _warn(problem: str) -> None:
    # Import lazily: only a session with a broken file logs.
    from reverie.logs import logger  # noqa: PLC0415

    logger(__name__).warning(
        "a settings file became invalid; its last good values stay: %s", problem
    )


def bridge_openfeature(switches: Switches, domain: str | None = None) -> None:
    """Ask the OpenFeature provider (of that domain) about every switch from now on."""
    try:
        # Import lazily: it is an optional extra, and slow.
        from openfeature import api  # noqa: PLC0415
    except ImportError:
        raise SettingsError(
            "remote switches need OpenFeature; run: pip install 'reverie[openfeature]'"
        ) from None
    switches.remote = _OpenFeature(api.get_client(domain))


class _OpenFeature(NamedTuple):
    """OpenFeature flags. The SDK never raises: it returns the default it is given."""

    client: OpenFeatureClient

    def switch(self, key: str, *, local: bool) -> bool:
        return self.client.get_boolean_value(f"reverie.{key}", local)

    def threshold(self, key: str, local: Threshold | None) -> Threshold | None:
        flag = f"reverie.{key}"
        number = self.client.get_integer_value(flag, -1)
        # A flag has one type: a flag that can be "never" is text, and the SDK gives no integer.
        raw = str(number) if number >= 0 else self.client.get_string_value(flag, "")
        found = lookup.find(key)
        try:
            return cast("Threshold", check_text(found[0], key, raw, Path())) if found else local
        except ValueError:
            return local
