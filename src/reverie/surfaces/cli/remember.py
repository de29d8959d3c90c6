"""`reverie remember`: save a memory."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from reverie.memory.taxonomy import TYPES
from reverie.surfaces.cli.figures import printable
from reverie.surfaces.cli.frame import Frame, reverie_command
from reverie.surfaces.cli.memories import (
    PERSON,
    label,
    mention_former,
    opened,
    replaced_by_it,
    shown_path,
    team_option,
    undo_hint,
)

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.app import App
    from reverie.app.memory import OpenMemory
    from reverie.keeper.keeper import Declined, Remembered


@reverie_command(name="remember")
@click.argument("text", nargs=-1, required=True)
@click.option("--type", type=click.Choice(TYPES), help="What kind it is; otherwise inferred.")
@click.option("--name", help="A title; otherwise the first sentence.")
@click.option("--description", help="The one line by which it is found again.")
@click.option("--supersedes", metavar="MEMORY", help="Replace this memory; both are kept.")
@click.option(
    "--even-if-known", is_flag=True, help="Save although a memory says the same or otherwise."
)
@click.option(
    "--allow-secret", is_flag=True, help="What looks like a secret in TEXT is none; recorded."
)
@team_option
def command(
    frame: Frame, text: tuple[str, ...], allow_secret: bool, team: bool, **given: Any
) -> None:
    """Save a memory, with absolute dates and without secrets.

    TEXT is a sentence or more; `-` reads it from standard input.

    \b
    reverie remember "Deploys freeze next Thursday, the auditors come"
    reverie remember --type feedback --name "Real database" - < note.md
    reverie remember "The service listens on 8443" --supersedes default_port.md
    """
    from reverie.keeper.keeper import Declined, Wish

    app = frame.app()
    memory = opened(app, team=team)
    mention_former(app)
    if given["supersedes"]:
        given["supersedes"] = replaced_by_it(app, given["supersedes"], memory)
    wish = Wish(_standard_input() if text == ("-",) else " ".join(text), **given)
    if allow_secret:
        memory.scrubber.allow("\n".join((wish.text, wish.name or "", wish.description or "")))
    outcome = memory.keeper.remember(wish, PERSON)
    if isinstance(outcome, Declined):
        _decline(frame, outcome)
    else:
        data = _as_json(memory, outcome)
        frame.show(data, lambda console: _print(console, saved_lines(app, memory, outcome)))


def _standard_input() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _decline(frame: Frame, declined: Declined) -> None:
    if frame.as_json:
        data = {
            "saved": False,
            "reason": declined.reason,
            "advice": declined.advice,
            "existing": declined.existing,
        }
        frame.show(data, lambda console: None)
    joint = " " if declined.reason.endswith((".", "!", "?")) else "; "
    said = joint.join(filter(None, (declined.reason, declined.advice)))
    click.echo(f"reverie: {printable(said)}", err=True)
    click.get_current_context().exit(1)


def _as_json(memory: OpenMemory, outcome: Remembered) -> dict[str, Any]:
    saved = outcome.topic
    return {
        "saved": True,
        "file": label(memory, saved.file),
        "path": str(memory.place.directory / saved.file),
        "name": saved.name,
        "description": saved.description,
        "type": saved.type,
        "dates": [{"before": change.before, "after": change.after} for change in outcome.dates],
        "secrets": list(outcome.secrets),
        "supersedes": outcome.superseded,
        "revision": outcome.revision.id,
    }


def saved_lines(app: App, memory: OpenMemory, outcome: Remembered) -> list[str]:
    """What was saved, where, what was changed in it, and the way back."""
    saved = outcome.topic
    lines = [f"Remembered ({saved.type}): {saved.name}"]
    lines.append(f"  in {shown_path(app, memory.place.directory / saved.file)}")
    lines += [f"  “{change.before}” became {change.after}" for change in outcome.dates]
    if outcome.secrets:
        kinds = ", ".join(outcome.secrets)
        lines.append(f"  removed a secret ({kinds}); if it is none, repeat with --allow-secret")
    if outcome.superseded:
        lines.append(f"  replaces {outcome.superseded}, which is kept")
    return [*lines, f"  {undo_hint(outcome.revision, team=memory.team)}"]


def _print(console: Console, lines: list[str]) -> None:
    for line in lines:
        console.print(printable(line), soft_wrap=True)
