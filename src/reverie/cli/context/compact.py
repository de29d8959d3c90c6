"""`reverie compact`: replace the older part of a session by a summary, now."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import printable, tokens
from reverie.cli.invocation import Invocation, reverie_command
from reverie.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.workspace import Workspace


@reverie_command(name="compact")
@click.argument("session")
@click.argument("instructions", nargs=-1)
@click.option("--model", metavar="M", help="Summarise with this model; offline: by rules alone.")
def command(
    frame: Invocation, session: str, instructions: tuple[str, ...], model: str | None
) -> None:
    """Compact a session: the older part becomes a summary, the next resume is small.

    SESSION is an id from `reverie sessions`, or the start of one. INSTRUCTIONS say what the summary
    must keep. The transcript keeps everything: `reverie show SESSION --before-compaction`.

    \b
    reverie compact 20261115-0930
    reverie compact 20261101 keep the list of failing tests
    """
    app = frame.app()
    data = asyncio.run(_compact(app, session, " ".join(instructions), model))
    frame.show(data, lambda console: _print(console, data))


async def _compact(
    app: Workspace, session: str, instructions: str, model: str | None
) -> dict[str, Any]:
    from reverie.context.compaction.plan import Failed
    from reverie.session.build import open_session
    from reverie.session.options import SessionOptions

    path = app.transcript(session)
    options = SessionOptions(model=model, resume=path, dreams=False)
    async with open_session(app, options) as opened:
        before = opened.conversation.state.tokens
        done = await opened.upkeep.compact_now("manual", instructions=instructions)
        if isinstance(done, Failed):
            raise InputError(f"{path.stem} was not compacted: {done.reason}")
        state = opened.conversation.state
        how = state.compactions[-1].how if state.compactions else ""
        return {"session": path.stem, "before": before, "after": state.tokens, "how": how}


def _print(console: Console, data: dict[str, Any]) -> None:
    size = f"{tokens(data['before'])} → {tokens(data['after'])} tokens"
    how = f", {data['how']}" if data["how"] else ""
    console.print(printable(f"Compacted {data['session']}: {size}{how}"), soft_wrap=True)
    console.print(
        f"  all of it: reverie show {data['session']} --before-compaction", soft_wrap=True
    )
