"""Find a setting's row in the schema by key or variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reverie.settings.schema import SETTINGS

if TYPE_CHECKING:
    from reverie.settings.schema import Setting


_BY_KEY: Final = {row.key: row for row in SETTINGS if "*" not in row.key}
_BY_VARIABLE: Final = {row.variable: row for row in _BY_KEY.values()}
_NAMED: Final = tuple(row for row in SETTINGS if "*" in row.key)


def find(key: str) -> tuple[Setting, str] | None:
    """The row for a key, and the key as it is stored; None for an unknown key."""
    if row := _BY_KEY.get(key):
        return row, key
    for row in _NAMED:
        # On the command line a name may be quoted as in TOML: prices."gpt-5.5".input.
        if name := (_between(key, row.key) or "").strip('"'):
            stored = row.key.replace("*", fold(name))
            return _BY_KEY.get(stored, row), stored
    return None


def find_variable(variable: str) -> tuple[Setting, str] | None:
    """The row and stored key for an environment variable; None for an unknown one."""
    if row := _BY_VARIABLE.get(variable):
        return row, row.key
    for row in _NAMED:
        if name := _between(variable, row.variable):
            return find(row.key.replace("*", name))
    return None


def is_table(key: str) -> bool:
    """Whether there are settings below this key."""
    parts = key.split(".")
    rows = (row.key.split(".") for row in SETTINGS)
    return any(
        len(row) > len(parts)
        and all(ours in (part, "*") for part, ours in zip(parts, row, strict=False))
        for row in rows
    )


def fold(name: str) -> str:
    """A name as it is stored: lower case, with `_` for a dash, as variables cannot keep either."""
    return "".join(char if char.isalnum() or char == "." else "_" for char in name.lower())


def _between(text: str, pattern: str) -> str | None:
    """The text that the `*` matches: `Read` for `tools.Read.x` and `tools.*.x`."""
    before, _, after = pattern.partition("*")
    long_enough = len(text) > len(before) + len(after)
    if long_enough and text.startswith(before) and text.endswith(after):
        return text[len(before) : len(text) - len(after)]
    return None
