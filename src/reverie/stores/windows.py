"""Windows that providers told us, kept so that nobody is asked twice."""

from __future__ import annotations

import json
from pathlib import Path

from reverie.core.codec import dump

FILE = "windows.json"


def read_window(home: Path, model: str) -> int | None:
    """What the provider said of a model, if it was ever asked."""
    found = _read(home).get(model)
    return found if isinstance(found, int) and found > 0 else None


def write_window(home: Path, model: str, tokens: int) -> None:
    known = _read(home) | {model: tokens}
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = home / f".{FILE}.new"
    fresh.write_bytes(dump(known) + b"\n")
    fresh.replace(home / FILE)


def _read(home: Path) -> dict[str, object]:
    try:
        known = json.loads((home / FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
