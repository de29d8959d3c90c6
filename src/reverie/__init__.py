"""Reverie: layered memory and context management for any LLM agent.

    Memory     a project's memory: remember, recall, read, forget, undo
    Context    memory and all layers around a loop of your own
    Agent      our loop, with tools

Each is usable alone; names are loaded when they are first used.
"""

from __future__ import annotations

# Neither typing nor importlib: this module is loaded by every hook.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from reverie.agent.declare import tool
    from reverie.agent.tools import Tool, ToolOutput
    from reverie.app.library.agent import Agent
    from reverie.app.library.context import Context, Prepared
    from reverie.app.library.memory import Hit, Memory
    from reverie.core.messages import Message
    from reverie.core.reply import Reply, TextDelta
    from reverie.core.request import Options, Request, ToolSpec
    from reverie.core.usage import Usage
    from reverie.errors import InputError, NotRemembered, ReverieError
    from reverie.events import Event, LayerFired, MemoriesSurfaced, TroubleNoted, TurnEnded
    from reverie.keeper.wishes import Declined, Related, Remembered

__version__ = "0.1.0"

_HOMES = {
    "Agent": "reverie.app.library.agent",
    "Context": "reverie.app.library.context",
    "Declined": "reverie.keeper.wishes",
    "Event": "reverie.events",
    "Hit": "reverie.app.library.memory",
    "InputError": "reverie.errors",
    "LayerFired": "reverie.events",
    "MemoriesSurfaced": "reverie.events",
    "Memory": "reverie.app.library.memory",
    "Message": "reverie.core.messages",
    "NotRemembered": "reverie.errors",
    "Options": "reverie.core.request",
    "Prepared": "reverie.app.library.context",
    "Related": "reverie.keeper.wishes",
    "Remembered": "reverie.keeper.wishes",
    "Reply": "reverie.core.reply",
    "Request": "reverie.core.request",
    "ReverieError": "reverie.errors",
    "TextDelta": "reverie.core.reply",
    "Tool": "reverie.agent.tools",
    "ToolOutput": "reverie.agent.tools",
    "ToolSpec": "reverie.core.request",
    "TroubleNoted": "reverie.events",
    "TurnEnded": "reverie.events",
    "Usage": "reverie.core.usage",
    "tool": "reverie.agent.declare",
}

__all__ = [
    "Agent",
    "Context",
    "Declined",
    "Event",
    "Hit",
    "InputError",
    "LayerFired",
    "MemoriesSurfaced",
    "Memory",
    "Message",
    "NotRemembered",
    "Options",
    "Prepared",
    "Related",
    "Remembered",
    "Reply",
    "Request",
    "ReverieError",
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
