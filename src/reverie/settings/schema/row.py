"""One row of the table of settings."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, NamedTuple

Value = bool | int | float | str | Path | None
Kind = Literal[
    "bool", "int", "float", "str", "path", "choice", "money", "url", "variable", "threshold"
]

PREFIX: Final = "REVERIE_"
NEVER: Final = "never"
NONE: Final = "none"


# This package uses named tuples: a dataclass takes ten times as long to define, and every hook
# of a coding agent waits for these imports.
class Setting(NamedTuple):
    """One setting. A `*` in the key stands for a name the user chooses (a provider, tool, purpose)."""

    key: str
    kind: Kind
    default: Value
    about: str
    # What a hostile repository could do with it.
    risk: str = ""
    env: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    # False for a setting that decides where the files are; a file cannot set it.
    files: bool = True
    # "Off" in any source wins, even over a higher source.
    off_wins: bool = False
    # Whether a file inside a project's folder may set it after the user agrees to that file.
    # Such a file may have come with a clone or an archive, so the default is no.
    project: Literal["never", "ask"] = "never"
    # Values a project's file may set without asking: they cost, send and allow nothing.
    unasked: tuple[Value, ...] = ()

    @property
    def project_may_set(self) -> bool:
        """Whether a project's file may set it, with or without asking."""
        return self.project == "ask"

    @property
    def variable(self) -> str:
        """The environment variable that sets it; `*` where the name goes."""
        return self.env or PREFIX + self.key.upper().replace(".", "_")
