"""Claude Code's hooks: whatever a Stop hook says makes the turn go on, so it says nothing."""

from __future__ import annotations

from reverie.clients.hooks import claude_events
from reverie.clients.hooks import events as fields
from reverie.clients.hooks.events import Instructions, Outcome

CLIENT = claude_events.CLIENT
EVENTS = claude_events.EVENTS

parse = claude_events.occasion


def render(event: str, outcome: Outcome) -> bytes:
    if isinstance(outcome, Instructions):
        # The summarizer reads plain text; JSON it would not.
        return outcome.text.encode("utf-8", "surrogatepass")
    answer = claude_events.answer(event, outcome)
    return fields.written(answer) if answer else b""
