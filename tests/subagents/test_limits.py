"""Every limit is a sentence the asking model can act on."""

import pytest

from reverie.subagents.members import (
    DONE,
    Brief,
    CrewUsage,
    How,
    Limits,
    Member,
    out_of_time,
    over_tokens,
    refusal,
)
from reverie.subagents.types import BUILT_IN

LIMITS = Limits(depth=2, concurrent=3, tokens=1_000)


@pytest.mark.parametrize(
    ("standing", "said"),
    [
        (CrewUsage(0, 0, 0), None),
        (CrewUsage(1, 2, 999), None),
        (CrewUsage(2, 0, 0), "you are an agent 2 deep, and they may be nested 2 deep"),
        (CrewUsage(5, 0, 0), "5 deep"),
        (CrewUsage(0, 3, 0), "3 are running, and 3 may run at once"),
        (CrewUsage(0, 0, 1_000), "used 1,000 tokens of 1,000"),
        (CrewUsage(2, 3, 1_000), "nested"),
    ],
)
def test_refusals(standing, said):
    told = refusal(LIMITS, standing)
    assert (told is None) == (said is None)
    assert said is None or (said in str(told) and "yourself" in str(told))


@pytest.mark.parametrize("limits", [Limits(depth=0), Limits(concurrent=0)])
def test_nothing_is_a_limit_too(limits):
    assert "none are allowed" in str(refusal(limits, CrewUsage(0, 0, 0)))


def member(how: How = "background") -> Member:
    [general, *_] = BUILT_IN
    brief = Brief("ada", general, how, "a task", "in words", "lead", 1, "ask", "/project")
    return Member(brief, "a transcript", 0.0)


def test_a_member_runs_until_there_is_a_reason_why_it_ended():
    one = member()
    assert not one.brief.asks
    assert one.running
    assert one.reachable
    one.why = DONE
    assert not one.running
    assert not one.reachable


def test_a_fork_gets_no_letters():
    assert member("fork").running
    assert not member("fork").reachable


def test_tokens_run_out_at_the_limit():
    assert over_tokens(LIMITS, 999) is None
    assert "1,000 tokens of 1,000" in str(over_tokens(LIMITS, 1_000))


@pytest.mark.parametrize(
    ("seconds", "said"), [(1_800.0, "30 minutes"), (90, "90 seconds"), (130, "2.2 minutes")]
)
def test_out_of_time(seconds, said):
    assert f"after {said}," in out_of_time(Limits(seconds=seconds))
