"""Agent files become types, and nothing read from them widens what an agent may do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import texts

from reverie.agent.kit import standard_kit
from reverie.agent.kit.web_fetch import web_fetch_tool
from reverie.recall.service import NAME as SEARCH_MEMORY
from reverie.subagents.letters import name_problem
from reverie.subagents.types import (
    BUILT_IN,
    LONGEST_DESCRIPTION,
    TOOLS,
    AgentType,
    Unusable,
    catalogue,
    parse,
)

SOURCE = "/p/.reverie/agents/reviewer.md"


def file(*lines: str, body: str = "You review changes.") -> str:
    head = lines or ("description: Reviews",)
    return "\n".join(["---", *head, "---", "", body, ""])


def made(*lines: str) -> AgentType:
    found = parse(file("description: Reviews", *lines), SOURCE)
    assert isinstance(found, AgentType), found
    return found


def refused(text: str) -> str:
    found = parse(text, SOURCE)
    assert isinstance(found, Unusable), found
    assert found.source == SOURCE
    return found.reason


def test_a_whole_file():
    found = parse(
        file(
            "name: code-reviewer",
            'description: "Reviews a change: style, errors"',
            "tools: [Read, Grep]",
            "model: some-model-4",
            "memory: project",
            "max_turns: 12",
            "color: blue",
            body="\nYou review.\n\nBe brief.\n",
        ),
        SOURCE,
    )
    assert found == AgentType(
        name="code-reviewer",
        description="Reviews a change: style, errors",
        prompt="You review.\n\nBe brief.",
        tools=("Read", "Grep"),
        model="some-model-4",
        memory="project",
        max_turns=12,
        source=SOURCE,
    )


def test_a_file_that_says_little_is_named_after_itself_and_has_every_tool():
    found = made()
    assert (found.name, found.tools, found.model, found.memory) == ("reviewer", None, None, None)
    assert (found.max_turns, found.denied, found.notes) == (None, (), ())
    assert found.allows("Bash")


def test_a_file_of_claude_code():
    found = parse(
        "---\n"
        "name: test-runner\n"
        "description: Use this agent to run tests. Examples:\\n\\n<example>Context: a change</example>\n"
        "tools: Read, LS, MultiEdit, TodoWrite, Task, WebFetch, BashOutput, Bash(npm run test:*), mcp__ide__x\n"
        "model: sonnet\n"
        "maxTurns: 7\n"
        "permissionMode: plan\n"
        "color: green\n"
        "---\n\nRun them.\n",
        "test-runner.md",
    )
    assert isinstance(found, AgentType)
    assert found.description.startswith("Use this agent to run tests. Examples:")
    assert found.tools == ("Read", "Glob", "Edit", "Todo", "Agent", "WebFetch")
    assert (found.model, found.max_turns) == (None, 7)
    assert [note.split(" ")[0] for note in found.notes] == [
        "BashOutput",
        "Bash(npm",
        "mcp__ide__x",
        "model",
        "permissionMode",
    ]


@pytest.mark.parametrize(
    ("line", "tools"),
    [
        ("tools: Read, Grep", ("Read", "Grep")),
        ('tools: "Read, Grep"', ("Read", "Grep")),
        ("tools: [Read, 'Grep']", ("Read", "Grep")),
        ("tools:\n  - Read\n  - Grep", ("Read", "Grep")),
        ("tools:\n- Read\n- Grep", ("Read", "Grep")),
        ("Tools: read, read, READ", ("Read",)),
        ("tools: '*'", None),
        ("tools: *", None),
        ("tools:", ()),
        ("tools: []", ()),
        ("tools: Nonsense", ()),
        ("tools: Bash(git add:*, git commit:*), Read", ("Read",)),
        ("tools: [Bash(git add:*, git commit:*), Read]", ("Read",)),
        ('tools: ["Bash(git:*)", Read]', ("Read",)),
        ("tools: Bash(git, Read", ()),
        ("tools: Read, Bash (git:*)", ("Read",)),
    ],
)
def test_tools(line, tools):
    assert made(line).tools == tools


def test_a_part_of_a_tool_is_not_the_tool():
    found = made("tools: Read, Bash(git:*)")
    assert not found.allows("Bash")
    assert found.notes == ("Bash(git:*) is left out: a tool is granted as a whole or not at all",)


@pytest.mark.parametrize(
    ("lines", "denied", "still"),
    [
        (["disallowedTools: Bash, Write"], ["Bash", "Write"], ["Read", "Edit"]),
        (["disallowed_tools: [MultiEdit]"], ["Edit"], ["Write"]),
        (["tools: Read, Bash", "disallowedTools: Bash"], ["Bash"], ["Read"]),
        (["tools: '*'", "disallowedTools: Bash(rm:*)"], ["Bash"], ["Read"]),
        (["disallowedTools: deploy"], ["deploy"], ["Read"]),
        (["disallowedTools: '*'"], list(TOOLS), []),
    ],
)
def test_what_is_denied_is_not_given(lines, denied, still):
    found = made(*lines)
    assert [tool for tool in denied if found.allows(tool)] == []
    assert [tool for tool in still if not found.allows(tool)] == []


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("model: opus[1m]", "model 'opus[1m]' is one provider's"),
        ("memory: everywhere", "memory 'everywhere' is not one of user, project, local"),
        ("max_turns: many", "max_turns 'many' is not a number"),
        ("max_turns: 0", "max_turns '0' is not a number"),
        ("hooks:\n  PreToolUse: []", "hooks is not used"),
        ("tools: Nonsense", "Nonsense is left out: there is no such tool here"),
    ],
)
def test_what_does_not_hold_is_told(line, note):
    found = made(line)
    assert any(note in told for told in found.notes), found.notes
    assert (found.model, found.memory, found.max_turns) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("You review.", "there is no frontmatter"),
        ("---\ndescription: x\n", "never closed"),
        (file("name: reviewer"), "no 'description'"),
        (file(body="  \n"), "system prompt"),
        (file("name: Code Reviewer", "description: x"), "is not allowed"),
        (file("name: system", "description: x"), "reserved"),
        (file("description: x", "tools: Read", "Tools: Bash"), "'tools' twice"),
        (file("description: x", "  tools: Read"), "looks like 'tools:'"),
        (file("stray", " tools: Read", "description: x"), "looks like 'tools:'"),
    ],
)
def test_unusable_files_say_why(text, reason):
    assert reason in refused(text)


def test_a_description_broken_over_lines_does_not_lose_the_agent():
    found = parse(file("name: a", "description: When", "<example>", "tools: Read"), SOURCE)
    assert isinstance(found, AgentType)
    assert (found.description, found.tools) == ("When", ("Read",))


def test_long_descriptions_are_cut():
    found = parse(file(f"description: {'long ' * 2_000}"), SOURCE)
    assert isinstance(found, AgentType)
    assert len(found.description) <= LONGEST_DESCRIPTION


@given(texts, st.lists(texts))
def test_any_text_is_a_type_or_says_why_not(body, lines):
    for text in (body, file(*lines, body=body), file("description: x", *lines, body=body)):
        match parse(text, SOURCE):
            case AgentType(name=name, description=description, prompt=prompt, tools=tools):
                assert name_problem(name) is None
                assert description
                assert prompt
                assert set(tools or ()) <= set(TOOLS)
            case Unusable(reason=reason):
                assert reason


@given(st.lists(st.sampled_from([*TOOLS, "LS", "Bash(git:*)", "mcp__a__b", "x, y", "(", "Nope"])))
def test_only_tools_that_were_named_whole_are_granted(items):
    granted = made("tools: " + ", ".join(items)).tools
    named = {{"LS": "Glob"}.get(item, item) for item in items} & set(TOOLS)
    assert granted is not None
    assert set(granted) <= named


def test_the_nearest_wins_and_the_rest_is_told():
    home = AgentType("reviewer", "home's", "p", source="home")
    project = AgentType("reviewer", "project's", "p", source="project")
    general = AgentType("general", "our own", "p", source="project")
    broken = Unusable("x.md", "why")
    listed = catalogue([home, broken, project, general])
    assert [one.name for one in listed.types] == ["explore", "general", "reviewer"]
    assert listed.find("reviewer") is project
    assert listed.find("general") is general
    assert listed.find("nobody") is None
    assert listed.hidden == (home, BUILT_IN[0])
    assert listed.unusable == (broken,)


def test_built_in_types():
    general, explore = catalogue([]).find("general"), catalogue([]).find("explore")
    assert general is not None
    assert explore is not None
    assert general.tools is None
    assert not [tool for tool in ("Edit", "Write", "Bash", "Agent") if explore.allows(tool)]


def test_every_tool_there_is_can_be_named():
    there = {tool.name for tool in (*standard_kit(), web_fetch_tool())} | {SEARCH_MEMORY}
    assert there <= set(TOOLS)
