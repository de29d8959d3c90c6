"""`reverie stats`, `impact`, `watch` and `ui`: what happens with memory, whether it helps, and a live view of it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import (
    Invocation,
    counted,
    printable,
    reverie_command,
    share,
    sparkline,
    styled,
    table,
    tokens,
)
from reverie.core.foreign_text import printable_json
from reverie.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.workspace import Workspace


@reverie_command(name="stats")
@click.option(
    "--days", type=click.IntRange(1, 3650), default=30, show_default=True, help="How far back."
)
def stats(frame: Invocation, days: int) -> None:
    """Show what happened: memories recalled and used, layers, cache, learning.

    Delivered: put beside a message. Seen: a model answered afterwards. Used: its words or facts are
    in a reply or a tool call. Whether it helped is `reverie impact`.

    \b
    reverie stats
    reverie stats --days 7 --json
    """
    from reverie.impact.stats import stats_of

    data = stats_of(frame.app(), days=days)
    frame.answer(data, _stats_lines(data))


def _stats_lines(data: dict[str, Any]) -> Iterator[RenderableType]:
    shown = table("", "", "", rows=_rows(data), fixed=2)
    shown.show_header = False
    shown.columns[1].justify, shown.columns[2].overflow = "right", "fold"
    yield shown
    yield styled(f"the last {counted(data['days'], 'day')}")


def _rows(data: dict[str, Any]) -> list[tuple[str, str, str]]:
    memories, use, learning, cache = (data[key] for key in ("memories", "use", "learning", "cache"))
    series = data["per_day"]
    rows = [
        ("memories", f"{memories['count']:,}", _facts(memories["type"])),
        ("", "", f"age: {_facts(memories['age'])}"),
        ("", "", f"origin: {_facts(memories['origin'])}"),
        ("delivered", f"{use['delivered']:,}", sparkline(series["delivered"])),
        ("seen", f"{use['seen']:,}", "an answer came afterwards"),
        ("used", f"{use['used']:,}", sparkline(series["used"])),
        ("contradicted", f"{use['contradicted']:,}", "replaced by a newer value"),
        ("undone", f"{use['undone']:,}", ""),
        ("never recalled", f"{use['never_recalled']:,}", "of those that hold now"),
        ("learning runs", f"{learning['runs']:,}", sparkline(series["learnt"])),
        ("", "", f"{learning['saved']} saved, {learning['to_inbox']} to the inbox, {learning['refused']} refused, "
                 f"{learning['failed']} failed; {learning['inbox']} wait now"),
        ("cache hit rate", share(cache["hit_rate"]), f"{cache['breaks_expected']} expected breaks, "
                                                     f"{cache['breaks_unexpected']} unexpected"),
    ]  # fmt: skip
    rows += [
        (layer, f"{row['fired']:,}", f"{tokens(row['saved'])} tokens kept out")
        for layer, row in data["layers"].items()
    ]
    return [*rows, *(("stopped", "", line) for line in data["breakers"])]


def _facts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "–"


DEFAULT_CAP = 1.0


@reverie_command(name="impact")
@click.option("--replay", is_flag=True, help="Ask recorded turns again, with memories and without.")
@click.option(
    "--probes", is_flag=True, help="Ask about facts you stated, in fresh sessions, four ways."
)
@click.option("--model", metavar="M", help="The model to ask; default: models.main.")
@click.option("--judge", metavar="M", help="With --replay: a model that also judges the pairs.")
@click.option(
    "-n", "--most", type=click.IntRange(1, 500), default=20, show_default=True, help="How many."
)
@click.option(
    "--cap", type=click.FloatRange(min=0), default=DEFAULT_CAP, show_default=True,
    help="The most it may cost, in dollars, where the price is known.",
)  # fmt: skip
def impact(
    frame: Invocation,
    replay: bool,
    probes: bool,
    judge: str | None,
    model: str | None,
    **limits: Any,
) -> None:
    """Show whether memory helped.

    Without options: compare the sessions of the holdout (`impact.holdout`), and show the last
    measurements. --replay and --probes ask a model, under the cap, on a copy of the memories.

    \b
    reverie impact
    reverie impact --probes --model ollama:qwen3
    reverie impact --replay --model anthropic:claude-haiku-4-5 --cap 0.50
    """
    if judge and not replay:
        raise click.UsageError("--judge goes with --replay")
    from reverie.impact.report import keep, outcome_report

    app = frame.app()
    if replay or probes:
        import asyncio

        name = _model(app, model)
        shown = _progress if sys.stderr.isatty() and not frame.quiet else None
        if probes:
            from reverie.impact.probes import run_probes

            keep(app, "probes", asyncio.run(run_probes(app, name, progress=shown, **limits)))
        if replay:
            from reverie.impact.replay import replay as run_replay

            made = run_replay(app, name, judge=judge or "", progress=shown, **limits)
            keep(app, "replay", asyncio.run(made))
    data = outcome_report(app)
    frame.answer(data, _impact_lines(data))


def _model(app: Workspace, given: str | None) -> str:
    from reverie.errors import InputError
    from reverie.models.selection import OFFLINE

    name = given or app.settings.model("main")
    if name == OFFLINE:
        raise InputError("asking needs a model: --model provider:model, or models.main in settings")
    # Fail here, before anything is read, if no provider serves it.
    app.bare_model(name)
    return name


def _progress(done: int, total: int) -> None:
    click.echo(f"\rasked {done}/{total}", err=True, nl=done == total)


def _impact_lines(data: dict[str, Any]) -> Iterator[RenderableType]:
    holdout, total = data["holdout"], data["sessions"]
    counts = holdout["sessions"]
    title = f"{share(holdout['share'])} of sessions" if holdout["share"] else "off"
    yield f"Holdout ({title}): {counts['with']} sessions with memories, {counts['without']} without"
    if holdout["measures"]:
        columns = ("a session", "with", "without", "difference", "95 % interval", "verdict", "harm")
        yield table(*columns, rows=map(_arm, holdout["measures"]))
        if holdout["directional"]:
            yield styled("fewer than 5 sessions in an arm: directional only")
    elif not holdout["share"]:
        yield styled(
            "  to compare: impact.holdout = 0.1 withholds recalled memories from every tenth session"
        )
    yield from _measured_lines("Replay", "replay", data["replay"])
    yield from _measured_lines("Probes", "probes", data["probes"])
    yield styled(
        f"{total['count']} sessions, {total['with_memories']} with memories: {total['prompts']} prompts, "
        f"{total['corrections']} corrections ({total['repeated_corrections']} said before), "
        f"{total['rereads']} files read again, {total['reasked']} questions asked again"
    )


def _arm(row: dict[str, Any]) -> tuple[str, ...]:
    found, name = row["difference"], row["measure"].replace("_", " ")
    interval = f"{found['low']:+.2f} … {found['high']:+.2f}"
    means = (f"{row['with']:.2f}", f"{row['without']:.2f}", f"{found['mean']:+.2f}")
    return name, *means, interval, row["verdict"], "yes" if row["harm"] else "no"


def _measured_lines(
    title: str, kind: str, found: dict[str, Any] | None
) -> Iterator[RenderableType]:
    if found is None:
        yield f"{title}: not measured yet; reverie impact --{kind} --model provider:model"
        return
    yield f"{title}, {found['model']}: {found['verdict']}"
    if found["rows"]:
        yield table(*found["columns"], rows=(map(str, row) for row in found["rows"]))
    yield styled(f"  {found['note']}")


_PAUSE = 0.5
Row = dict[str, Any]


@reverie_command(name="watch")
@click.argument("session", required=False, metavar="[SESSION]")
@click.option("--once", is_flag=True, help="Print what happened so far, and stop.")
def watch(frame: Invocation, session: str | None, once: bool) -> None:
    """Follow what memory does in a running session, live.

    Each line is something recalled, used, learnt or stored.

    Without SESSION, follow the newest session of this project, of a coding agent or of `reverie
    chat`, and switch to the next one when it begins. With SESSION (the start of its id is enough),
    stay with that one. Ctrl-C ends it.

    \b
    reverie watch
    reverie watch --once --json
    """
    app = frame.app()
    if not (once or frame.as_json or frame.quiet):
        click.echo(printable(f"Watching {app.project.root}; Ctrl-C ends it."), err=True)
    for row in _watched_rows(app, session, once=once):
        if frame.as_json:
            click.echo(printable_json(row))
        elif not frame.quiet:
            click.echo(printable(_line(row)))


def _watched_rows(app: Workspace, wanted: str | None, *, once: bool) -> Iterator[Row]:
    """The rows of a session so far, then each new one; switches to a newer session when there is one."""
    path = _newest(app, wanted)
    if path is None and (once or wanted):
        what = f"no session {wanted!r}" if wanted else "no session yet"
        raise InputError(
            f"{what} in {app.project.root}; `reverie sessions` lists those of the chat"
        )
    seen = 0
    while True:
        if path is not None:
            rows = _read(path)
            if seen == 0 and rows:
                yield {"what": "session", "session": _name(path)}
            yield from rows[seen:]
            seen = len(rows)
        if once:
            yield from _summary(app, path)
            return
        time.sleep(_PAUSE)
        if (newest := _newest(app, wanted)) != path:
            path, seen = newest, 0


def _newest(app: Workspace, wanted: str | None) -> Path | None:
    from reverie.clients.hooks.session_folder import EVENTS, FOLDER
    from reverie.conversation.transcripts import changed_at

    found = [*(app.project.folder / FOLDER).glob(f"*/{EVENTS}"), *app.journals()]
    if wanted:
        found = [path for path in found if wanted in _name(path)]
    return max(found, key=changed_at, default=None)


def _name(path: Path) -> str:
    from reverie.clients.hooks.session_folder import EVENTS

    return path.parent.name if path.name == EVENTS else path.stem


def _read(path: Path) -> list[Row]:
    from reverie.clients.hooks.session_folder import EVENTS

    if path.name != EVENTS:
        return list(_of_journal(path))
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [row for line in lines if isinstance(row := _parsed(line), dict)]


def _parsed(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _of_journal(path: Path) -> Iterator[Row]:
    """What one of our own sessions shows of memory: the records of recall and of learning."""
    from reverie.conversation import journal
    from reverie.conversation.records import Compacted, Said
    from reverie.core.messages import Attachment
    from reverie.memory.format.attachment import LABEL

    for record in journal.load(path).records:
        if isinstance(record, Compacted):
            yield {"at": record.at, "what": "compacted"}
        elif isinstance(record, Said):
            for block in record.message.blocks:
                if isinstance(block, Attachment) and block.label == LABEL:
                    files = [
                        line.split()[1] for line in block.text.splitlines() if line[:3] == "## "
                    ]
                    yield {"at": record.message.at, "what": "recalled", "files": files}


def _summary(app: Workspace, path: Path | None) -> Iterator[Row]:
    """The last line of a coding agent's session."""
    from reverie.clients.hooks.session_folder import EVENTS, summary_of

    if path is not None and path.name == EVENTS and (line := summary_of(path.parent)):
        yield {"what": "summary", "text": line}


