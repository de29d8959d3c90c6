"""Snapshots of the prompt section: every changed word shows as a diff."""

import re
from pathlib import Path

import pytest

from reverie.memory.format import index
from reverie.memory.format.prompt import PromptMemory, agent_memory_prompt, memory_prompt

SNAPSHOTS = Path(__file__).parent / "snapshots"
INDEX = index.parse("- [Role](user_role.md) — runs the pharmacy desk\n".encode())
MINE = PromptMemory("/home/mira/.reverie/projects/x/memory", INDEX)
TEAM = PromptMemory("/home/mira/.reverie/projects/x/memory/team", index.parse(b""))
PERSON = PromptMemory("/home/mira/.reverie/person/memory", INDEX)
BARE = PromptMemory("/home/mira/.reverie/projects/x/memory")

PROMPTS = {
    "private": memory_prompt(MINE, transcripts="/home/mira/.reverie/projects/x/sessions"),
    "team": memory_prompt(MINE, TEAM, guidelines="Write memories in English.\n"),
    "person": memory_prompt(BARE, None, PERSON),
    "daily_log": memory_prompt(BARE, daily_log=True),
    "agent_user": agent_memory_prompt(
        PromptMemory("/home/mira/.reverie/agent-memory/reviewer", INDEX), "user"
    ),
    "agent_project": agent_memory_prompt(
        PromptMemory(".reverie/agent-memory/reviewer", INDEX), "project"
    ),
    "agent_local": agent_memory_prompt(
        PromptMemory(".reverie/agent-memory-local/reviewer", INDEX), "local", guidelines="Be brief."
    ),
}


@pytest.mark.parametrize("name", PROMPTS)
def test_the_prompt_is_the_one_on_record(name):
    """To accept a change: write the new text to the file named in the diff."""
    assert PROMPTS[name].splitlines() == (SNAPSHOTS / f"{name}.md").read_text("utf-8").splitlines()


@pytest.mark.parametrize(
    "expected",
    [
        "`/home/mira/.reverie/projects/x/memory`. The directory exists",
        "### user",
        "### feedback",
        "### project",
        "### reference",
        "## What is never saved",
        "1. Write the memory to a file",
        "2. Add one line to `MEMORY.md`",
        "## When to look",
        "ignore memory",
        "## Before recommending from memory",
        "## Memory, plan, task list",
        "## Searching past context",
        "transcripts in `/home/mira/.reverie/projects/x/sessions`",
        "- [Role](user_role.md) — runs the pharmacy desk",
    ],
)
def test_everything_the_page_asks_for_is_there(expected):
    assert expected in PROMPTS["private"]


def test_scope_rules_only_with_team_memory():
    assert "Scope:" not in PROMPTS["private"]
    assert PROMPTS["team"].count("- Scope:") == 4
    assert "## team/MEMORY.md\n\nIt is empty so far." in PROMPTS["team"]


def test_guidelines_come_before_the_index():
    prompt = PROMPTS["team"]
    assert prompt.index("Write memories in English.") < prompt.index("## MEMORY.md")


def test_the_index_can_be_left_out():
    assert "## MEMORY.md" not in memory_prompt(BARE)


def test_the_daily_log_names_a_pattern_and_never_a_date():
    prompt = PROMPTS["daily_log"]
    assert "memory/logs/YYYY/MM/YYYY-MM-DD.md" in prompt
    assert not re.search(r"\d{4}-\d{2}-\d{2}\.md", prompt)
    assert "Add one line to `MEMORY.md`" not in prompt


def test_a_long_index_is_capped_with_its_warning():
    long = index.parse(b"- [a](a.md)\n" * 300)
    assert "over its limit of 200 lines; 100 pointers are not shown" in memory_prompt(
        PromptMemory("/m", long)
    )


def test_directories_with_braces_are_printed_as_they_are():
    assert "/home/{x}/logs/YYYY" in memory_prompt(PromptMemory("/home/{x}"), daily_log=True)


def test_an_agent_sees_its_whole_index():
    """A subagent has no recall that could find what a cut hides."""
    long = index.parse("".join(f"- [T{i}](t{i}.md) — hook\n" for i in range(400)).encode())
    text = agent_memory_prompt(PromptMemory("/m", long), "user")
    assert "(t399.md)" in text
    assert "WARNING" not in text
