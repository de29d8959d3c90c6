"""The report: one HTML page without scripts, and its charts as a PNG where matplotlib is installed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from html import escape
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from string import Template
from textwrap import shorten

from reverie.cli.demo import charts, screen
from reverie.cli.demo.player import COMPACTION, MODEL, NOTES, WINDOW, Run, Turn
from reverie.cli.demo.script import read
from reverie.cli.formatting import dollars, share, tokens
from reverie.errors import InputError, StorageError

_TURN = ("#", "asked", "sent", "from cache", "context", "cost", "layers")
_NUMBERS = {"#", "calls", "sent", "from cache", "largest", "context", "cost"}


def panels(runs: Sequence[Run]) -> tuple[charts.Panel, ...]:
    def lines(value: Callable[[Turn], float]) -> dict[str, list[float]]:
        return {run.name: [value(turn) for turn in run.turns] for run in runs}

    marks = [
        charts.Mark(turn.number, turn.largest, str(fired.layer), fired.what)
        for turn in runs[0].turns
        for fired in turn.fired
        if fired.layer in (NOTES, COMPACTION) and fired.sizes
    ]
    largest, full = lines(lambda turn: turn.largest), f"window full: {tokens(WINDOW.blocking)}"
    sent, spent = lines(lambda turn: turn.usage.prompt), lines(lambda turn: turn.spent)
    return (
        charts.Panel("Largest request of each turn, in tokens", largest, tokens, WINDOW.blocking, full, marks),
        charts.Panel("Tokens sent, turn by turn", sent, tokens),
        charts.Panel("Cost so far, in US dollars", spent, "${:.2f}".format),
    )  # fmt: skip


def render(runs: Sequence[Run]) -> str:
    """The whole page."""
    whole, drawn = runs[0], panels(runs)
    marks = sorted({f"○ {mark.name}: {mark.what}" for mark in drawn[0].marks})
    *answers, comparison, learnt = map(_table, screen.sections(runs))
    checks = (
        f'<li class="{"" if check.passed else "bad"}">{"✓" if check.passed else "✗"} '
        f'{escape(check.name)}: <span class="faint">{escape(check.found)}</span></li>'
        for check in screen.checks(whole)
    )
    return Template(read("report.html")).substitute(
        turns=len(whole.turns),
        window=f"{WINDOW.tokens:,}",
        model=escape(MODEL),
        savings=escape(screen.savings(runs)),
        answers="".join(answers),
        charts="".join(map(charts.svg, drawn)),
        marks=escape("; ".join(marks)),
        comparison=comparison,
        learnt=learnt,
        checks="".join(checks),
        log=_table(("Turn by turn, with all layers on", _TURN, map(_cells, whole.turns))),
        later=escape(screen.LATER),
    )  # fmt: skip


def _cells(turn: Turn) -> tuple[str, ...]:
    asked, size = shorten(turn.asks, 160, placeholder=" …"), tokens(turn.context)
    sent, cached = tokens(turn.usage.prompt), share(turn.usage.hit_rate)
    fired = "; ".join(f"{one.layer or 'M'}: {one.what} {one.sizes}".strip() for one in turn.fired)
    return str(turn.number), asked, sent, cached, size, dollars(turn.cost), fired


def _table(section: screen.Section) -> str:
    title, names, rows = section

    def row(tag: str, cells: Sequence[str]) -> str:
        pairs = zip(names, map(escape, cells), strict=True)
        kinds = (("n" if name in _NUMBERS else "", cell) for name, cell in pairs)
        made = "".join(f'<{tag} class="{kind}">{cell}</{tag}>' for kind, cell in kinds)
        return f"<tr>{made}</tr>"

    head = row("th", names) if any(names) else ""
    body = "".join(row("td", cells) for cells in rows)
    return f'<h2>{escape(title)}</h2><div class="scroll"><table>{head}{body}</table></div>'


def free(wanted: Path) -> Path:
    """The path, or the same with a number if it exists; in a folder, `reverie-demo.html`."""
    wanted = (wanted / "reverie-demo.html" if wanted.is_dir() else wanted).absolute()
    if wanted.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"the report is a page: let {wanted.name!r} end with .html (--output)")
    if not os.access(wanted.parent, os.W_OK):
        raise InputError(f"cannot write into {str(wanted.parent)!r}; choose another --output")
    paths = chain([wanted], (wanted.with_stem(f"{wanted.stem}-{n}") for n in count(2)))
    return next(p for p in paths if not (p.exists() or p.with_suffix(".png").exists()))


def save(runs: Sequence[Run], target: Path) -> list[Path]:
    """Write the page, and the PNG if matplotlib is installed; returns what was written."""
    drawn = [target.with_suffix(".png")] if find_spec("matplotlib") else []
    try:
        target.write_text(render(runs), encoding="utf-8")
        for path in drawn:
            charts.draw(panels(runs), path)
    except OSError as error:
        raise StorageError(f"the report cannot be written: {error}") from error
    return [target, *drawn]
