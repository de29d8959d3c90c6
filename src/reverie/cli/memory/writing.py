"""`reverie remember` and `reverie edit`: save a memory, and change one in an editor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import (
    Invocation,
    at_terminal,
    note,
    open_editor,
    printable,
    reverie_command,
)
from reverie.cli.memories import (
    PERSON,
    mention_former,
    opened_for,
    require_team,
    shown_path,
    superseded_label,
    team_option,
    undo_hint,
    up_to_date,
)
from reverie.errors import InputError, WriteConflict
from reverie.files.atomic import make_private
from reverie.memory.format import attachment
from reverie.memory.format.taxonomy import OWN_SCOPES, TYPES, split
from reverie.memory.format.topic import render

if TYPE_CHECKING:
    from reverie.memory.changes.draft import Related
    from reverie.memory.changes.keeper import Declined, Remembered
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace


@reverie_command(name="remember")
@click.argument("text", nargs=-1, required=True)
@click.option("--type", type=click.Choice(TYPES), help="What kind it is; otherwise inferred.")
@click.option("--name", help="A title; otherwise the first sentence.")
@click.option("--description", help="One line that recall finds it by.")
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
@click.option("--even-if-known", is_flag=True, help="Save even if a memory says the same.")
@click.option(
    "--allow-secret",
    is_flag=True,
    help="TEXT contains no secret, even if it looks like one; recorded.",
)
@click.option(
    "--scope", type=click.Choice(OWN_SCOPES), help="About you, or the project; otherwise inferred."
)
@team_option
def remember(
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
        frame.show(data, saved_lines(app, memory, outcome))


def _standard_input() -> str:
    from reverie.memory.format.topic import LARGEST_FILE

    # The input may be endless: read no more than can be saved.
    data = sys.stdin.buffer.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise InputError(
            f"standard input has more than {LARGEST_FILE:,} bytes, the most a memory holds; "
            "split it into parts that say one thing each, or keep the point"
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
        frame.show(data, ())
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
    if held := attachment.holds(saved.valid_from, saved.valid_until):
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
    if near.guessed:
        return [
            f"  perhaps about the same thing: {near.file} — {near.text}",
            f"    both hold; if one replaces the other: {replacing}",
        ]
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


class DraftFile:
    """The file the editor opens for one memory, and the version it was made from."""

    def __init__(self, state: Path, name: str) -> None:
        self.path = state / "drafts" / name.replace("/", "__")
        self._base = self.path.with_name(f".{self.path.name}.base")

    @property
    def waiting(self) -> bool:
        """Whether there is unsaved text from an earlier edit."""
        return self.path.is_file()

    @property
    def base(self) -> str:
        return self._base.read_text("utf-8").strip() if self._base.is_file() else ""

    def write(self, data: bytes, version: str) -> None:
        make_private(self.path.parent)
        self.path.touch(mode=0o600)
        self.path.write_bytes(data)
        self.rebase(version)

    def replace(self, data: bytes) -> None:
        """Replace the text; the base version stays the same."""
        self.path.write_bytes(data)

    def rebase(self, version: str) -> None:
        """Base the draft on a newer version, after the user was informed."""
        self._base.write_text(version, "utf-8")

    def read(self) -> bytes:
        return self.path.read_bytes()

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self._base.unlink(missing_ok=True)


@reverie_command(name="edit")
@click.argument("what", nargs=-1, required=True, metavar="MEMORY")
@click.option("--fresh", is_flag=True, help="Discard unsaved text from last time.")
@team_option
def edit(frame: Invocation, what: tuple[str, ...], fresh: bool, team: bool) -> None:
    """Change a memory in your editor ($VISUAL, $EDITOR).

    MEMORY is a file name, a short id from `reverie list`, or words of the title.

    The text is checked when you save. If it cannot be saved (broken frontmatter, too large, the
    memory changed meanwhile), it stays in a file that the next `reverie edit` opens again.

    \b
    EDITOR=nano reverie edit project_audit.md
    """
    app = frame.app()
    memory, name = opened_for(app, " ".join(what), team=team)
    up_to_date(memory)
    draft = DraftFile(memory.place.state, name)
    _begin(memory, draft, name, shown_path(app, draft.path), fresh=fresh)
    problem, data = _edited(memory, draft, name)
    while problem is not None:
        click.echo(f"reverie: {printable(problem)}", err=True)
        click.echo(printable(f"  your text is kept in {shown_path(app, draft.path)}"), err=True)
        if not (at_terminal() and click.confirm("Open it again?", default=True, err=True)):
            click.echo(printable(f"  continue with: reverie edit {memory.label(name)}"), err=True)
            frame.show({**data, "problem": problem, "draft": str(draft.path)}, ())
            click.get_current_context().exit(1)
        problem, data = _edited(memory, draft, name)
    frame.show(data, _edit_lines(data, memory))


def _begin(memory: OpenMemory, draft: DraftFile, name: str, shown: str, *, fresh: bool) -> None:
    if draft.waiting and not fresh:
        note(f"continuing {shown}, which was not saved last time")
        click.echo("  to start again from the memory: --fresh", err=True)
        return
    stored = memory.keeper.require(name)
    draft.write(render(stored.topic), stored.version)


def _edited(memory: OpenMemory, draft: DraftFile, name: str) -> tuple[str | None, dict[str, Any]]:
    """Edit once. Return why the text could not be saved, or None, and the result."""
    from reverie.workspace.changes import base_of, save_edit

    failed = open_editor(draft.path)
    found = memory.scrubber.scrub(draft.read().decode("utf-8", "surrogateescape"))
    if found.kinds:
        # A draft that cannot be saved may stay for long: keep no secrets in it.
        draft.replace(found.text.encode("utf-8", "surrogateescape"))
    data = draft.read()
    base = base_of(memory, name, draft.base)
    result: dict[str, Any] = {"file": memory.label(name), "saved": False, "revision": None}
    if data == render(base.topic):
        draft.discard()
        if failed is not None:
            raise InputError(f"{failed}; nothing was saved")
        return None, result | {"secrets": [], "warnings": []}
    if failed is not None:
        return f"{failed}; nothing was saved", result
    try:
        edited = save_edit(memory, base, data, PERSON)
    except WriteConflict as conflict:
        return _conflict(memory, draft, conflict), result
    except InputError as error:
        return str(error), result
    draft.discard()
    revision = edited.revision
    result |= {"secrets": list(found.kinds), "warnings": list(edited.topic.warnings)}
    return None, result | {"saved": True, "revision": revision.id if revision else None}


def _conflict(memory: OpenMemory, draft: DraftFile, conflict: WriteConflict) -> str:
    """Describe the conflict, and rebase the draft so that saving again overwrites the change."""
    from reverie.memory.format.revisions import version

    if conflict.current is None:
        return f"{conflict.file} was removed meanwhile; to save it again: reverie remember - < FILE"
    draft.rebase(version(conflict.current))
    up_to_date(memory)
    return (
        f"{conflict.file} was changed meanwhile in the same place; look at it with "
        f"`reverie show {conflict.file}`, merge the two, and save again"
    )


def _edit_lines(data: dict[str, Any], memory: OpenMemory) -> Iterator[str]:
    if not data["saved"]:
        yield "Nothing changed."
        return
    yield f"Saved {data['file']}"
    yield from (f"  note: {warning}" for warning in data["warnings"])
    if data["secrets"]:
        yield f"  removed a secret ({', '.join(data['secrets'])})"
    if data["revision"]:
        yield f"  {undo_hint(memory.history.revision(data['revision']), team=memory.team)}"
