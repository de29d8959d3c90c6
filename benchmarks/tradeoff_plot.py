"""A drawing of right ones shown against wrong ones shown, without any library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_SIZE, _LEFT, _TOP, _BOTTOM = 420, 56, 40, 40
# Beyond so many wrong ones is of no interest.
_MOST_WRONG = 0.3
_COLOURS = ("#b8b8b8", "#2f6f4f", "#3b5b92")


@dataclass(frozen=True, slots=True)
class Curve:
    """Points (wrong, right) by rising threshold, and the one that was chosen."""

    name: str
    points: tuple[tuple[float, float], ...]
    chosen: tuple[float, float]


def plot_tradeoff(path: Path, curves: Sequence[Curve]) -> None:
    """One line a method; a circle is the threshold in use."""
    parts = [_frame()]
    for number, (curve, colour) in enumerate(zip(curves, _COLOURS, strict=False)):
        places = sorted({_place(point) for point in curve.points if point[0] <= _MOST_WRONG})
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        x, y = _place(curve.chosen)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>')
        y = _TOP + _SIZE - 60 + 18 * number
        parts.append(f'<text x="{_LEFT + _SIZE - 120}" y="{y}" fill="{colour}">{curve.name}</text>')
    path.parent.mkdir(exist_ok=True)
    width, height = _LEFT + _SIZE + 16, _TOP + _SIZE + _BOTTOM
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12"><rect width="{width}" height="{height}" '
        f'fill="white"/>{"".join(parts)}</svg>\n'
    )
    print(f"plot: {path}")


def _place(point: tuple[float, float]) -> tuple[float, float]:
    wrong, right = point
    return _LEFT + wrong / _MOST_WRONG * _SIZE, _TOP + (1 - right) * _SIZE


def _frame() -> str:
    lines = [
        f'<text x="{_LEFT}" y="18">Questions in other words that are shown the right memory,</text>',
        f'<text x="{_LEFT}" y="33">against unrelated prompts that are shown anything</text>',
    ]
    for step in range(6):
        share = step / 5
        y = _place((0, share))[1]
        lines.append(
            f'<line x1="{_LEFT}" x2="{_LEFT + _SIZE}" y1="{y}" y2="{y}" stroke="#ddd"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{share:.0%}</text>'
        )
        wrong = _MOST_WRONG * share
        x = _place((wrong, 0))[0]
        lines.append(
            f'<text x="{x}" y="{_TOP + _SIZE + 18}" text-anchor="middle">{wrong:.0%}</text>'
        )
    return "".join(lines)
