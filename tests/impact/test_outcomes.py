"""What is counted of a session, and the comparison of the holdout's arms."""

from __future__ import annotations

import pytest
from tests.place import NOON, Place
from tests.web.store import SESSION, fill

from reverie.conversation.records import Said
from reverie.core.messages import Text, ToolUse, new_message
from reverie.impact.report import (
    SessionOutcome,
    between,
    compared,
    count_session,
    is_correction,
    outcome_report,
    paired,
    with_repeats,
)
from reverie.impact.stats import stats_of
from reverie.recall.holdout import arm_for, arms, withheld


def said(*texts: str) -> list[Said]:
    return [Said(new_message("user", Text(text), at=NOON + n)) for n, text in enumerate(texts)]


class TestCorrections:
    @pytest.mark.parametrize("text", ["No, use pnpm.", "that's not what I meant", "I said the replica", "nein, anders",
                                      "Wrong file.", "please revert that", "don't touch the tests", "C'est faux."])  # fmt: skip
    def test_are_recognised(self, text: str) -> None:
        assert is_correction(text)

    @pytest.mark.parametrize("text", ["No problem, go on.", "Now add a test.", "Notes are in docs/", "Thanks!",
                                      "Which port is it?", "Nothing else."])  # fmt: skip
    def test_other_prompts_are_none(self, text: str) -> None:
        assert not is_correction(text)

    def test_the_first_prompt_corrects_nothing(self) -> None:
        assert count_session("s", said("No, not again: fix the parser.")).outcome.corrections == 0

    def test_the_same_correction_in_another_session_is_repeated(self) -> None:
        first = count_session(
            "a", said("Go.", "No, install packages with pnpm instead of npm here.")
        )
        second = count_session(
            "b", said("Go.", "I said install packages with pnpm, not npm!", "No, wrong file.")
        )
        found = with_repeats([first, second])
        assert [one.repeated_corrections for one in found] == [0, 1]
        assert [one.corrections for one in found] == [1, 2]


class TestCounts:
    def test_a_file_read_again_without_a_change_in_between(self) -> None:
        def call(n: int, name: str) -> Said:
            use = ToolUse(
                f"t{n}", name, '{"file_path": "a.py", "old_string": "x", "new_string": "y"}'
            )
            return Said(new_message("assistant", use, at=NOON + n, response=f"r{n}"))

        records = [call(0, "Read"), call(1, "Read"), call(2, "Edit"), call(3, "Read")]
        assert count_session("s", records).outcome.rereads == 1
        assert count_session("s", records).outcome.tool_calls == 4

    def test_pauses_are_no_work(self) -> None:
        records = [
            Said(new_message("user", Text("a"), at=at)) for at in (NOON, NOON + 60, NOON + 90_000)
        ]
        assert count_session("s", records).outcome.minutes == pytest.approx(11)

    def test_of_a_project(self, place: Place) -> None:
        app = fill(place)
        found = outcome_report(app)["sessions"]
        assert (found["count"], found["prompts"], found["corrections"]) == (1, 2, 1)
        stats = stats_of(app, days=3650)
        assert stats["memories"]["count"] == 5
        assert stats["layers"]["1 tool results"]["fired"] == 1
        assert stats["layers"]["1 tool results"]["saved"] > 1_000
        assert stats["learning"]["runs"] == 1

    def test_delivered_seen_and_used_are_kept_apart(self, place: Place) -> None:
        app = fill(place)
        memory = app.memory()
        place.clock.at = NOON - 86_400 + 1
        file = memory.store.entries()[0].file
        memory.record_uses([file], "recalled", SESSION)
        memory.record_uses([file], "recalled", "a session without an answer")
        memory.record_uses([file], "used", SESSION)
        place.clock.at = NOON + 86_400
        use = stats_of(app, days=3650)["use"]
        assert (use["delivered"], use["seen"], use["used"]) == (2, 1, 1)
        assert use["never_recalled"] == 4


class TestIntervals:
    def test_the_same_figures_give_the_same_interval(self) -> None:
        assert paired([1, 2, 3, 4, 9]) == paired([1, 2, 3, 4, 9])

    @pytest.mark.parametrize(
        ("differences", "verdict"),
        [([], "nothing to compare"), ([1, 1], "directional"), ([1, -1] * 6, "no difference"),
         ([1, 2, 1, 2, 1], "higher"), ([-1, -2, -1, -2, -1], "lower")],
    )  # fmt: skip
    def test_verdicts(self, differences: list[float], verdict: str) -> None:
        assert paired(differences).verdict == verdict

    def test_the_smaller_arm_counts(self) -> None:
        assert between([1.0] * 90, [2.0] * 3).verdict == "directional"


def arm(kind: str, corrections: list[int]) -> list[SessionOutcome]:
    return [
        SessionOutcome(f"{kind}{n}", prompts=4, corrections=count)
        for n, count in enumerate(corrections)
    ]


class TestHoldout:
    @pytest.mark.parametrize(
        ("with_memory", "verdict"),
        [([0, 1, 0, 0, 1, 0, 0, 1], "memory helps"), ([2, 3, 2, 3, 2, 3, 2, 3], "no difference"),
         ([6, 7, 6, 8, 6, 7, 6, 8], "memory harms")],
    )  # fmt: skip
    def test_tells_the_three_apart(self, with_memory: list[int], verdict: str) -> None:
        outcomes = arm("with", with_memory) + arm("without", [3, 2, 3, 2, 3, 2, 3, 2])
        by_session = {one.session: one.session.rstrip("0123456789") for one in outcomes}
        rows = {row["measure"]: row for row in compared(outcomes, by_session)["measures"]}
        assert rows["corrections"]["verdict"] == verdict
        assert rows["corrections"]["harm"] == (verdict == "memory harms")

    def test_a_session_keeps_its_arm(self, place: Place) -> None:
        names = [f"session-{n}" for n in range(200)]
        app = place.app("impact.holdout=0.5")
        first = {name: withheld(app, name) for name in names}
        assert 70 < sum(first.values()) < 130
        off = place.app()
        assert {name: withheld(off, name) for name in names} == first
        assert not withheld(off, "a new session")
        assert len(arms(off)) == 200

    def test_the_share_is_what_was_asked_for(self) -> None:
        held = sum(arm_for(f"s{n}", 0.1) == "without" for n in range(5_000))
        assert 400 < held < 600

    def test_off_by_default_and_writes_nothing(self, place: Place) -> None:
        app = place.app()
        assert not withheld(app, "s")
        assert not (app.project.folder / "holdout.jsonl").exists()
