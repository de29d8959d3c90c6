"""Line charts: as SVG without any library, and as a PNG where matplotlib is installed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

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
    """Lines over the same turns, the main one first; `limit` is a height that must not be passed."""

    title: str
    lines: dict[str, list[float]]
    written: Callable[[float], str]
    limit: float | None = None
    limit_name: str = ""
    marks: Sequence[Mark] = ()

    @property
    def top(self) -> float:
        """A round figure that no line passes."""
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
        told = escape(f"turn {mark.turn}, layer {mark.name}: {mark.what}")
        circle = f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
        label = _text("label run0", x, y - 9, mark.name, "middle")
        parts.append(f"<g><title>{told}</title>{circle}{label}</g>")
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
