"""`reverie extract`: what past conversations hold for memory, ours or Claude Code's."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from reverie.surfaces.cli.figures import printable
from reverie.surfaces.cli.frame import Frame, reverie_command

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.app.learning import Learnt


@reverie_command(name="extract")
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION…")
@click.option("--dry-run", is_flag=True, help="Show what would be saved, and save nothing.")
def command(frame: Frame, sessions: tuple[str, ...], dry_run: bool) -> None:
    """Look through past conversations for what should be remembered.

    SESSION is the id of a session of this project, the start of one, or the path of a
    transcript: Reverie's or Claude Code's. Wishes, decisions and preferences you stated are
    found by rules, without a model; what is not surely yours goes to the inbox.

    \b
    reverie extract 20261101
    reverie extract ~/.claude/projects/*/*.jsonl --dry-run
    """
    from reverie.app.learning import learn_from

    app = frame.app()
    paths = [app.transcript(session) for session in sessions]
    done = {path.stem: learn_from(app, path, dry_run=dry_run) for path in paths}
    data = [{"session": name, "dry_run": dry_run, **asdict(one)} for name, one in done.items()]
    frame.show(data, lambda console: _print(console, done, dry_run=dry_run))


def _print(console: Console, done: dict[str, Learnt], *, dry_run: bool) -> None:
    for session, learnt in done.items():
        if not (learnt.saved or learnt.waiting):
            console.print(printable(f"{session}: nothing to remember"), soft_wrap=True)
        for saved in learnt.saved:
            verb = "would save" if dry_run else "saved"
            console.print(printable(f"{session}: {verb}: {saved}"), soft_wrap=True)
        for text in learnt.waiting:
            where = "would wait in" if dry_run else "waits in"
            console.print(printable(f"{session}: {where} the inbox: {text}"), soft_wrap=True)
        for trouble in learnt.troubles:
            console.print(printable(f"{session}: {trouble}"), soft_wrap=True)
