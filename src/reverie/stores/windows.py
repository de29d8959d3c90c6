"""Windows that providers told us, kept so that nobody is asked twice."""

from __future__ import annotations

from pathlib import Path

from reverie.stores.json_files import read_json, write_json

FILE = "windows.json"


def read_window(home: Path, model: str) -> int | None:
    """What the provider said of a model, if it was ever asked."""
    found = _read(home).get(model)
    return found if isinstance(found, int) and found > 0 else None


def write_window(home: Path, model: str, tokens: int) -> None:
    write_json(home / FILE, _read(home) | {model: tokens})


def _read(home: Path) -> dict[str, object]:
    known = read_json(home / FILE)
    return known if isinstance(known, dict) else {}
