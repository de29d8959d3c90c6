"""`reverie inbox`: review, approve and reject proposed memories."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import (
    Invocation,
    at_terminal,
    console,
    counted,
    note,
    print_lines,
    printable,
    reverie_command,
    styled,
    table,
)
from reverie.cli.learning import proposals
from reverie.cli.memories import PERSON, opened, superseded_label
from reverie.errors import InputError
from reverie.memory.format.proposals import Item
from reverie.memory.format.taxonomy import TYPES, MemoryType

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.memory.changes.draft import Declined
    from reverie.memory.changes.undo import Decision
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace
    from reverie.workspace.changes import Contents, Inbox

ACTIONS = ("list", "show", "approve", "reject", "review")
_NOTHING = "Nothing like that waits."


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of the command."""

    ids: tuple[str, ...]
    everything: bool
    session: str | None
    type_: MemoryType | None
    yes: bool
    even_if_known: bool
    supersedes: str | None

    @property
    def narrowed(self) -> bool:
        return self.session is not None or self.type_ is not None


@dataclass(frozen=True, slots=True)
class InboxView:
    """An inbox, its memory, and the invocation."""

    frame: Invocation
    app: Workspace
    memory: OpenMemory
    inbox: Inbox


@reverie_command(name="inbox")
@click.argument("action", type=click.Choice(ACTIONS), default="list")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "everything", is_flag=True, help="Approve or reject every proposal.")
@click.option("--from", "session", metavar="SESSION", help="Only what comes from this session.")
@click.option("--type", "type_", type=click.Choice(TYPES), help="Only memories of this type.")
@click.option("--even-if-known", is_flag=True, help="With approve: save it even if it is known.")
@click.option("--supersedes", metavar="MEMORY", help="With approve ID: replace this memory by it.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def command(frame: Invocation, action: str, **options: Any) -> None:
    """Review proposed memories: list, show, approve, reject.

    Proposals that you did not state yourself, such as those from a tool, page or file, wait here:
    they are in no prompt, index or search until you approve them. Rejected proposals do not come
    back. `!` marks a proposal that may be an attack. `review` shows one proposal after the other and
    takes one key for each.

    \b
    reverie inbox review
    reverie inbox show 3f9a
    reverie inbox approve 3f9a 81c2
    reverie inbox reject --all --from 4f1c
    """
    from reverie.workspace.changes import open_inbox

    asked = Asked(**options)
    _check_usage(action, asked)
    app = frame.app()
    memory = opened(app)
    view = InboxView(frame, app, memory, open_inbox(app, memory))
    actions: dict[str, Callable[[InboxView, Asked], None]] = {
        "list": _list,
        "show": _show,
        "approve": _approve,
        "reject": _reject,
        "review": _review,
    }
    actions[action](view, asked)


def _check_usage(action: str, asked: Asked) -> None:
    decides = action in ("approve", "reject")
    if asked.everything and (asked.ids or not decides):
        raise click.UsageError("--all goes with approve or reject, and without IDs")
    if action == "list" and asked.ids:
        raise click.UsageError("to see proposals by their ids: reverie inbox show ID")
    if action == "review":
        if asked.ids or asked.everything:
            raise click.UsageError(
                "review goes through what waits; narrow it with --from or --type"
            )
        return
    if action != "list" and not asked.ids and not asked.everything:
        raise click.UsageError(f"say which: reverie inbox {action} ID" + decides * ", or --all")
    if asked.narrowed and asked.ids:
        raise click.UsageError("--from and --type go with --all, or with the list")
    if action != "approve" and (asked.even_if_known or asked.supersedes):
        raise click.UsageError("--even-if-known and --supersedes go with approve")
    if asked.supersedes and len(asked.ids) != 1:
        raise click.UsageError("--supersedes goes with one ID")


# --- selection ---


def _wanted(asked: Asked, contents: Contents) -> list[Item]:
    """The chosen proposals: by id, or all that fit the filters."""
    if asked.ids:
        found = [_named(one, contents.items) for one in asked.ids]
        return list(dict.fromkeys(found))
    return [item for item in contents.items if _fits(item, asked)]


def _fits(item: Item, asked: Asked) -> bool:
    sessions = item.proposal.sessions
    wanted = asked.session
    return (asked.type_ is None or item.proposal.type == asked.type_) and (
        wanted is None or any(session.startswith(wanted) for session in sessions)
    )


def _named(id_: str, items: Sequence[Item]) -> Item:
    """The proposal whose id starts with `id_`; the error names similar ids."""
    fitting = [item for item in items if item.id.startswith(id_.lower())]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = ", ".join(item.id for item in fitting[:5])
        raise InputError(f"{id_!r} fits several proposals: {names}; write more of the id")
    raise InputError(_unknown(id_, items))


def _unknown(id_: str, items: Sequence[Item]) -> str:
    from difflib import get_close_matches

    short = [item.id[: proposals.SHORT] for item in items]
    close = get_close_matches(id_[: proposals.SHORT].lower(), short, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else "`reverie inbox` shows what waits"
    return f"no proposal {id_!r} in the inbox; {hint}"


# --- list and show ---


def _list(view: InboxView, asked: Asked) -> None:
    contents = view.inbox.contents()
    rows = _wanted(asked, contents)
    _mention_broken(contents)
    data = {
        "waiting": [proposals.as_json(item) for item in rows],
        "broken": [{"file": one.file, "reason": one.reason} for one in contents.broken],
    }
    view.frame.answer(data, _list_lines(view, rows, asked))


def _mention_broken(contents: Contents) -> None:
    for one in contents.broken:
        note(f"{one.file} cannot be read: {one.reason}")


def _list_lines(view: InboxView, rows: Sequence[Item], asked: Asked) -> Iterator[RenderableType]:
    if not rows:
        yield _NOTHING if asked.narrowed else "Nothing waits for you."
        return
    columns = ("id", "type", "", "what it says", "since", "session")
    made = table(
        *columns, rows=(proposals.cells(item, view.app) for item in rows), fixed=len(columns)
    )
    made.columns[3].overflow = "ellipsis"
    yield made
    count = counted(len(rows), "proposal waits", "proposals wait")
    yield styled(f"{count}; decide with: reverie inbox review")


def _show(view: InboxView, asked: Asked) -> None:
    items = _wanted(asked, view.inbox.contents())
    lines = (line for item in items for line in proposals.described(item, view.app))
    view.frame.answer([proposals.as_json(item) for item in items], lines)


# --- deciding ---


def _approve(view: InboxView, asked: Asked) -> None:
    from reverie.workspace.changes import approve

    items = _wanted(asked, view.inbox.contents())
    suspicious = [item for item in items if item.proposal.caution]
    if suspicious and not asked.yes:
        _ask(suspicious, f"approve {_counted(items)}, {len(suspicious)} of them suspicious")
    supersedes = superseded_label(view.app, asked.supersedes) if asked.supersedes else None
    known = asked.even_if_known
    take = partial(approve, even_if_known=known, supersedes=supersedes)
    _report(view.frame, [(item, take(view.inbox, item, view.memory, PERSON)) for item in items])


def _reject(view: InboxView, asked: Asked) -> None:
    items = _wanted(asked, view.inbox.contents())
    if items and asked.everything and not asked.yes:
        _ask(items, f"reject {_counted(items)} for good")
    for item in items:
        view.inbox.reject(item.id)
    lines = [f"Rejected {proposals.line_of(item)}" for item in items] or [_NOTHING]
    view.frame.show([{"id": item.id, "rejected": True} for item in items], lines)


def _review(view: InboxView, asked: Asked) -> None:
    """Show each proposal and take one key for it."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError("review needs a terminal; elsewhere: reverie inbox approve|reject ID")
    items = _wanted(asked, view.inbox.contents())
    screen = console()
    for number, item in enumerate(items, start=1):
        screen.print(f"{number} of {len(items)}", style="dim")
        print_lines(screen, proposals.described(item, view.app))
        if not _decide(view, item):
            break
    left = len(view.inbox.contents().items)
    screen.print(counted(left, "proposal waits", "proposals wait") if left else "Nothing waits.")


def _decide(view: InboxView, item: Item) -> bool:
    """Take one key for a proposal and do it; False ends the review."""
    from reverie.memory.changes.draft import Declined
    from reverie.workspace.changes import approve

    match _key("a approve · r reject for good · s skip · q quit", "arsq"):
        case "a":
            decision = approve(view.inbox, item, view.memory, PERSON)
            if isinstance(decision, Declined):
                click.echo(printable(f"It still waits: {_reason(decision)}"))
            else:
                for line in proposals.outcome_lines(item, decision):
                    click.echo(printable(line))
        case "r":
            view.inbox.reject(item.id)
            click.echo("Rejected.")
        case "q":
            return False
    return True


def _key(hint: str, allowed: str) -> str:
    """One key, without Enter; keys typed before the question are ignored."""
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    # Before the hint is shown, so that a key typed in answer to it is not dropped.
    tty.setcbreak(terminal)
    try:
        click.echo(f"  {hint} ", nl=False)
        while (key := _typed(terminal)) not in tuple(allowed):
            pass
        click.echo(key)
        return key
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _typed(terminal: int) -> str:
    typed = os.read(terminal, 32)
    if typed in (b"", b"\x04", b"\x1b"):
        return "q"
    return typed[:1].decode("ascii", "replace").lower()


def _ask(items: Sequence[Item], action: str) -> None:
    """Ask on a terminal; elsewhere --yes is required."""
    if not at_terminal():
        names = ", ".join(item.id[: proposals.SHORT] for item in items)
        raise InputError(f"this would {action} ({names}); confirm with --yes")
    for item in items:
        warning = f"\n    ! {item.proposal.caution}" if item.proposal.caution else ""
        click.echo(printable(f"  {proposals.line_of(item)}{warning}"), err=True)
    if not click.confirm(f"{action.capitalize()}?", err=True):
        raise InputError("nothing was decided; the proposals still wait")


def _counted(items: Sequence[Item]) -> str:
    return counted(len(items), "proposal")


def _reason(declined: Declined) -> str:
    return "; ".join(filter(None, (declined.reason.rstrip("."), declined.advice)))


def _report(frame: Invocation, made: Sequence[tuple[Item, Decision]]) -> None:
    from reverie.memory.changes.draft import Declined

    lines = [line for item, decision in made for line in proposals.outcome_lines(item, decision)]
    shown = lines if made else [_NOTHING]
    frame.show([proposals.outcome_json(item, decision) for item, decision in made], shown)
    declined = [(item, one) for item, one in made if isinstance(one, Declined)]
    for item, one in declined:
        line = f"reverie: {item.id[: proposals.SHORT]} still waits: {_reason(one)}"
        click.echo(printable(line), err=True)
    if declined:
        click.get_current_context().exit(1)
