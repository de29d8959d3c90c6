"""Assembling a request of 2,000 messages and 200k tokens: from nothing, and with one new message.

The work must be proportional to what is new, so histories of growing length are measured too.
"""

from __future__ import annotations

import time
from dataclasses import replace

from report import median, milliseconds, publish

from reverie.conversation.conversation import Assembler
from reverie.core.messages import Message, Text, ToolResult, ToolUse, new_message
from reverie.core.request import Head, ToolSpec
from reverie.core.window import CacheRules, Capabilities
from reverie.models.anthropic import AnthropicModel

CAPABILITIES = Capabilities(cache=CacheRules("explicit"), thinking_bound=True)
HEAD = Head(
    "claude-opus-4-8",
    (Text("You are careful. " * 400),),
    tuple(ToolSpec.of(f"Tool{i}", "Does a thing. " * 10, {"type": "object"}) for i in range(12)),
)


def conversation(length: int) -> list[Message]:
    """Tool rounds of about 400 tokens, four messages each."""
    messages: list[Message] = []
    for i in range(length // 4):
        for message in _round(i):
            after = messages[-1] if messages else None
            messages.append(new_message(message.role, *message.blocks, after=after, at=float(i)))
    return messages


def _round(i: int) -> list[Message]:
    call = ToolUse(f"call_{i}", "Tool1", f'{{"path": "src/file_{i}.py"}}')
    result = ToolResult(f"call_{i}", (Text("line of output\n" * 80),))
    return [
        new_message("user", Text(f"Question {i}: " + "please look into it. " * 8)),
        new_message("assistant", Text("I will look. "), call),
        new_message("user", result),
        new_message("assistant", Text("Here is what I found. " * 4)),
    ]


def answered(messages: list[Message]) -> list[Message]:
    """The same conversation as a journal has it: each reply names the prefix that it answers."""
    assembler, found = Assembler(CAPABILITIES), list[Message]()
    for message in messages:
        if message.role == "assistant":
            bound = assembler.assemble(HEAD, found).chain.digest
            found.append(replace(message, bound_to=bound))
        else:
            found.append(message)
    return found


def resuming(length: int) -> float:
    """Processor time, which a busy machine stretches less."""
    messages, taken = answered(conversation(length)), []
    for _ in range(5):
        assembler, begun = Assembler(CAPABILITIES), time.process_time()
        assembler.resume(HEAD, messages)
        taken.append((time.process_time() - begun) * 1_000)
    return median(taken)


def measure(length: int) -> list[float | int]:
    messages = conversation(length)
    cold = median(milliseconds(lambda: Assembler(CAPABILITIES).assemble(HEAD, messages), 5))
    assembler = Assembler(CAPABILITIES)
    model = AnthropicModel("m", api_key="none", capabilities=CAPABILITIES, prices=None)
    tokens = assembler.assemble(HEAD, messages).chain.tokens
    model.body(assembler.assemble(HEAD, messages).request)

    def one_more() -> None:
        messages.append(new_message("user", Text("and one more thing"), after=messages[-1]))
        assembler.assemble(HEAD, messages)

    warm = median(milliseconds(one_more, 51))
    wire = median(milliseconds(lambda: model.body(assembler.assemble(HEAD, messages).request), 51))
    return [length, tokens, cold, warm, wire, cold / warm]


def main() -> None:
    columns = ["messages", "tokens", "from nothing ms", "one new ms", "to wire ms", "ratio"]
    publish("assembly", columns, [measure(length) for length in (200, 2_000, 8_000)])
    print("bar: one new message at 2,000 messages / 200k tokens ≤ 5 ms")
    rows = [[length, resuming(length)] for length in (1_750, 3_500, 7_000)]
    publish("resume", ["messages", "resume ms of processor time"], rows)
    print("bar: 7,000 messages ≤ 150 ms")


if __name__ == "__main__":
    main()
