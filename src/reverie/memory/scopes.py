"""Whom a memory belongs to, and how its name says so: `x.md`, `person/x.md`, `team/x.md`. Pure."""

from __future__ import annotations

from typing import Final, Literal, get_args

# The project it was learnt in, the person wherever they work, or everyone who works on the project.
MemoryScope = Literal["project", "person", "team"]
# What a person's own words can be kept under; the team's memory is always asked for by name.
OwnScope = Literal["project", "person"]

SCOPES: Final[tuple[MemoryScope, ...]] = get_args(MemoryScope)
OWN_SCOPES: Final[tuple[OwnScope, ...]] = get_args(OwnScope)

# Folders of a project's directory under whose names other memories are known.
_FOLDERS: Final[dict[MemoryScope, str]] = {"person": "person", "team": "team"}
# Folders in a memory directory that hold no memories of its own.
APART: Final = (*_FOLDERS.values(), "logs")

# Where a memory comes from, for a model that reads it; the project's own need no remark.
ORIGINS: Final[dict[MemoryScope, str]] = {
    "project": "",
    "person": "about the person, known in every project",
    "team": "shared by the team",
}


def labelled(file: str, scope: MemoryScope) -> str:
    """A file's name as every command and tool takes it."""
    folder = _FOLDERS.get(scope)
    return file if folder is None else f"{folder}/{file}"


def split(label: str) -> tuple[MemoryScope, str]:
    """Whose memory a name means, and the file's name there."""
    first, _, rest = label.partition("/")
    scope = next((scope for scope, folder in _FOLDERS.items() if folder == first and rest), None)
    return ("project", label) if scope is None else (scope, rest)
