"""How far one turn may go."""

from __future__ import annotations

from dataclasses import dataclass

# Why a turn ended that used up its requests.
OUT_OF_REQUESTS = "limit of requests"


@dataclass(frozen=True, slots=True)
class Limits:
    """Requests to the model, goings-on after a reply that was cut off, and waiting for memories."""

    requests: int = 200
    continuations: int = 3
    recall_seconds: float = 1.0
