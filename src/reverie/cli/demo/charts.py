"""Lines over the turns of a session, drawn as SVG without any library. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from reverie.cli.demo.hearing import COMPACTION, NOTES
from reverie.cli.demo.runs import Run
from reverie.cli.figures import tokens

_WIDTH, _HEIGHT = 960, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 150, 34, 34
_STEPS = 4
_LABEL = 15
_ROUND = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened in a turn of the first line."""

    turn: int
    value: float
    name: str
    what: str


@dataclass(frozen=True, slots=True)
class Panel:
    """Several lines over the same turns, the first being the one it is about.

    `limit` is a height that must not be passed.
    """

    title: str
    lines: tuple[Line, ...]
    written: Callable[[float], str]
    limit: float | None = None
    limit_name: str = ""
    marks: tuple[Mark, ...] = ()

    @property
    def top(self) -> float:
        """A round figure no line passes."""
        most = max(self.limit or 0.0, *(max(line.values) for line in self.lines))
        scale = 10.0 ** math.floor(math.log10(most / _STEPS))
        return _STEPS * next(scale * figure for figure in _ROUND if scale * figure * _STEPS >= most)


def panels(runs: Sequence[Run]) -> tuple[Panel, ...]:
    """What is worth seeing of a comparison: sizes, tokens and money, turn by turn."""
    blocking = runs[0].window.blocking
    return (
        Panel(
            "Largest request of each turn, in tokens",
            _lines(runs, lambda run: [turn.largest for turn in run.turns]),
            _tokens,
            blocking,
            f"window full: {tokens(blocking)}",
            tuple(_compactions(runs[0])),
        ),
        Panel(
            "Tokens sent, turn by turn",
            _lines(runs, lambda run: [turn.usage.prompt for turn in run.turns]),
            _tokens,
        ),
        Panel(
            "Cost so far, in US dollars",
            _lines(runs, lambda run: [turn.spent for turn in run.turns]),
            _dollars,
        ),
    )


def svg(panel: Panel) -> str:
    """The panel as one element; its colours come from the page's style (`.run0`, `.run1`, …)."""
    parts = [f'<text class="title" x="{_LEFT}" y="18">{escape(panel.title)}</text>']
    parts += _grid(panel)
    places = _labels(panel)
    # The first line is drawn last, over the others.
    for number, line in reversed(list(enumerate(panel.lines))):
        points = " ".join(
            f"{_x(turn, panel):.1f},{_y(value, panel):.1f}"
            for turn, value in enumerate(line.values, 1)
        )
        parts.append(f'<polyline class="line run{number}" points="{points}"/>')
        x = _WIDTH - _RIGHT + 8
        parts.append(
            f'<text class="label run{number}" x="{x}" y="{places[number]:.1f}">{escape(line.name)}</text>'
        )
    parts += (_marked(mark, panel) for mark in panel.marks)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(panel.title)}">'
        f"{''.join(parts)}</svg>"
    )


def _lines(runs: Sequence[Run], values: Callable[[Run], Sequence[float]]) -> tuple[Line, ...]:
    return tuple(Line(run.variant.name, tuple(values(run))) for run in runs)


def _compactions(run: Run) -> Iterator[Mark]:
    """Where the conversation was replaced by a summary."""
    for turn in run.turns:
        for fired in turn.fired:
            if fired.layer in (NOTES, COMPACTION) and fired.before is not None:
                yield Mark(turn.number, turn.largest, str(fired.layer), fired.what)


def _marked(mark: Mark, panel: Panel) -> str:
    x, y = _x(mark.turn, panel), _y(mark.value, panel)
    told = escape(f"turn {mark.turn}, layer {mark.name}: {mark.what}")
    return (
        f'<g><title>{told}</title><circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
        f'<text class="label run0" x="{x:.1f}" y="{y - 9:.1f}" text-anchor="middle">{escape(mark.name)}</text></g>'
    )


def _dollars(amount: float) -> str:
    return f"${amount:.2f}"


def _tokens(count: float) -> str:
    return tokens(round(count))


def _grid(panel: Panel) -> list[str]:
    parts = []
    right = _WIDTH - _RIGHT
    for step in range(_STEPS + 1):
        value = panel.top * step / _STEPS
        y = _y(value, panel)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        written = escape(panel.written(value))
        parts.append(
            f'<text class="axis" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{written}</text>'
        )
    turns = len(panel.lines[0].values)
    for turn in (1, *range(10, turns, 10), turns):
        x = _x(turn, panel)
        parts.append(
            f'<text class="axis" x="{x:.1f}" y="{_HEIGHT - 12}" text-anchor="middle">{turn}</text>'
        )
    if panel.limit is not None:
        y = _y(panel.limit, panel)
        parts.append(f'<line class="limit" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        name = escape(panel.limit_name)
        parts.append(f'<text class="limit" x="{_LEFT + 6}" y="{y - 5:.1f}">{name}</text>')
    return parts  # fmt: skip


def _labels(panel: Panel) -> list[float]:
    """Where each line's name stands: beside its end, none over another."""
    ends = [_y(line.values[-1], panel) + 4 for line in panel.lines]
    lowest = _HEIGHT - _BOTTOM + 4
    placed: dict[int, float] = {}
    order = sorted(range(len(ends)), key=lambda i: ends[i])
    above = 0.0
    for rank, i in enumerate(order):
        room = lowest - _LABEL * (len(order) - 1 - rank)
        above = placed[i] = min(max(ends[i], above + _LABEL if rank else 0.0), room)
    return [placed[i] for i in range(len(ends))]


def _x(turn: int, panel: Panel) -> float:
    last = max(2, len(panel.lines[0].values))
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (turn - 1) / (last - 1)


def _y(value: float, panel: Panel) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * value / panel.top
