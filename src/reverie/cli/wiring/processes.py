"""`reverie hook`, `daemon`, `mcp` and `proxy`: the processes that other clients start or talk to.

`clients/hook_client.py` usually answers a hook without this module.
"""

from __future__ import annotations

import gc
import shlex
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import Invocation, reverie_command, shared_options, table
from reverie.errors import InputError, StorageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.proxy.engine import ProxyEngine
    from reverie.proxy.running import Listener
    from reverie.proxy.savings import SessionSavings
    from reverie.workspace import Workspace

CLIENTS = ("claude-code", "codex", "gemini", "opencode", "cursor")


@reverie_command(name="hook")
@click.argument("event", metavar="EVENT")
@click.option("--client", type=click.Choice(CLIENTS), required=True, help="Whose hook this is.")
def hook(frame: Invocation, event: str, client: str) -> None:
    """Answer a hook of a coding agent; `reverie install` sets them up.

    EVENT is the client's own name of the event. The event's JSON is read from stdin, and the answer
    is written to stdout. A hook never fails: it exits with 0, and errors are logged in hooks.log.

    \b
    echo '{"session_id": "s1", "cwd": "'$PWD'", "prompt": "which package manager?"}' |
        reverie hook UserPromptSubmit --client claude-code
    """
    from reverie.clients import hook_client

    home = str(frame.home.expanduser().absolute()) if frame.home else hook_client.default_home()
    hook_client.forward(event, client, home)


ACTIONS = ("status", "start", "stop", "run")


@reverie_command(name="daemon")
@click.argument("action", type=click.Choice(ACTIONS), default="status")
def daemon(frame: Invocation, action: str) -> None:
    """Control the process behind the hooks: status, start, stop, or run it here.

    It starts with the first hook of a coding agent and ends after daemon.idle_minutes without one.
    It listens on this machine only: a socket in Reverie's home, and a port of 127.0.0.1 for HTTP
    hooks that know its token (both in daemon/daemon.json).

    \b
    reverie daemon
    reverie daemon stop
    """
    from reverie.clients import hook_client
    from reverie.clients.daemon import control

    # Not read from the settings, so that a daemon can be stopped while they are broken.
    home = frame.home.expanduser().absolute() if frame.home else Path(hook_client.default_home())
    match action:
        case "run":
            from reverie.clients.daemon.running import run

            ending = run(home)
            frame.show({"ending": ending}, f"It ended: {ending}.")
        case "start":
            _show(frame, control.start(home))
        case "stop":
            ended = control.stop(home)
            message = "It ended." if ended else "No daemon was running."
            frame.show({"stopped": ended}, message)
        case _:
            status = control.status(home)
            pid = control.silent(home) if status is None else None
            if pid is not None:
                raise StorageError(
                    f"the daemon (process {pid}) answers nothing; {control.wake(pid)}"
                )
            _show(frame, status)


def _show(frame: Invocation, status: dict[str, Any] | None) -> None:
    if status is None:
        frame.show({"running": False}, "No daemon is running.")
    else:
        frame.show({"running": True, **status}, _status_lines(status))


def _status_lines(status: dict[str, Any]) -> Iterator[str]:
    yield (
        f"Running: pid {status['pid']}, port {status['port']}, version {status['version']}, "
        f"for {status['uptime_seconds']:,.0f} s; {status['errors']} errors, "
        f"{status['hook_errors']} hooks without an answer."
    )
    for name, event in status["events"].items():
        taken = "" if event["median_ms"] is None else f", {event['median_ms']:g} ms (median)"
        errors = f", {event['errors']} errors" if event["errors"] else ""
        yield f"  {name}: {event['count']}×{taken}{errors}"
    yield f"Log: {status['log']}"


DEFAULT_PORT = 8765


@reverie_command(name="mcp")
@click.option("--http", "over_http", is_flag=True, help="Serve on loopback HTTP, behind a token.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"Where to listen with --http ({DEFAULT_PORT}); 0 takes any free port.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="Read the token from this file (mode 0600); it is created if missing.",
)
def mcp(frame: Invocation, over_http: bool, port: int | None, token_file: Path | None) -> None:
    """Give any client memory over the Model Context Protocol.

    A client starts it and talks to it over standard input and output. With --http it serves clients
    on this machine; they send the token that is printed, or the one in REVERIE_MCP_TOKEN.

    \b
    reverie mcp
    claude mcp add reverie -- reverie mcp
    reverie mcp --http --port 8765 --token-file ~/.reverie/mcp-token
    """
    if not over_http and (token_file is not None or port is not None):
        raise click.UsageError("--port and --token-file go with --http")
    frame = replace(frame, project=frame.project or _clients_project())
    if frame.project is not None and not frame.project.is_dir():
        raise InputError(f"--project {str(frame.project)!r} is not a folder")
    _require_package()
    if over_http:
        _load()
        _serve_http(frame, frame.app(), DEFAULT_PORT if port is None else port, token_file)
    else:
        _serve_stdio(frame)


