"""`reverie recall`: find the memories that fit a question, and explain why."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import date_option, printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memory.hits import listing
from reverie.logs import logger
from reverie.memory.format.taxonomy import split
from reverie.recall.hits import Shown, read_hits
from reverie.recall.service import recall

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import RenderableType

    from reverie.recall.documents import Results

log = logger(__name__)


@reverie_command(name="recall")
@click.argument("question", nargs=-1, required=True)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 100), default=5, show_default=True, help="How many."
)
@click.option(
    "--as-of", callback=date_option, metavar="DATE", help="Answer from memory as it was then."
)
@click.option("--all", "everything", is_flag=True, help="Also weak matches.")
@click.option(
    "--explain",
    is_flag=True,
    help="Weak matches too, the score of each signal, and what was left out.",
)
def command(
    frame: Invocation,
    question: tuple[str, ...],
    limit: int,
    as_of: datetime | None,
    everything: bool,
    explain: bool,
) -> None:
    """Find the memories that fit a question, best first.

    Weak matches are shown only with --all or --explain. JSON contains all matches, each with `shown`.

    \b
    reverie recall when can I ship
    reverie recall --as-of 2026-03-01 "who owns the billing service?"
    reverie recall 'type:feedback after:2026-01 "exact phrase" -word'
    """
    app = frame.app()
    asked = " ".join(question)
    began = time.perf_counter()
    found = recall(app, asked, limit=limit, as_of=as_of)
    how = "words and meaning" if found.used_semantic else "words alone"
    took = (time.perf_counter() - began) * 1000
    log.info("%d matches by %s in %.0f ms", len(found.hits), how, took)
    for hit in found.hits:
        log.debug("%s %.3f %s", hit.key, hit.score, dict(hit.signals))
    shown = read_hits(app, found, asked, as_of)
    data = _as_json(found, shown)
    frame.answer(
        data,
        lambda console: console.print(
            listed(found, shown, everything=everything, explain=explain), soft_wrap=True
        ),
    )


def _as_json(found: Results, shown: Sequence[Shown]) -> dict[str, Any]:
    return {
        "hits": [
            {
                "id": one.id,
                "file": one.hit.key,
                "scope": split(one.hit.key)[0],
                "score": one.hit.score,
                **one.as_json(),
                "signals": dict(one.hit.signals),
                "snippet": one.hit.snippet,
                "why": one.hit.why,
                "label": one.hit.label,
            }
            for one in shown
        ],
        "left_out": [
            {"file": item.key, "score": item.score, "reason": item.reason}
            for item in found.left_out
        ],
        "semantic": found.used_semantic,
        "approximate": found.approximate,
        "notes": list(found.notes),
    }


def listed(
    found: Results, shown: Sequence[Shown], *, everything: bool = False, explain: bool = False
) -> RenderableType:
    """The memories as lines, best first."""
    from rich.console import Group
    from rich.text import Text

    lines = listing(shown, "reverie recall", everything=everything or explain, explain=explain)
    if explain:
        lines += [
            Text(printable(f"{item.score:5.2f}  {item.key}: left out, {item.reason}"), "dim")
            for item in found.left_out
        ]
        how = "words and meaning" if found.used_semantic else "words alone"
        lines.append(Text(f"searched by {how}", "dim"))
    lines += [Text(printable(note), "yellow") for note in found.notes]
    return Group(*lines)
