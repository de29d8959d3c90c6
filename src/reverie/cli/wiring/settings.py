"""`reverie settings` and `reverie trust`: every setting and where it came from, and what a project may set."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import (
    Invocation,
    console,
    open_editor,
    print_lines,
    reverie_command,
    table,
)
from reverie.cli.memories import shown_path
from reverie.errors import InputError, SettingsError

if TYPE_CHECKING:
    from rich.table import Table

    from reverie.settings import Item
    from reverie.workspace import Workspace
    from reverie.workspace.trust import AskedFile, ProjectTrust

FILE = "settings.toml"


@reverie_command(name="settings")
@click.argument("words", nargs=-1, metavar="[KEY | set KEY VALUE | unset KEY | edit]")
@click.option("--changed", is_flag=True, help="Only what differs from the defaults.")
@click.option("--here", is_flag=True, help="With set, unset, edit: for this project only.")
def settings(frame: Invocation, words: tuple[str, ...], changed: bool, here: bool) -> None:
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
    frame.show(data, [f"{item.key} = {_shown(item.value)}", f"  in {shown_path(app, path)}"])
    if item.origin.where != str(path):
        frame.warn(f"{item.origin} overrides it: the value in use is {_shown(item.value)}")


def _unset(frame: Invocation, key: str, *, here: bool) -> None:
    from reverie.settings.edit import unset_value

    app = frame.app()
    path = _file(app, here=here)
    if not unset_value(path, key):
        raise InputError(f"{key} is not set in {shown_path(app, path)}")
    item = frame.app().settings.item(key)
    text = f"{item.key} is {_shown(item.value)} again ({item.origin})"
    frame.show(_as_json(item), text)


def _edit(frame: Invocation, *, here: bool) -> None:
    """Open the file; it may be broken, so its folder is found without reading the settings."""
    from reverie.files.atomic import make_private
    from reverie.settings.resolve import home_of
    from reverie.workspace.trust import ProjectTrust

    home = home_of(frame.home)
    path = ProjectTrust.open(frame.project, home).local if here else home / FILE
    make_private(path.parent)
    path.touch(mode=0o600)
    if problem := open_editor(path):
        raise InputError(problem)
    try:
        frame.app()
    except SettingsError as error:
        raise InputError(f"{error}\n  `reverie settings edit` opens the file again") from error
    frame.show({"file": str(path)}, "Settings are valid.")


def _show(frame: Invocation, key: str | None, *, changed: bool) -> None:
    settings = frame.app().settings
    items = settings.items()
    if key is not None:
        below = tuple(item for item in items if item.key.startswith(f"{key}."))
        items = below or (settings.item(key),)
    if changed:
        items = tuple(item for item in items if item.origin.source != "default")
    frame.answer([_as_json(item) for item in items], [_table(items, key)])
    frame.warn(*map(str, settings.wanted), *settings.notes)


def _as_json(item: Item) -> dict[str, object]:
    return {
        "key": item.key,
        "value": item.value,
        "origin": str(item.origin),
        "overridden": [{"value": f.value, "origin": str(f.origin)} for f in item.overridden],
    }


def _table(items: tuple[Item, ...], key: str | None) -> Table:
    shown = table("setting", "value", "from", rows=())
    for item in items:
        style = "dim" if item.origin.source == "default" else ""
        shown.add_row(item.key, _shown(item.value), str(item.origin), style=style)
        for found in item.overridden if key is not None else ():
            shown.add_row("  overrides", _shown(found.value), str(found.origin), style="dim")
    return shown


def _shown(value: object) -> str:
    if value is None:
        return "–"
    return str(value).lower() if isinstance(value, bool) else str(value)


@reverie_command(name="trust")
@click.option("--yes", is_flag=True, help="Agree to the files as they are now, without a question.")
@click.option("--no", "refuse", is_flag=True, help="Refuse them; you are not asked again until they change.")  # fmt: skip
@click.option("--forget", is_flag=True, help="Take back every answer for this project.")
@click.option("--move", is_flag=True, help="Make .reverie/settings.local.toml your own: move it to the home.")  # fmt: skip
def trust(frame: Invocation, yes: bool, refuse: bool, forget: bool, move: bool) -> None:
    """Show what this project's settings files ask for, and answer.

    A file inside a project came with a clone or an archive. Settings that could cost money or allow
    more than yours are used only after you agree; if the file changes, you are asked again.

    \b
    reverie trust
    reverie trust --yes
    reverie trust --move
    """
    if sum((yes and not move, refuse, forget, move)) > 1:
        raise click.UsageError("give one of --yes, --no, --forget and --move")
    project = _project(frame)
    if forget:
        _forget(frame, project)
    elif move:
        _move(frame, project, sure=yes)
    else:
        _answer(frame, project, True if yes else False if refuse else None)


def ask_pending(frame: Invocation) -> None:
    """Ask about each file that has no answer yet; called when a chat starts."""
    project = _project(frame)
    for asked in _waiting(project):
        print_lines(console(), _file_lines(asked))
        _ask(project, asked)


def _project(frame: Invocation) -> ProjectTrust:
    from reverie.workspace.trust import ProjectTrust

    return ProjectTrust.open(frame.project, frame.home)


def _waiting(project: ProjectTrust) -> list[AskedFile]:
    return [asked for asked in project.files() if asked.wanted and asked.said is None]


def _ask(project: ProjectTrust, asked: AskedFile) -> None:
    agreed = click.confirm("Use these settings in this project?", default=False)
    project.answer(asked, "yes" if agreed else "no")


def _answer(frame: Invocation, project: ProjectTrust, agreed: bool | None) -> None:
    files = project.files()
    if not frame.as_json and not frame.quiet:
        print_lines(console(), _trust_lines(project, files))
    for asked in files:
        if agreed is not None and (asked.wanted or asked.said is not None):
            project.answer(asked, "yes" if agreed else "no")
        elif agreed is None and asked.wanted and asked.said is None and _at_a_terminal(frame):
            _ask(project, asked)
    now = project.files()
    if frame.as_json:
        frame.show(_trust_json(project, now), ())
    if waiting := _waiting(project):
        frame.warn(f"{len(waiting)} of them wait for your answer: reverie trust --yes, or --no")
        click.get_current_context().exit(1)


def _at_a_terminal(frame: Invocation) -> bool:
    return not frame.as_json and sys.stdin.isatty()


def _forget(frame: Invocation, project: ProjectTrust) -> None:
    paths = project.forget()
    message = f"Forgotten: {len(paths)} answers." if paths else "There was no answer to forget."
    frame.show({"forgotten": paths}, message)


def _move(frame: Invocation, project: ProjectTrust, *, sure: bool) -> None:
    from reverie.settings.sources import OLD_LOCAL

    found = next((asked for asked in project.files() if asked.path.name == OLD_LOCAL), None)
    if found is None:
        raise InputError(f"{project.root / '.reverie' / OLD_LOCAL} does not exist: nothing to move")
    if not sure:
        if not _at_a_terminal(frame):
            raise InputError(f"read {found.path} first, then give --move --yes")
        print_lines(console(), _diff_lines(found))
        question = (
            "Did you write this yourself? It may set anything then, and is moved to the home."
        )
        if not click.confirm(question, default=False):
            return
    moved = project.move(found)
    frame.show({"moved": found.path, "to": moved}, f"Moved to {moved}.")


def _trust_lines(project: ProjectTrust, files: tuple[AskedFile, ...]) -> Iterator[str]:
    yield f"Your own settings for this project: {project.local}"
    if not files:
        yield "There is no settings file inside the project."
    for asked in files:
        yield from _file_lines(asked)


def _file_lines(asked: AskedFile) -> Iterator[str]:
    yield f"\n{asked.path}: {_state(asked)}"
    for wanted in asked.wanted:
        yield f"  wants {wanted.key} = {_shown(wanted.found.value)}"
    yield from (f"  {problem}" for problem in asked.problems)
    if asked.wanted:
        yield from _diff_lines(asked)


def _diff_lines(asked: AskedFile) -> Iterator[str]:
    return (f"  {line}" for line in asked.diff())


def _state(asked: AskedFile) -> str:
    match asked.said:
        case "yes":
            return "you agreed to it"
        case "no":
            return "you said no to it"
    return "waits for your answer" if asked.wanted else "asks for nothing that needs your answer"


def _trust_json(project: ProjectTrust, files: tuple[AskedFile, ...]) -> dict[str, Any]:
    return {
        "root": project.root,
        "local": project.local,
        "files": [
            {
                "path": asked.path,
                "said": asked.said,
                "wants": {wanted.key: wanted.found.value for wanted in asked.wanted},
                "problems": asked.problems,
                "diff": list(asked.diff()),
            }
            for asked in files
        ],
    }