def _require_package() -> None:
    from reverie.clients.mcp import INSTALL_PACKAGE, package_installed

    if not package_installed():
        raise InputError(
            f"`reverie mcp` needs the package mcp, 2.3 or newer; install it with: {INSTALL_PACKAGE}"
        )


def _load() -> None:
    # The import creates thousands of objects, none of them garbage: collecting would waste time.
    gc.disable()
    try:
        import reverie.clients.mcp.server  # noqa: F401
    finally:
        gc.enable()


def _clients_project() -> Path | None:
    """The project Claude Code names; other clients start the server in the project's folder."""
    from reverie.clients.mcp.answers import PROJECT_VARIABLE
    from reverie.settings.sources import environment

    named = environment().get(PROJECT_VARIABLE, "").strip()
    return Path(named) if named and Path(named).is_dir() else None


def _serve_stdio(frame: Invocation) -> None:
    from reverie.clients.mcp.answers import SESSION_VARIABLE
    from reverie.clients.mcp.front import Backend, Front, Reader
    from reverie.settings.sources import environment

    session = environment().get(SESSION_VARIABLE, "")

    def backend() -> Backend:
        _load()
        from reverie.clients.mcp.server import make_server, serve_pipes

        return partial(serve_pipes, make_server(frame.app(), session))

    def reader() -> Reader:
        from reverie.clients.mcp import reading  # noqa: F401 - loads what the tools need
        from reverie.clients.mcp.calls import read_only_tool

        return partial(read_only_tool, frame.app())

    project = str((frame.project or Path.cwd()).resolve())
    Front(backend, reader, _home_of_the_daemon(frame), project, session).serve()


def _home_of_the_daemon(frame: Invocation) -> str:
    """The home whose daemon has the same settings as this process; empty if none has."""
    from reverie.clients import hook_client
    from reverie.settings.sources import environment

    own = (name for name in environment() if name.startswith("REVERIE_"))
    if frame.overrides or frame.memory_dir or any(name != "REVERIE_HOME" for name in own):
        return ""
    return str(frame.home.absolute()) if frame.home else hook_client.default_home()


def _serve_http(frame: Invocation, app: Workspace, port: int, token_file: Path | None) -> None:
    from reverie.clients.mcp import http
    from reverie.clients.mcp.server import make_server
    from reverie.settings.sources import environment

    token = http.choose_token(environment().get(http.TOKEN_VARIABLE), token_file)
    listener = http.listen(port)
    url = http.address(listener)
    lines = [f"Memory of {app.project.root}", f"  at {url}"]
    if token.fresh:
        lines.append(f"  with the header Authorization: Bearer {token.value}")
    data = {"url": url, "project": str(app.project.root)}
    data |= {"token": token.value} if token.fresh else {}
    http.serve(
        make_server(app), listener, token, lambda: frame.show(data, [*lines, "  until Ctrl-C"])
    )


_ADVICE = "pip install 'reverie[proxy,anthropic,openai]'"


@click.group(name="proxy", invoke_without_command=True)
@click.option("--port", type=click.IntRange(0, 65535), help="Where to listen; 0: any free port.")
@click.option("--listen", "host", help="Listen on this address; beyond this machine with a token.")
@click.option("--shadow", is_flag=True, help="Change nothing; count what would have been saved.")
@click.option("--pass-through", is_flag=True, help="Every switch off: bytes pass unchanged.")
@shared_options
@click.pass_context
def proxy(
    ctx: click.Context,
    frame: Invocation,
    port: int | None,
    host: str | None,
    shadow: bool,
    pass_through: bool,
) -> None:
    """Give any client memory and a smaller bill, by its base URL.

    The proxy passes requests on to the provider and replies back as they come. It adds memories,
    clears old tool results where that pays, places cache marks, and keeps a ledger. If anything of
    Reverie's fails or is late, the client's own request goes on. Keys pass through and are never
    kept.

    \b
    reverie proxy
    ANTHROPIC_BASE_URL=http://127.0.0.1:8790 claude
    reverie proxy --shadow
    reverie proxy run -- claude
    reverie proxy savings
    """
    _require_packages()
    frame = _with_switches(frame, shadow=shadow, pass_through=pass_through)
    ctx.obj = frame
    ctx.meta["reverie.proxy.port"] = port
    if ctx.invoked_subcommand is not None:
        if host is not None:
            raise click.UsageError("--listen goes with `reverie proxy` alone")
        return
    app, engine, listener = _opened(frame, host, port)
    from reverie.proxy.running import serve

    serve(app, engine, listener, lambda: _show_proxy(frame, app, listener, engine))


