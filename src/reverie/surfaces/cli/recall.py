"""`reverie recall`: what would be put beside this message, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reverie.memory.scopes import split
from reverie.surfaces.cli.frame import Frame, reverie_command
from reverie.surfaces.cli.moments import moment

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import RenderableType

    from reverie.recall.documents import Results


@reverie_command(name="recall")
@click.argument("question", nargs=-1, required=True)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 100), default=5, show_default=True, help="How many."
)
@click.option("--as-of", callback=moment, metavar="DATE", help="Answer from memory as it was then.")
@click.option("--explain", is_flag=True, help="The score of each signal, and what was left out.")
def command(
    frame: Frame, question: tuple[str, ...], limit: int, as_of: datetime | None, explain: bool
) -> None:
    """The memories that fit a question, best first.

    \b
    reverie recall when can I ship
    reverie recall --as-of 2026-03-01 "who owns the billing service?"
    reverie recall 'type:feedback after:2026-01 "exact phrase" -word'
    """
    app = frame.app()
    asked = " ".join(question)
    found = app.recall(asked, limit=limit, as_of=as_of)
    data = _as_json(found)
    frame.show(data, lambda console: console.print(listed(found, explain=explain)))


def _as_json(found: Results) -> dict[str, Any]:
    from reverie.recall.fuse import GOOD_MATCH

    return {
        "hits": [
            {
                "file": hit.key,
                "scope": split(hit.key)[0],
                "score": hit.score,
                "shown": hit.score >= GOOD_MATCH,
                "signals": dict(hit.signals),
                "snippet": hit.snippet,
                "why": hit.why,
                "label": hit.label,
            }
            for hit in found.hits
        ],
        "left_out": [
            {"file": item.key, "score": item.score, "reason": item.reason}
            for item in found.left_out
        ],
        "semantic": found.used_semantic,
        "approximate": found.approximate,
        "notes": list(found.notes),
    }


def listed(found: Results, *, explain: bool = False) -> RenderableType:
    """The memories as a person reads them, best first."""
    from rich.console import Group
    from rich.text import Text

    from reverie.recall.fuse import GOOD_MATCH

    lines = [] if found.hits else [Text("Nothing in memory fits.")]
    for hit in found.hits:
        weak = "" if hit.score >= GOOD_MATCH else "  (too weak to be shown to a model by itself)"
        label = f"  ({hit.label})" if hit.label else ""
        line = Text(f"{hit.score:5.2f}  ", "dim") + Text(hit.key, "bold")
        lines.append(line + Text(f"{label}{weak}", "dim"))
        lines.append(Text(f"       {hit.snippet}"))
        if explain:
            signals = ", ".join(f"{name} {value:+.2f}" for name, value in hit.signals.items())
            lines.append(Text(f"       {hit.why} ({signals})", "dim"))
    if explain:
        lines += [
            Text(f"{item.score:5.2f}  {item.key}: left out, {item.reason}", "dim")
            for item in found.left_out
        ]
        how = "words and meaning" if found.used_semantic else "words alone"
        lines.append(Text(f"searched by {how}", "dim"))
    lines += [Text(note, "yellow") for note in found.notes]
    return Group(*lines)
