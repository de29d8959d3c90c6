"""Line charts: as SVG without any library, and as a PNG where matplotlib is installed."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from string import Template
from textwrap import shorten
from typing import NamedTuple

from reverie.cli import demo as screen
from reverie.cli.demo.player import COMPACTION, MODEL, NOTES, WINDOW, Run, Turn
from reverie.cli.demo.script import read
from reverie.cli.invocation import dollars, share, tokens
from reverie.errors import InputError, StorageError

_WIDTH, _HEIGHT = 960, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 150, 34, 34
_STEPS = 4
_LABEL = 15
_ROUND = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
_COLOURS = ("#0b7a55", "#c2410c", "#a16207", "#2563eb", "#9333ea", "#be185d", "#4b5563")


class Mark(NamedTuple):
    """Something that happened in a turn of the first line."""

    turn: int
    value: float
    name: str
    what: str


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over the same turns, the main one first; `limit` is a height that no line may exceed."""

    title: str
    lines: dict[str, list[float]]
    written: Callable[[float], str]
    limit: float | None = None
    limit_name: str = ""
    marks: Sequence[Mark] = ()

    @property
    def top(self) -> float:
        """A round figure above every line."""
        most = max(self.limit or 0.0, *map(max, self.lines.values()))
        scale = 10.0 ** math.floor(math.log10(most / _STEPS))
        return _STEPS * next(scale * figure for figure in _ROUND if scale * figure * _STEPS >= most)

    @property
    def turns(self) -> int:
        return max(map(len, self.lines.values()))

    def x(self, turn: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (turn - 1) / max(1, self.turns - 1)

    def y(self, value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * value / self.top


def svg(panel: Panel) -> str:
    """The panel as one element; the page's style has its colours (`.run0`, `.run1`, …)."""
    parts = [_text("title", _LEFT, 18, panel.title)]
    for value in (panel.top * step / _STEPS for step in range(_STEPS + 1)):
        parts += (_rule("grid", panel.y(value)), _text("axis", _LEFT - 8, panel.y(value) + 4, panel.written(value), "end"))  # fmt: skip
    for turn in (1, *range(10, panel.turns, 10), panel.turns):
        parts.append(_text("axis", panel.x(turn), _HEIGHT - 12, str(turn), "middle"))
    if panel.limit is not None:
        y = panel.y(panel.limit)
        parts += (_rule("limit", y), _text("limit", _LEFT + 6, y - 5, panel.limit_name))
    labels = _labels(panel)
    # The first line is drawn last, over the others.
    for number, (name, values) in reversed(list(enumerate(panel.lines.items()))):
        places = ((panel.x(turn), panel.y(value)) for turn, value in enumerate(values, 1))
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline class="line run{number}" points="{points}"/>')
        parts.append(_text(f"label run{number}", _WIDTH - _RIGHT + 8, labels[number], name))
    for mark in panel.marks:
        x, y = panel.x(mark.turn), panel.y(mark.value)
        title = escape(f"turn {mark.turn}, layer {mark.name}: {mark.what}")
        circle = f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
        label = _text("label run0", x, y - 9, mark.name, "middle")
        parts.append(f"<g><title>{title}</title>{circle}{label}</g>")
    box = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(panel.title)}"'
    return f"<svg {box}>{''.join(parts)}</svg>"


def _text(kind: str, x: float, y: float, text: str, anchor: str = "start") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _rule(kind: str, y: float) -> str:
    return f'<line class="{kind}" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'


def _labels(panel: Panel) -> dict[int, float]:
    """The height of each line's name: beside its end, none over another."""
    ends = [panel.y(values[-1]) + 4 for values in panel.lines.values()]
    placed: dict[int, float] = {}
    above = -math.inf
    for rank, i in enumerate(sorted(range(len(ends)), key=lambda i: ends[i])):
        room = _HEIGHT - _BOTTOM + 4 - _LABEL * (len(ends) - 1 - rank)
        above = placed[i] = min(max(ends[i], above + _LABEL), room)
    return placed


def draw(panels: Sequence[Panel], path: Path) -> None:
    """The panels as a PNG, one below the other."""
    # By name: a type checker need not have it installed.
    figure = import_module("matplotlib.figure").Figure(figsize=(10, 3.4 * len(panels)), layout="constrained")  # fmt: skip
    for panel, axes in zip(panels, figure.subplots(len(panels), squeeze=False).flat, strict=True):
        for number, (name, values) in enumerate(panel.lines.items()):
            width, order = (1.3, 2) if number else (2.8, 3)
            axes.plot(range(1, len(values) + 1), values, label=name, color=_COLOURS[number], linewidth=width, zorder=order)  # fmt: skip
        if panel.limit is not None:
            axes.axhline(panel.limit, color="#b91c1c", linestyle="--", linewidth=1)
            axes.text(1, panel.limit, f" {panel.limit_name}", color="#b91c1c", va="bottom")
        for mark in panel.marks:
            axes.annotate(mark.name, (mark.turn, mark.value), (0, 7), textcoords="offset points", weight="bold")  # fmt: skip
        axes.set_title(panel.title, loc="left")
        axes.yaxis.set_major_formatter(lambda value, _, panel=panel: panel.written(value))
        axes.set_xlim(1, panel.turns)
        axes.set_ylim(0, panel.top)
        axes.legend(frameon=False, fontsize="small")
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


_TURN = ("#", "asked", "sent", "from cache", "context", "cost", "layers")
_NUMBERS = {"#", "calls", "sent", "from cache", "largest", "context", "cost"}


def panels(runs: Sequence[Run]) -> tuple[Panel, ...]:
    def lines(value: Callable[[Turn], float]) -> dict[str, list[float]]:
        return {run.name: [value(turn) for turn in run.turns] for run in runs}

    marks = [
        Mark(turn.number, turn.largest, str(fired.layer), fired.what)
        for turn in runs[0].turns
        for fired in turn.fired
        if fired.layer in (NOTES, COMPACTION) and fired.sizes
    ]
    largest, full = lines(lambda turn: turn.largest), f"window full: {tokens(WINDOW.blocking)}"
    sent, spent = lines(lambda turn: turn.usage.prompt), lines(lambda turn: turn.spent)
    return (
        Panel("Largest request of each turn, in tokens", largest, tokens, WINDOW.blocking, full, marks),
        Panel("Tokens sent, turn by turn", sent, tokens),
        Panel("Cost so far, in US dollars", spent, "${:.2f}".format),
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
        charts="".join(map(svg, drawn)),
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
            draw(panels(runs), path)
    except OSError as error:
        raise StorageError(f"the report cannot be written: {error}") from error
    return [target, *drawn]
