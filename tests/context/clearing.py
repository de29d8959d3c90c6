"""Conversations of tool rounds, and the conditions under which layer 2 runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from reverie.context import NotDue, microcompaction
from reverie.context.microcompaction import Due, Policy, RequestConditions, ToolResultLedger
from reverie.core.messages import Message, Text, ToolResult, ToolUse, new_message
from reverie.core.usage import Prices
from reverie.core.window import CacheRules, Capabilities, Window

EXPLICIT = Capabilities(cache=CacheRules("explicit"))
AUTOMATIC = Capabilities(cache=CacheRules("automatic"))
UNCACHED = Capabilities()
EDITS_CACHES = Capabilities(cache=CacheRules("explicit"), cache_edits=True)

WIDE = Window(10_000_000, "test")
PRICES = Prices.of(5, 25)

# Seconds between two requests.
STEP = 10.0


@dataclass
class Talk:
    """A question, then rounds of one call and its result; `size` is in tokens."""

    messages: list[Message] = field(default_factory=lambda: [new_message("user", Text("go on"))])
    replaced: dict[str, str] = field(default_factory=dict)
    cleared: dict[str, str] = field(default_factory=dict)
    ledger: ToolResultLedger = field(default_factory=ToolResultLedger)
    at: float = 0.0
    calls: int = 0

    def round(self, size: int = 1_000, tool: str = "Bash", text: str | None = None) -> str:
        """A call and its result."""
        self.calls += 1
        use = ToolUse(f"call-{self.calls}", tool, "{}")
        self._say("assistant", use)
        self.at += STEP
        self._say("user", ToolResult(use.id, (Text("word" * size if text is None else text),)))
        return use.id

    def parallel(self, count: int, *, in_pieces: bool = False) -> None:
        """One response with many calls; its results follow at the end, or each after its call."""
        self.calls += 1
        uses = [ToolUse(f"call-{self.calls}.{i}", "Bash") for i in range(count)]
        results = [ToolResult(use.id, (Text("word" * 1_000),)) for use in uses]
        if not in_pieces:
            self._say("assistant", *uses)
            self._say("user", *results)
            return
        for use, result in zip(uses, results, strict=True):
            self._say("assistant", use)
            self._say("user", result)

    def rounds(self, count: int, size: int = 1_000, tool: str = "Bash") -> list[str]:
        return [self.round(size, tool) for _ in range(count)]

    def reply(self, tokens: int = 1) -> None:
        """A reply without tool calls."""
        self.calls += 1
        self._say("assistant", Text("word" * tokens))

    def ask(self) -> None:
        self._say("user", Text("and now this"))

    def _say(self, role: Any, *blocks: Any) -> None:
        response = f"r{self.calls}" if role == "assistant" else None
        last = self.messages[-1]
        new = new_message(role, *blocks, after=last, at=self.at, response=response)
        self.messages.append(new)

    def conditions(self, **changes: Any) -> RequestConditions:
        self.ledger.follow(self.messages, self.replaced, self.cleared)
        values = {
            "now": self.at,
            "context": self.ledger.tokens,
            "window": WIDE,
            "capabilities": EXPLICIT,
            "prices": PRICES,
        }
        return RequestConditions(**(values | changes))

    def due(self, policy: Policy | None = None, **changes: Any) -> Due | NotDue:
        edited = changes.pop("edited", frozenset())
        policy = replace(policy or careful(), **_given("calls", changes))
        return microcompaction.due(self.ledger, self.conditions(**changes), policy, edited)


def ids(due: Due | NotDue) -> list[str]:
    """The results that would be cleared; none when nothing is due."""
    return [] if isinstance(due, NotDue) else [held.id for held in due.results]


def careful(**changes: Any) -> Policy:
    """A policy in which every limit takes effect, so that each can be tested."""
    bounds = {"keep": 5, "least_freed": 8_000, "keep_tokens": 10_000, "margin": 3.0, "calls": 60}
    return Policy(**(bounds | changes))  # type: ignore[arg-type]


def _given(name: str, changes: dict[str, Any]) -> dict[str, Any]:
    return {name: changes.pop(name)} if name in changes else {}
