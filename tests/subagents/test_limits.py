"""Every limit is a sentence the asking model can act on."""

from dataclasses import replace

import pytest

from reverie.subagents.members import (
    DONE,
    Brief,
    CrewUsage,
    How,
    Limits,
    Member,
    agent_description,
    member_prompt,
    out_of_time,
    over_tokens,
    refusal,
)
from reverie.subagents.types import BUILT_IN, AgentType

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


@pytest.mark.parametrize(
    "limits", [Limits(depth=0), Limits(concurrent=0), Limits(-1, 8), Limits(2, -1)]
)
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
    ("seconds", "said"),
    [
        (1_800.0, "30 minutes"),
        (90, "90 seconds"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (121, "2.0 minutes"),
        (130, "2.2 minutes"),
    ],
)
def test_out_of_time(seconds, said):
    assert f"after {said}," in out_of_time(Limits(seconds=seconds))


def test_one_agent_beside_the_first_is_allowed_by_the_smallest_limits():
    assert refusal(Limits(depth=1, concurrent=1), CrewUsage(0, 0, 0)) is None


def test_what_holds_unless_settings_say_otherwise():
    assert Limits() == Limits(depth=2, concurrent=8, tokens=2_000_000, seconds=1_800.0)
    one = member()
    assert one.brief == replace(one.brief, model=None, asks=False, apart=False, plans_first=False)
    assert (one.tokens, one.answer, one.left_behind, one.reported) == (0, "", "", False)
    assert one.stopped_for is one.ended is None
    assert "work=" not in repr(one)


@pytest.mark.parametrize(
    ("answer", "why", "left_behind", "report"),
    [
        ("All found.", DONE, "", "All found."),
        ("", DONE, "", "It said nothing."),
        ("Half.", "no time", "", "It ended early: no time.\n\nHalf."),
        ("Done.", DONE, "On branch x.", "Done.\n\nOn branch x."),
        ("", "no time", "On x.", "It ended early: no time.\n\nIt said nothing.\n\nOn x."),
    ],
)
def test_what_a_parent_is_told(answer, why, left_behind, report):
    one = member()
    one.answer, one.left_behind = answer, left_behind
    assert one.report_of(why) == report


def described(*descriptions: str) -> list[str]:
    kinds = [AgentType(f"t{n}", text, "") for n, text in enumerate(descriptions)]
    told = agent_description({kind.name: kind for kind in kinds})
    return told.partition("The types are:\n")[2].splitlines()


def test_every_type_is_named_and_described_as_far_as_there_is_room():
    assert described("looks", "", "x" * 600, "x" * 601) == [
        "- t0: looks",
        "- t1",
        f"- t2: {'x' * 600}",
        f"- t3: {'x' * 599}…",
    ]
    # Twenty long descriptions fill the room; one letter less leaves room for another.
    long = ["x" * 600] * 19
    assert described(*long, "x" * 600, "more")[-1] == "- t20"
    assert described(*long, "x" * 599, "more")[-1] == "- t20: more"


@pytest.mark.parametrize(
    ("how", "plans_first", "branch", "parts"),
    [
        ("background", False, None, []),
        ("teammate", False, None, ["You stay after the first task"]),
        ("background", True, None, ["You may only read until your plan is approved"]),
        ("isolated", False, "b1", ["on branch b1. Commit"]),
        (
            "teammate",
            True,
            "b1",
            ["You stay after", "You may only read until", "on branch b1. Commit"],
        ),
    ],
)
def test_what_a_member_is_told(how, plans_first, branch, parts):
    brief = replace(member(how).brief, plans_first=plans_first)
    told = member_prompt(brief, branch).split("\n\n")
    assert told[0].startswith("You are ada, an agent that lead has given a task.")
    assert len(told) == 1 + len(parts)
    assert all(part in text for part, text in zip(parts, told[1:], strict=True))
