"""The clients we know, by name: how each tells what happens, and how it wants to be answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from reverie.clients.hooks.dialects import claude_code, codex, cursor, gemini, opencode
from reverie.clients.hooks.events import HookEvent, Outcome


class Dialect(NamedTuple):
    """How one client speaks; both ways are pure, and neither fails on what a client adds."""

    events: frozenset[str]
    parse: Callable[[str, Mapping[str, Any]], HookEvent]
    render: Callable[[str, Outcome], bytes]


DIALECTS: Mapping[str, Dialect] = {
    module.CLIENT: Dialect(module.EVENTS, module.parse, module.render)
    for module in (claude_code, codex, cursor, gemini, opencode)
}
