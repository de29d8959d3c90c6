"""Whatever a caller does to its history, what is sent is that history; resumed or not."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conversation.build import STRICT, user

from reverie import Context
from reverie.conversation.records import Rewound, Said
from reverie.core.messages import (
    Attachment,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    new_message,
)
from reverie.core.request import Reply, Request, canonical_bytes
from reverie.errors import InputError
from reverie.memory.format.index import Index, more_line
from reverie.models.offline import ScriptedModel
from reverie.session.own_loop import check, known_messages, mark
from reverie.session.system_prompt import within


def of(role: str, *blocks: Block) -> Message:
    return Message("", role, blocks)  # type: ignore[arg-type]


class TestMarks:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (of("user", Text("ab")), of("user", Text("a"), Text("b"))),
            (
                of("assistant", Thinking("hmm", "signed"), Text("a")),
                of("assistant", Text("a")),
            ),
            (
                of("assistant", Opaque("openai", "{}"), ToolUse("t", "x", "{}")),
                of("assistant", ToolUse("t", "x", "")),
            ),
            (
                of("assistant", ToolUse("t", "x", '{"a":1,"b":2}')),
                of("assistant", ToolUse("t", "x", '{"b": 2, "a": 1}')),
            ),
            (of("user", Text("a")), of("user", Text("a"), Attachment("recall", "m"))),
            (of("assistant", Text("a\n")), of("assistant", Text("a"))),
        ],
    )
    def test_the_same_words_written_differently(self, one: Message, other: Message) -> None:
        assert mark(one) == mark(other)

    def test_other_words_differ(self) -> None:
        messages = [
            of("user", Text("a")),
            of("assistant", Text("a")),
            of("user", Text("a ")),
            of("user", Text("a"), Image("image/png", "AAAA"), Text("b")),
            of("user", Text("ab"), Image("image/png", "AAAA")),
            of("user", Document("text/plain", "a")),
            of("user", Opaque("anthropic", "{}")),
            of("assistant", ToolUse("t", "x", '{"a": 1}')),
            of("assistant", ToolUse("t", "x", '{"a": 2}')),
            of("assistant", ToolUse("t", "y", '{"a": 1}')),
            of("assistant", ToolUse("u", "x", '{"a": 1}')),
            of("assistant", ToolUse("t", "x", "not JSON")),
            of("user", ToolResult("t", (Text("a"),))),
            of("user", ToolResult("t", (Text("a"),), is_error=True)),
            of("user", ToolResult("u", (Text("a"),))),
        ]
        assert len({mark(message) for message in messages}) == len(messages)


CALL = of("assistant", ToolUse("t1", "look"))
DONE = of("user", ToolResult("t1", (Text("found"),)))
ASK = of("user", Text("look"))


class TestChecks:
    @pytest.mark.parametrize(
        "history",
        [[ASK], [ASK, CALL, DONE], [ASK, CALL, DONE, ASK], [ASK, of("assistant", Text("no")), ASK]],
    )
    def test_what_can_be_sent(self, history: list[Message]) -> None:
        check(history)

    @pytest.mark.parametrize(
        ("history", "said"),
        [
            ([], "there are no messages"),
            ([CALL, DONE], "the first message is the assistant's"),
            ([ASK, of("assistant", Text("a"))], "the last message is the assistant's"),
            ([ASK, CALL, ASK], "the call 't1' of the tool 'look' has no result"),
            ([ASK, CALL], "the call 't1' of the tool 'look' has no result"),
            ([ASK, DONE], "a result for 't1', but no call"),
            ([ASK, CALL, of("assistant", Text("a")), DONE], "the call 't1' .* has no result"),
        ],
    )
    def test_what_cannot(self, history: list[Message], said: str) -> None:
        with pytest.raises(InputError, match=said):
            check(history)

    def test_a_pause_is_resumed_with_the_assistants_words(self) -> None:
        check([ASK, of("assistant", Text("wait"))], may_pause=True)


def test_what_was_known_messages() -> None:
    first = user("a")
    second = new_message("assistant", Text("b"), after=first)
    third = user("c", second)
    shown = new_message("user", Attachment("recall", "m"), after=first, origin="reverie")
    records = [Said(first), Said(shown), Said(second), Said(third)]
    assert [told.id for told in known_messages(records)] == [first.id, second.id, third.id]
    assert [told.id for told in known_messages([*records, Rewound(second.id)])] == [first.id]
    assert known_messages([*records, Rewound(None)]) == []


class Program:
    """A caller that does anything to its history, over any number of processes."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.model = ScriptedModel(otherwise=self._answer, capabilities=STRICT)
        self.history: list[Message] = []
        self.asked = 0
        self.context = self._start()

    def _start(self, session: str = "s1") -> Context:
        # With `auto`, marks of what was taken back again live on here and not in a new process.
        return Context(
            model=self.model,
            memory=False,
            session=session,
            project=self.home,
            home=self.home,
            settings={"cache.ttl": "5m"},
        )

    def _answer(self, request: Request) -> Sequence[Block]:
        self.asked += 1
        thought = Thinking("hmm", f"signed {self.asked}")
        if self.asked % 3 == 0:
            return (thought, ToolUse(f"t{self.asked}", "look", json.dumps({"n": self.asked})))
        return (thought, Text(f"answer {self.asked}"))

    async def say(self, text: str) -> None:
        """One call; the reply is kept without its thinking."""
        waiting = self.history[-1].tool_uses if self.history else ()
        results = [ToolResult(use.id, (Text(text),)) for use in waiting]
        self.history.append(of("user", *(results or [Text(text)])))
        prepared = await self.context.prepare(self.history)
        self._compare(prepared.request)
        items = [item async for item in self.model.stream(prepared.request)]
        reply = next(item for item in items if isinstance(item, Reply))
        await self.context.observe(reply)
        self.history.append(of("assistant", *reply.blocks[1:]))

    async def restart(self) -> None:
        """What a new process would send is what this one would."""
        if not self.history:
            return
        asked = [*self.history, *self._next("go on")]
        before = await self.context.prepare(asked)
        await self.context.aclose()
        self.context = self._start()
        after = await self.context.prepare(asked)
        assert canonical_bytes(after.request) == canonical_bytes(before.request)
        assert after.request.breakpoints == before.request.breakpoints

    def _next(self, text: str) -> list[Message]:
        waiting = self.history[-1].tool_uses
        results = [ToolResult(use.id, (Text(text),)) for use in waiting]
        return [of("user", *(results or [Text(text)]))]

    def change(self, place: int, text: str) -> None:
        """Another wording of something the user side said."""
        places = [i for i, message in enumerate(self.history) if message.role == "user"]
        if places:
            i = places[place % len(places)]
            results = self.history[i].tool_results
            blocks = [ToolResult(r.tool_use_id, (Text(text),)) for r in results] or [Text(text)]
            self.history[i] = of("user", *blocks)

    def take_back(self, turns: int) -> None:
        del self.history[max(0, len(self.history) - 2 * turns) :]

    def _compare(self, request: Request) -> None:
        assert [mark(message) for message in request.messages] == [
            mark(message) for message in self.history
        ]


