"""A session's state is what its records say, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.conversation.build import AT, EVERYTHING, FULL_HEAD, HELLO, RECORDS, answer, talk, user

from reverie.conversation.journal import Journal, load
from reverie.conversation.records import (
    Branched,
    Compacted,
    Folded,
    MemoriesShown,
    NotesTaken,
    Replaced,
    Said,
    ToolResultsCleared,
    Unfolded,
    Unknown,
    Used,
)
from reverie.conversation.state import SessionState
from reverie.core.messages import Image, Message, Text, ToolResult, ToolUse, new_message
from reverie.core.usage import Usage
from reverie.core.window import message_tokens


def sizes(*messages: Message) -> int:
    return sum(map(message_tokens, messages))


def used(response: str, usage: Usage, purpose: str = "main") -> Used:
    return Used(response, purpose, "scripted", usage, AT)


def test_every_record_has_its_place() -> None:
    state = SessionState.replay(RECORDS)
    assert (state.session, state.project, state.opened_at) == ("s1", "/project", AT)
    assert state.head == FULL_HEAD
    assert state.usage == Usage(1, 2, 3, 4, 5)
    # Its message went with a compaction.
    assert state.replaced == {}
    assert [edit.tool_use_ids for edit in state.cache_edits] == [("t1", "t2")]
    assert [done.trigger for done in state.compactions] == ["auto", "manual"]
    assert state.extracted_up_to == EVERYTHING.id
    assert state.date == "2026-01-02"
    assert state.cleared == {"t1": "cleared"}
    assert state.compaction_failures == 1
    assert state.notes == NotesTaken(EVERYTHING.id, 12_000)
    assert state.memories_shown == (MemoriesShown(("a.md", "b.md"), 800),)
    assert state.todos == (("write tests", "doing"), ("ship", "open"))
    assert state.branched == Branched("s0", HELLO.id, "notes")
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


def called(text: str, id_: str, after: Message) -> tuple[Message, Message]:
    """A call, as response `id_`, and its result."""
    call = new_message("assistant", ToolUse(id_, "Read"), after=after, at=AT, response=id_)
    result = ToolResult(id_, (Text(text), Image("image/png", "AAAA")))
    return call, new_message("user", result, after=call, at=AT, origin="tool")


class TestWhatIsSent:
    def test_a_replaced_result_keeps_its_images_and_loses_its_text(self) -> None:
        call, result = called("long " * 500, "t1", HELLO)
        state = SessionState.replay([Said(HELLO), Said(call), Said(result)])
        before = state.tokens
        state.apply(Replaced("t1", "preview"))
        assert state.messages[2] is result
        assert state.shown[2].tool_results[0].content == (
            Text("preview"),
            Image("image/png", "AAAA"),
        )
        assert state.shown[:2] == [HELLO, call]
        assert before - state.tokens == (len("long " * 500) - len("preview")) // 4

    def test_messages_that_do_not_change_stay_the_same_objects(self) -> None:
        call, result = called("long", "t1", HELLO)
        state = SessionState.replay([Said(HELLO), Said(call), Said(result), Replaced("t1", "x")])
        first, second = state.shown, state.shown
        assert all(one is other for one, other in zip(first, second, strict=True))

    def test_clearing_takes_tokens_off_what_was_measured_once(self) -> None:
        call, result = called("long " * 4_000, "t1", HELLO)
        last = answer("done", result, "r2")
        measured = used("r2", Usage(input=9_000, output=10))
        state = SessionState.replay([*map(Said, (HELLO, call, result, last)), measured])
        assert state.tokens == 9_010
        state.apply(ToolResultsCleared({"t1": "gone"}, "old"))
        assert state.tokens == 9_010 - (5_000 - 1)
        state.apply(used("r2", Usage(input=4_000, output=10)))
        assert state.tokens == 4_010

    def test_a_result_that_was_not_measured_yet_is_not_taken_off_twice(self) -> None:
        call, result = called("long " * 4_000, "t1", HELLO)
        records = [Said(HELLO), Said(call), used("t1", Usage(input=100, output=10)), Said(result)]
        state = SessionState.replay([*records, Replaced("t1", "preview!")])
        assert state.tokens == 110 + 2 + 2_000

    def test_a_folded_span_is_sent_as_its_marker_until_it_is_unfolded(self) -> None:
        one, two, three = HELLO, user("b" * 400, HELLO), user("c", HELLO)
        marker = user("folded")
        fold = Folded(one.id, two.id, marker, "collapse")
        state = SessionState.replay([*map(Said, (one, two, three)), fold])
        assert state.shown == [marker, three]
        state.apply(Unfolded(marker.id))
        assert state.shown == [one, two, three]

    def test_a_compaction_forgets_what_is_gone(self) -> None:
        call, result = called("long", "t1", HELLO)
        kept = user("next", result)
        state = SessionState.replay(
            [*map(Said, (HELLO, call, result, kept)), Replaced("t1", "x"), NotesTaken("m", 9_000)]
        )
        state.apply(Compacted((user("so far"),), kept.id, "automatic", 100, AT))
        assert [m.text for m in state.shown] == ["so far", "next"]
        assert state.memories_shown == ()
        assert state.notes == NotesTaken("m", state.tokens)

    def test_a_partial_compaction_keeps_what_precedes_it(self) -> None:
        one, two, three = user("one"), user("two"), user("three")
        partial = Compacted((user("so far"),), None, "manual", 1, AT, kept_up_to=one.id)
        state = SessionState.replay([*map(Said, (one, two, three)), partial])
        assert [m.text for m in state.shown] == ["one", "so far"]


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
