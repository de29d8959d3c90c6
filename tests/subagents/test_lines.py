"""What an agent does is said in a few words: present, exact, and new."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.saying import did, model, story, user
from tests.core.build import texts

from reverie.core.messages import ToolUse, new_message
from reverie.subagents.progress_lines import (
    LONGEST_LINE,
    MOST_WORDS,
    cleaned,
    digest,
    directive,
    line_of_calls,
)


@pytest.mark.parametrize(
    ("tool", "arguments", "line"),
    [
        ("Read", {"path": "src/agent/loop.py"}, "Reading loop.py"),
        ("Read", {"path": "my notes from last year.md"}, "Reading my notes from"),
        ("Edit", {"path": "/p/query.py", "old_text": "a", "new_text": "b"}, "Editing query.py"),
        ("Write", {"path": "notes.md", "content": "x"}, "Writing notes.md"),
        ("Grep", {"pattern": "retry"}, "Searching for retry"),
        ("Grep", {"pattern": "def .* -> None: pass"}, "Searching for def .* ->"),
        ("Glob", {"pattern": "src/**/*.py"}, "Finding src/**/*.py files"),
        ("WebFetch", {"url": "https://docs.example.org/a?key=1"}, "Fetching docs.example.org"),
        ("search_memory", {"query": "deploy steps"}, "Searching memory for deploy steps"),
        ("Todo", {"todos": []}, "Updating todo list"),
        ("Agent", {"name": "tester", "task": "…"}, "Starting tester agent"),
        ("Agent", {"task": "…"}, "Starting another agent"),
        ("send_message", {"to": "lead", "message": "done"}, "Writing to lead"),
        ("deploy", {"stage": "test"}, "Using deploy"),
        ("Read", {}, "Using Read"),
        ("WebFetch", {"url": "http://[bad"}, "Using WebFetch"),
        ("", {}, "Using a tool"),
        ("Read", {"path": "a\x1b[31m.py"}, "Reading a [31m.py"),
    ],
)
def test_a_line_for_every_tool(tool, arguments, line):
    assert line_of_calls(story(did(tool, **arguments))) == line


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("pytest tests", "Running pytest tests"),
        ("cd web && npm run test", "Running npm run test"),
        (".venv/bin/pytest -q tests/core/test_codec.py | tail", "Running pytest test_codec.py"),
        ("A=1 B='x y' python -m pytest tests/a.py -k one", "Running python pytest a.py"),
        ("curl -H 'Authorization: Bearer abc' --user me:pw https://x.org", "Running curl"),
        ("mysql --password hunter2 shop", "Running mysql"),
        ("git commit -m 'message'", "Running git commit"),
        ("echo 'unclosed", "Running echo"),
        ("cd there", "Using Bash"),
    ],
)
def test_commands_tell_the_program_and_no_value_of_an_option(command, line):
    assert line_of_calls(story(did("Bash", command=command))) == line


def test_the_last_call_counts():
    both = new_message(
        "assistant",
        ToolUse("1", "Read", '{"path": "a.py"}'),
        ToolUse("2", "Read", '{"path": "b.py"}'),
    )
    assert line_of_calls([*did("Read", path="old.py"), both, model("hm")]) == "Reading b.py"
    assert line_of_calls([user("hello"), model("hi")]) is None


@given(
    st.sampled_from(["Read", "Bash", "Grep", "Glob", "WebFetch", "Agent", "send_message"]) | texts,
    st.dictionaries(
        st.sampled_from(["path", "command", "pattern", "url", "name", "to", "query"]),
        texts | st.integers(),
    ),
)
def test_a_line_is_short_and_printable_whatever_was_called(tool, arguments):
    line = line_of_calls(story(did(tool, **{"arguments": 0} | arguments)))
    assert line is not None
    assert line.isprintable()
    assert len(line) <= LONGEST_LINE
    assert 2 <= len(line.split()) <= MOST_WORDS


@pytest.mark.parametrize(
    ("reply", "line"),
    [
        ("Reading loop.py", "Reading loop.py"),
        ("  Fixing null check in validate.\n", "Fixing null check in validate"),
        ('"Running tests of parser"', "Running tests of parser"),
        ("**Editing `query.py`**", "Editing `query.py"),
        ("Fixed the parser", None),
        ("Parser was fixed", None),
        ("String handling in codec.py", None),
        ("Testing parser finished", None),
        ("Working on it", None),
        ("Analyzing the codebase", None),
        ("Making changes to files", None),
        ("Thinking", None),
        ("Reading one two three four five six seven", None),
        ("Reading a.py\nEditing b.py", None),
        (f"Reading {'a' * 100}.py", None),
        ("Reading \x1b[31mloop.py", None),
        ("", None),
        ("...", None),
    ],
)
def test_only_a_valid_line_is_taken(reply, line):
    assert cleaned(reply, None) == line


@pytest.mark.parametrize("previous", ["Reading loop.py", "reading  Loop.py.", "“Reading loop.py”"])
def test_the_same_again_is_no_news(previous):
    assert cleaned("Reading loop.py", previous) is None
    assert cleaned("Reading turns.py", previous) == "Reading turns.py"


@given(texts | texts.map(lambda text: f"Reading {text}"), st.none() | texts)
def test_whatever_is_taken_is_one_short_line(reply, previous):
    line = cleaned(reply, previous)
    if line is not None:
        assert line.isprintable()
        assert len(line) <= LONGEST_LINE
        assert line != previous
        assert cleaned(line, None) == line


def test_the_directive_shows_the_previous_line():
    assert "The last line was" not in directive(None)
    told = directive("Reading a.py</reminder>")
    assert told.startswith(directive(None))
    assert "“Reading a.py<\\/reminder>”" in told


def test_the_digest_tells_the_last_steps_in_order():
    told = digest(
        story(
            user("find the bug"),
            model("I look at the loop."),
            did("Read", "1: def run", path="loop.py"),
            did("Bash", "Exit code 1\nboom", error=True, command="pytest"),
        )
    )
    assert told.split("\n") == [
        "it is told: find the bug",
        "it says: I look at the loop.",
        "it calls: Read: read loop.py",
        "result: 1: def run",
        "it calls: Bash: `pytest`",
        "that failed: Exit code 1 boom",
    ]


@given(st.lists(texts, max_size=30), st.integers(0, 300))
def test_the_digest_fits_and_ends_with_the_newest(said, most):
    told = digest([model(text) for text in said], most)
    assert len(told) <= most
    newest = next((text for text in reversed(said) if text.strip()), None)
    if newest is not None and most:
        assert told.split("\n")[-1] == digest([model(newest)], most)
