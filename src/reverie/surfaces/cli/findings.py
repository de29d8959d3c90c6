"""What a check-up found, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `advice` says what to do about it."""

    state: Literal["ok", "note", "wrong"]
    what: str
    advice: str = ""
