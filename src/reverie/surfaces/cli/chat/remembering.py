"""Saving a memory from within a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.errors import InputError
from reverie.keeper.keeper import Declined, Wish
from reverie.surfaces.cli.memories import PERSON
from reverie.surfaces.cli.remember import saved_lines

if TYPE_CHECKING:
    from reverie.app import App


def remember(app: App, text: str) -> str:
    """What was saved, in words; a memory that is not saved is an error that says why."""
    memory = app.memory()
    outcome = memory.keeper.remember(Wish(text), PERSON)
    if isinstance(outcome, Declined):
        raise InputError("; ".join(filter(None, (outcome.reason, outcome.advice))))
    return "\n".join(saved_lines(app, memory, outcome))
