"""`reverie search`: memories and past conversations, by words and meaning."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import click

from reverie.cli.formatting import printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memory.hits import listing
from reverie.recall.hits import Shown, read_hits
from reverie.recall.service import index_past_sessions, search

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.recall.documents import Results, Scope


@reverie_command(name="search")
@click.argument("words", nargs=-1, required=True)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="How many."
)
@click.option("--only", type=click.Choice(["memories", "episodes"]), help="Only one of the two.")
@click.option("--all", "everything", is_flag=True, help="Also weak matches.")
def command(
    frame: Invocation, words: tuple[str, ...], limit: int, only: str | None, everything: bool
) -> None:
    """Search memories and past conversations.

    Weak matches are shown only with --all. JSON contains all matches, each with `shown`.

    \b
    reverie search flaky login test
    reverie search 'session:0442 after:2026-10 "exact phrase" -word'
    """
    app = frame.app()
    progress = _progress if sys.stderr.isatty() and not frame.quiet else None
    if only != "memories":
        index_past_sessions(app, progress)
    scope: Scope = "both" if only is None else cast("Scope", only)
    asked = " ".join(words)
    found = search(app, asked, limit=limit, scope=scope)
    shown = read_hits(app, found, asked)
    frame.answer(
        [_as_json(one) for one in shown],
        lambda console: console.print(listed(found, shown, everything=everything), soft_wrap=True),
    )


def _progress(done: int, total: int) -> None:
    end = "\n" if done == total else ""
    click.echo(f"\rindexing past conversations {done}/{total}", err=True, nl=False)
    click.echo(end, err=True, nl=False)


def _as_json(one: Shown) -> dict[str, Any]:
    hit = one.hit
    return {
        "id": one.id or None,
        "key": hit.key,
        "collection": hit.collection,
        "score": hit.score,
        **one.as_json(),
        "session": hit.session,
        "role": hit.role,
        "at": hit.at,
        "snippet": hit.snippet,
        "why": hit.why,
        "label": hit.label,
    }


def listed(found: Results, shown: Sequence[Shown], *, everything: bool = False) -> RenderableType:
    """The matches as lines, best first."""
    from rich.console import Group
    from rich.text import Text

    lines = listing(shown, "reverie search", everything=everything)
    lines += [Text(printable(note), "yellow") for note in found.notes]
    return Group(*lines)
