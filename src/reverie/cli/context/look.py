"""`reverie watch` and `reverie ui`: look at memory while it works, in the terminal and in the browser."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import Invocation, printable, reverie_command
from reverie.core.foreign_text import printable_json
from reverie.errors import InputError

if TYPE_CHECKING:
    from reverie.workspace import Workspace


_PAUSE = 0.5
Row = dict[str, Any]


@reverie_command(name="watch")
@click.argument("session", required=False, metavar="[SESSION]")
@click.option("--once", is_flag=True, help="Print what happened so far, and stop.")
def watch(frame: Invocation, session: str | None, once: bool) -> None:
    """Follow what memory does in a running session, live.

    Each line is something recalled, used, learnt or put aside.

    Without SESSION it is the newest one of this project, of a coding agent or of `reverie chat`, and the next one as
    soon as it begins. With SESSION (the start of its id is enough) it stays with that one. End it with Ctrl-C.

    \b
    reverie watch
    reverie watch --once --json
    """
    app = frame.app()
    if not (once or frame.as_json or frame.quiet):
        click.echo(printable(f"Watching {app.project.root}; Ctrl-C ends it."), err=True)
    for row in _rows(app, session, once=once):
        if frame.as_json:
            click.echo(printable_json(row))
        elif not frame.quiet:
            click.echo(printable(_line(row)))


def _rows(app: Workspace, wanted: str | None, *, once: bool) -> Iterator[Row]:
    """The rows of a session so far, then each new one; of another session as soon as it is newer."""
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

    found = [*(app.project.folder / FOLDER).glob(f"*/{EVENTS}"), *app.journals()]
    if wanted:
        found = [path for path in found if wanted in _name(path)]
    return max(found, key=_changed, default=None)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


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
    """What a session of ours shows of memory: the records of recalled memories and of learning."""
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
    """The line a session ends with, as far as it is one of a coding agent."""
    from reverie.clients.hooks.session_folder import EVENTS, summary_of

    if path is not None and path.name == EVENTS and (line := summary_of(path.parent)):
        yield {"what": "summary", "text": line}


def _line(row: Row) -> str:
    clock = time.strftime("%H:%M:%S", time.localtime(row["at"])) if "at" in row else "        "
    what, files = str(row.get("what", "")), _names(row.get("files"))
    match what:
        case "session":
            text = f"session {row.get('session')}"
        case "summary":
            text = str(row.get("text"))
        case "recalled":
            why = f" ({row['why']})" if row.get("why") else ""
            text = f"recalled {files}{why}"
        case "stored":
            text = f"a long result of {row.get('tool')} was put aside"
        case _:
            text = f"{what} {files}".strip()
    return f"{clock}  {text}"


def _names(files: object) -> str:
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

    The page is served to this machine alone. The address that is printed works once, in one browser.

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

    # Fails here, before a browser is opened, if memory is off or cannot be read.
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
