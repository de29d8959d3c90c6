"""Requests made from the last one equal requests made from nothing, and their marks find the cache."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conversation.build import HEAD, STRICT, user

from reverie.conversation.conversation import Assembler
from reverie.core.messages import Message, Text, Thinking, ToolResult, new_message
from reverie.core.prompt_cache import no_marks, placed
from reverie.core.prompt_cache.tracker import Call, Simulator
from reverie.core.request import Head, canonical_bytes
from reverie.core.window import CacheRules, Capabilities

OTHER_HEAD = replace(HEAD, model="another")

texts = st.sampled_from(["", "a", "word " * 30, "x" * 400])
steps = st.one_of(
    st.tuples(st.just("say"), texts),
    st.tuples(st.just("answer"), texts),
    st.tuples(st.just("results"), st.integers(1, 25)),
    st.tuples(st.just("edit"), st.integers(0, 30)),
    st.tuples(st.just("cut"), st.integers(0, 30)),
    st.tuples(st.just("drop first"), st.integers(1, 3)),
    st.tuples(st.just("other head"), st.none()),
)


def taken(step: tuple[str, Any], messages: list[Message], bound_to: str) -> list[Message]:
    """The conversation after one step."""
    kind, value = step
    last = messages[-1] if messages else None
    if kind == "say":
        return [*messages, new_message("user", Text(value), after=last)]
    if kind == "answer":
        blocks = (Thinking("why", "signed"), Text(value))
        return [*messages, new_message("assistant", *blocks, after=last, bound_to=bound_to)]
    if kind == "results":
        results = [ToolResult(f"t{i}", (Text("out"),)) for i in range(value)]
        return [*messages, new_message("user", *results, after=last)]
    if kind == "edit" and messages:
        at = value % len(messages)
        changed = replace(messages[at], blocks=(*messages[at].blocks, Text("edited")))
        return [*messages[:at], changed, *messages[at + 1 :]]
    if kind == "cut":
        return messages[: value % (len(messages) + 1)]
    return messages[value:] if kind == "drop first" else messages


@settings(max_examples=200)
@given(st.lists(steps, max_size=25), st.booleans(), st.sampled_from(["5m", "1h", "auto"]))
def test_what_is_kept_from_the_last_request_changes_nothing(
    walk: list[tuple[str, Any]], bound: bool, ttl: Any
) -> None:
    capabilities = replace(STRICT, thinking_bound=bound)
    assembler = Assembler(capabilities, placed(ttl))
    messages: list[Message] = []
    head = HEAD
    for step in walk:
        if step[0] == "other head":
            head = OTHER_HEAD if head is HEAD else HEAD
        before = assembler.assemble(head, messages)
        messages = taken(step, messages, before.chain.digest)
        grown = assembler.assemble(head, messages)
        fresh = Assembler(capabilities, no_marks).assemble(head, messages)
        assert grown.chain == fresh.chain
        assert grown.request.messages == fresh.request.messages
        assert canonical_bytes(grown.request) == canonical_bytes(fresh.request)
        assert grown.request.size == fresh.chain.tokens
        check_marks(grown, capabilities.cache)
        assembler.sent(grown)


def check_marks(made: Any, rules: CacheRules) -> None:
    """Every mark is one a provider accepts."""
    places = [mark.index for mark in made.marks]
    assert places == sorted(set(places))
    assert len(places) <= rules.max_breakpoints
    assert all(made.chain.links[i].segment.markable for i in places)
    assert all(made.chain.links[i].tokens >= rules.minimum for i in places)
    lives = [mark.ttl for mark in made.marks]
    assert lives == sorted(lives, key=["1h", "5m"].index)
    sections = [made.chain.links[i].segment for i in places]
    assert [(b.section, b.index, b.block) for b in made.request.breakpoints] == [
        (s.section, s.index, s.block) for s in sections
    ]


@given(st.lists(st.tuples(st.just("results"), st.integers(1, 70)), min_size=1, max_size=8))
def test_however_much_a_turn_adds_the_last_prefix_is_read_again(walk: list[Any]) -> None:
    assembler = Assembler(STRICT)
    provider = Simulator(STRICT.cache)
    messages = [user("start")]
    stored = 0
    for at, step in enumerate(walk):
        made = assembler.assemble(HEAD, messages)
        usage = provider.run(Call(made.chain, float(at)), made.marks)
        assert usage.cache_read == stored
        assembler.sent(made)
        stored = usage.cache_read + usage.cache_write
        messages = taken(step, messages, "")


def test_a_request_that_failed_leaves_no_mark_behind() -> None:
    """Its entries may never have been written: the next try anchors where the last answer was."""
    assembler = Assembler(STRICT)
    messages = [user("start")]
    answered = assembler.assemble(HEAD, messages)
    assembler.sent(answered)
    messages = taken(("results", 30), messages, "")
    failed = assembler.assemble(HEAD, messages)
    again = assembler.assemble(HEAD, messages)
    assert again.marks == failed.marks
    assert answered.marks[-1].index in [mark.index for mark in again.marks]


class TestThinking:
    def conversation(self, assembler: Assembler) -> list[Message]:
        messages = [user("first")]
        for i in range(3):
            bound = assembler.assemble(HEAD, messages).chain.digest
            thought = (Thinking(f"thought {i}", "signed"), Text(f"answer {i}"))
            messages.append(new_message("assistant", *thought, after=messages[-1], bound_to=bound))
            messages.append(user(f"more {i}", messages[-1]))
        return messages

    @staticmethod
    def thoughts(messages: tuple[Message, ...]) -> list[str]:
        return [b.text for m in messages for b in m.blocks if isinstance(b, Thinking)]

    def test_an_untouched_history_keeps_all_of_it(self) -> None:
        messages = self.conversation(Assembler(STRICT))
        sent = Assembler(STRICT).assemble(HEAD, messages).request.messages
        assert self.thoughts(sent) == ["thought 0", "thought 1", "thought 2"]
        assert list(sent) == messages

    @pytest.mark.parametrize(("edited", "kept"), [(0, 0), (2, 1), (4, 2), (6, 3)])
    def test_what_was_thought_after_an_edit_is_left_out(self, edited: int, kept: int) -> None:
        messages = self.conversation(Assembler(STRICT))
        messages[edited] = replace(messages[edited], blocks=(Text("rewritten"),))
        sent = Assembler(STRICT).assemble(HEAD, messages).request.messages
        assert self.thoughts(sent) == [f"thought {i}" for i in range(kept)]

    def test_another_model_or_tool_is_an_edit_of_everything(self) -> None:
        messages = self.conversation(Assembler(STRICT))
        assert (
            self.thoughts(Assembler(STRICT).assemble(OTHER_HEAD, messages).request.messages) == []
        )

    def test_models_that_do_not_bind_it_get_all_of_it(self) -> None:
        free = replace(STRICT, thinking_bound=False)
        messages = self.conversation(Assembler(free))
        messages[0] = user("rewritten")
        assert len(self.thoughts(Assembler(free).assemble(HEAD, messages).request.messages)) == 3


def test_providers_without_marks_get_none() -> None:
    for kind in ("automatic", "none"):
        made = Assembler(Capabilities(cache=CacheRules(kind))).assemble(HEAD, [user("x" * 9000)])  # type: ignore[arg-type]
        assert (made.marks, made.request.breakpoints) == ((), ())


def test_a_request_without_head_or_messages_is_still_one() -> None:
    made = Assembler(STRICT).assemble(Head("m"), [])
    assert (made.request.messages, made.marks, made.request.size) == ((), (), 0)
    assert Assembler(STRICT).assemble(Head("m"), [user("hi")]).request.messages[0].text == "hi"


def test_the_response_before_is_named() -> None:
    made = Assembler(STRICT).assemble(HEAD, [user("hi")], previous_response="r1")
    assert made.request.previous_response == "r1"
