"""Where a library object works: the project, the home and the settings it was given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from reverie.app import App
from reverie.errors import InputError

if TYPE_CHECKING:
    from os import PathLike

    from reverie.ports import Clock

# Keys as `reverie settings` lists them, or tables of them: {"recall.late": "drop"}, {"recall": {…}}.
Overrides: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Place:
    """A project folder and a home, with what is set for this program alone."""

    project: Path | None = None
    home: Path | None = None
    overrides: tuple[str, ...] = ()
    clock: Clock | None = None
    # Whom a program serves: their memory is apart from everybody else's.
    user: str | None = None

    @classmethod
    def of(
        cls,
        project: str | PathLike[str] | None,
        home: str | PathLike[str] | None,
        settings: Overrides | None,
        clock: Clock | None = None,
        user: str | None = None,
    ) -> Place:
        folder = None if project is None else Path(project)
        if folder is not None and not folder.is_dir():
            raise InputError(f"the project {str(project)!r} is not a folder")
        at = None if home is None else Path(home)
        return cls(folder, at, options(settings or {}), clock, user)

    def beside(self, other: Place) -> Place:
        """This place; what was not said of it is as in the other."""
        if self.user not in (None, other.user):
            raise InputError(
                f"user={self.user!r} was given a memory that is not theirs; open it with "
                f"Memory.open(user={self.user!r})"
            )
        return Place(
            self.project or other.project,
            self.home or other.home,
            (*other.overrides, *self.overrides),
            self.clock or other.clock,
            other.user,
        )

    def open(self) -> App:
        return App.open(
            self.project,
            home=self.home,
            overrides=self.overrides,
            clock=self.clock,
            user=self.user,
        )


def options(settings: Overrides) -> tuple[str, ...]:
    """Settings as `key=value`, the way the command line takes them."""
    return tuple(f"{key}={text}" for key, text in _flat(settings, ""))


def _flat(settings: Overrides, table: str) -> Iterator[tuple[str, str]]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{table}{key}.")
        else:
            yield f"{table}{key}", _written(value)


def _written(value: object) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
