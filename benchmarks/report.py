"""How every benchmark reports: a table on the screen, JSON beside it, and the machine it ran on."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

RESULTS = Path(__file__).parent / "results"


def data_folder() -> Path:
    """Where the data sets are: REVERIE_DATA, or ../shared/data beside the repository."""
    default = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("REVERIE_DATA") or default)
    if not folder.is_dir():
        sys.exit(f"No benchmark data at {folder}; set REVERIE_DATA to the folder that holds it.")
    return folder


def machine() -> str:
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"


def milliseconds(work: Callable[[], object], repeat: int) -> list[float]:
    """How long `work` takes, each time, in milliseconds."""
    taken = []
    for _ in range(repeat):
        began = perf_counter()
        work()
        taken.append((perf_counter() - began) * 1000)
    return taken


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def publish(name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print the table, and write it with the machine's name to results/NAME.json."""
    shown = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(columns), *shown]) for i in range(len(columns))]
    for row in [list(columns), ["-" * width for width in widths], *shown]:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    print(f"({machine()})")
    RESULTS.mkdir(exist_ok=True)
    data = {
        "benchmark": name,
        "machine": machine(),
        "rows": [dict(zip(columns, row, strict=True)) for row in rows],
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(data, indent=2) + "\n")


def _cell(value: object) -> str:
    return f"{value:,.3f}" if isinstance(value, float) else str(value)
