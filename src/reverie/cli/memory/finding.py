"""`reverie recall` and `reverie search`: find memories and past conversations, and explain why they fit."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import click

from reverie.cli.invocation import (
    Invocation,
    counted,
    date_option,
    limit_option,
    reverie_command,
    styled,
    when,
)
from reverie.logs import logger
from reverie.memory.format.taxonomy import split
from reverie.recall.hits import Shown, read_hits
from reverie.recall.service import index_past_sessions, recall, search

if TYPE_CHECKING:
    from datetime import datetime

    from rich.text import Text

    from reverie.recall.documents import Results, Scope


def hit_lines(one: Shown, *, explain: bool = False) -> Iterator[Text]:
    """A hit as lines: its score unless it was only looked up, its place and marks, then the snippet."""
    hit = one.hit
    episode = hit.collection == "episodes"
    place = f"session {hit.session} · {hit.role}" if episode else hit.key
    about = [one.id, when(hit.at or 0) if episode else "", one.mark]
    about += ["(a weak match)"] if one.weak else []
    marks = styled("".join(f"  {word}" for word in about if word))
    score = "" if one.looked_up else f"{hit.score:5.2f}"
    yield styled(f"{score:5}  ") + styled(place, "bold") + marks
    yield styled(f"       {hit.snippet}", "")
    if explain:
        signals = ", ".join(f"{name} {value:+.2f}" for name, value in hit.signals.items())
        yield styled(f"       {hit.why} ({signals})")


def listing(
    shown: Sequence[Shown], command: str, *, everything: bool, explain: bool = False
) -> list[Text]:
    """The good hits, best first, and how many weak ones `command --all` would add."""
    wanted = [one for one in shown if one.good or everything]
    lines = [line for one in wanted for line in hit_lines(one, explain=explain)]
    lines = lines or [styled("Nothing found.", "")]
    if weak := len(shown) - len(wanted):
        matches = counted(weak, "weak match is", "weak matches are")
        lines.append(styled(f"{matches} not shown: {command} --all"))
    return lines


log = logger(__name__)


@reverie_command(name="recall")
@click.argument("question", nargs=-1, required=True)
@limit_option(5, 100)
@click.option(
    "--as-of", callback=date_option, metavar="DATE", help="Answer from memory as it was then."
)
@click.option("--all", "everything", is_flag=True, help="Also weak matches.")
@click.option(
    "--explain",
    is_flag=True,
    help="Weak matches too, the score of each signal, and what was left out.",
)
def recall_command(
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
    lines = recalled(found, shown, everything=everything, explain=explain)
    frame.answer(_recalled_json(found, shown), lines)


def _recalled_json(found: Results, shown: Sequence[Shown]) -> dict[str, Any]:
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


def recalled(
    found: Results, shown: Sequence[Shown], *, everything: bool = False, explain: bool = False
) -> list[Text]:
    """The memories as lines, best first."""
    lines = listing(shown, "reverie recall", everything=everything or explain, explain=explain)
    if explain:
        left = found.left_out
        lines += [styled(f"{one.score:5.2f}  {one.key}: left out, {one.reason}") for one in left]
        how = "words and meaning" if found.used_semantic else "words alone"
        lines.append(styled(f"searched by {how}"))
    return lines + [styled(one, "yellow") for one in found.notes]


@reverie_command(name="search")
@click.argument("words", nargs=-1, required=True)
@limit_option(10, 100)
@click.option("--only", type=click.Choice(["memories", "episodes"]), help="Only one of the two.")
@click.option("--all", "everything", is_flag=True, help="Also weak matches.")
def search_command(
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
    lines = found_list(found, shown, everything=everything)
    frame.answer([_found_json(one) for one in shown], lines)


def _progress(done: int, total: int) -> None:
    click.echo(f"\rindexing past conversations {done}/{total}", err=True, nl=done == total)


def _found_json(one: Shown) -> dict[str, Any]:
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


def found_list(found: Results, shown: Sequence[Shown], *, everything: bool = False) -> list[Text]:
    """The matches as lines, best first."""
    lines = listing(shown, "reverie search", everything=everything)
    return lines + [styled(one, "yellow") for one in found.notes]
