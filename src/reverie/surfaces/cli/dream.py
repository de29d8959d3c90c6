"""`reverie dream`: put memory in order, and look at what dreams did."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from reverie.memory.scopes import MemoryScope
from reverie.surfaces.cli.figures import printable, when
from reverie.surfaces.cli.frame import Frame, reverie_command
from reverie.surfaces.cli.memories import opened, scope_option
from reverie.surfaces.cli.patches import print_patch

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.app import App
    from reverie.app.memory import OpenMemory
    from reverie.layers import NotDue
    from reverie.layers.dreaming.review import Entry, Report, Status


@dataclass(frozen=True, slots=True)
class Asked:
    """What the options ask for."""

    force: bool
    dry_run: bool
    review: bool
    last: bool
    watch: bool
    kill: bool
    approve: str | None
    reject: str | None
    install_timer: bool
    changes: tuple[str, ...]


@reverie_command(name="dream")
@click.argument("changes", nargs=-1, metavar="[CHANGE]...")
@click.option("--force", is_flag=True, help="Dream even if it is not time yet.")
@click.option("--dry-run", is_flag=True, help="Show what a dream would do; change nothing.")
@click.option("--review", is_flag=True, help="Leave the dream as a proposal for you to approve.")
@click.option("--last", is_flag=True, help="What the last dream did, with reasons.")
@click.option("--watch", is_flag=True, help="Follow the dream that is running.")
@click.option("--kill", is_flag=True, help="End the dream that is running.")
@click.option("--approve", metavar="ID", help="Make these CHANGEs of a proposal (default: all).")
@click.option("--reject", metavar="ID", help="Drop these CHANGEs of a proposal (default: all).")
@click.option("--install-timer", is_flag=True, help="Dream every night (systemd or cron).")
@scope_option
def command(frame: Frame, scope: MemoryScope | None, **options: Any) -> None:
    """Put memory in order: duplicates, dates, the index; nothing is lost by it.

    Without options: dream if a day and five sessions have passed since the last one. All that a
    dream does is one change: `reverie undo --dream ID` takes it back.

    \b
    reverie dream --dry-run --force
    reverie dream --last
    reverie dream --approve 20261115-030000-1a2b c1 c4
    """
    asked = Asked(**options)
    if asked.changes and not (asked.approve or asked.reject):
        raise click.UsageError("CHANGEs go with --approve ID or --reject ID")
    app = frame.app()
    memory = opened(app, scope)
    _chosen(asked)(frame, app, memory, asked)


Action = Callable[[Frame, "App", "OpenMemory", Asked], None]


def _chosen(asked: Asked) -> Action:
    chosen: list[Action] = [
        action
        for given, action in (
            (asked.last, _last),
            (asked.watch, _watch),
            (asked.kill, _kill),
            (asked.approve, _approve),
            (asked.reject, _reject),
            (asked.install_timer, _install_timer),
        )
        if given
    ]
    if len(chosen) > 1:
        raise click.UsageError(
            "give one of --last, --watch, --kill, --approve, --reject, --install-timer"
        )
    return chosen[0] if chosen else _dream


def _dream(frame: Frame, app: App, memory: OpenMemory, asked: Asked) -> None:
    from reverie.app.dream import dream, gates_for
    from reverie.layers import NotDue

    due = None if asked.force else gates_for(app, memory).due()
    if isinstance(due, NotDue):
        _not_now(frame, due)
        return
    made = asyncio.run(dream(app, memory, review=asked.review, dry=asked.dry_run))
    if isinstance(made, NotDue):
        _not_now(frame, made)
    else:
        _show(frame, made)


def _not_now(frame: Frame, no: NotDue) -> None:
    def told(console: Console) -> None:
        console.print(printable(f"No dream now: {no.reason}."), soft_wrap=True)

    frame.show({"state": "not due", "why": no.reason}, told)


def _last(frame: Frame, app: App, memory: OpenMemory, asked: Asked) -> None:
    from reverie.app.dream import report_of

    _show(frame, report_of(memory))


def _approve(frame: Frame, app: App, memory: OpenMemory, asked: Asked) -> None:
    from reverie.app.dream import approve

    _show(frame, approve(app, memory, asked.approve or "", asked.changes)[0])


def _reject(frame: Frame, app: App, memory: OpenMemory, asked: Asked) -> None:
    from reverie.app.dream import reject

    _show(frame, reject(memory, asked.reject or "", asked.changes))


def _kill(frame: Frame, app: App, memory: OpenMemory, asked: Asked) -> None:
    from reverie.app.dream import stop

    id_ = stop(memory, app.clock)
    frame.show({"id": id_, "asked": "stop"}, lambda console: console.print(f"Asked {id_} to stop."))


# --- a report on the screen ---


def _show(frame: Frame, report: Report) -> None:
    from reverie.layers.dreaming.review import report_json

    frame.show(report_json(report), lambda console: _print(console, report))


def _print(console: Console, report: Report) -> None:
    trial = " (a trial: nothing was changed)" if report.dry else ""
    why = f": {report.why}" if report.why else ""
    head = f"Dream {report.id}, {when(report.began)}: {report.state}{why}{trial}"
    console.print(printable(head), soft_wrap=True)
    if not report.entries:
        console.print("  there was nothing to do")
    for entry in report.entries:
        _print_entry(console, entry)
    for name, reason in report.ignored:
        console.print(printable(f"ignored {name}: {reason}"), soft_wrap=True)
    for flag in report.flags:
        console.print(
            printable(f"look at {', '.join(flag.files)} ({flag.kind}): {flag.about}"),
            soft_wrap=True,
        )
    if report.revision:
        console.print(f"take it back with: reverie undo --dream {report.id}")
    if report.open and not report.dry:
        console.print(f"decide with: reverie dream --approve {report.id} [CHANGE]...")


def _print_entry(console: Console, entry: Entry) -> None:
    from reverie.layers.dreaming.review import patch

    change = entry.change
    because = f"{change.reason}" + (f" [{', '.join(change.sources)}]" if change.sources else "")
    console.print(printable(f"\n{change.id} {entry.standing}: {change.title}"), soft_wrap=True)
    console.print(printable(f"   why: {because}"), soft_wrap=True)
    if entry.why:
        console.print(printable(f"   not made: {entry.why}"), soft_wrap=True)
    print_patch(console, patch(change))


# --- following one ---


def _watch(frame: Frame, app: App, memory: OpenMemory, asked: Asked) -> None:
    from reverie.app.dream import status_of
    from reverie.layers.dreaming.review import status_json

    status = status_of(memory, app.clock)
    if frame.as_json or status is None or status.state != "running" or not sys.stdout.isatty():
        data = None if status is None else status_json(status)
        frame.show(data, lambda console: _print_status(console, status))
        return
    asyncio.run(_follow(frame, app, memory))


async def _follow(frame: Frame, app: App, memory: OpenMemory) -> None:
    from reverie.app.dream import status_of

    shown: Status | None = None
    while True:
        status = status_of(memory, app.clock)
        if status != shown:
            frame.show(None, lambda console, now=status: _print_status(console, now))  # type: ignore[misc]
            shown = status
        if status is None or status.state != "running":
            return
        await asyncio.sleep(0.5)


def _print_status(console: Console, status: Status | None) -> None:
    if status is None:
        console.print("There was no dream yet.")
        return
    why = f" ({status.why})" if status.why else ""
    head = f"Dream {status.id}: {status.state}, {status.phase}{why}"
    console.print(printable(head), soft_wrap=True)
    for turn in status.turns:
        files = f" — {', '.join(turn.files)}" if turn.files else ""
        console.print(printable(f"  {turn.text} ({turn.tools} tools){files}"), soft_wrap=True)


# --- every night ---


def _install_timer(frame: Frame, app: App, memory: OpenMemory, asked: Asked) -> None:
    from reverie.app.dream_timer import install, timer

    wanted = timer(app.project.root, app.settings.person_home)
    if not asked.dry_run:
        install(wanted)
    data = {"kind": wanted.kind, "files": dict(wanted.files), "installed": not asked.dry_run}

    def told(console: Console) -> None:
        for name, text in wanted.files:
            console.print(printable(f"# {name}\n{text}"), soft_wrap=True)
        console.print("Nothing was installed." if asked.dry_run else "Installed.")

    frame.show(data, told)
