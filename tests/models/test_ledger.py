"""The ledger: money is reserved before it is spent, recorded after, and never exceeds a cap."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.models.spending import entry
from tests.place import NOON, FixedClock

from reverie.core.usage import Allowed, Caps, Decision, Entry, Refused, Spent
from reverie.errors import StorageError
from reverie.models.ledger import LAPSES_AFTER, Ledger

DAY = 86_400


class Home:
    """A home with a ledger for each project in it, all on one clock."""

    def __init__(self, folder: Path, clock: FixedClock) -> None:
        self.folder = folder
        self.clock = clock

    def ledger(self, project: str = "p1") -> Ledger:
        return Ledger(self.folder / "projects" / project, home=self.folder, clock=self.clock)


@pytest.fixture
def home(tmp_path: Path, clock: FixedClock) -> Home:
    return Home(tmp_path / "home", clock)


def allowed(decision: Decision) -> str:
    assert isinstance(decision, Allowed), decision
    return decision.ticket


def lines(ledger: Ledger) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ledger.path.read_text().splitlines()]


class TestReservations:
    def test_a_call_is_reserved_then_settled_at_what_it_cost(self, home: Home) -> None:
        ledger = home.ledger()
        ticket = allowed(ledger.reserve("main", "s1", 0.5, Caps(day=1)))
        assert ledger.spent("main", "s1") == Spent(0.5, 0.5, 0.5)
        ledger.settle(ticket, entry(0.2))
        assert ledger.spent("main", "s1") == Spent(0.2, 0.2, 0.2)
        assert [line["type"] for line in lines(ledger)] == ["reserved", "spent"]

    def test_a_call_that_never_began_costs_nothing(self, home: Home) -> None:
        ledger = home.ledger()
        ticket = allowed(ledger.reserve("main", "s1", 0.5, Caps(day=1)))
        ledger.settle(ticket, None)
        assert ledger.spent("main", "s1") == Spent()
        assert list(ledger.entries()) == []

    def test_without_caps_nothing_is_reserved(self, home: Home) -> None:
        ledger = home.ledger()
        assert ledger.reserve("main", "s1", 99, Caps()) == Allowed()
        ledger.settle("", None)
        assert not ledger.path.exists()
        ledger.settle("", entry(0.3))
        assert list(ledger.entries()) == [entry(0.3)]

    def test_calls_under_way_count(self, home: Home) -> None:
        caps = Caps(day=1)
        first = allowed(home.ledger().reserve("recall", "s1", 0.6, caps))
        assert isinstance(home.ledger().reserve("recall", "s2", 0.6, caps), Refused)
        home.ledger().settle(first, entry(0.1, purpose="recall"))
        assert allowed(home.ledger().reserve("recall", "s2", 0.6, caps))

    def test_a_refusal_says_what_and_how_and_leaves_no_trace(self, home: Home) -> None:
        ledger = home.ledger()
        refused = ledger.reserve("dream", "s1", 2, Caps(day=1))
        assert isinstance(refused, Refused)
        assert "day cap of $1.00" in refused.reason
        assert "raise spend.day" in refused.reason
        assert not ledger.path.exists()

    def test_the_conversation_itself_is_warned_and_still_counted(self, home: Home) -> None:
        ledger = home.ledger()
        decision = ledger.reserve("main", "s1", 2, Caps(day=1))
        assert isinstance(decision, Allowed)
        assert "day cap" in decision.warning
        assert ledger.spent("main", "s1").day == 2

    def test_a_reservation_of_a_running_process_holds_however_long_its_reply_streams(
        self, home: Home
    ) -> None:
        ledger = home.ledger()
        slow = allowed(ledger.reserve("recall", "s1", 1, Caps(day=1)))
        home.clock.advance(LAPSES_AFTER * 2)
        assert isinstance(home.ledger("p2").reserve("recall", "s2", 1, Caps(day=1)), Refused)
        ledger.settle(slow, entry(0.9, purpose="recall", at=home.clock.now()))
        assert ledger.spent("recall", "s1").day == 0.9

    def test_a_reservation_of_a_dead_process_lapses(self, home: Home) -> None:
        ledger = home.ledger()
        late = allowed(ledger.reserve("recall", "s1", 1, Caps(day=1)))
        dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)  # fmt: skip
        [line] = lines(ledger)
        ledger.path.write_text(json.dumps({**line, "pid": int(dead.stdout)}) + "\n")
        ledger = home.ledger()
        home.clock.advance(LAPSES_AFTER - 1)
        assert isinstance(ledger.reserve("recall", "s1", 1, Caps(day=1)), Refused)
        home.clock.advance(1)
        assert ledger.spent("recall", "s1") == Spent()
        # If the process was only slow, its cost still counts.
        ledger.settle(late, entry(0.4, purpose="recall", at=home.clock.now()))
        assert ledger.spent("recall", "s1").day == 0.4


CAPS = [
    ("day", Caps(day=1), [("recall", "s2"), ("dream", "s3")], []),
    ("session", Caps(session=1), [("recall", "s1"), ("dream", "s1")], [("recall", "s2")]),
    (
        "purpose",
        Caps(purpose={"recall": 1}),
        [("recall", "s1"), ("recall", "s2")],
        [("dream", "s1")],
    ),
]


@pytest.mark.parametrize(("name", "caps", "stopped", "free"), CAPS)
def test_each_cap_counts_what_it_names(
    home: Home, name: str, caps: Caps, stopped: list[Any], free: list[Any]
) -> None:
    home.ledger().settle("", entry(0.8, purpose="recall"))
    for purpose, session in stopped:
        assert isinstance(home.ledger().reserve(purpose, session, 0.3, caps), Refused)
    for purpose, session in free:
        assert allowed(home.ledger().reserve(purpose, session, 0.3, caps))


def test_a_new_day_starts_from_nothing_a_session_does_not(home: Home) -> None:
    ledger = home.ledger()
    ledger.settle("", entry(0.9))
    assert ledger.spent("main", "s1") == Spent(0.9, 0.9, 0.9)
    home.clock.advance(DAY)
    assert ledger.spent("main", "s1") == Spent(0, 0.9, 0)
    assert home.ledger().spent("main", "s1") == Spent(0, 0.9, 0)


def test_a_clock_that_goes_backwards_counts_by_its_day(home: Home) -> None:
    ledger = home.ledger()
    ledger.settle("", entry(0.9))
    home.clock.advance(-2 * DAY)
    ledger.settle("", entry(0.1, at=home.clock.now()))
    assert ledger.spent("main", "s1").day == 0.1


def test_all_projects_of_a_home_share_the_day(home: Home) -> None:
    home.ledger("p1").settle("", entry(0.4))
    home.ledger("p2").settle("", entry(0.3, session="s2"))
    ticket = allowed(home.ledger("p3").reserve("main", "s3", 0.2, Caps(day=9)))
    assert home.ledger("p1").spent("main", "s1").day == pytest.approx(0.9)
    assert isinstance(home.ledger("p4").reserve("dream", "s4", 0.2, Caps(day=1)), Refused)
    home.ledger("p3").settle(ticket, None)
    assert allowed(home.ledger("p4").reserve("dream", "s4", 0.2, Caps(day=1)))
    assert [e.session for e in home.ledger("p2").entries()] == ["s2"]


def test_ledgers_of_long_ago_are_not_read(home: Home) -> None:
    old = home.ledger("p1")
    old.settle("", entry(0.4, at=NOON))
    os.utime(old.path, (NOON - 3 * DAY, NOON - 3 * DAY))
    assert home.ledger("p2").spent("main", "s1").day == 0


def test_only_new_lines_are_read_again(home: Home) -> None:
    reader, writer = home.ledger(), home.ledger()
    for i in range(1, 4):
        writer.settle("", entry(1.0))
        assert reader.spent("main", "s1").day == i


def test_what_the_disk_refuses_counts_and_is_written_later(home: Home) -> None:
    ledger = home.ledger()
    # A folder in its place is as good as a full disk.
    ledger.path.mkdir(parents=True)
    with pytest.raises(StorageError, match="cannot write the ledger"):
        ledger.settle("", entry(0.25))
    ledger.path.rmdir()
    assert ledger.spent("main", "s1") == Spent(0.25, 0.25, 0.25)
    ledger.settle("", entry(0.5))
    assert [one.cost for one in ledger.entries()] == [0.25, 0.5]
    assert (
        ledger.spent("main", "s1") == home.ledger().spent("main", "s1") == Spent(0.75, 0.75, 0.75)
    )


def test_a_ledger_that_was_cut_is_read_from_its_start(home: Home) -> None:
    ledger = home.ledger()
    for _ in range(3):
        ledger.settle("", entry(1.0))
    assert ledger.spent("main", "s1").day == 3
    ledger.path.write_bytes(ledger.path.read_bytes().splitlines(keepends=True)[0])
    assert ledger.spent("main", "s1").day == 1
    ledger.path.unlink()
    assert list(ledger.entries()) == []


def test_entries_come_back_as_they_were(home: Home) -> None:
    ledger = home.ledger()
    written = [entry(), entry(None), entry(0.5, estimated=True, purpose="agent:x", session="ü")]
    for one in written:
        ledger.settle("", one)
    assert list(home.ledger().entries()) == written


def test_a_torn_line_costs_only_itself(home: Home) -> None:
    ledger = home.ledger()
    ledger.settle("", entry(1.0))
    whole = ledger.path.read_bytes()
    for end in range(1, len(whole)):
        ledger.path.write_bytes(whole + whole[:end])
        home.ledger().settle("", entry(2.0))
        complete = end == len(whole) - 1
        found = [e.cost for e in home.ledger().entries()]
        assert found == [1.0, 1.0, 2.0] if complete else found == [1.0, 2.0], end
        assert home.ledger().spent("main", "s1").day == sum(e for e in found if e)


SPENT = '{"type":"spent","at":"2025-06-15T11:00:00Z","purpose":"main","session":"s1","model":"m","usage":{},"cost":1.0}'
HOSTILE = [
    "",
    "not json",
    "[" * 50_000,
    "5",
    '"text"',
    "[]",
    "{}",
    '{"type":[]}',
    '{"type":"unknown"}',
    '{"type":"released","ticket":5}',
    SPENT.replace("1.0", '"1"'),
    SPENT.replace("1.0", "NaN"),
    SPENT.replace("1.0", "-5"),
    SPENT.replace("1.0", "1e999"),
    SPENT.replace('"s1"', "[]"),
    SPENT.replace("2025-06-15T11:00:00Z", "noon"),
    SPENT.replace("2025-06-15T11:00:00Z", "0001-01-01T00:00:00+23:59"),
    SPENT.replace("2025-06-15T11:00:00Z", "9999-12-31T23:59:59-23:59"),
    SPENT.replace('"usage":{}', '"usage":{"input":"x"}'),
    SPENT.replace('"usage":{}', '"usage":{"input":null}'),
    SPENT.replace('"usage":{}', '"usage":{"input":1e999}'),
    SPENT.replace('"type":"spent"', '"type":"spent","ticket":[]'),
    '{"type":"reserved","ticket":[],"at":"2025-06-15T11:00:00Z","purpose":"p","session":"s","cost":1}',
    '{"type":"reserved","ticket":"t","at":"2025-06-15T11:00:00Z","purpose":"p","session":"s","cost":NaN}',
]  # fmt: skip


@pytest.mark.parametrize("line", HOSTILE)
def test_a_line_nobody_can_count_is_passed_over(home: Home, line: str) -> None:
    ledger = home.ledger()
    ledger.path.parent.mkdir(parents=True)
    ledger.path.write_text(f"{SPENT}\n{line}\n{SPENT}\n")
    assert ledger.spent("main", "s1") == Spent(2, 2, 2)
    assert [e.cost for e in ledger.entries()] == [1.0, 1.0]
    assert isinstance(ledger.reserve("recall", "s1", 0.1, Caps(day=2)), Refused)


def test_an_entry_without_a_price_counts_as_nothing(home: Home) -> None:
    ledger = home.ledger()
    ledger.path.parent.mkdir(parents=True)
    ledger.path.write_text(SPENT.replace(',"cost":1.0', "") + "\n")
    assert ledger.spent("main", "s1").day == 0
    assert [e.cost for e in ledger.entries()] == [None]


values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just([])
records = st.dictionaries(
    st.sampled_from(["type", "ticket", "at", "purpose", "session", "model", "usage", "cost"]),
    st.sampled_from(["spent", "reserved", "released", "2025-06-15T11:00:00Z"]) | values | st.dictionaries(st.sampled_from(["input", "output"]), values),
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(records | values))
def test_no_file_makes_it_fail(home: Home, found: list[object]) -> None:
    ledger = home.ledger()
    ledger.path.parent.mkdir(parents=True, exist_ok=True)
    ledger.path.write_text("".join(json.dumps(value) + "\n" for value in found))
    assert ledger.spent("main", "s1").day >= 0
    assert all(isinstance(e, Entry) for e in ledger.entries())


class TestDisk:
    def test_a_ledger_that_cannot_be_written(self, home: Home) -> None:
        ledger = home.ledger()
        ledger.path.parent.mkdir(parents=True)
        ledger.path.symlink_to("/dev/full")
        with pytest.raises(StorageError, match=r"cannot write the ledger .*ledger.jsonl: No space"):
            ledger.settle("", entry())

    def test_a_ledger_that_is_a_folder(self, home: Home) -> None:
        ledger = home.ledger()
        ledger.path.mkdir(parents=True)
        with pytest.raises(StorageError, match=r"cannot read the ledger .*Is a directory"):
            list(ledger.entries())
        with pytest.raises(StorageError, match="cannot write the ledger"):
            ledger.settle("", entry())

    def test_a_home_that_is_a_file(self, home: Home) -> None:
        home.folder.write_text("in the way")
        with pytest.raises(StorageError, match="cannot take the lock"):
            home.ledger().reserve("main", "s1", 1, Caps(day=1))


class TestBatches:
    """Money for a batch stays reserved without a process, and is settled once."""

    def test_a_reservation_outlives_its_process_and_the_day(
        self, home: Home, clock: FixedClock
    ) -> None:
        ledger, caps = home.ledger("p1"), Caps(day=1)
        assert allowed(ledger.reserve_batch("b-0", "extract", "s1", 0.7, caps)) == "b-0"
        assert isinstance(home.ledger("p2").reserve("extract", "s2", 0.4, caps), Refused)
        clock.advance(DAY)
        assert home.ledger("p1").spent("extract", "s1").purpose == 0.7
        assert isinstance(ledger.reserve_batch("b-1", "extract", "s1", 0.4, caps), Refused)
        clock.advance(1.5 * DAY)
        assert home.ledger("p1").spent("extract", "s1").purpose == 0

    def test_it_is_settled_once(self, home: Home) -> None:
        ledger = home.ledger("p1")
        ledger.reserve_batch("b-0", "extract", "s1", 0.7, Caps(day=9))
        ledger.reserve_batch("b-1", "extract", "s1", 0.7, Caps(day=9))
        for _ in range(2):
            home.ledger("p1").settle_batch("b-0", entry(0.2, at=NOON))
            home.ledger("p1").settle_batch("b-1", None)
        home.ledger("p1").settle_batch("b-1", entry(0.2, at=NOON))
        assert len(list(ledger.entries())) == 1
        assert home.ledger("p1").spent("main", "").day == pytest.approx(0.2)
