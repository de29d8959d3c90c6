"""`Location`: where a program's memory is, and the settings it is opened with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from reverie.errors import InputError
from reverie.workspace import Workspace

if TYPE_CHECKING:
    from os import PathLike

    from reverie.ports import Clock

# Keys as `reverie settings` lists them, or tables of them: {"recall.late": "drop"}, {"recall": {…}}.
Overrides: TypeAlias = Mapping[str, object]
# Folders already checked, because disk access would slow a program that opens many conversations.
_FOLDERS: set[Path] = set()


@dataclass(frozen=True, slots=True)
class Location:
    """A project folder and a home, with settings for this program only."""

    project: Path | None = None
    home: Path | None = None
    overrides: tuple[str, ...] = ()
    clock: Clock | None = None
    # The user a service works for; each has a separate memory.
    user: str | None = None
    # The key of the Reverie service that the settings name.
    key: str = ""

    @classmethod
    def of(
        cls,
        project: str | PathLike[str] | None,
        home: str | PathLike[str] | None,
        settings: Overrides | None,
        clock: Clock | None = None,
        user: str | None = None,
        key: str = "",
    ) -> Location:
        if isinstance(project, str) and project.startswith(("https://", "http://")):
            settings = {**(settings or {}), **_in_service(project)}
            project = None
        folder = None if project is None else Path(project)
        if folder is not None and folder not in _FOLDERS:
            if not folder.is_dir():
                raise InputError(f"the project {str(project)!r} is not a folder")
            _FOLDERS.add(folder)
        at = None if home is None else Path(home)
        return cls(folder, at, options(settings or {}), clock, user, key)

    def beside(self, other: Location) -> Location:
        """This location, with everything left out taken from the other."""
        if self.user not in (None, other.user):
            raise InputError(
                f"the memory passed for user={self.user!r} is not theirs; open it with "
                f"Memory.open(user={self.user!r})"
            )
        return Location(
            self.project or other.project,
            self.home or other.home,
            (*other.overrides, *self.overrides),
            self.clock or other.clock,
            other.user,
            self.key or other.key,
        )

    def open(self) -> Workspace:
        if self.project is not None and not self.project.is_dir():
            raise InputError(f"the project {str(self.project)!r} is not a folder any more")
        app = Workspace.open(
            self.project,
            home=self.home,
            overrides=self.overrides,
            clock=self.clock,
            user=self.user,
        )
        app.store_key = self.key
        return app


def _in_service(url: str) -> dict[str, object]:
    """The settings for `https://host/project`; without a path, the project is that of the folder."""
    parts = urlsplit(url)
    name = parts.path.strip("/")
    return {
        "store.url": f"{parts.scheme}://{parts.netloc}",
        **({"store.project": name} if name else {}),
    }


def options(settings: Overrides) -> tuple[str, ...]:
    """Settings as `key=value`, as the command line takes them."""
    return tuple(f"{key}={text}" for key, text in _flat(settings, ""))


def _flat(settings: Overrides, table: str) -> Iterator[tuple[str, str]]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{table}{key}.")
        else:
            yield f"{table}{key}", _written(value)


def _written(value: object) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
