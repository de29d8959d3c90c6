"""Layers 1 and 2 before a request in a conversation of 2,000 messages and 200k tokens.

The work must be proportional to what is new, so histories of growing length are measured too. The
steady state is measured twice: with prices under which a batch never pays, so that every possible
start is tried and refused, and after a batch, when little is left to clear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from report import median, milliseconds, publish

from reverie.context import NotDue, microcompaction, tool_results
from reverie.context.microcompaction import Clear, Due, Policy, RequestConditions, ToolResultLedger
from reverie.context.tool_results import Budget
from reverie.core.messages import Message, Text, ToolResult, ToolUse, new_message
from reverie.core.usage import Prices
from reverie.core.window import CacheRules, Capabilities, Window

PRICES = Prices.of(5, 25)
NEVER_PAYS = replace(PRICES, cache_write_5m=1e6)
CAPABILITIES = Capabilities(cache=CacheRules("explicit"))
WINDOW = Window(1_000_000, "benchmark")
OUTPUT = "".join(f"tests/test_{i}.py::test_case PASSED\n" for i in range(18))


@dataclass
class Talk:
    """A conversation of tool rounds of about 200 tokens, and the layers' state beside it."""

    messages: list[Message] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    cleared: dict[str, str] = field(default_factory=dict)
    ledger: ToolResultLedger = field(default_factory=ToolResultLedger)
    prices: Prices = PRICES

    def round(self) -> None:
        i = len(self.messages)
        last = self.messages[-1] if self.messages else None
        call = ToolUse(f"call_{i}", "Bash", f'{{"command": "pytest tests/part_{i}.py"}}')
        asked = new_message("assistant", Text("I will look. "), call, after=last, at=float(i))
        result = ToolResult(call.id, (Text(OUTPUT),))
        self.messages += [asked, new_message("user", result, after=asked, at=float(i))]
        self.names[call.id] = call.name

    def layer_1(self) -> object:
        due = tool_results.due(self.messages[-1], self.names, frozenset())
        return due if isinstance(due, NotDue) else tool_results.plan(due, Budget())

    def layer_2(self) -> Due | NotDue:
        self.ledger.follow(self.messages, {}, self.cleared)
        size = self.ledger.tokens
        at = self.messages[-1].at
        moment = RequestConditions(at, size, WINDOW, CAPABILITIES, self.prices)
        return microcompaction.due(self.ledger, moment, Policy())

    def both(self) -> Due | NotDue:
        self.layer_1()
        return self.layer_2()

    def batch(self) -> Clear:
        due = self.layer_2()
        assert isinstance(due, Due), due
        change = microcompaction.plan(due)
        assert isinstance(change, Clear), change
        return change


def per_request(talk: Talk, work: Callable[[], object], repeat: int = 51) -> float:
    """The median of `work` alone, a new round before each."""
    taken = []
    for _ in range(repeat):
        talk.round()
        taken += milliseconds(work, 1)
    return median(taken)


def measure(length: int) -> list[float | int]:
    talk = Talk(prices=NEVER_PAYS)
    for _ in range(length // 2):
        talk.round()
        talk.ledger.follow(talk.messages, {}, {})
    cold = median(milliseconds(lambda: Talk(talk.messages, talk.names).both(), 5))
    talk.both()
    tokens = talk.ledger.tokens
    first = per_request(talk, talk.layer_1)
    refused = per_request(talk, talk.both)
    talk.prices = PRICES
    batch = median(milliseconds(talk.batch, 3))
    change = talk.batch()
    talk.cleared = change.texts
    after = milliseconds(talk.both, 1)[0]
    quiet = per_request(talk, talk.both)
    return [length, tokens, first, refused, batch, change.freed, after, quiet, cold]


def main() -> None:
    columns = [
        "messages",
        "tokens",
        "layer 1 ms",
        "both ms, every start refused",
        "the batch ms",
        "freed",
        "next request ms",
        "both ms, after it",
        "from nothing ms",
    ]
    publish("layers", columns, [measure(length) for length in (800, 2_000, 8_000)])
    print("bar: both layers at 2,000 messages / 200k tokens ≤ 1 ms a request in the steady state")


if __name__ == "__main__":
    main()
