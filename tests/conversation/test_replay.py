"""A transcript as the requests it was made of, sized as the provider saw them."""

from __future__ import annotations

import pytest
from tests.conversation.build import AT, HEAD, HELLO, answer, talk, user
from tests.core.build import extends

from reverie.conversation.cache_report import UNRECORDED, replay
from reverie.conversation.records import Compacted, HeadFrozen, Record, Said, Used
from reverie.core.messages import Text
from reverie.core.prompt_cache import common_length, head_chain
from reverie.core.request import Head
from reverie.core.usage import Usage


def exchange(number: int, prompt: int, after: Said | None = None) -> list[Record]:
    question = user(f"question {number} " * 20, after.message if after else None)
    reply = answer(f"answer {number} " * 20, question, f"r{number}")
    usage = Usage(prompt, output=7)
    return [Said(question), Said(reply), Used(f"r{number}", "main", "m", usage, AT + number)]


def test_one_call_for_each_response() -> None:
    replayed = replay(talk(3, prompt=2_000))
    assert [call.chain.tokens for call in replayed.calls] == [2_000, 2_200, 2_400]
    assert [call.output for call in replayed.calls] == [10, 10, 10]
    assert [call.at for call in replayed.calls] == [used.at for used in replayed.reported]
    assert replayed.model == "scripted"


def test_each_call_extends_the_one_before() -> None:
    first, second, third = (call.chain for call in replay(talk(3, prompt=2_000)).calls)
    assert extends(first, second)
    assert extends(second, third)
    assert first.head == HEAD


def test_a_head_that_was_not_recorded_is_what_the_messages_leave_over() -> None:
    records = [*exchange(1, 10_000), *exchange(2, 10_300)]
    first, second = (call.chain for call in replay(records).calls)
    assert first.head is UNRECORDED
    assert (first.tokens, second.tokens) == (10_000, 10_300)
    assert first.links[0].tokens > 9_000
    assert extends(first, second)


def test_no_figures_no_calls() -> None:
    assert replay([Said(HELLO), Said(answer("x", HELLO))]).calls == ()
    assert replay([]).model == ""


def test_background_calls_are_not_the_conversation() -> None:
    reply = answer("x", HELLO)
    records = [Said(HELLO), Said(reply), Used("r1", "recall", "m", Usage(10), AT)]
    assert replay(records).calls == ()


def test_a_response_of_several_messages_is_one_call() -> None:
    first = answer("a", HELLO)
    records = [
        Said(HELLO),
        Said(first),
        Said(answer("b", first)),
        Used("r1", "main", "m", Usage(10), AT),
    ]
    assert len(replay(records).calls) == 1


def test_compaction_keeps_the_head_and_what_it_kept() -> None:
    before = exchange(1, 10_000)
    kept = before[1].message  # type: ignore[union-attr]
    done = Compacted((user("so far"),), kept.id, "auto", 10_000, AT)
    first, second = (c.chain for c in replay([*before, done, *exchange(2, 11_000)]).calls)
    assert common_length(first, second) == 1
    texts = [link.segment.data for link in second.links[1:]]
    assert b"so far" in texts[0]
    assert b"answer 1" in texts[1]
    assert second.tokens == 11_000


def test_a_client_that_cut_its_history_silently_breaks_the_prefix_after_the_head() -> None:
    long = "word " * 8_000
    records: list[Record] = [*exchange(1, 3_000), Said(user(long)), *exchange(2, 13_000)]
    records += [*exchange(3, 4_000), *exchange(4, 4_200)]
    chains = [call.chain for call in replay(records).calls]
    assert [chain.tokens for chain in chains] == pytest.approx([3_000, 13_000, 4_000, 4_200], abs=5)
    assert extends(chains[0], chains[1])
    assert common_length(chains[1], chains[2]) == 1
    assert extends(chains[2], chains[3])


def test_a_transcript_that_starts_in_the_middle_has_a_smaller_head_than_it_seemed() -> None:
    """What came before its first line looks like a part of the head, until compaction drops it."""
    done = Compacted((user("so far"),), None, "auto", 112_000, AT)
    records = [*exchange(1, 112_000), *exchange(2, 112_300), done]
    records += [*exchange(3, 50_000), *exchange(4, 50_400), *exchange(5, 51_000)]
    chains = [call.chain for call in replay(records).calls]
    assert [chain.tokens for chain in chains] == [112_000, 112_300, 50_000, 50_400, 51_000]
    assert extends(chains[2], chains[3])
    assert extends(chains[3], chains[4])


def test_a_head_we_estimated_too_large_is_made_to_fit() -> None:
    head = Head("m", (Text("word " * 4_000), Text("more " * 4_000)))
    records = [HeadFrozen(head), *exchange(1, 5_000), *exchange(2, 5_200)]
    first, second = (call.chain for call in replay(records).calls)
    assert (first.tokens, second.tokens) == (5_000, 5_200)
    assert first.links[0].tokens == pytest.approx(first.links[1].tokens / 2, abs=1)
    assert extends(first, second)


def test_a_new_head_starts_a_new_chain() -> None:
    other = Head("another")
    records = [*talk(1, prompt=1_000), HeadFrozen(other), *exchange(5, 1_500)]
    first, second = (call.chain for call in replay(records).calls)
    assert second.head == other
    assert common_length(first, second) == 0
    # The history is sent again under the new head.
    assert b"question 0" in second.links[0].segment.data


def test_a_recorded_head_has_its_own_size() -> None:
    [call] = replay(talk(1, prompt=2_000)).calls
    sized = len(HEAD.tools) + len(HEAD.system)
    assert list(call.chain.links[:sized]) == head_chain(HEAD)


def test_a_provider_that_reports_nothing_leaves_our_estimate() -> None:
    [call] = replay(exchange(1, 0)).calls
    assert call.chain.tokens > 0


def test_the_model_is_the_one_used_most() -> None:
    records: list[Record] = []
    for i, name in enumerate(["a", "b", "b"]):
        reply = answer("x", HELLO, f"r{i}")
        records += [Said(HELLO), Said(reply), Used(f"r{i}", "main", name, Usage(10), AT)]
    assert replay(records).model == "b"
