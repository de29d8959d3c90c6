"""A place in a text where a secret stands: its kind and its offsets, never its value."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Secret:
    """`text[start:end]` is a secret; printing or logging this tells nothing of it."""

    kind: str
    start: int
    end: int


def fingerprint(value: str) -> str:
    """Sixteen hexadecimal digits that stand for a value a person has declared harmless."""
    data = value.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=8, person=b"reverie-allowed").hexdigest()
