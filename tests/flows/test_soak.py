"""A very long session with everything that can happen: it stays within its window and its memory."""

import asyncio
import gc
import json
import random
import resource
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
from tests.place import Place

from reverie.core.messages import Block, Text, ToolUse
from reverie.core.request import Reply, Request, StopReason, StreamItem, TextDelta, estimated_size
from reverie.core.transcript import pairing
from reverie.core.usage import Prices, Usage
from reverie.core.window import CacheRules, Capabilities, block_tokens
from reverie.errors import ModelError, Overloaded, ReplyBroken
from reverie.events import Event, LayerFired
from reverie.session.build import open_session
from reverie.session.options import SessionOptions

WINDOW = 200_000


class Restless:
    """A model that reads, writes, fails and rambles, by a seed; it checks what it is sent."""

    name = "restless"
    capabilities = Capabilities(window=WINDOW, max_output=8_000, cache=CacheRules("explicit"))
    prices: Prices | None = Prices.of(3, 15)

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.calls = 0
        self.largest = 0
        self.last: Request | None = None

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        self.calls += 1
        size = estimated_size(request)
        self.largest = max(self.largest, size)
        self.last = request
        assert size <= WINDOW, f"{size} tokens were sent"
        assert pairing(request.messages).ok
        chance = self.random.random()
        if chance < 0.01:
            raise Overloaded("try later")
        if chance < 0.02:
            raise ReplyBroken("cut in the middle")
        yield TextDelta("…")
        await asyncio.sleep(0)
        blocks = self._blocks(request)
        stop: StopReason = "tool_use" if isinstance(blocks[-1], ToolUse) else "end"
        usage = Usage(input=size, output=sum(map(block_tokens, blocks)))
        yield Reply(f"r{self.calls}", self.name, blocks, stop, usage)

    async def aclose(self) -> None:
        return None

    def _blocks(self, request: Request) -> tuple[Block, ...]:
        text = Text("word " * self.random.randrange(1, 60))
        if self.random.random() < 0.5:
            return (text,)
        calls = (self._call(i) for i in range(self.random.choice((1, 1, 1, 2, 4))))
        return (text, *calls)

    def _call(self, i: int) -> ToolUse:
        size = int(self.random.paretovariate(0.7) * 400) % 300_000
        command = self.random.choice((f"head -c {size} big.txt", "false", "cat nowhere.txt"))
        arguments: dict[str, object] = {"command": command}
        if self.calls % 20 == 0:
            # Forks draw from the same dice in their own time: what must happen is not left to chance.
            arguments = {"command": "head -c 120000 big.txt"}
        elif self.random.random() < 0.05:
            arguments = {"nonsense": True}
        return ToolUse(f"call_{self.calls}_{i}", "Bash", json.dumps(arguments))


async def soak(
    place: Place, turns: int, seed: int, *settings: str
) -> tuple[Restless, list[str], list[int], set[str]]:
    (place.root / "big.txt").write_text("".join(f"{i} bottles of beer\n" for i in range(20_000)))
    model = Restless(seed)
    dice = random.Random(seed + 1)
    said: list[str] = []
    memory: list[int] = []
    fired: set[str] = set()

    def listen(event: Event) -> None:
        if isinstance(event, LayerFired):
            fired.add(event.layer)

    async with open_session(
        place.app(*settings), SessionOptions(ready=model, mode="bypass")
    ) as session:
        with session.announce.subscribed(listen):
            for turn in range(turns):
                said.append(f"Request {turn}: {dice.choice(('go on', 'again', 'and now?'))}")
                stop_after = dice.randrange(1, 12) if dice.random() < 0.05 else 0
                try:
                    async with aclosing(session.run(said[-1])) as events:
                        async for _ in events:
                            stop_after -= 1
                            if stop_after == 0:
                                break
                except ModelError:
                    pass
                place.clock.advance(dice.choice((5, 30, 400)))
                if turn % 100 == 99:
                    gc.collect()
                    memory.append(resident())
            await session.background.drain(60)
    return model, said, memory, fired


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def check(model: Restless, said: list[str], fired: set[str], layers: set[str]) -> None:
    assert model.last is not None
    sent = "\n".join(
        block.text for m in model.last.messages for block in m.blocks if hasattr(block, "text")
    )
    lines = {line.removeprefix("> ") for line in sent.splitlines()}
    assert [text for text in said[:-1] if text not in lines] == []
    assert {"tool results", *layers} <= fired


async def test_a_long_session(place: Place) -> None:
    """Compaction by price keeps it so short that there is little to clear."""
    model, said, _, fired = await soak(place, 150, 1)
    check(model, said, fired, {"compaction"})
    assert model.largest < WINDOW // 3


async def test_a_long_session_in_which_nothing_is_compacted_by_price(place: Place) -> None:
    """Layer 2 clears the results, of which only the longest are stored."""
    settings = ("features.compact_by_price=false", "tools.Bash.result_threshold=50000")
    model, said, _, fired = await soak(place, 150, 1, *settings)
    check(model, said, fired, {"microcompaction"})


@pytest.mark.slow
async def test_a_session_of_5000_turns_neither_overflows_nor_grows(place: Place) -> None:
    model, said, memory, fired = await soak(place, 5_000, seed=7)
    check(model, said, fired, {"compaction"})
    print(
        f"calls {model.calls}, largest {model.largest}, resident {memory[9] >> 20} → {memory[-1] >> 20} MiB"
    )
    assert memory[-1] < memory[9] * 1.25
