"""What each command shows of a session, a ledger, a setting."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.cli.run import data, done, run
from tests.conversation import claude_lines as claude
from tests.conversation.build import AT, EVERYTHING, HEAD, HELLO, answer, talk, user, write_lines
from tests.models.spending import entry
from tests.place import NOON, Place

from reverie.conversation.records import Compacted, HeadFrozen, Opened, Said, Used
from reverie.core.messages import Text, ToolResult, new_message
from reverie.core.usage import Usage
from reverie.workspace import Workspace


class TestSessions:
    def test_none_yet(self, place: Place) -> None:
        assert done("sessions") == "No sessions yet in this project.\n"
        assert data("sessions") == []

    def test_the_newest_first(self, place: Place) -> None:
        for name in ("old", "middle", "new"):
            place.journal(name, *talk(2, prompt=2_000))
        place.app().ledger.settle("", entry(0.25, session="new"))
        rows = data("sessions")
        assert [row["session"] for row in rows] == ["new", "middle", "old"]
        assert (rows[0]["messages"], rows[0]["cost"], rows[0]["model"]) == (4, 0.25, "scripted")
        assert rows[0]["starts"].startswith("question 0")
        assert [row["session"] for row in data("sessions", "-n", 2)] == ["new", "middle"]
        text = done("sessions")
        assert re.search(r"new +2025-06-15 .* 4 +2,210 +\$0\.2500 +question 0", text)

    def test_a_session_begun_but_not_talked_in(self, place: Place) -> None:
        place.journal("s1", Opened("s1", NOON))
        [row] = data("sessions")
        assert (row["messages"], row["starts"], row["model"]) == (0, "", "")


class TestShow:
    def test_every_block_can_be_read(self, place: Place) -> None:
        place.journal("s1", Said(HELLO), Said(EVERYTHING))
        text = done("show", "s1")
        assert re.search(r"user · user · 2025-06-1[56] ", text)
        for shown in ("hello", "[thinking] hmm", '[Read] {"path": "a b"}', "[result] out", "[error]", "[image]", "[document]", "[attachment] a memory", "[opaque]"):  # fmt: skip
            assert shown in text

    def test_long_results_are_shortened_unless_asked_for(self, place: Place) -> None:
        place.journal("s1", Said(user("x" * 5_000)))
        assert "… 3,000 more characters (--full shows them)" in done("show", "s1")
        assert "x" * 160 in done("show", "s1", "--full")
        assert done("show", "s1", "--full").count("x") == 5_000

    def test_before_compaction(self, place: Place) -> None:
        summary = user("so far")
        place.journal(
            "s1", Said(HELLO), Compacted((summary,), None, "auto", 9, AT), Said(user("on"))
        )
        assert [m["blocks"][0]["text"] for m in data("show", "s1")] == ["so far", "on"]
        whole = data("show", "s1", "--before-compaction")
        assert [m["blocks"][0]["text"] for m in whole] == ["hello", "on"]

    def test_a_transcript_of_another_client(self, place: Place) -> None:
        path = write_lines(place.base / "c.jsonl", [claude.prompt("hi"), claude.other("odd")])
        result = run("show", path)
        assert "hi" in result.stdout
        assert result.stderr == "note: c.jsonl: passed over 1 × odd\n"


class TestContext:
    def test_the_newest_session_by_default(self, place: Place) -> None:
        place.journal("old", Opened("old", NOON), Said(HELLO))
        place.journal("new", *talk(2, prompt=2_000))
        found = data("context")
        assert (found["session"], found["measured"], found["state"]) == ("s1", True, "ok")
        assert found["window"] == 200_000 == sum(found["tokens"].values())
        assert data("context", "old")["session"] == "old"

    def test_what_fills_it(self, place: Place) -> None:
        result = new_message("user", ToolResult("t", (Text("out " * 40_000),)), after=HELLO)
        place.journal("s1", HeadFrozen(HEAD), Said(HELLO), Said(result))
        found = data("context", "--set", "window.tokens=50000")
        assert found["tokens"]["tool results"] == 40_000
        assert (found["window_source"], found["state"]) == ("window.tokens", "blocked")
        text = done("context")
        assert re.search(r"█ tool results +40\.0k +20\.0 %", text)
        assert "window 200.0k (default)" in text
        assert "now: ok; estimated" in text

    def test_another_model(self, place: Place) -> None:
        place.journal("s1", *talk(1))
        found = data("context", "--model", "claude-opus-5")
        assert found["window"] == 1_000_000
        assert "the shipped model table" in done("context", "--model", "claude-opus-5")

    def test_the_model_that_answered_counts_where_no_head_is_recorded(self, place: Place) -> None:
        lines = [claude.prompt(), claude.reply(claude.text("x"), model="claude-opus-4-8")]
        path = write_lines(place.base / "c.jsonl", lines)
        assert data("context", path)["window"] == 1_000_000


class TestCache:
    def test_no_calls_yet(self, place: Place) -> None:
        assert done("cache") == "No model calls yet in this project.\n"

    def broken(self, place: Place) -> None:
        usages = [Usage(cache_write_5m=5_000), Usage(cache_write_5m=5_500)]
        records: list[Any] = [HeadFrozen(HEAD)]
        for i, usage in enumerate(usages):
            reply = answer("yes", HELLO, f"r{i}")
            records += [Said(HELLO), Said(reply)]
            records.append(Used(f"r{i}", "main", "claude-opus-5", usage, AT + i))
        place.journal("s1", *records)

    def test_hit_rate_and_breaks(self, place: Place) -> None:
        self.broken(place)
        [row] = data("cache")
        assert (row["calls"], row["hit_rate"]) == (2, 0)
        assert row["breaks"][0]["lost"] == 5_000
        text = done("cache", "s1")
        assert re.search(r"s1 +main +2 +0 +10\.5k +0\.0 % +1 +\$0\.0288", text)
        assert "s1 call 2: provider: nothing changed on this side" in text
        assert "(5,000 tokens)" in text

    def test_what_if(self, place: Place) -> None:
        usage = {"cache_creation_input_tokens": 30_000, "output_tokens": 5}
        lines: list[Any] = []
        for i in range(3):
            reply = claude.reply(claude.text("a"), id=f"m{i}", usage=usage, model="claude-opus-5")
            lines += [claude.prompt("q"), reply]
        path = write_lines(place.base / "c.jsonl", lines)
        [found] = data("cache", "--what-if", path)
        assert (found["model"], found["calls"]) == ("claude-opus-5", 3)
        cost = {plan["plan"]: plan["cost"] for plan in found["plans"]}
        assert cost["ours"] < cost["no caching"]
        assert found["billed"]["tokens"] == 90_000
        text = done("cache", "--what-if", path, "--what-if", path)
        assert text.count("c.jsonl · claude-opus-5 · 3 calls") == 2
        for name in ("plan", "no caching", "tail only", "ours", "as billed"):
            assert name in text
        assert done("cache", "--what-if", path, "-q").strip()


class TestSpend:
    def test_nothing_yet(self, place: Place) -> None:
        assert done("spend") == "Nothing spent in this project in the last 30 days.\n"

    @pytest.fixture
    def spent(self, place: Place) -> Workspace:
        """The command line uses the machine's clock: so do these entries."""
        app = Workspace.open(place.root)
        now = app.clock.now()
        for cost, purpose, days in ((0.5, "main", 0), (0.25, "recall", 1), (2.0, "dream", 10)):
            when = now - days * 86_400
            app.ledger.settle("", entry(cost, purpose=purpose, at=when, session=f"{purpose}-1"))
        app.ledger.settle("", entry(None, at=now, model="tiny"))
        return app

    def test_by_purpose(self, spent: Workspace) -> None:
        found = data("spend")
        assert [(row["name"], row["cost"]) for row in found["rows"]] == [("dream", 2.0), ("main", 0.5), ("recall", 0.25)]  # fmt: skip
        [main] = [row for row in found["rows"] if row["name"] == "main"]
        assert (main["calls"], main["unpriced"], main["output"]) == (2, 1, 10)
        assert len(found["per_day"]) == 30
        assert sum(found["per_day"]) == 2.75
        text = done("spend")
        assert re.search(r"main +2 .*\$0\.5000 \+ 1 unpriced", text)
        assert re.search(r"[▁-█]{30}  \$2\.75 in 30 days", text)

    @pytest.mark.parametrize(("by", "names"), [("model", {"m", "tiny"}), ("session", {"dream-1", "main-1", "recall-1", "s1"})])  # fmt: skip
    def test_by_other_things(self, spent: Workspace, by: str, names: set[str]) -> None:
        assert {row["name"] for row in data("spend", "--by", by)["rows"]} == names

    def test_by_day_and_how_far_back(self, spent: Workspace) -> None:
        assert len(data("spend", "--by", "day")["rows"]) == 3
        found = data("spend", "--days", 3)
        assert {row["name"] for row in found["rows"]} == {"main", "recall"}
        assert len(found["per_day"]) == 3

    def test_caps(self, spent: Workspace) -> None:
        caps = ["--set", "spend.day=2", "--set", "spend.purpose.recall=0.1"]
        assert data("spend", *caps)["caps"] == [
            {"cap": "day", "limit": 2.0, "spent": 0.5},
            {"cap": "recall", "limit": 0.1, "spent": 0.0},
        ]
        text = done("spend", *caps)
        assert "cap day: $1.50 of $2.00 left today" in text
        assert "cap recall: $0.1000 of $0.1000 left today" in text