def _line(row: Row) -> str:
    clock = time.strftime("%H:%M:%S", time.localtime(row["at"])) if "at" in row else "        "
    what, files = str(row.get("what", "")), _file_names(row.get("files"))
    match what:
        case "session":
            text = f"session {row.get('session')}"
        case "summary":
            text = str(row.get("text"))
        case "recalled":
            why = f" ({row['why']})" if row.get("why") else ""
            text = f"recalled {files}{why}"
        case "stored":
            text = f"a long result of {row.get('tool')} was stored in a file"
        case _:
            text = f"{what} {files}".strip()
    return f"{clock}  {text}"


def _file_names(files: object) -> str:
    known: Sequence[object] = files if isinstance(files, list) else ()
    return ", ".join(str(file) for file in known)


@reverie_command(name="ui")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Where to listen (7349, or any free port if that is taken); 0 takes any free port.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def ui(frame: Invocation, port: int | None, no_browser: bool) -> None:
    """Look at memory and decide, in your browser.

    The page is served to this machine only. The printed address works once, in one browser.

    \b
    reverie ui
    reverie ui --port 0 --no-browser
    """
    app = frame.app()
    try:
        from reverie.web import server
    except ModuleNotFoundError as error:
        raise InputError(
            f"`reverie ui` needs the package {error.name}; install it with: pip install 'reverie[web]'"
        ) from error
    from reverie.cli.wiring.doctor import examine
    from reverie.web.open_project import OpenProject
    from reverie.web.server import Access

    # Fail here, before a browser is opened, if memory is off or cannot be read.
    app.memory()
    listener = server.listen(port)
    access = Access(listener.getsockname()[1])
    url = access.url

    def ready() -> None:
        lines = (f"The page of {app.project.root}", f"  at {url}", "  until Ctrl-C")
        frame.show({"url": url, "project": str(app.project.root)}, lines)
        if not (no_browser or frame.as_json):
            click.launch(url)

    server.serve(OpenProject(app, examine), listener, access, ready)
