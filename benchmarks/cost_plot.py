"""Drawings of what sessions cost and what is kept, without any library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 960, 360, 48, 28, 40
_COLOURS = {"the client": "#b8b8b8", "ours": "#2f6f4f"}


def plot_costs(path: Path, billed: Mapping[str, float], ours: Mapping[str, float]) -> None:
    """Two bars a session, the dearest first."""
    names = sorted(billed, key=lambda name: -billed[name])
    tallest = max(*billed.values(), *ours.values())
    slot = (_WIDTH - _LEFT) / len(names)
    scale = (_HEIGHT - _TOP - _BOTTOM) / tallest
    parts = [_frame(tallest, scale)]
    for i, name in enumerate(names):
        for offset, (label, cost) in enumerate(
            (("the client", billed[name]), ("ours", ours[name]))
        ):
            height = cost * scale
            parts.append(
                f'<rect x="{_LEFT + i * slot + offset * slot * 0.42:.1f}" '
                f'y="{_HEIGHT - _BOTTOM - height:.1f}" width="{slot * 0.4:.1f}" '
                f'height="{height:.1f}" fill="{_COLOURS[label]}"/>'
            )
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="12">{"".join(parts)}</svg>\n'
    )
    print(f"plot: {path}")


def _frame(tallest: float, scale: float) -> str:
    lines = [f'<text x="{_LEFT}" y="16">Net cost a session in US dollars, dearest first</text>']
    for i, (label, colour) in enumerate(_COLOURS.items()):
        x = _WIDTH - 200 + i * 100
        lines.append(f'<rect x="{x}" y="6" width="12" height="12" fill="{colour}"/>')
        lines.append(f'<text x="{x + 18}" y="16">{label}</text>')
    step = max(1, round(tallest / 5))
    for cost in range(0, int(tallest) + 1, step):
        y = _HEIGHT - _BOTTOM - cost * scale
        lines.append(f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#eee"/>')
        lines.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{cost}</text>')
    return "".join(lines)


_SIZE = 460


def plot_frontier(path: Path, points: Mapping[str, tuple[float, float]]) -> None:
    """One dot a strategy: what is kept of early facts against its net cost."""
    costs = [cost for cost, _ in points.values()]
    low, high = min(costs) - 0.05, max(costs) + 0.05
    least = min(kept for _, kept in points.values()) - 0.05
    parts = [
        f'<text x="{_LEFT}" y="16">Facts kept, against cost compared with the client</text>',
        f'<line x1="{_LEFT}" x2="{_LEFT}" y1="{_TOP}" y2="{_TOP + _SIZE}" stroke="#999"/>',
        f'<line x1="{_LEFT}" x2="{_LEFT + _SIZE}" y1="{_TOP + _SIZE}" y2="{_TOP + _SIZE}" stroke="#999"/>',
    ]
    for name, (cost, kept) in sorted(points.items(), key=lambda item: item[1]):
        x = _LEFT + (cost - low) / (high - low) * _SIZE
        y = _TOP + (1 - (kept - least) / (1.02 - least)) * _SIZE
        colour = _COLOURS["ours"] if name.startswith("ours") else "#777"
        label = f"{name} ({cost:+.0%}, {kept:.2f})"
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>')
        parts.append(f'<text x="{x + 8:.1f}" y="{y + 4:.1f}" fill="{colour}">{label}</text>')
    width, height = _LEFT + _SIZE + 320, _TOP + _SIZE + _BOTTOM
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12"><rect width="{width}" height="{height}" '
        f'fill="white"/>{"".join(parts)}</svg>\n'
    )
    print(f"plot: {path}")
