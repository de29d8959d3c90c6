"""The layers that keep a conversation within its context window.

Each layer is cheaper than the next and delays it. All layers have the same three functions:

    due    decides whether there is anything to do; "not due" is a value with its reason
    plan   computes what would change; pure
    run    makes the change through ports and announces it

Layers know neither the session nor each other: the session calls them in order and records what
they decide.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NotDue:
    """Nothing to do now, and why."""

    reason: str
