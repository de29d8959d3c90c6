"""`reverie dream`: tidy memory, review what dreams did, and dream by a timer of the system."""

from __future__ import annotations

import asyncio
import hashlib
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from reverie.cli.invocation import (
    Invocation,
    counted,
    dollars,
    patch_lines,
    printable,
    reverie_command,
    when,
)
from reverie.cli.learning import batches
from reverie.cli.memories import opened, scope_option
from reverie.errors import StorageError
from reverie.memory.format.taxonomy import MemoryScope

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.context import NotDue
    from reverie.learning.dreaming.review import Entry, Report, Status
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

AT = "03:17"


@dataclass(frozen=True, slots=True)
class Timer:
    """The unit files by path, or the line for the crontab."""

    kind: Literal["systemd", "cron"]
    name: str
    files: tuple[tuple[str, str], ...]


def timer(
    root: Path, person: Path, home: Path | None = None, *, systemd: bool | None = None
) -> Timer:
    """The timer for a project; the gates still decide whether a dream runs.

    It runs without the person's shell environment, so a custom `home` is passed explicitly.
    """
    name = f"reverie-dream-{hashlib.blake2b(str(root).encode(), digest_size=4).hexdigest()}"
    where = ["--project", str(root), *(["--home", str(home)] if home else [])]
    command = shlex.join([sys.executable, "-m", "reverie", "dream", *where])
    if systemd is None:
        systemd = shutil.which("systemctl") is not None
    if not systemd:
        hour, minute = AT.split(":")
        return Timer("cron", name, (("crontab", f"{int(minute)} {int(hour)} * * * {command}\n"),))
    folder = person / ".config" / "systemd" / "user"
    service = (
        f"[Unit]\nDescription=A dream of Reverie\n\n[Service]\nType=oneshot\nExecStart={command}\n"
    )
    schedule = (
        f"[Unit]\nDescription=Reverie dreams every night\n\n[Timer]\nOnCalendar=*-*-* {AT}:00\n"
    )
    schedule += "Persistent=true\n\n[Install]\nWantedBy=timers.target\n"
    files = (
        (str(folder / f"{name}.service"), service.replace("%", "%%")),
        (str(folder / f"{name}.timer"), schedule),
    )
    return Timer("systemd", name, files)


def install(wanted: Timer) -> None:
    """Install the timer; installing it again changes nothing."""
    try:
        if wanted.kind == "cron":
            _add_line(wanted.files[0][1])
            return
        for name, text in wanted.files:
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        _run("systemctl", "--user", "daemon-reload")
        _run("systemctl", "--user", "enable", "--now", f"{wanted.name}.timer")
    except (OSError, subprocess.SubprocessError) as error:
        raise StorageError(
            f"the timer could not be installed: {error}; "
            "`reverie dream --install-timer --dry-run` prints it"
        ) from error


def _add_line(line: str) -> None:
    listed = subprocess.run(["crontab", "-l"], capture_output=True, text=True, check=False).stdout
    if line not in listed:
        subprocess.run(["crontab", "-"], input=listed + line, text=True, check=True)


def _run(*command: str) -> None:
    subprocess.run(command, capture_output=True, check=True, text=True)


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the command."""

    force: bool
    no_model: bool
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
@click.option("--no-model", is_flag=True, help="Dream by rules alone, which costs nothing.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show which model would dream, its cap, and what the rules would do; change and spend nothing.",
)
@click.option("--review", is_flag=True, help="Leave the dream as a proposal for you to approve.")
@click.option("--last", is_flag=True, help="What the last dream did, with reasons.")
@click.option("--watch", is_flag=True, help="Follow the running dream.")
@click.option("--kill", is_flag=True, help="Stop the running dream.")
@click.option("--approve", metavar="ID", help="Make these CHANGEs of a proposal (default: all).")
@click.option("--reject", metavar="ID", help="Drop these CHANGEs of a proposal (default: all).")
@click.option("--install-timer", is_flag=True, help="Dream every night (systemd or cron).")
@scope_option
def command(frame: Invocation, scope: MemoryScope | None, **options: Any) -> None:
    """Tidy memory: duplicates, dates, the index; nothing is lost.

    Without options: dream if a day and five sessions have passed since the last one. The side model
    (`models.side`, else `models.main`) dreams under the caps of `spend.dream` and
    `spend.purpose.dream`; without a model, or if it fails, the rules do. A dream is a single
    change: `reverie undo --dream ID` undoes it.

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


Action = Callable[[Invocation, "Workspace", "OpenMemory", Asked], None]


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


def _dream(frame: Invocation, app: Workspace, memory: OpenMemory, asked: Asked) -> None:
    from reverie.context import NotDue
    from reverie.core.usage import DREAM
    from reverie.learning.dreaming.dream import Hindered
    from reverie.learning.dreaming.gates import gates_for
    from reverie.learning.dreaming.service import DreamOptions, dream
    from reverie.learning.side_models import choose_model

    if not (asked.dry_run or asked.no_model):
        batches.collect_first(frame, app, submit=True)
    due = None if asked.force else gates_for(app, memory).due()
    if isinstance(due, NotDue):
        _not_now(frame, due, "; `reverie dream --force` dreams anyway")
        return
    use_model = not asked.no_model
    side_model = choose_model(app, DREAM, use_model=use_model)
    # On stderr: the report is the result.
    if not (frame.quiet or frame.as_json):
        verb = "A dream would run" if asked.dry_run else "Dreaming"
        click.echo(printable(f"{verb} {side_model.description}."), err=True)
    options = DreamOptions(use_model=use_model, review=asked.review, dry=asked.dry_run)
    made = asyncio.run(dream(app, memory, options))
    if isinstance(made, Hindered):
        raise StorageError(f"cannot dream: {made.reason}")
    if isinstance(made, NotDue):
        _not_now(frame, made)
    else:
        names = ("model", "most", "why")
        _show(frame, made, {"with": {name: getattr(side_model, name) for name in names}})