class TestSettings:
    def test_every_value_and_where_it_came_from(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("REVERIE_RECALL_DEADLINE")
        monkeypatch.delenv("REVERIE_LEARNING_PAUSE")
        place.settings("spend.day = 3")
        text = done("settings", "--set", "cache.ttl=1h")
        assert re.search(r"spend\.day +3\.0 +user \(.*settings\.toml:1\)", text)
        assert re.search(r"cache\.ttl +1h +command line", text)
        assert re.search(r"memory\.enabled +true +default", text)
        assert re.search(r"spend\.session +– +default", text)
        assert [item["key"] for item in data("settings", "--changed")] == ["spend.day"]

    def test_one_setting_and_what_it_overrides(self, place: Place) -> None:
        place.settings("spend.day = 3")
        [item] = data("settings", "spend.day", "--set", "spend.day=4")
        assert item["value"] == 4
        assert [over["value"] for over in item["overridden"]] == [3.0, None]
        text = done("settings", "spend.day", "--set", "spend.day=4")
        assert re.search(r"  overrides +3\.0 +user", text)

    def test_a_whole_table(self, place: Place) -> None:
        keys = [item["key"] for item in data("settings", "models")]
        assert keys[:4] == ["models.main", "models.side", "models.summary", "models.fallback"]
        assert keys[4:] == ["models.retries", "models.idle_timeout"]