@proxy.command(name="run", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD …")
@shared_options
@click.pass_context
def run(ctx: click.Context, frame: Invocation, words: tuple[str, ...]) -> None:
    """Start the proxy and a client for one command.

    \b
    reverie proxy run -- claude
    reverie proxy --shadow run -- codex exec 'fix the failing test'
    """
    # Any free port: another proxy may be running.
    port = ctx.meta.get("reverie.proxy.port")
    app, engine, listener = _opened(frame, None, 0 if port is None else port)
    from reverie.proxy.running import LOG, run_client
    from reverie.settings.sources import environment

    code = run_client(app, engine, listener, words, environment())
    if counts := engine.troubles.counts:
        what = ", ".join(f"{count} × {kind}" for kind, count in counts.items())
        click.echo(f"reverie proxy: {what}; see {app.settings.home / LOG}", err=True)
    ctx.exit(code)


@proxy.command(name="savings")
@shared_options
def savings(frame: Invocation) -> None:
    """Show what the proxy saved in each session, or would have saved in shadow mode."""
    from reverie.proxy.savings import read

    found = read(frame.app().project.folder)
    data = [one.as_json() for one in found]
    frame.show(data, _savings_lines(found))


@proxy.command(name="status")
@shared_options
def status(frame: Invocation) -> None:
    """Show whether a proxy is running, what it did, and what went wrong."""
    app = frame.app()
    from reverie.cli.wiring.client_checks import ask_status
    from reverie.proxy.running import announced

    state = announced(app.settings.home)
    found = ask_status(state) if state else None
    data = {"running": found is not None, **(state or {}), **(found or {})}
    if found is None:
        lines = ["No proxy is running; start one with `reverie proxy`."]
    else:
        counts = (f"  {name}: {count}" for name, count in found["counts"].items())
        latest = (f"  ! {line}" for line in found["latest"])
        lines = [f"The proxy runs at {data['url']}", *counts, *latest]
    frame.show(data, lines)


def _with_switches(frame: Invocation, *, shadow: bool, pass_through: bool) -> Invocation:
    from reverie.proxy.running import OVERRIDES

    names = ("memory", "layers", "marks", "compaction", "learning", "record", "slim_tools")
    off = tuple(f"proxy.{name}=false" for name in names) if pass_through else ()
    more = ("proxy.shadow=true",) if shadow else ()
    return replace(frame, overrides=(*OVERRIDES, *frame.overrides, *off, *more))


def _opened(
    frame: Invocation, host: str | None, port: int | None
) -> tuple[Workspace, ProxyEngine, Listener]:
    from reverie.proxy.running import LOOPBACK, TOKEN_VARIABLE, listen, make_engine
    from reverie.settings.sources import environment

    app = frame.app()
    named = app.settings["proxy.project"]
    if named is not None and frame.project is None:
        app = replace(frame, project=Path(str(named))).app()
    chosen = int(app.settings.number("proxy.port")) if port is None else port
    listener = listen(host or LOOPBACK, chosen, environment().get(TOKEN_VARIABLE) or None)
    engine = make_engine(app, home=frame.home, overrides=frame.overrides)
    return app, engine, listener


def _require_packages() -> None:
    from importlib.util import find_spec

    missing = [
        name for name in ("uvicorn", "httptools", "httpcore2", "httpx2") if find_spec(name) is None
    ]
    if missing:
        raise InputError(f"`reverie proxy` needs {', '.join(missing)}; install it with: {_ADVICE}")


def _show_proxy(frame: Invocation, app: Workspace, listener: Listener, engine: ProxyEngine) -> None:
    from reverie.proxy.running import client_environment

    data = {"url": listener.url, "project": str(app.project.root)}
    data |= {"token": listener.token} if listener.token else {}
    lines = [f"The proxy listens at {listener.url}"]
    lines += [f"  project: {app.project.root} (unless a client says where it works)"]
    if engine.switches.shadow:
        lines += ["  shadow: nothing is changed; `reverie proxy savings` shows the count"]
    elif not engine.switches.any:
        lines += ["  pass-through: nothing is changed or recorded"]
    if listener.token:
        lines += [f"  token, in the header x-reverie-token: {listener.token}"]
    variables = client_environment(listener.url, listener.token).items()
    lines += [f"  export {name}={shlex.quote(value)}" for name, value in variables]
    frame.show(data, [*lines, "  until Ctrl-C"])


def _savings_lines(found: list[SessionSavings]) -> Iterator[RenderableType]:
    def cells(one: SessionSavings) -> tuple[str, ...]:
        saved = "?" if one.share is None else f"{one.share:.1%}"
        costs = (_money(one.client_cost), _money(one.our_cost))
        return one.session, str(one.requests), f"{one.tokens:,}", *costs, saved

    if not found:
        yield "Nothing was proxied in this project yet; see `reverie proxy --help`."
        return
    columns = ("session", "requests", "tokens saved", "client $", "ours $", "saved")
    yield table(*columns, rows=map(cells, found))


def _money(value: float | None) -> str:
    return "?" if value is None else f"{value:.4f}"
