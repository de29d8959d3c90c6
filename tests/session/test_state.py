"""A session's state is what its records say, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.session.build import (
    AT,
    EVERYTHING,
    FULL_HEAD,
    HELLO,
    RECORDS,
    answer,
    talk,
    user,
)

from reverie.core.messages import Message, Text, ToolResult, ToolUse, new_message
from reverie.core.tokens import message_tokens
from reverie.core.usage import Usage
from reverie.session.journal import Journal, load
from reverie.session.records import Compacted, Replaced, Said, Unknown, Used
from reverie.session.state import SessionState


def sizes(*messages: Message) -> int:
    return sum(map(message_tokens, messages))


def used(response: str, usage: Usage, purpose: str = "main") -> Used:
    return Used(response, purpose, "scripted", usage, AT)


def test_every_record_has_its_place() -> None:
    state = SessionState.replay(RECORDS)
    assert (state.session, state.project, state.opened_at) == ("s1", "/project", AT)
    assert state.head == FULL_HEAD
    assert state.usage == Usage(1, 2, 3, 4, 5)
    assert state.replaced == {"t1": "stored in a file"}
    assert [edit.tool_use_ids for edit in state.cache_edits] == [("t1", "t2")]
    assert [done.trigger for done in state.compactions] == ["auto", "manual"]
    assert state.extracted_up_to == EVERYTHING.id
    assert state.date == "2026-01-02"
    assert [record.raw.get("type") for record in state.unknown] == ["from-the-future", None]


def test_the_same_records_give_the_same_state_from_disk(tmp_path: Path) -> None:
    records = (*talk(3), *RECORDS)
    with Journal(tmp_path / "s.jsonl") as journal:
        journal.append(*records)
    assert SessionState.replay(load(tmp_path / "s.jsonl").records) == SessionState.replay(records)


def test_an_empty_session_is_a_session() -> None:
    state = SessionState.replay([])
    assert (state.messages, state.tokens, state.measured, state.head) == ([], 0, False, None)


def test_the_first_decision_about_a_result_stands() -> None:
    state = SessionState.replay([Replaced("t1", "first"), Replaced("t1", "second")])
    assert state.replaced == {"t1": "first"}


class TestCompaction:
    def test_what_is_kept_follows_the_start(self) -> None:
        a, b, c = user("a"), user("b"), user("c")
        start = (user("so far"), user("and so on"))
        done = Compacted(start, b.id, "auto", 100, AT)
        state = SessionState.replay([Said(a), Said(b), Said(c), done])
        assert state.messages == [*start, b, c]

    def test_nothing_kept(self) -> None:
        start = (user("so far"),)
        state = SessionState.replay([Said(user("a")), Compacted(start, None, "auto", 100, AT)])
        assert state.messages == list(start)

    def test_a_kept_message_nobody_knows_keeps_nothing(self) -> None:
        start = (user("so far"),)
        state = SessionState.replay([Said(user("a")), Compacted(start, "lost", "auto", 1, AT)])
        assert state.messages == list(start)

    def test_talk_goes_on_after_it_and_may_be_compacted_again(self) -> None:
        one, two = user("one"), user("two")
        records = [
            Said(HELLO),
            Compacted((one,), None, "auto", 1, AT),
            Said(two),
            Compacted((), two.id, "auto", 1, AT),
        ]
        state = SessionState.replay(records)
        assert state.messages == [two]
        assert len(state.compactions) == 2

    def test_an_old_measurement_says_nothing_about_the_new_conversation(self) -> None:
        reply = answer("b", HELLO)
        records = [Said(HELLO), Said(reply), used("r1", Usage(1000, output=10))]
        assert SessionState.replay(records).measured
        state = SessionState.replay([*records, Compacted((user("x"),), reply.id, "auto", 1, AT)])
        assert not state.measured
        assert state.tokens == sizes(*state.messages)


class TestTokens:
    def test_without_a_measurement_they_are_estimated(self) -> None:
        state = SessionState.replay([Said(HELLO), Said(user("more " * 100))])
        assert not state.measured
        assert state.tokens == sizes(*state.messages)

    def test_the_provider_counts_and_only_what_is_new_is_estimated(self) -> None:
        reply, more = answer("b", HELLO), user("more " * 100)
        measured = used("r1", Usage(10, 20, 30, 40, 50))
        state = SessionState.replay([Said(HELLO), Said(reply), measured])
        assert (state.measured, state.tokens) == (True, 150)
        state.apply(Said(more))
        assert state.tokens == 150 + sizes(more)

    def test_results_of_parallel_calls_are_counted_once_each(self) -> None:
        call = answer("", HELLO)
        first = replace(call, blocks=(ToolUse("t1", "Read"),))
        second = replace(call, id="other", blocks=(ToolUse("t2", "Read"),))
        results = [new_message("user", ToolResult(t, (Text("x" * 400),))) for t in ("t1", "t2")]
        talked = [Said(HELLO), Said(first), Said(results[0]), Said(second), Said(results[1])]
        state = SessionState.replay([*talked, used("r1", Usage(500, output=20))])
        assert state.tokens == 520 + sizes(*results)

    def test_background_calls_measure_another_conversation(self) -> None:
        records = [Said(HELLO), used("r9", Usage(9_999), purpose="recall")]
        state = SessionState.replay(records)
        assert (state.measured, state.tokens) == (False, sizes(HELLO))
        assert state.usage == Usage(9_999)

    def test_unknown_records_do_not_matter(self) -> None:
        state = SessionState.replay([Unknown({"type": "x"}), Said(HELLO), Unknown({})])
        assert state.messages == [HELLO]
