"""`reverie proxy`: memory and a smaller bill for any client, by its base URL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from reverie.cli.invocation import Invocation, shared_options, table
from reverie.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.proxy.engine import ProxyEngine
    from reverie.proxy.running import Listener
    from reverie.proxy.savings import SessionSavings
    from reverie.workspace import Workspace

_ADVICE = "pip install 'reverie[proxy,anthropic,openai]'"


@click.group(name="proxy", invoke_without_command=True)
@click.option("--port", type=click.IntRange(0, 65535), help="Where to listen; 0: any free port.")
@click.option("--listen", "host", help="Listen on this address; beyond this machine with a token.")
@click.option("--shadow", is_flag=True, help="Change nothing; count what would have been saved.")
@click.option("--pass-through", is_flag=True, help="Every switch off: bytes pass unchanged.")
@shared_options
@click.pass_context
def command(
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
        return
    app, engine, listener = _opened(frame, host, port)
    from reverie.proxy.running import serve

    serve(app, engine, listener, lambda: _show(frame, app, listener, engine))


@command.command(name="run", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD …")
@shared_options
@click.pass_context
def run(ctx: click.Context, frame: Invocation, words: tuple[str, ...]) -> None:
    """Start the proxy and a client together, for one command.

    \b
    reverie proxy run -- claude
    reverie proxy --shadow run -- codex exec 'fix the failing test'
    """
    # Any free port: another proxy may be running.
    port = ctx.meta.get("reverie.proxy.port")
    app, engine, listener = _opened(frame, None, 0 if port is None else port)
    from reverie.proxy.running import run_client
    from reverie.settings.sources import environment

    ctx.exit(run_client(app, engine, listener, words, environment()))


@command.command(name="savings")
@shared_options
def savings(frame: Invocation) -> None:
    """Show what the proxy saved in each session, or would have saved in shadow mode."""
    from reverie.proxy.savings import read

    found = read(frame.app().project.folder)
    data = [one.as_json() for one in found]
    frame.show(data, _savings_lines(found))


@command.command(name="status")
@shared_options
def status(frame: Invocation) -> None:
    """Show whether a proxy runs here, what it did, and what went wrong."""
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
    from pathlib import Path

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


def _show(frame: Invocation, app: Workspace, listener: Listener, engine: ProxyEngine) -> None:
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
    variables = client_environment(listener.url).items()
    lines += [f"  export {name}={value}" for name, value in variables]
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
