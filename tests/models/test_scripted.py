"""The scripted model."""

from itertools import count

import pytest
from tests.models.test_metered import REQUEST
from tests.place import FixedClock

from reverie.core.messages import Text, Thinking, ToolUse, new_message
from reverie.core.request import (
    Breakpoint,
    Head,
    Reply,
    Request,
    TextDelta,
    ToolUseStarted,
    canonical_bytes,
)
from reverie.core.usage import Usage
from reverie.core.window import CacheRules, Ttl
from reverie.errors import Overloaded
from reverie.models.offline import PromptCache, ScriptedModel
from reverie.ports import complete


async def test_turns_are_played_in_order_and_then_repeat() -> None:
    model = ScriptedModel(["one", [Text("two")]], otherwise="over")
    assert [(await complete(model, REQUEST)).text for _ in range(4)] == [
        "one",
        "two",
        "over",
        "over",
    ]
    assert model.requests == [REQUEST] * 4


async def test_a_turn_may_be_a_function_of_the_request() -> None:
    def echo(request: Request) -> str:
        return f"{len(request.messages)} messages"

    assert (await complete(ScriptedModel([echo]), REQUEST)).text == "1 messages"


async def test_a_turn_may_be_a_failure_also_by_function() -> None:
    model = ScriptedModel([Overloaded("a"), lambda _: Overloaded("b")])
    for text in "ab":
        with pytest.raises(Overloaded, match=text):
            await complete(model, REQUEST)


async def test_an_endless_script() -> None:
    model = ScriptedModel(f"turn {i}" for i in count())
    assert [(await complete(model, REQUEST)).text for _ in range(2)] == ["turn 0", "turn 1"]


async def test_blocks_are_streamed_and_then_given_whole() -> None:
    blocks = [Thinking("hm", "s"), Text("look"), ToolUse("t1", "Read")]
    items = [item async for item in ScriptedModel([blocks]).stream(REQUEST)]
    assert items[:-1] == [TextDelta("look"), ToolUseStarted("t1", "Read")]
    reply = items[-1]
    assert isinstance(reply, Reply)
    assert (reply.blocks, reply.stop, reply.model) == (tuple(blocks), "tool_use", "scripted")
    assert reply.usage.input == len(canonical_bytes(REQUEST)) // 4
    assert reply.usage.output > 0


async def test_every_reply_has_an_id_of_its_own() -> None:
    model = ScriptedModel()
    ids = {(await complete(model, REQUEST)).id for _ in range(3)}
    assert len(ids) == 3


# Two messages of 500 tokens behind a head of 1,500; "ok" is one token.
HEAD = Head("m", (Text("head" * 1_500),))
FIRST = new_message("user", Text("one " * 500))
SECOND = new_message("user", Text("two " * 500), after=FIRST)
EXPLICIT = CacheRules("explicit", minimum=1_000)


def prompt(length: int, ttl: Ttl = "5m", *, marked: bool = True) -> Request:
    """The first messages, marked behind the last."""
    messages = (FIRST, SECOND)[:length]
    marks = (Breakpoint("messages", length - 1, 0, ttl),) if marked else ()
    return Request(HEAD, messages, marks)


class TestPromptCache:
    """The usage that a provider with a prompt cache would report."""

    async def billed(self, cache: PromptCache | None, *requests: Request) -> list[Usage]:
        model = ScriptedModel(otherwise="ok", cache=cache)
        return [(await complete(model, request)).usage for request in requests]

    async def test_a_longer_prompt_reads_what_the_shorter_one_wrote(
        self, clock: FixedClock
    ) -> None:
        cache = PromptCache(EXPLICIT, clock)
        assert await self.billed(cache, prompt(1), prompt(2), prompt(2)) == [
            Usage(cache_write_5m=2_000, output=1),
            Usage(cache_read=2_000, cache_write_5m=500, output=1),
            Usage(cache_read=2_500, output=1),
        ]

    async def test_without_marks_nothing_is_kept(self, clock: FixedClock) -> None:
        plain = prompt(1, marked=False)
        cache = PromptCache(EXPLICIT, clock)
        assert await self.billed(cache, plain, plain) == [Usage(input=2_000, output=1)] * 2

    async def test_a_cache_that_needs_no_marks(self, clock: FixedClock) -> None:
        cache = PromptCache(CacheRules("automatic", minimum=1_000, step=100), clock)
        _, second = await self.billed(cache, prompt(1, marked=False), prompt(2, marked=False))
        assert second == Usage(input=500, cache_read=2_000, output=1)

    @pytest.mark.parametrize(("ttl", "read"), [("5m", 0), ("1h", 2_000)])
    async def test_entries_lapse(self, clock: FixedClock, ttl: Ttl, read: int) -> None:
        cache = PromptCache(EXPLICIT, clock)
        [first] = await self.billed(cache, prompt(1, ttl))
        assert first.cache_write == 2_000
        clock.advance(301)
        [second] = await self.billed(cache, prompt(2, ttl))
        assert (second.cache_read, second.cache_write) == (read, 2_500 - read)

    async def test_models_that_share_a_cache(self, clock: FixedClock) -> None:
        cache = PromptCache(EXPLICIT, clock)
        await self.billed(cache, prompt(1))
        [other] = await self.billed(cache, prompt(1))
        assert other.cache_read == 2_000

    async def test_other_bytes_are_another_prompt(self, clock: FixedClock) -> None:
        cache = PromptCache(EXPLICIT, clock)
        changed = new_message("user", Text("ONE " * 500))
        marks = (Breakpoint("messages", 0),)
        usages = await self.billed(cache, prompt(1), Request(HEAD, (changed,), marks))
        assert usages[1].cache_read == 0

    async def test_replies_to_the_same_prompt_still_differ(self, clock: FixedClock) -> None:
        model = ScriptedModel(cache=PromptCache(EXPLICIT, clock))
        ids = {(await complete(model, prompt(1))).id for _ in range(3)}
        assert len(ids) == 3
