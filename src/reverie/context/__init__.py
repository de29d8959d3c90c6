"""The layers that keep a conversation inside its window and its lessons for later.

Each one exists to keep the next, dearer one from firing. All speak the same three verbs:

    due    whether there is anything to do; a refusal is a value with its reason
    plan   what exactly would change; pure
    run    the change itself, through ports, announced

They know neither the session nor each other: the session asks them in order and records what they
decide.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NotDue:
    """Nothing to do now, and why."""

    reason: str
