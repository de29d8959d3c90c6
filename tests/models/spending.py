"""A ledger entry for tests."""

from __future__ import annotations

from typing import Any

from tests.place import NOON

from reverie.core.usage import Entry, Usage


def entry(cost: float | None = 1.0, **changes: Any) -> Entry:
    given: dict[str, Any] = {
        "at": NOON,
        "purpose": "main",
        "session": "s1",
        "model": "m",
        "usage": Usage(1, 2, 3, 4, 5),
        "cost": cost,
    }
    return Entry(**(given | changes))