# A result without a word is sent as a marker that says so.
words = st.text(min_size=1, max_size=5).filter(str.strip)

deeds = st.one_of(
    st.tuples(st.just("say"), words),
    st.tuples(st.just("change"), st.integers(0, 9), words),
    st.tuples(st.just("take_back"), st.integers(1, 3)),
    st.tuples(st.just("restart")),
)


@settings(max_examples=40)
@given(st.lists(deeds, max_size=8))
def test_any_history(deeds: list[tuple[object, ...]]) -> None:
    async def live(home: Path) -> None:
        program = Program(home)
        await program.say("hello there")
        for name, *given_ in deeds:
            done = getattr(program, str(name))(*given_)
            if done is not None:
                await done
        await program.say("good bye")
        await program.context.aclose()

    with TemporaryDirectory() as folder:
        asyncio.run(live(Path(folder)))


def test_an_index_in_the_prompt_keeps_to_its_tokens_and_counts_the_rest() -> None:
    lines = tuple(f"- [Memory {i}](memory_{i}.md) — what it says\n" for i in range(50))
    index = Index((*lines, more_line(7)))
    assert within(index, 10_000) is index
    cut = within(index, 100)
    assert cut.lines[:-1] == lines[: len(cut.lines) - 1]
    assert len(cut.pointers) + cut.more == 57
    assert 0 < len(cut.pointers) < 50
