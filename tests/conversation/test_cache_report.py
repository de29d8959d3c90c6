"""How the cache fared in a recorded session, and what fills its window."""

from __future__ import annotations

import pytest
from tests.conversation.build import AT, HEAD, HELLO, answer, user

from reverie.conversation.cache_report import cache_report
from reverie.conversation.records import Compacted, HeadFrozen, Opened, Record, Said, Used
from reverie.conversation.state import SessionState, window_fill
from reverie.core.messages import Attachment, Text, ToolResult, new_message
from reverie.core.request import Head, ToolSpec
from reverie.core.usage import Prices, Usage
from reverie.core.window import CacheRules, message_tokens, text_tokens

RULES = CacheRules("explicit", minimum=1)
PRICES = Prices.of(10, 50)


def turn(number: int, usage: Usage, at: float | None = None) -> list[Record]:
    question = user(f"question {number} " * 100)
    when = AT + number if at is None else at
    reply = answer("yes", question, f"r{number}")
    return [Said(question), Said(reply), Used(f"r{number}", "main", "m", usage, when)]


def written(tokens: int) -> Usage:
    return Usage(cache_write_5m=tokens)


def read(tokens: int, more: int = 500) -> Usage:
    return Usage(cache_read=tokens, cache_write_5m=more)


def test_a_cache_that_works() -> None:
    records = [
        HeadFrozen(HEAD),
        *turn(1, written(5_000)),
        *turn(2, read(5_000)),
        *turn(3, read(5_500)),
    ]
    [row] = cache_report("s", records, RULES, PRICES)
    assert (row.session, row.purpose, row.calls, row.breaks) == ("s", "main", 3, ())
    assert row.as_json()["hit_rate"] == row.usage.hit_rate == pytest.approx(10_500 / 16_500)


def test_a_break_has_a_place_a_cause_and_a_price() -> None:
    records = [HeadFrozen(HEAD), *turn(1, written(5_000)), *turn(2, written(5_500))]
    [row] = cache_report("s", records, RULES, PRICES)
    [found] = row.breaks
    assert (found.call, found.lost, found.expected) == (2, 5_000, False)
    assert found.why == "provider: nothing changed on this side; the entry was evicted"
    assert found.cost == pytest.approx(5_000 * (12.5 - 1) / 1_000_000)


def test_a_long_pause_is_named() -> None:
    records = [HeadFrozen(HEAD), *turn(1, written(5_000)), *turn(2, written(5_500), AT + 4000)]
    [row] = cache_report("s", records, RULES, PRICES)
    assert row.breaks[0].why.startswith("ttl_expired: 3999 s idle")


def test_compaction_was_expected() -> None:
    done = Compacted((user("so far"),), None, "auto", 5_000, AT)
    records = [HeadFrozen(HEAD), *turn(1, written(5_000)), done, *turn(2, written(900))]
    [row] = cache_report("s", records, RULES, PRICES)
    assert [(b.why, b.expected) for b in row.breaks] == [("expected: compaction", True)]


def test_a_new_head_is_named() -> None:
    other = Head("m", (Text("other words"),))
    records = [
        HeadFrozen(HEAD),
        *turn(1, written(5_000)),
        HeadFrozen(other),
        *turn(2, written(5_000)),
    ]
    [row] = cache_report("s", records, RULES, PRICES)
    assert "model: scripted → m" in row.breaks[0].why


def test_without_prices_a_break_costs_nothing_we_know_of() -> None:
    records = [HeadFrozen(HEAD), *turn(1, written(5_000)), *turn(2, written(5_500))]
    [row] = cache_report("s", records, RULES, None)
    assert row.breaks[0].cost == 0


def test_each_purpose_has_a_row_of_its_own() -> None:
    recall = Used("x", "recall", "m", Usage(10, 90), AT)
    rows = cache_report("s", [*turn(1, written(10)), recall, recall], RULES, PRICES)
    assert [(row.purpose, row.calls, row.breaks) for row in rows] == [
        ("main", 1, ()),
        ("recall", 2, ()),
    ]
    assert rows[1].usage.hit_rate == 0.9


def test_no_calls_no_rows() -> None:
    assert cache_report("s", [Said(HELLO)], RULES, PRICES) == []


class TestFill:
    tool = ToolSpec.of("Read", "Read a file. " * 50, {"type": "object"})
    head = Head("m", (Text("Be brief. " * 40), Text("# Memory\n" + "- a fact\n" * 30)), (tool,))

    def state(self, *more: Record) -> SessionState:
        asked = new_message("user", Text("why? " * 80), Attachment("recall", "fact " * 60), at=AT)
        date = new_message("user", Attachment("date", "today " * 10), after=asked)
        result = new_message("user", ToolResult("t", (Text("out " * 200),)), after=date)
        records = [HeadFrozen(self.head), Said(asked), Said(date), Said(result)]
        return SessionState.replay([Opened("s", AT), *records, *more])

    def test_every_category_is_counted_apart(self) -> None:
        fill = window_fill(self.state())
        assert fill.parts["system"] == text_tokens(self.head.system[0].text)
        assert fill.parts["memory index"] == text_tokens(self.head.system[1].text)
        assert fill.parts["tools"] > 150
        assert fill.parts["recalled memories"] == text_tokens("fact " * 60)
        assert fill.parts["messages"] == text_tokens("why? " * 80) + text_tokens("today " * 10)
        assert fill.parts["tool results"] == text_tokens("out " * 200)
        assert fill.total == sum(fill.parts.values())
        assert not fill.measured

    def test_the_provider_knows_the_sum(self) -> None:
        reply = answer("because", HELLO)
        state = self.state(Said(reply), Used("r1", "main", "m", Usage(10_000, output=100), AT))
        fill = window_fill(state)
        assert fill.measured
        assert fill.total == pytest.approx(10_100, abs=5)
        plain = window_fill(self.state(Said(reply)))
        assert fill.parts["tools"] / fill.total == pytest.approx(
            plain.parts["tools"] / plain.total, rel=0.02
        )

    def test_a_foreign_transcript_has_its_rest_in_the_system_prompt(self) -> None:
        reply = answer("because", HELLO)
        used = Used("r1", "main", "m", Usage(20_000, output=100), AT)
        fill = window_fill(SessionState.replay([Said(HELLO), Said(reply), used]))
        assert fill.parts["messages"] == message_tokens(HELLO) + message_tokens(reply)
        assert fill.total == 20_100

    def test_an_empty_session_fills_nothing(self) -> None:
        assert window_fill(SessionState()).total == 0
