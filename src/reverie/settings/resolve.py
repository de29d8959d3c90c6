"""Merge all sources into settings: each value, its origin, and what it overrides."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, cast

from reverie.errors import SettingsError
from reverie.files.atomic import project_folder
from reverie.settings import schema, sources
from reverie.settings.sources import (
    DEFAULT,
    Found,
    Layer,
    Origin,
    SettingsFile,
    Wanted,
    read_file,
    stamp_of,
)
from reverie.settings.values import check_text, unknown_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from openfeature.client import OpenFeatureClient

    from reverie.settings.schema import Value

Role = Literal["main", "side", "summary"]
Threshold = int | Literal["never"]


class Item(NamedTuple):
    """A setting's effective value; `overridden` holds the values of lower sources, nearest first."""

    key: str
    value: Value
    origin: Origin
    overridden: tuple[Found, ...] = ()


class Provider(NamedTuple):
    """How to reach a provider of models; `secret` returns the key itself."""

    name: str
    kind: Literal["anthropic", "openai"] | None
    base_url: str | None
    api_key_env: str | None
    protocol: Literal["chat", "responses"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting and its value: `settings["window.tokens"]`, or a property below."""

    _items: Mapping[str, Item] = field(repr=False)
    # Lowest first, without the defaults. Switches reread the files among them.
    layers: tuple[Layer, ...] = field(repr=False)
    # What `~` expands to.
    person_home: Path

    def __getitem__(self, key: str) -> Value:
        return self.item(key).value

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def item(self, key: str) -> Item:
        """Value and origin of one setting; an unknown key is an error with a suggestion."""
        if item := self._items.get(key):
            return item
        found = schema.find(key)
        if found is None:
            raise SettingsError(unknown_key(key))
        row, stored = found
        return self._items.get(stored) or Item(stored, row.default, DEFAULT)

    def items(self) -> tuple[Item, ...]:
        """All settings in the order of the schema, including those with user-chosen names."""
        return tuple(self._items.values())

    def origin(self, key: str) -> Origin:
        return self.item(key).origin

    @property
    def home(self) -> Path:
        return cast("Path", self["home"])

    @property
    def memory_directory(self) -> Path | None:
        return cast("Path | None", self["memory_directory"])

    @property
    def memory_enabled(self) -> bool:
        return cast("bool", self["memory.enabled"])

    @property
    def window_tokens(self) -> int | None:
        return cast("int | None", self["window.tokens"])

    @property
    def cache_ttl(self) -> Literal["5m", "1h", "auto"]:
        return cast("Literal['5m', '1h', 'auto']", self["cache.ttl"])

    @property
    def permission_mode(self) -> Literal["ask", "accept-edits", "plan", "bypass"]:
        return cast("Literal['ask', 'accept-edits', 'plan', 'bypass']", self["permissions.mode"])

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """Values in the project's files that the user has not agreed to."""
        return tuple(wanted for layer in self.layers for wanted in layer.wanted)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about settings files to show to the user."""
        old = (layer.file for layer in self.layers if layer.file and layer.stamp is not None)
        moved = tuple(
            f"{file.path}: local settings live in {file.instead} now; this file counts as the "
            "project's (`reverie trust --move` shows it and moves it)"
            for file in old
            if file.path.name == sources.OLD_LOCAL
        )
        return (*(note for layer in self.layers for note in layer.notes), *moved)

    def flag(self, key: str) -> bool:
        """A setting that is true or false."""
        value = self[key]
        if not isinstance(value, bool):
            raise SettingsError(f"{key} is not a switch; its value is {value!r}")
        return value

    def number(self, key: str) -> float:
        """A setting that is a number."""
        value = self[key]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SettingsError(f"{key} is not a number; its value is {value!r}")
        return value

    def model(self, role: Role) -> str:
        return cast("str", self[f"models.{role}"])

    def provider(self, name: str) -> Provider:
        """A provider's configuration; its fields are None if it is not configured."""
        table = f"providers.{name}"
        return Provider(
            name,
            cast("Literal['anthropic', 'openai'] | None", self[f"{table}.kind"]),
            cast("str | None", self[f"{table}.base_url"]),
            cast("str | None", self[f"{table}.api_key_env"]),
            cast("Literal['chat', 'responses']", self[f"{table}.protocol"]),
        )

    @property
    def provider_names(self) -> tuple[str, ...]:
        """Every provider that is built in or configured."""
        keys = (key.split(".") for key in self._items if key.startswith("providers."))
        return tuple(dict.fromkeys(parts[1] for parts in keys))

    def price(self, model: str, name: Literal["input", "output", "cache_read"]) -> float | None:
        """US dollars per million tokens if configured; None: use the built-in price table."""
        return cast("float | None", self[f"prices.{model}.{name}"])

    def result_threshold(self, tool: str) -> Threshold | None:
        """Characters after which a result of this tool goes to a file; None if not set."""
        return cast("Threshold | None", self[f"tools.{tool}.result_threshold"])

    def money(self, key: str) -> float | None:
        """US dollars; None if not set."""
        return cast("float | None", self[key])

    def spend_cap(self, purpose: str) -> float | None:
        """US dollars per day for one purpose; None: it has no cap of its own."""
        return self.money(f"spend.purpose.{purpose}")


def load_settings(
    project_root: Path | None,
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Sequence[str] = (),
    managed: Path | None = None,
) -> Settings:
    """Read all sources; SettingsError lists every problem, one per line."""
    environ = sources.environment() if environ is None else environ
    person = sources.person_home(environ)
    options = sources.read_options(overrides, person)
    if home is not None:
        option = Found(home.absolute(), Origin("command line", "--home"))
        options = Layer({**options.values, "home": option}, options.problems)
    ours = _home(options, environ, person)
    files = _files(managed or sources.MANAGED, ours, project_root)
    read = [sources.read_file(file, person) for file in files]
    keys = {name for layer in (*read, options) for name in sources.named_keys(layer)}
    layers = (*read, sources.read_environment(environ, keys, person), options)
    if problems := [problem for layer in layers for problem in layer.problems]:
        raise SettingsError("\n".join(problems))
    return merge(layers, person)


def merge(layers: tuple[Layer, ...], person_home: Path) -> Settings:
    """Apply the sources to the defaults, lowest first."""
    found: dict[str, list[Found]] = {
        row.key: [Found(row.default, DEFAULT)] for row in schema.SETTINGS if "*" not in row.key
    }
    found["home"] = [Found(person_home / ".reverie", DEFAULT)]
    for layer in layers:
        for key, value in layer.values.items():
            found.setdefault(key, []).append(value)
    items = {key: _item(key, candidates) for key, candidates in found.items()}
    return Settings(items, layers, person_home)


def _item(key: str, candidates: list[Found]) -> Item:
    ranked = candidates[::-1]
    row = schema.find(key)
    if row and row[0].off_wins:
        # The sort is stable: among the sources that say off, the highest comes first.
        ranked.sort(key=lambda found: found.value is not False)
    winner, *others = ranked
    return Item(key, winner.value, winner.origin, tuple(others))


def _home(options: Layer, environ: Mapping[str, str], person: Path) -> Path:
    """The home, which is needed to find the files; a wrong value is reported later, with the rest."""
    variable = {"REVERIE_HOME": environ.get("REVERIE_HOME", "")}
    for layer in (options, sources.read_environment(variable, (), person)):
        if found := layer.values.get("home"):
            return cast("Path", found.value)
    return person / ".reverie"


def _files(managed: Path, home: Path, root: Path | None) -> tuple[SettingsFile, ...]:
    user = home / "settings.toml"
    files = [SettingsFile("managed", managed, user), SettingsFile("user", user, user)]
    if root is None:
        return tuple(files)
    local = local_file(home, root)
    return (*files, *project_files(home, root), SettingsFile("local", local, user))


def local_file(home: Path, root: Path) -> Path:
    """The user's own settings for one project, in the home: a clone or archive cannot contain them."""
    return project_folder(home, root.absolute()) / "settings.toml"


def record_file(home: Path, root: Path) -> Path:
    """The record of the user's answers about a project's settings files."""
    return project_folder(home, root.absolute()) / sources.RECORD


def project_files(home: Path, root: Path) -> tuple[SettingsFile, ...]:
    """The settings files inside a project: the shared one and the former local one."""
    folder = root.absolute() / ".reverie"
    record = record_file(home, root)
    names = ["settings.toml", sources.OLD_LOCAL]
    # In the user's home folder, the project file and the user file are the same.
    if _same(folder, home):
        names.remove("settings.toml")
    instead = local_file(home, root)
    return tuple(SettingsFile("project", folder / name, instead, record) for name in names)


def home_of(home: Path | None, environ: Mapping[str, str] | None = None) -> Path:
    """Reverie's home, without loading the settings."""
    environ = sources.environment() if environ is None else environ
    return home.absolute() if home else _home(Layer(), environ, sources.person_home(environ))


def _same(one: Path, other: Path) -> bool:
    stamp = sources.stamp_of(one)
    return one == other or (stamp is not None and stamp == sources.stamp_of(other))


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
        found = schema.find(key)
        try:
            return cast("Threshold", check_text(found[0], key, raw, Path())) if found else local
        except ValueError:
            return local