def _not_now(frame: Invocation, no: NotDue, hint: str = "") -> None:
    frame.show({"state": "not due", "why": no.reason}, f"No dream now: {no.reason}{hint}.")


def _last(frame: Invocation, app: Workspace, memory: OpenMemory, asked: Asked) -> None:
    from reverie.learning.dreaming.service import report_of

    _show(frame, report_of(memory))


def _approve(frame: Invocation, app: Workspace, memory: OpenMemory, asked: Asked) -> None:
    from reverie.learning.dreaming.service import approve

    _show(frame, approve(app, memory, asked.approve or "", asked.changes)[0])


def _reject(frame: Invocation, app: Workspace, memory: OpenMemory, asked: Asked) -> None:
    from reverie.learning.dreaming.service import reject

    _show(frame, reject(memory, asked.reject or "", asked.changes))


def _kill(frame: Invocation, app: Workspace, memory: OpenMemory, asked: Asked) -> None:
    from reverie.learning.dreaming.service import stop

    id_ = stop(memory, app.clock)
    frame.show({"id": id_, "asked": "stop"}, f"Asked {id_} to stop.")


# --- report ---


def _show(frame: Invocation, report: Report, more: dict[str, Any] | None = None) -> None:
    from reverie.learning.dreaming.review import report_json

    frame.show({**report_json(report), **(more or {})}, _report_lines(report))


def _report_lines(report: Report) -> Iterator[RenderableType]:
    dry = " (a dry run: nothing was changed)" if report.dry else ""
    why = f": {report.why}" if report.why else ""
    yield f"Dream {report.id}, {when(report.began)}: {report.state}{why}{dry}"
    yield from (f"  note: {one}" for one in report.notes)
    if not report.entries:
        yield "  there was nothing to do"
    for entry in report.entries:
        yield from _entry_lines(entry)
    yield from (f"ignored {name}: {reason}" for name, reason in report.ignored)
    for flag in report.flags:
        yield f"look at {', '.join(flag.files)} ({flag.kind}): {flag.about}"
    yield _summary(report)
    if report.revision:
        yield f"undo with: reverie undo --dream {report.id}"
    if report.open and not report.dry:
        yield f"decide with: reverie dream --approve {report.id} [CHANGE]..."


def _summary(report: Report) -> str:
    """The outcome and its cost in one line."""
    made = len(report.with_standing("made")) + len(report.with_standing("approved"))
    refused, waiting = (len(report.with_standing(fate)) for fate in ("refused", "waiting"))
    counts = [f"{counted(made, 'change')} made", f"{len(report.open)} for you to decide"]
    counts += [f"{refused} refused"] if refused else []
    counts += [f"{waiting} left for the next dream"] if waiting else []
    if not report.model and not report.cost:
        paid = "by rules, without a model"
    else:
        cost = "at an unknown price" if report.cost is None else dollars(report.cost)
        paid = f"{report.model or 'a model that failed'}, {cost}"
    return f"{', '.join(counts)}; {paid}"


def _entry_lines(entry: Entry) -> Iterator[RenderableType]:
    from reverie.learning.dreaming.review import patch

    change = entry.change
    sources = f" [{', '.join(change.sources)}]" if change.sources else ""
    yield f"\n{change.id} {entry.standing}: {change.title}"
    yield f"   why: {change.reason}{sources}"
    if entry.why:
        yield f"   not made: {entry.why}"
    yield from patch_lines(patch(change))


# --- watch ---


def _watch(frame: Invocation, app: Workspace, memory: OpenMemory, asked: Asked) -> None:
    from reverie.learning.dreaming.review import status_json
    from reverie.learning.dreaming.service import status_of

    status = status_of(memory, app.clock)
    if frame.as_json or status is None or status.state != "running" or not sys.stdout.isatty():
        data = None if status is None else status_json(status)
        frame.show(data, _status_lines(status))
        return
    asyncio.run(_follow(frame, app, memory))


async def _follow(frame: Invocation, app: Workspace, memory: OpenMemory) -> None:
    from reverie.learning.dreaming.service import status_of

    shown: Status | None = None
    while True:
        status = status_of(memory, app.clock)
        if status != shown:
            frame.show(None, _status_lines(status))
            shown = status
        if status is None or status.state != "running":
            return
        await asyncio.sleep(0.5)


def _status_lines(status: Status | None) -> Iterator[str]:
    if status is None:
        yield "There was no dream yet."
        return
    why = f" ({status.why})" if status.why else ""
    yield f"Dream {status.id}: {status.state}, {status.phase}{why}"
    for turn in status.turns:
        files = f" — {', '.join(turn.files)}" if turn.files else ""
        yield f"  {turn.text} ({turn.tools} tools){files}"


# --- timer ---


def _install_timer(frame: Invocation, app: Workspace, memory: OpenMemory, asked: Asked) -> None:
    wanted = timer(app.project.root, app.settings.person_home, app.settings.home)
    if not asked.dry_run:
        install(wanted)
    data = {"kind": wanted.kind, "files": dict(wanted.files), "installed": not asked.dry_run}
    done = "Nothing was installed." if asked.dry_run else "Installed."
    frame.show(data, [*(f"# {name}\n{text}" for name, text in wanted.files), done])
