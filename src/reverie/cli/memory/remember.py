"""`reverie remember`: save a memory."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import (
    PERSON,
    mention_former,
    require_team,
    shown_path,
    superseded_label,
    team_option,
    undo_hint,
)
from reverie.errors import InputError
from reverie.memory.format import age
from reverie.memory.format.taxonomy import OWN_SCOPES, TYPES, split

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.memory.changes.draft import Related
    from reverie.memory.changes.keeper import Declined, Remembered
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace


@reverie_command(name="remember")
@click.argument("text", nargs=-1, required=True)
@click.option("--type", type=click.Choice(TYPES), help="What kind it is; otherwise inferred.")
@click.option("--name", help="A title; otherwise the first sentence.")
@click.option("--description", help="The one line by which it is found again.")
@click.option(
    "--cue",
    "cues",
    multiple=True,
    metavar="WORDS",
    help="Other words people will ask by; may be repeated.",
)
@click.option("--supersedes", metavar="MEMORY", help="Replace this memory; both are kept.")
@click.option(
    "--replace",
    is_flag=True,
    help="Retire the memory that has an older value of this; both are kept.",
)
@click.option("--even-if-known", is_flag=True, help="Save although a memory says the same.")
@click.option(
    "--allow-secret", is_flag=True, help="TEXT contains no secret, even if it looks so; recorded."
)
@click.option(
    "--scope", type=click.Choice(OWN_SCOPES), help="About you, or the project; otherwise inferred."
)
@team_option
def command(
    frame: Invocation, text: tuple[str, ...], allow_secret: bool, team: bool, **given: Any
) -> None:
    """Save a memory, with absolute dates and without secrets.

    TEXT is a sentence or more; `-` reads it from standard input. Text that says the same as a memory
    is not saved again. Words such as "from now on" or "no longer" retire the memory they are about;
    otherwise nothing is replaced unless you ask for it. Text about you rather than this project is
    known in every project.

    \b
    reverie remember "Deploys freeze next Thursday, the auditors come"
    reverie remember --type feedback --name "Real database" - < note.md
    reverie remember "The service listens on 8443" --replace
    """
    from reverie.memory.changes.keeper import Declined, NewMemory
    from reverie.memory.opening import remember as remember_in

    app = frame.app()
    require_team(app, team=team)
    if team and given["scope"]:
        raise click.UsageError("give --scope or --team: one of them")
    mention_former(app)
    if given["supersedes"]:
        given["supersedes"] = superseded_label(app, given["supersedes"], team=team)
    new = NewMemory(_standard_input() if text == ("-",) else " ".join(text), **given)
    memory, new = app.memory_for(new, team=team)
    if allow_secret:
        memory.scrubber.allow("\n".join((new.text, new.name or "", new.description or "")))
    outcome = remember_in(memory, app.memory(), new, PERSON)
    if isinstance(outcome, Declined):
        _decline(frame, outcome)
    else:
        data = _as_json(memory, outcome)
        frame.show(data, lambda console: _print(console, saved_lines(app, memory, outcome)))


def _standard_input() -> str:
    from reverie.memory.format.topic import LARGEST_FILE

    # The input may never end: read no more than can be saved.
    data = sys.stdin.buffer.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise InputError(
            f"standard input has more than {LARGEST_FILE:,} bytes, the most a memory holds; "
            "keep the point, or use `reverie import`"
        )
    return data.decode("utf-8", "replace")


def _decline(frame: Invocation, declined: Declined) -> None:
    if frame.as_json:
        data = {
            "saved": False,
            "reason": declined.reason,
            "advice": declined.advice,
            "existing": declined.existing,
        }
        frame.show(data, lambda console: None)
    joint = " " if declined.reason.endswith((".", "!", "?")) else "; "
    message = joint.join(filter(None, (declined.reason, declined.advice)))
    click.echo(f"reverie: {printable(message)}", err=True)
    click.get_current_context().exit(1)


def _as_json(memory: OpenMemory, outcome: Remembered) -> dict[str, Any]:
    saved = outcome.topic
    return {
        "saved": True,
        "file": saved.file,
        "path": str(_path(memory, saved.file)),
        "name": saved.name,
        "description": saved.description,
        "type": saved.type,
        "valid_from": saved.valid_from,
        "valid_until": saved.valid_until,
        "scope": memory.scope,
        "dates": [{"before": change.before, "after": change.after} for change in outcome.dates],
        "secrets": list(outcome.secrets),
        "supersedes": outcome.superseded,
        "related": [asdict(one) for one in outcome.related],
        "revision": outcome.revision.id,
    }


def saved_lines(
    app: Workspace, memory: OpenMemory, outcome: Remembered, *, in_chat: bool = False
) -> list[str]:
    """What was saved and where, what was changed in it, and how to undo it."""
    saved = outcome.topic
    lines = [f"Remembered ({saved.type}): {saved.name}"]
    lines.append(f"  in {saved.file if in_chat else shown_path(app, _path(memory, saved.file))}")
    if memory.scope == "person":
        lines.append("  about you: known in every project")
        lines.append(f"  only for this one: reverie move {saved.file} --scope project")
    lines += [f"  “{change.before}” became {change.after}" for change in outcome.dates]
    if held := age.holds(saved.valid_from, saved.valid_until):
        lines.append(f"  {held}")
    if outcome.secrets:
        kinds = ", ".join(outcome.secrets)
        lines.append(f"  removed a secret ({kinds}); if it is none, repeat with --allow-secret")
    if outcome.superseded:
        lines.append(f"  replaces {outcome.superseded}, which is kept")
    lines += [line for one in outcome.related for line in _related_lines(saved.file, one)]
    undo = "/undo" if in_chat else "reverie undo"
    return [*lines, f"  {undo_hint(outcome.revision, team=memory.team, command=undo)}"]


def _related_lines(file: str, near: Related) -> list[str]:
    """A related memory, with the command that lets one replace the other."""
    replacing = f"reverie retire {near.file} --by {file}"
    if near.likeness == "restates":
        return [
            f"  seems to say the same as {near.file} — {near.text}",
            f"    both are kept; if one is enough: {replacing}",
        ]
    if near.likeness != "update":
        return [
            f"  related: {near.file} — {near.text}",
            f"    both hold; if one replaces the other: {replacing}",
        ]
    sure = "is another value of" if near.certain else "may be another value of"
    return [
        f"  {sure} {near.file} — {near.text}",
        f"    both are kept; if it is replaced: {replacing}",
    ]


def _path(memory: OpenMemory, label: str) -> Path:
    return memory.place.directory / split(label)[1]


def _print(console: Console, lines: list[str]) -> None:
    for line in lines:
        console.print(printable(line), soft_wrap=True)
