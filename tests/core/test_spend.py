"""Spend caps are checked before the call, so that no background loop exceeds one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.usage import MAIN, Allowed, Caps, Refused, Spent, decide

dollars = st.floats(0, 100)
maybe_dollars = st.none() | dollars
purposes = st.sampled_from(["main", "recall", "dream", "agent:main", "agent:x"])
caps = st.builds(
    Caps,
    maybe_dollars,
    maybe_dollars,
    st.dictionaries(purposes, dollars, max_size=3),
    st.booleans(),
)
spent = st.builds(Spent, dollars, dollars, dollars)


@pytest.mark.parametrize(
    ("purpose", "used", "limits", "refused_for"),
    [
        ("dream", Spent(), Caps(), None),
        ("dream", Spent(day=4.90), Caps(day=5), None),
        ("dream", Spent(day=4.95), Caps(day=5), "raise spend.day to allow it"),
        ("dream", Spent(session=2), Caps(session=1), "raise spend.session to allow it"),
        ("dream", Spent(purpose=1), Caps(purpose={"dream": 1}), "raise spend.purpose.dream to allow it"),
        ("dream", Spent(purpose=1), Caps(purpose={"recall": 1}), None),
        ("main", Spent(day=9), Caps(day=5, main_stops=True), "raise spend.day to allow it"),
    ],
)  # fmt: skip
def test_which_cap_stops_a_call_of_ten_cents(purpose, used, limits, refused_for):
    decision = decide(purpose, 0.10, used, limits)
    if refused_for is None:
        assert decision == Allowed()
    else:
        assert isinstance(decision, Refused)
        assert decision.reason.endswith(refused_for)


def test_a_refusal_says_what_is_spent_what_it_may_cost_and_what_to_do():
    assert decide("dream", 0.25, Spent(day=4.9), Caps(day=5)) == Refused(
        "the day cap of $5.00 could be passed: $4.9000 is spent and this dream call may cost "
        "up to $0.2500; raise spend.day to allow it",
        left=pytest.approx(0.1),
    )


def test_the_person_is_warned_and_not_stopped_unless_they_asked_to_be():
    decision = decide(MAIN, 1.0, Spent(day=5), Caps(day=5))
    assert isinstance(decision, Allowed)
    assert decision.warning.startswith("the day cap of $5.00 could be passed")


@pytest.mark.parametrize(
    ("limits", "any_cap"),
    [
        (Caps(), False),
        (Caps(main_stops=True), False),
        (Caps(day=0), True),
        (Caps(session=0), True),
        (Caps(purpose={"dream": 0}), True),
    ],
)
def test_whether_there_is_any_cap(limits, any_cap):
    assert limits.any is any_cap


def passes_a_cap(purpose, ceiling, used, limits):
    held = [
        (used.day, limits.day),
        (used.session, limits.session),
        (used.purpose, limits.purpose.get(purpose)),
    ]
    return any(cap is not None and so_far + ceiling > cap for so_far, cap in held)


def test_of_a_cap_that_was_passed_nothing_is_left():
    over = decide("dream", 0.25, Spent(day=5.0), Caps(day=5))
    assert isinstance(over, Refused)
    assert over.left == Refused("").left == 0.0


@given(purposes, dollars, spent, caps)
def test_a_cap_is_passed_by_nobody_but_the_person_and_never_in_silence(
    purpose, ceiling, used, limits
):
    decision = decide(purpose, ceiling, used, limits)
    passing = passes_a_cap(purpose, ceiling, used, limits)
    assert (decision != Allowed()) == passing
    if passing and (purpose != MAIN or limits.main_stops):
        assert isinstance(decision, Refused)


@given(st.lists(dollars, max_size=30), caps)
def test_a_background_loop_that_asks_before_every_call_stays_under_its_caps(ceilings, limits):
    used = Spent()
    for ceiling in ceilings:
        if isinstance(decide("dream", ceiling, used, limits), Allowed):
            used = Spent(used.day + ceiling, used.session + ceiling, used.purpose + ceiling)
    for total, cap in (
        (used.day, limits.day),
        (used.session, limits.session),
        (used.purpose, limits.purpose.get("dream")),
    ):
        assert cap is None or total <= cap
