"""`reverie forget`: remove memories, and with --everywhere every trace of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import (
    Invocation,
    at_terminal,
    printable,
    reverie_command,
    styled,
    table,
)
from reverie.cli.memories import (
    PERSON,
    opened_for,
    private,
    shown_path,
    team_option,
    undo_hint,
)
from reverie.errors import InputError
from reverie.memory.changes.handles import Ambiguous, explained, is_id

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.api.forgetting import Forgetting, Receipt
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Target:
    """One memory to forget."""

    memory: OpenMemory
    file: str
    title: str

    @property
    def label(self) -> str:
        return self.memory.label(self.file)


@reverie_command(name="forget")
@click.argument("what", nargs=-1, required=True, metavar="MEMORY|WORDS…")
@click.option(
    "--everywhere",
    is_flag=True,
    help="Also from history, transcripts, notes and all other files of Reverie: for good.",
)
@click.option(
    "--also",
    multiple=True,
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="With --everywhere: also remove it from this file or folder of other software.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@team_option
def command(
    frame: Invocation,
    what: tuple[str, ...],
    everywhere: bool,
    also: tuple[Path, ...],
    yes: bool,
    team: bool,
) -> None:
    """Remove a memory, or every trace of it.

    Give files or short ids from `reverie list`, a title, or words: words select every memory that
    contains all of them. On a terminal it asks first; elsewhere words, and --everywhere, need --yes.

    \b
    reverie forget project_freeze.md
    reverie forget old staging server --everywhere
    """
    app = frame.app()
    targets, exact = _targets(app, what, everywhere=everywhere, team=team)
    _confirm(app, targets, everywhere=everywhere, yes=yes, exact=exact)
    if everywhere:
        receipts = [(t.label, _for_good(app, t, also, yes=yes)) for t in targets]
        data = [_receipt_json(file, receipt) for file, receipt in receipts]
        frame.show(data, _receipt_lines(app, receipts))
    else:
        frame.show(*_forget(targets))


def _targets(
    app: Workspace, what: tuple[str, ...], *, everywhere: bool, team: bool
) -> tuple[list[Target], bool]:
    """The chosen memories, and whether they were named exactly."""
    titled = _named(app, " ".join(what), everywhere=everywhere, team=team)
    if titled is not None:
        return [titled], True
    found = [_named(app, one, everywhere=everywhere, team=team) for one in what]
    named = [target for target in found if target is not None]
    if len(named) == len(what):
        return named, True
    missing = [one for one, target in zip(what, found, strict=True) if target is None]
    if named or any(one.endswith(".md") for one in missing):
        # A list of files of which one is missing is a typo, not a search: raise.
        opened_for(app, missing[0], team=team)
    matching = _matching(app, what, team=team)
    if not matching:
        raise InputError(f"no memory contains {' '.join(what)!r}; `reverie list` shows them all")
    return matching, False


def _named(app: Workspace, what: str, *, everywhere: bool, team: bool) -> Target | None:
    from reverie.workspace.handles import EXACT, Located, locate, required_or_gone

    found = locate(app, what, "team" if team else None)
    if isinstance(found, Located) and found.how in EXACT:
        stored = found.memory.keeper.require(found.file)
        return Target(found.memory, found.file, stored.topic.name)
    if isinstance(found, Ambiguous) and is_id(what):
        raise InputError(explained(what, found))
    if not everywhere:
        return None
    # A memory that was removed before can still be removed from history.
    with suppress(InputError):
        memory, name = required_or_gone(app, what, "team" if team else None)
        if memory.store.read(name) is None:
            return Target(memory, name, name)
    return None


def _matching(app: Workspace, words: tuple[str, ...], *, team: bool) -> list[Target]:
    wanted = [word.casefold() for piece in words for word in piece.split()]
    found = []
    for memory in private(app, "team" if team else None):
        for entry in memory.store.entries():
            text = (memory.store.current(entry.file) or b"").decode("utf-8", "replace")
            held = f"{entry.file}\n{text}".casefold()
            if all(word in held for word in wanted):
                found.append(Target(memory, entry.file, entry.name))
    return found


def _confirm(
    app: Workspace, targets: list[Target], *, everywhere: bool, yes: bool, exact: bool
) -> None:
    if yes:
        return
    names = ", ".join(target.label for target in targets)
    if not at_terminal():
        if everywhere or not exact:
            others = _held_elsewhere(app, targets) if everywhere else ""
            raise InputError(f"this would forget {names}; confirm with --yes{others}")
        return
    for target in targets:
        click.echo(printable(f"  {target.label}  {target.title}"), err=True)
    ending = " for good, with its history" if everywhere else ""
    count = "this memory" if len(targets) == 1 else f"these {len(targets)} memories"
    if not click.confirm(f"Forget {count}{ending}?", err=True):
        raise InputError("nothing was forgotten")


def _for_good(app: Workspace, target: Target, also: tuple[Path, ...], *, yes: bool) -> Receipt:
    from reverie.api.forgetting import Forgetting

    forgetting = Forgetting(app, target.memory, target.file)
    chosen = also if yes else (*also, *_asked_about(app, forgetting, also))
    return forgetting.run(PERSON, chosen)


def _held_elsewhere(app: Workspace, targets: list[Target]) -> str:
    """The --also options for other files with its text, which is unknown after forgetting."""
    from reverie.api.forgetting import Forgetting

    found = [
        f"\n  --also {shlex.quote(str(one.path))} ({one.whose})"
        for target in targets
        for one in Forgetting(app, target.memory, target.file).elsewhere()
    ]
    return f"; these contain it, too, and are not changed without:{''.join(found)}" if found else ""


def _asked_about(app: Workspace, forgetting: Forgetting, also: tuple[Path, ...]) -> list[Path]:
    """Ask which files of other software to clean; none is changed without asking."""
    if not at_terminal():
        return []
    known = {path.absolute() for path in also}
    found = [one for one in forgetting.elsewhere() if one.path not in known]
    return [
        one.path
        for one in found
        if click.confirm(
            printable(f"{shown_path(app, one.path)} ({one.whose}) contains it, too. Clean it?"),
            err=True,
        )
    ]


def _forget(targets: list[Target]) -> tuple[list[dict[str, Any]], list[str]]:
    data, lines = [], []
    for target in targets:
        revision = target.memory.keeper.forget(target.file, PERSON)
        made = revision.id if revision else None
        data.append({"file": target.label, "everywhere": False, "revision": made})
        lines.append(f"Forgot {target.label}: {target.title}")
        if revision is not None:
            lines.append(f"  {undo_hint(revision, team=target.memory.team)}")
    named = shlex.join(target.label for target in targets)
    lines.append("  history and transcripts still contain it; to remove it for good:")
    return data, [*lines, f"    reverie forget {named} --everywhere"]


def _receipt_json(file: str, receipt: Receipt) -> dict[str, Any]:
    return {
        "file": file,
        "everywhere": True,
        "receipt": [asdict(place) for place in receipt.places],
        "elsewhere": [
            {"path": str(one.path), "whose": one.whose, "redacted": one.redacted}
            for one in receipt.elsewhere
        ],
    }


def _receipt_lines(app: Workspace, receipts: list[tuple[str, Receipt]]) -> Iterator[RenderableType]:
    for file, receipt in receipts:
        yield f"Forgot {file} everywhere:"
        rows = (
            (f"  {place.place}", "; ".join(filter(None, (place.done, place.remains))))
            for place in receipt.places
        )
        places = table("", "", rows=rows)
        places.show_header = False
        for column in places.columns:
            column.overflow = "fold"
        yield places
        for one in receipt.elsewhere:
            what = "cleaned too" if one.redacted else "not changed, still contains it"
            yield f"  {what}: {shown_path(app, one.path)} ({one.whose})"
        yield styled("  backups and other copies were not checked")
