"""`reverie search`: memories and past conversations, by words and meaning."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

import click

from reverie.surfaces.cli.figures import when
from reverie.surfaces.cli.frame import Frame, reverie_command

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.recall.documents import Hit, Results, Scope


@reverie_command(name="search")
@click.argument("words", nargs=-1, required=True)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="How many."
)
@click.option("--only", type=click.Choice(["memories", "episodes"]), help="Only one of the two.")
def command(frame: Frame, words: tuple[str, ...], limit: int, only: str | None) -> None:
    """Search memories and past conversations.

    \b
    reverie search flaky login test
    reverie search 'session:0442 after:2026-10 "exact phrase" -word'
    """
    app = frame.app()
    progress = _progress if sys.stderr.isatty() and not frame.quiet else None
    if only != "memories":
        app.index_episodes(progress)
    scope: Scope = "both" if only is None else cast("Scope", only)
    found = app.search(" ".join(words), limit=limit, scope=scope)
    frame.show([_as_json(hit) for hit in found.hits], lambda console: console.print(listed(found)))


def _progress(done: int, total: int) -> None:
    end = "\n" if done == total else ""
    click.echo(f"\rindexing past conversations {done}/{total}", err=True, nl=False)
    click.echo(end, err=True, nl=False)


def _as_json(hit: Hit) -> dict[str, Any]:
    return {
        "key": hit.key,
        "collection": hit.collection,
        "score": hit.score,
        "session": hit.session,
        "role": hit.role,
        "at": hit.at,
        "snippet": hit.snippet,
        "why": hit.why,
        "label": hit.label,
    }


def listed(found: Results) -> RenderableType:
    """What was found as a person reads it, best first."""
    from rich.console import Group
    from rich.text import Text

    lines = [] if found.hits else [Text("Nothing found.")]
    for hit in found.hits:
        place = hit.key if hit.collection == "memories" else f"session {hit.session} · {hit.role}"
        line = Text(f"{hit.score:5.2f}  ", "dim") + Text(place, "bold")
        label = f"  ({hit.label})" if hit.label else ""
        lines.append(line + Text(f"  {when(hit.at or 0)}{label}", "dim"))
        lines.append(Text(f"       {hit.snippet}"))
    lines += [Text(note, "yellow") for note in found.notes]
    return Group(*lines)
