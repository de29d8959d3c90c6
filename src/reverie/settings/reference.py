"""docs/settings.md, rendered from the schema so that it cannot drift."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from reverie.settings import schema
from reverie.settings.values import expected

_OPENING: Final = """\
# Settings

Generated from `src/reverie/settings/schema.py`; a test compares the two.

A setting may be given in several places; the further down in this table, the stronger:

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

`reverie settings` prints every value with the place it came from. A key or variable that does not
exist is an error. Switches under `features` are read live: no restart is needed.

A file inside a project's folder is never trusted by itself: it came with a clone or an archive. What
has *no* under "project" it may not set at all. What has *asks* it may set once you agreed, with
`reverie trust` or at the start of a chat; the values named there hold without a question. Your answer
is kept in the home with the content of the file, and a file that changes is asked about again, with a
diff. `.reverie/settings.local.toml`, where local settings used to be, counts as such a file, too:
`reverie trust --move` shows it and moves it to the home.

`*` is a name you choose; its case does not matter, and a dash counts as an underscore.

An API key is never a setting. It stays in the environment (or the system's keyring), and
`providers.<name>.api_key_env` holds the name of that variable.
"""
_HEAD: Final = (
    "| key | value | default | variable | project | what it does |\n|---|---|---|---|---|---|"
)


def reference() -> str:
    """The whole page."""
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
