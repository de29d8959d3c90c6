"""The log of learning runs, and the alarm when learning stops."""

from __future__ import annotations

import pytest
from tests.place import NOON, Place

from reverie.core.messages import Text, new_message
from reverie.learning.runs import FILE, Run, alarm, alarm_of, alarm_once, note_run, runs_of
from reverie.learning.service import learn


def failed(n: int) -> Run:
    return Run(NOON + n, f"s{n}", trouble="the key was refused")


def refused(n: int) -> Run:
    return Run(NOON + n, f"s{n}", found=2, refused=2)


def worked(n: int) -> Run:
    return Run(NOON + n, f"s{n}", found=1, saved=1)


class TestAlarm:
    @pytest.mark.parametrize(
        ("runs", "sessions", "expected"),
        [
            ([worked(0)], [NOON - 1], None),
            ([worked(0)], [NOON + 1, NOON + 2], None),
            ([worked(0)], [NOON + n for n in range(1, 4)], "not worked for 3 sessions"),
            ([worked(0), failed(1), failed(2), failed(3)], [], "the key was refused"),
            ([worked(0), failed(1), failed(1), failed(1)], [], None),
            ([failed(0), failed(1), failed(2), worked(3)], [NOON], None),
            ([refused(0), refused(1), refused(2)], [NOON], "was refused"),
            ([refused(0), refused(1), worked(2), refused(3)], [NOON], None),
            ([refused(0), refused(1), refused(2), Run(NOON + 3, "s3")], [NOON], "was refused"),
        ],
    )
    def test_when(self, runs: list[Run], sessions: list[float], expected: str | None) -> None:
        found = alarm(runs, sessions, 3)
        assert (found is None) == (expected is None)
        if found is not None:
            assert expected in found.what

    def test_is_told_once_until_learning_worked_again(self, place: Place) -> None:
        app = place.app()
        note_run(app, worked(0))
        for n in range(1, 6):
            note_run(app, failed(n))
        assert alarm_once(app) is not None
        assert alarm_once(app) is None
        assert alarm_of(app) is not None
        note_run(app, worked(10))
        assert alarm_of(app) is None
        for n in range(11, 16):
            note_run(app, failed(n))
        assert alarm_once(app) is not None

    def test_off(self, place: Place) -> None:
        for n in range(9):
            note_run(place.app(), failed(n))
        assert alarm_of(place.app()) is not None
        assert alarm_of(place.app("learning.alarm_after=0")) is None
        assert alarm_of(place.app("features.extract=false")) is None
        assert alarm_of(place.app("memory.enabled=false")) is None

    def test_a_new_project_has_none(self, place: Place) -> None:
        assert alarm_of(place.app()) is None


class TestLog:
    def test_every_run_is_written_down(self, place: Place) -> None:
        app = place.app("recall.embedder=none")
        text = "Remember that the staging port is 6543."
        learn(app, "s1", [new_message("user", Text(text), at=NOON)])
        learn(app, "s2", [new_message("user", Text("Hello there."), at=NOON)])
        learn(app, "s3", [new_message("user", Text(text), at=NOON)], dry_run=True)
        assert [(run.session, run.found, run.saved) for run in runs_of(app)] == [
            ("s1", 1, 1),
            ("s2", 0, 0),
        ]

    def test_a_damaged_line_is_skipped(self, place: Place) -> None:
        app = place.app()
        note_run(app, worked(1))
        with (app.project.folder / FILE).open("a") as file:
            file.write("{half a line\n")
        note_run(app, worked(2))
        assert [run.session for run in runs_of(app)] == ["s1", "s2"]

    def test_a_long_log_keeps_its_newer_half(self, place: Place) -> None:
        app = place.app()
        path = app.project.folder / FILE
        note_run(app, worked(0))
        path.write_bytes(path.read_bytes() * 6_000)
        note_run(app, worked(7))
        assert runs_of(app)[-1].session == "s7"
        assert len(runs_of(app)) == 3_001
