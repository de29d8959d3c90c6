"""`reverie trust`: what the settings files inside a project ask for, and the user's answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import printable
from reverie.cli.invocation import Invocation, console, reverie_command
from reverie.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.workspace.trust import AskedFile, ProjectTrust


@reverie_command(name="trust")
@click.option("--yes", is_flag=True, help="Agree to the files as they are now, without a question.")
@click.option("--no", "refuse", is_flag=True, help="Refuse them; you are not asked again until they change.")  # fmt: skip
@click.option("--forget", is_flag=True, help="Take back every answer for this project.")
@click.option("--move", is_flag=True, help="Make .reverie/settings.local.toml your own: move it to the home.")  # fmt: skip
def command(frame: Invocation, yes: bool, refuse: bool, forget: bool, move: bool) -> None:
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
        _print_file(console(), asked)
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
        _print(console(), project, files)
    for asked in files:
        if agreed is not None and (asked.wanted or asked.said is not None):
            project.answer(asked, "yes" if agreed else "no")
        elif agreed is None and asked.wanted and asked.said is None and _at_a_terminal(frame):
            _ask(project, asked)
    now = project.files()
    if frame.as_json:
        frame.show(_as_json(project, now), lambda _: None)
    if waiting := _waiting(project):
        frame.warn(f"{len(waiting)} of them wait for your answer: reverie trust --yes, or --no")
        click.get_current_context().exit(1)


def _at_a_terminal(frame: Invocation) -> bool:
    return not frame.as_json and sys.stdin.isatty()


def _forget(frame: Invocation, project: ProjectTrust) -> None:
    paths = project.forget()
    message = f"Forgotten: {len(paths)} answers." if paths else "There was no answer to forget."
    frame.show({"forgotten": paths}, lambda screen: screen.print(message))


def _move(frame: Invocation, project: ProjectTrust, *, sure: bool) -> None:
    from reverie.settings.sources import OLD_LOCAL

    found = next((asked for asked in project.files() if asked.path.name == OLD_LOCAL), None)
    if found is None:
        raise InputError(f"{project.root / '.reverie' / OLD_LOCAL} is not there: nothing to move")
    if not sure:
        if not _at_a_terminal(frame):
            raise InputError(f"read {found.path} first, then give --move --yes")
        _print_diff(console(), found)
        question = (
            "Did you write this yourself? It may set anything then, and is moved to the home."
        )
        if not click.confirm(question, default=False):
            return
    moved = project.move(found)
    frame.show(
        {"moved": found.path, "to": moved},
        lambda screen: screen.print(f"Moved to {printable(str(moved))}.", soft_wrap=True),
    )


def _print(screen: Console, project: ProjectTrust, files: tuple[AskedFile, ...]) -> None:
    own = printable(str(project.local))
    screen.print(f"Your own settings for this project: {own}", soft_wrap=True)
    if not files:
        screen.print("There is no settings file inside the project.")
    for asked in files:
        _print_file(screen, asked)


def _print_file(screen: Console, asked: AskedFile) -> None:
    screen.print(f"\n{printable(str(asked.path))}: {_state(asked)}", soft_wrap=True)
    for line in _wants(asked):
        screen.print(f"  {printable(line)}", soft_wrap=True)
    if asked.wanted:
        _print_diff(screen, asked)


def _print_diff(screen: Console, asked: AskedFile) -> None:
    for line in asked.diff():
        screen.print(f"  {printable(line)}", soft_wrap=True)


def _state(asked: AskedFile) -> str:
    match asked.said:
        case "yes":
            return "you agreed to it"
        case "no":
            return "you said no to it"
    return "waits for your answer" if asked.wanted else "asks for nothing that needs your answer"


def _wants(asked: AskedFile) -> Iterator[str]:
    for wanted in asked.wanted:
        yield f"wants {wanted.key} = {_value(wanted.found.value)}"
    yield from asked.problems


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _as_json(project: ProjectTrust, files: tuple[AskedFile, ...]) -> dict[str, Any]:
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
