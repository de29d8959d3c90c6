"""Find a setting's row in the schema by key or variable, and render the reference page."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from reverie.settings import schema
from reverie.settings.schema import SETTINGS
from reverie.settings.values import expected

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


_OPENING: Final = """\
# Settings

Generated from `src/reverie/settings/schema/`; a test compares the two.

A setting can come from several sources; a source further down in this table overrides those above:

| source | where |
|---|---|
| default | the tables below |
| managed | `/etc/reverie/settings.toml` |
| user | `<home>/settings.toml`; `<home>` is `REVERIE_HOME`, or `~/.reverie` |
| project | `.reverie/settings.toml` inside the project; restricted, see below |
| local | `<home>/projects/<project>/settings.toml`: yours, for one project (`reverie trust` prints the path) |
| organisation | an OpenFeature flag `reverie.<key>`: switches and `result_threshold` only |
| environment | `REVERIE_*`; an empty variable counts as none |
| command line | `--set key=value` |

`reverie settings` prints every value and its source. An unknown key or variable is an error.
Switches under `features` are read live: no restart is needed.

A settings file inside a project's folder is not trusted by default, because it may have come with a
clone or an archive. It cannot set keys with *no* under "project". It can set keys with *asks* after
you agree, with `reverie trust` or at the start of a chat; the values listed there need no agreement.
Reverie keeps your answer in the home, together with the content of the file, and asks again, with a
diff, when the file changes. `.reverie/settings.local.toml`, the former place of local settings, is
treated the same way: `reverie trust --move` shows it and moves it to the home.

`*` is a name you choose. Case does not matter, and a dash is the same as an underscore.

An API key is never a setting. It stays in the environment (or the system's keyring), and
`providers.<name>.api_key_env` holds the name of that variable.
"""
_HEAD: Final = (
    "| key | value | default | variable | project | what it does |\n|---|---|---|---|---|---|"
)


def reference() -> str:
    """The text of docs/settings.md."""
    tables = groupby(schema.SETTINGS, key=_heading)
    parts = [_OPENING, *(_table(name, list(rows)) for name, rows in tables), _others()]
    return "\n".join(parts)


def _heading(row: schema.Setting) -> str:
    table, dot, _ = row.key.partition(".")
    return f"[{table}]" if dot else "Outside any table"


def _table(name: str, rows: list[schema.Setting]) -> str:
    return "\n".join([f"## {name}\n", _HEAD, *map(_row, rows), ""])


def _row(row: schema.Setting) -> str:
    cells = (
        f"`{row.key}`",
        expected(row),
        f"`{_default(row.default)}`" if row.default is not None else "",
        f"`{row.variable}`",
        _project(row),
        row.about,
    )
    return "| " + " | ".join(cells) + " |"


def _project(row: schema.Setting) -> str:
    if not row.project_may_set:
        return "no"
    free = ", ".join(f"`{_default(value)}`" for value in row.unasked)
    if row.kind == "bool" and set(row.unasked) == {True, False}:
        return "yes"
    if row.choices and set(row.unasked) == set(row.choices):
        return "yes"
    return f"asks; {free} without" if free else "asks"


def _default(value: schema.Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _others() -> str:
    rows = (f"| `{name}` | {about} |" for name, about in schema.OTHER_VARIABLES.items())
    return "\n".join(["## Other variables\n", "| variable | what it does |\n|---|---|", *rows, ""])
