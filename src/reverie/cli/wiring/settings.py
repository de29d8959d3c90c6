"""`reverie settings`: every setting, its value and where it came from; set, unset, edit."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reverie.cli.formatting import printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import shown_path
from reverie.errors import InputError, SettingsError

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.settings import Item
    from reverie.workspace import Workspace

FILE = "settings.toml"


@reverie_command(name="settings")
@click.argument("words", nargs=-1, metavar="[KEY | set KEY VALUE | unset KEY | edit]")
@click.option("--changed", is_flag=True, help="Only what differs from the defaults.")
@click.option("--here", is_flag=True, help="With set, unset, edit: for this project only.")
def command(frame: Invocation, words: tuple[str, ...], changed: bool, here: bool) -> None:
    """Show every setting, its value and where it came from; set, unset or edit.

    With KEY, only that setting (or the whole table it names), and what it overrides. Values are
    written to your settings file in the home; comments and order in it stay as they are.

    \b
    reverie settings models.main
    reverie settings set models.main anthropic:claude-sonnet-5-5
    reverie settings unset models.main
    reverie settings edit
    """
    match words:
        case ():
            _show(frame, None, changed=changed)
        case ("edit",):
            _edit(frame, here=here)
        case ("set", key, value):
            _set(frame, key, value, here=here)
        case ("unset", key):
            _unset(frame, key, here=here)
        case ("set", *_):
            raise click.UsageError("write: reverie settings set KEY VALUE")
        case ("unset", *_):
            raise click.UsageError("write: reverie settings unset KEY")
        case (key,):
            _show(frame, key, changed=changed)
        case _:
            raise click.UsageError("give one KEY, or set KEY VALUE, unset KEY, edit")


def write_setting(app: Workspace, key: str, value: str, *, here: bool = False) -> Path:
    """Write a value to the user's settings, or to those of this project; return the file."""
    from reverie.settings.edit import set_value

    path = _file(app, here=here)
    set_value(path, key, value, app.settings.person_home)
    return path


def _file(app: Workspace, *, here: bool) -> Path:
    return (app.project.folder if here else app.settings.home) / FILE


def _set(frame: Invocation, key: str, value: str, *, here: bool) -> None:
    app = frame.app()
    path = write_setting(app, key, value, here=here)
    item = frame.app().settings.item(key)
    data = {**_as_json(item), "file": str(path)}
    frame.show(data, lambda console: _print_written(console, app, item, path))
    if item.origin.where != str(path):
        frame.warn(f"{item.origin} overrides it: the value in use is {_shown(item.value)}")


def _print_written(console: Console, app: Workspace, item: Item, path: Path) -> None:
    console.print(printable(f"{item.key} = {_shown(item.value)}"), soft_wrap=True)
    console.print(f"  in {shown_path(app, path)}", soft_wrap=True)


def _unset(frame: Invocation, key: str, *, here: bool) -> None:
    from reverie.settings.edit import unset_value

    app = frame.app()
    path = _file(app, here=here)
    if not unset_value(path, key):
        raise InputError(f"{key} is not set in {shown_path(app, path)}")
    item = frame.app().settings.item(key)
    text = f"{item.key} is {_shown(item.value)} again ({item.origin})"
    frame.show(_as_json(item), lambda console: console.print(printable(text), soft_wrap=True))


def _edit(frame: Invocation, *, here: bool) -> None:
    """Open the file; it may be broken, so its folder is found without reading the settings."""
    from reverie.files.folders import make_private
    from reverie.settings.neighbours import editor
    from reverie.settings.resolve import home_of
    from reverie.workspace.trust import ProjectTrust

    home = home_of(frame.home)
    path = ProjectTrust.open(frame.project, home).local if here else home / FILE
    make_private(path.parent)
    path.touch(mode=0o600)
    try:
        code = subprocess.run([*editor(), str(path)], check=False).returncode
    except OSError as error:
        raise InputError(
            f"cannot start the editor ({error.strerror}); set VISUAL or EDITOR"
        ) from error
    if code:
        raise InputError(f"the editor ended with {code}")
    try:
        frame.app()
    except SettingsError as error:
        raise InputError(f"{error}\n  `reverie settings edit` opens the file again") from error
    frame.show({"file": str(path)}, lambda console: console.print("Settings are valid."))


def _show(frame: Invocation, key: str | None, *, changed: bool) -> None:
    settings = frame.app().settings
    items = settings.items()
    if key is not None:
        below = tuple(item for item in items if item.key.startswith(f"{key}."))
        items = below or (settings.item(key),)
    if changed:
        items = tuple(item for item in items if item.origin.source != "default")
    frame.answer([_as_json(item) for item in items], lambda console: _table(console, items, key))
    frame.warn(*map(str, settings.wanted), *settings.notes)


def _as_json(item: Item) -> dict[str, object]:
    return {
        "key": item.key,
        "value": item.value,
        "origin": str(item.origin),
        "overridden": [{"value": f.value, "origin": str(f.origin)} for f in item.overridden],
    }


def _table(console: Console, items: tuple[Item, ...], key: str | None) -> None:
    from rich.table import Table

    table = Table("setting", "value", "from", box=None, pad_edge=False)
    for item in items:
        style = "dim" if item.origin.source == "default" else ""
        table.add_row(item.key, _shown(item.value), str(item.origin), style=style)
        for found in item.overridden if key is not None else ():
            table.add_row("  overrides", _shown(found.value), str(found.origin), style="dim")
    console.print(table)


def _shown(value: object) -> str:
    if value is None:
        return "–"
    return str(value).lower() if isinstance(value, bool) else str(value)
