"""A model that plays a script, over the same port as any other."""

from __future__ import annotations

from itertools import count

import pytest
from tests.models.test_metered import REQUEST

from reverie.core.messages import Text, Thinking, ToolUse
from reverie.core.reply import Reply, TextDelta, ToolUseStarted
from reverie.core.request import Request, canonical_bytes
from reverie.errors import Overloaded
from reverie.models.scripted import ScriptedModel
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
