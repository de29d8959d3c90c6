"""The report's plots as a PNG, where matplotlib is installed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from reverie.cli.demo.charts import Panel

_COLOURS = ("#0b7a55", "#c2410c", "#a16207", "#2563eb", "#9333ea", "#4b5563")


def available() -> bool:
    return find_spec("matplotlib") is not None


def draw(panels: Sequence[Panel], path: Path) -> None:
    """One below the other, the first line drawn bold."""
    # By name: a type checker need not have it installed.
    figure = import_module("matplotlib.figure").Figure(
        figsize=(10, 3.4 * len(panels)), layout="constrained"
    )
    for panel, axes in zip(panels, figure.subplots(len(panels), squeeze=False).flat, strict=True):
        for number, line in enumerate(panel.lines):
            turns = range(1, len(line.values) + 1)
            style = {"linewidth": 1.3, "zorder": 2} if number else {"linewidth": 2.8, "zorder": 3}
            axes.plot(turns, line.values, label=line.name, color=_COLOURS[number], **style)
        if panel.limit is not None:
            axes.axhline(panel.limit, color="#b91c1c", linestyle="--", linewidth=1)
            axes.text(1, panel.limit, f" {panel.limit_name}", color="#b91c1c", va="bottom")
        for mark in panel.marks:
            place, offset = (mark.turn, mark.value), (0, 7)
            axes.annotate(mark.name, place, offset, textcoords="offset points", weight="bold")
        axes.set_title(panel.title, loc="left")
        axes.yaxis.set_major_formatter(lambda value, _, panel=panel: panel.written(value))
        axes.set_xlim(1, len(panel.lines[0].values))
        axes.set_ylim(0, panel.top)
        axes.legend(frameon=False, fontsize="small")
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
