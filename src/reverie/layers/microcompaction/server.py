"""What a provider that manages contexts is asked to clear by itself. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from reverie.core.capabilities import Capabilities
from reverie.core.request import ClearThinking, ClearToolUses, ContextEdit
from reverie.core.window import Window
from reverie.layers.microcompaction.names import compactable

TRIGGER = 180_000
AT_LEAST = 140_000


def context_edits(
    capabilities: Capabilities,
    window: Window,
    thinking: str | None,
    tools: Sequence[str] = (),
    declared: frozenset[str] = frozenset(),
) -> tuple[ContextEdit, ...]:
    """For `Options.edits`, fixed when a session opens: they are part of what is sent.

    In a window where compaction would come first, the trigger is where it warns. All thinking is
    kept: dropping a turn's worth of it with every turn would break the cache each time.
    """
    if not capabilities.context_management:
        return ()
    trigger = min(TRIGGER, window.warning)
    protected = tuple(tool for tool in tools if not compactable(tool, declared))
    results = ClearToolUses(trigger, trigger * AT_LEAST // TRIGGER, exclude=protected)
    # Providers want the edit of thinking first, and only where there is thinking.
    return (ClearThinking(), results) if thinking not in (None, "off") else (results,)
