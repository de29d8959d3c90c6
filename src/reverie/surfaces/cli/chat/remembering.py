"""Saving a memory from within a conversation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reverie.errors import InputError
from reverie.keeper.keeper import Declined, Wish
from reverie.memory.scopes import OWN_SCOPES, OwnScope
from reverie.surfaces.cli.memories import PERSON
from reverie.surfaces.cli.remember import saved_lines

if TYPE_CHECKING:
    from reverie.app import App


_SCOPE = re.compile(r"--scope[= ](\w+)\s+")


def remember(app: App, text: str) -> str:
    """What was saved, in words; a memory that is not saved is an error that says why."""
    scope, said = _scope_in(text)
    memory, outcome = app.remember(Wish(said, scope=scope), PERSON)
    if isinstance(outcome, Declined):
        raise InputError("; ".join(filter(None, (outcome.reason, outcome.advice))))
    return "\n".join(saved_lines(app, memory, outcome))


def _scope_in(text: str) -> tuple[OwnScope | None, str]:
    """`/remember --scope project …` says whose it is."""
    told = _SCOPE.match(text)
    if told is None:
        return None, text
    scope = next((one for one in OWN_SCOPES if one == told[1]), None)
    if scope is None:
        raise InputError(f"--scope {told[1]!r} is none; there are: {', '.join(OWN_SCOPES)}")
    return scope, text[told.end() :]
