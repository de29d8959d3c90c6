"""Write the reference pages that are made from the code: settings, commands, API and events.

python scripts/reference.py            write docs/settings.md, commands.md, api.md and events.md
python scripts/reference.py --check    exit code 1 if one of them differs
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

import click

import reverie
from reverie import events
from reverie.cli.group import COMMANDS, GROUPS, cli
from reverie.cli.invocation import Invocation
from reverie.settings import schema
from reverie.settings.values import expected

DOCS = Path(__file__).parents[1] / "docs"
_EVENTS = """\
# Events

Generated from `reverie/events.py` by `make docs`; a test compares the two.

`Agent.run` yields these, a listener of a `Context` is called with them, and
`reverie chat -p --output-format stream-json` prints them ([chat.md](chat.md#for-programs) has the JSON). Each is a frozen
dataclass. A program should ignore events it does not know: new ones may come in any version.

| event | fields | when |
|---|---|---|
"""
_API = """\
# API

Generated from the docstrings of `import reverie` by `make docs`; a test compares the two. [library.md](library.md) explains how
the pieces are used together.

"""
_COMMANDS = """\
# Commands

Generated from the commands themselves by `make docs`; a test compares the two.

Each command takes these options, before or after its name:

"""
_API_GROUPS = {
    "Memory": ("Memory", "AsyncMemory", "Hit", "Remembered", "Related", "Declined"),
    "Entries": ("Added", "Page", "StoredMemory"),
    "Context": ("Context", "Prepared"),
    "Agent": ("Agent", "tool", "Tool", "ToolOutput", "ToolSpec"),
    "Messages": ("Message", "Request", "Options", "Reply", "TextDelta", "Usage"),
    "Errors": ("ReverieError", "InputError", "NotRemembered"),
}


def events_page() -> str:
    rows = [_event_row(one) for one in sorted(get_args(events.Event), key=lambda one: one.__name__)]
    return _EVENTS + "".join(rows)


def _event_row(event: type) -> str:
    names = ", ".join(f"`{field.name}`" for field in dataclasses.fields(event))
    return f"| `{event.__name__}` | {names} | {_cell(_about(event))} |\n"


def api_page() -> str:
    told = {name for names in _API_GROUPS.values() for name in names}
    others = sorted(set(reverie.__all__) - told - {"Event"} - _event_names())
    groups = {**_API_GROUPS, **({"Others": tuple(others)} if others else {})}
    parts = [_API]
    for title, names in groups.items():
        parts.append(f"## {title}\n\n")
        parts += [_entry(name) for name in names]
    shown = ", ".join(f"`{name}`" for name in sorted(_event_names() & set(reverie.__all__)))
    parts.append(
        f"## Events\n\n`Event` is the union of all events; {shown} can be imported by name.\n"
    )
    parts.append("[events.md](events.md) lists every one.\n")
    return "".join(parts)


def _event_names() -> set[str]:
    return {one.__name__ for one in get_args(events.Event)} - {"TextDelta"}


def _entry(name: str) -> str:
    found = getattr(reverie, name)
    text = f"### {name}\n\n"
    if issubclass_of(found, BaseException):
        return f"{text}{_text(found)}\n\n"
    text += f"```text\n{_signature(name, found)}\n```\n\n{_text(found)}\n\n"
    if isinstance(found, type):
        rows = [
            f"| `{_signature(one, method)}` | {_cell(_about(method))} |\n"
            for one, method in _methods(found)
        ]
        if rows:
            text += "| method | what it does |\n|---|---|\n" + "".join(rows) + "\n"
    return text


def issubclass_of(found: object, kind: type) -> bool:
    return isinstance(found, type) and issubclass(found, kind)


def _methods(found: type) -> Iterator[tuple[str, Any]]:
    """The public methods that are documented, in the order of the source."""
    for one in found.__mro__[:-1]:
        for name, member in vars(one).items():
            method = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            if not name.startswith("_") and inspect.isfunction(method) and _about(method):
                yield name, method


def _signature(name: str, found: Callable[..., Any]) -> str:
    """How it is called, on one line; a method without its `self`."""
    parameters = []
    keyword_only = False
    for one in inspect.signature(found).parameters.values():
        if one.name in ("self", "cls"):
            continue
        if one.kind is one.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            parameters.append("*")
        keyword_only |= one.kind is one.VAR_POSITIONAL
        star = (
            "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
        )
        default = "" if one.default is one.empty else f"={_default(one.default)}"
        parameters.append(f"{star}{one.name}{default}")
    return f"{name}({', '.join(parameters)})"


def _default(value: object) -> str:
    return "…" if re.search(r" at 0x|<", repr(value)) else repr(value)


def _text(found: object) -> str:
    return inspect.cleandoc(getattr(found, "__doc__", "") or "")


def _about(found: object) -> str:
    """The first paragraph of a docstring; the signature a dataclass makes up is none."""
    text = _text(found).partition("\n\n")[0].replace("\n", " ")
    return "" if re.match(r"\w+\(.*\)$", text) else text


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def commands_page() -> str:
    context = click.Context(cli, info_name="reverie", **cli.context_settings)
    shared = [one for one in cli.params if one.name in _shared()]
    parts = [_COMMANDS + _option_table(shared, context)]
    for group in GROUPS:
        parts.append(f"## {group}\n")
        for name, entry in COMMANDS.items():
            command = cli.get_command(context, name) if entry.group == group else None
            if command is not None:
                parts.append(_command_entry(name, command, context))
    return "\n".join(parts)


def _shared() -> set[str]:
    return set(inspect.signature(Invocation).parameters)


def _command_entry(name: str, command: click.Command, parent: click.Context) -> str:
    context = click.Context(command, info_name=name, parent=parent)
    usage = command.get_usage(context).removeprefix("Usage: ")
    usage = " ".join(usage.split())
    own = [one for one in command.params if one.name not in _shared()]
    lines = [f"### {name}\n", f"```text\n{usage}\n```\n", _help(command)]
    if table := _option_table(own, context):
        lines += [table]
    if isinstance(command, click.Group):
        lines += [_subcommands(command, context)]
    return "\n".join(lines)


def _help(command: click.Command) -> str:
    """The help as markdown: paragraphs that click leaves alone are examples."""
    blocks = inspect.cleandoc(command.help or "").split("\n\n")
    shown = []
    for block in blocks:
        if block.startswith("\b"):
            shown.append("```sh\n" + block.removeprefix("\b").strip("\n") + "\n```")
        else:
            shown.append(" ".join(block.split()))
    return "\n\n".join(shown) + "\n"


def _option_table(params: list[click.Parameter], context: click.Context) -> str:
    options = [one for one in params if isinstance(one, click.Option)]
    records = [record for one in options if (record := one.get_help_record(context))]
    if not records:
        return ""
    rows = [f"| `{_cell(option)}` | {_cell(about)} |" for option, about in records]
    return "\n".join(["| option | what it does |", "|---|---|", *rows, ""])


def _subcommands(group: click.Group, context: click.Context) -> str:
    rows = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            rows.append(f"| `{name}` | {_cell(command.get_short_help_str(200))} |")
    return "\n".join(["| action | what it does |", "|---|---|", *rows, ""])


_SETTINGS = """\
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
_HEAD = "| key | value | default | variable | project | what it does |\n|---|---|---|---|---|---|"


def settings_page() -> str:
    """The text of docs/settings.md."""
    tables = groupby(schema.SETTINGS, key=_heading)
    parts = [_SETTINGS, *(_table(name, list(rows)) for name, rows in tables), _others()]
    return "\n".join(parts)


def _heading(row: schema.Setting) -> str:
    table, dot, _ = row.key.partition(".")
    return f"[{table}]" if dot else "Outside any table"


def _table(name: str, rows: list[schema.Setting]) -> str:
    return "\n".join([f"## {name}\n", _HEAD, *map(_setting_row, rows), ""])


def _setting_row(row: schema.Setting) -> str:
    cells = (
        f"`{row.key}`",
        expected(row),
        f"`{_setting_default(row.default)}`" if row.default is not None else "",
        f"`{row.variable}`",
        _project(row),
        row.about,
    )
    return "| " + " | ".join(cells) + " |"


def _project(row: schema.Setting) -> str:
    if not row.project_may_set:
        return "no"
    free = ", ".join(f"`{_setting_default(value)}`" for value in row.unasked)
    if row.kind == "bool" and set(row.unasked) == {True, False}:
        return "yes"
    if row.choices and set(row.unasked) == set(row.choices):
        return "yes"
    return f"asks; {free} without" if free else "asks"


def _setting_default(value: schema.Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _others() -> str:
    rows = (f"| `{name}` | {about} |" for name, about in schema.OTHER_VARIABLES.items())
    return "\n".join(["## Other variables\n", "| variable | what it does |\n|---|---|", *rows, ""])


PAGES: dict[str, Callable[[], str]] = {
    "settings.md": settings_page,
    "commands.md": commands_page,
    "api.md": api_page,
    "events.md": events_page,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    different = []
    for name, made in PAGES.items():
        path, text = DOCS / name, made()
        if not path.exists() or path.read_text("utf-8") != text:
            different.append(name)
            if not check:
                path.write_text(text, "utf-8")
    if different:
        print(("differs" if check else "written") + ": " + ", ".join(different))
    return int(check and bool(different))


if __name__ == "__main__":
    sys.exit(main())
