"""Reverie: layered memory and context management for any LLM agent.

    Memory     a project's memory: remember, recall, read, forget, undo (AsyncMemory: with coroutines)
    Context    memory and all layers around a loop of your own
    Agent      our loop, with tools

Each is usable alone; names are loaded when they are first used.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    raise ImportError("Reverie needs Linux or macOS; on Windows, run it in WSL 2")

# Neither typing nor importlib: this module is loaded by every hook.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from reverie.agent.declare import tool
    from reverie.agent.tools import Tool, ToolOutput
    from reverie.api.agent import Agent
    from reverie.api.context import Context, Prepared
    from reverie.api.entries import Added, Page, StoredMemory
    from reverie.api.memory import AsyncMemory, Hit, Memory
    from reverie.core.messages import Message
    from reverie.core.request import Options, Reply, Request, TextDelta, ToolSpec
    from reverie.core.usage import Usage
    from reverie.errors import InputError, NotRemembered, ReverieError
    from reverie.events import (
        Event,
        LayerFired,
        MemoriesLate,
        MemoriesSurfaced,
        TroubleNoted,
        TurnEnded,
    )
    from reverie.memory.changes.draft import Declined, Related, Remembered

__version__ = "0.1.0"

_HOMES = {
    "Added": "reverie.api.entries",
    "Agent": "reverie.api.agent",
    "AsyncMemory": "reverie.api.memory",
    "Context": "reverie.api.context",
    "Declined": "reverie.memory.changes.draft",
    "Event": "reverie.events",
    "Hit": "reverie.api.memory",
    "InputError": "reverie.errors",
    "LayerFired": "reverie.events",
    "MemoriesLate": "reverie.events",
    "MemoriesSurfaced": "reverie.events",
    "Memory": "reverie.api.memory",
    "Message": "reverie.core.messages",
    "NotRemembered": "reverie.errors",
    "Options": "reverie.core.request",
    "Page": "reverie.api.entries",
    "Prepared": "reverie.api.context",
    "Related": "reverie.memory.changes.draft",
    "Remembered": "reverie.memory.changes.draft",
    "Reply": "reverie.core.request",
    "Request": "reverie.core.request",
    "ReverieError": "reverie.errors",
    "StoredMemory": "reverie.api.entries",
    "TextDelta": "reverie.core.request",
    "Tool": "reverie.agent.tools",
    "ToolOutput": "reverie.agent.tools",
    "ToolSpec": "reverie.core.request",
    "TroubleNoted": "reverie.events",
    "TurnEnded": "reverie.events",
    "Usage": "reverie.core.usage",
    "tool": "reverie.agent.declare",
}

__all__ = [
    "Added",
    "Agent",
    "AsyncMemory",
    "Context",
    "Declined",
    "Event",
    "Hit",
    "InputError",
    "LayerFired",
    "MemoriesLate",
    "MemoriesSurfaced",
    "Memory",
    "Message",
    "NotRemembered",
    "Options",
    "Page",
    "Prepared",
    "Related",
    "Remembered",
    "Reply",
    "Request",
    "ReverieError",
    "StoredMemory",
    "TextDelta",
    "Tool",
    "ToolOutput",
    "ToolSpec",
    "TroubleNoted",
    "TurnEnded",
    "Usage",
    "tool",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'reverie' has no attribute {name!r}")
    found: object = getattr(__import__(home, fromlist=[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
