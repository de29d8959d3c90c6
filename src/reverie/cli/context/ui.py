"""`reverie ui`: memory, history, dreams, sessions, spend and health as a local page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reverie.cli.invocation import Invocation, reverie_command
from reverie.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console


@reverie_command(name="ui")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Where to listen (7349, or any free port if that is taken); 0 takes any free port.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def command(frame: Invocation, port: int | None, no_browser: bool) -> None:
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
    from reverie.web.security import Access

    # Fails here, before a browser is opened, if memory is off or cannot be read.
    app.memory()
    listener = server.listen(port)
    access = Access(listener.getsockname()[1])
    url = access.url

    def human(console: Console) -> None:
        console.print(f"The page of {app.project.root}", soft_wrap=True)
        console.print(f"  at {url}", soft_wrap=True)
        console.print("  until Ctrl-C", soft_wrap=True)

    def ready() -> None:
        frame.show({"url": url, "project": str(app.project.root)}, human)
        if not (no_browser or frame.as_json):
            click.launch(url)

    server.serve(OpenProject(app, examine), listener, access, ready)
