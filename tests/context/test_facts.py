"""Facts are read from a transcript without a model."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.saying import did, edit, failed, model, ran, read, story, user
from tests.core.build import conversations, messages

from reverie.context.facts import MOST_FILES, FactCollector, read_facts
from reverie.context.facts.calls import action_of, command_parts, only_looks
from reverie.context.facts.outcomes import Command, FileTouch, Todo, outcome_of
from reverie.context.user_messages import render
from reverie.core.messages import Message, Text, ToolResult, ToolUse, new_message
from reverie.core.transcript import INTERRUPTED

# ── what a call is ───────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tool", "arguments", "kind", "target"),
    [
        ("Read", {"file_path": "/a/b.py"}, "read", "/a/b.py"),
        ("read", {"path": "b.py"}, "read", "b.py"),
        ("Edit", {"file_path": "b.py", "old_string": "x"}, "edit", "b.py"),
        ("MultiEdit", {"file_path": "b.py", "edits": []}, "edit", "b.py"),
        ("NotebookEdit", {"notebook_path": "n.ipynb"}, "edit", "n.ipynb"),
        ("Write", {"file_path": "c.py", "content": ""}, "write", "c.py"),
        ("Bash", {"command": "make\n  test"}, "run", "make test"),
        ("shell", {"command": ["bash", "-lc", "ls"]}, "run", "bash -lc ls"),
        ("Grep", {"pattern": "TODO", "path": "src"}, "search", "TODO"),
        ("str_replace_editor", {"command": "view", "path": "d.py"}, "read", "d.py"),
        ("str_replace_editor", {"command": "create", "path": "d.py"}, "write", "d.py"),
        ("str_replace_based_edit_tool", {"command": "insert", "path": "d.py"}, "edit", "d.py"),
        ("str_replace_editor", {"command": "dance", "path": "d.py"}, "other", ""),
        ("mcp__tracker__create", {"title": "Bug", "body": "…"}, "other", "Bug"),
        ("Read", {"file_path": 7}, "read", ""),
        ("Read", {"file_path": "odd  name\n.py"}, "read", "odd  name\n.py"),
    ],
)
def test_a_call_is_understood_by_whichever_name(
    tool: str, arguments: dict[str, object], kind: str, target: str
) -> None:
    action = action_of(ToolUse("1", tool, json.dumps(arguments)))
    assert (action.kind, action.target) == (kind, target)


@pytest.mark.parametrize(
    ("line", "like"),
    [
        ("cd web && npm run test -- -v", "npm run test"),
        ("CI=1 timeout 60 go test ./...", "go test"),
        ("git -C /repo status --short", "git status"),
        ("/usr/bin/python -m pytest -q", "python -m pytest"),
        ("pytest -q tests", "pytest"),
    ],
)
def test_what_a_command_is_like(line: str, like: str) -> None:
    assert command_parts(line) == {like}


@pytest.mark.parametrize("line", ["", "cd x", " ; && "])
def test_a_line_that_runs_nothing(line: str) -> None:
    assert command_parts(line) == frozenset()


def test_a_look_is_only_like_the_same_look() -> None:
    assert command_parts("ls a") != command_parts("ls b")
    assert command_parts("make lint && make test") == {"make lint", "make test"}
    assert only_looks("cd src && ls -la; cat x | grep y")
    assert not only_looks("cat x && make")


# ── how it ended ─────────────────────────────────────────────────────────────

_RUN = action_of(ToolUse("1", "Bash", '{"command": "make"}'))
_PIPED = action_of(ToolUse("1", "Bash", '{"command": "make 2>&1 | tail"}'))
_EDIT = action_of(ToolUse("1", "Edit", '{"file_path": "a.py"}'))


def result(text: str, *, error: bool = False) -> ToolResult:
    return ToolResult("1", (Text(text),), is_error=error)


@pytest.mark.parametrize(
    ("text", "error", "status", "code"),
    [
        ("fine", False, "ok", None),
        ("<returncode>0</returncode>\n<output>\nerror: none\n</output>", False, "ok", 0),
        ("<returncode>2</returncode>\n<output>\nno\n</output>", False, "failed", 2),
        ("lots\nof text\n[exit code: 3]", False, "failed", 3),
        ("panic\nexit status 1", False, "failed", 1),
        ("Process exited with code 0", False, "ok", 0),
        ("Exit code 128\nfatal: no", True, "failed", 128),
        ("killed", True, "failed", None),
        ("the docs say exit code 1 means trouble\nand more", False, "ok", None),
        (INTERRUPTED, True, "not run", None),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", True, "not run", None),
        ("The user doesn't want to proceed with this tool use.", True, "not run", None),
    ],
)
def test_how_a_command_ended(text: str, error: bool, status: str, code: int | None) -> None:
    outcome = outcome_of(result(text, error=error), _RUN)
    assert (outcome.status, outcome.exit) == (status, code)


def test_an_exit_status_in_a_file_is_no_exit_status() -> None:
    assert outcome_of(result("exit status 1"), _EDIT).status == "ok"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "Traceback (most recent call last):\n  File \"x.py\", line 1\nKeyError: 'a'",
            ("KeyError: 'a'",),
        ),
        (
            "[lint] $ lint ./...\nsrc/a.go:3:1: unused variable\nERROR task failed",
            ("src/a.go:3:1: unused variable",),
        ),
        ("ok 1\n\x1b[31mfatal: bad object\x1b[0m\n0 errors", ("fatal: bad object",)),
        ("nothing\nspecial\nhere", ("here",)),
        ("", ()),
        ("---\n***", ()),
    ],
)
def test_the_lines_that_tell_why(text: str, lines: tuple[str, ...]) -> None:
    assert outcome_of(result(f"Exit code 1\n{text}", error=True), _RUN).lines == lines


def test_a_refused_edit_is_told_by_its_first_line() -> None:
    text = "<tool_use_error>String to replace not found in file.\nString: error(</tool_use_error>"
    assert outcome_of(result(text, error=True), _EDIT).lines == (
        "String to replace not found in file.",
    )


def test_a_pipe_hides_the_status_but_not_the_words() -> None:
    assert outcome_of(result("a.c:1:2: undefined: x"), _PIPED).lines == ("a.c:1:2: undefined: x",)
    assert outcome_of(result("a.c:1:2: undefined: x"), _RUN).lines == ()


def test_a_result_of_many_megabytes_is_read_at_its_ends() -> None:
    text = "Exit code 1\n" + "x" * 40_000_000 + "\nValueError: deep"
    assert outcome_of(result(text, error=True), _RUN).lines == ("ValueError: deep",)


# ── the facts ────────────────────────────────────────────────────────────────


def test_a_story() -> None:
    facts = read_facts(
        story(
            user("Make the tests pass"),
            model("I'll look around first."),
            read("/p/a.py"),
            read("/p/b.py"),
            failed("make test", "a.py:3: error: bad thing"),
            model("I'll use a set instead of a list."),
            edit("/p/a.py"),
            ran("make test", "3 passed"),
            did("Write", file_path="/p/c.py", content="…"),
            user("Also document it"),
            model("Done. Should I commit this?"),
        )
    )
    assert facts.user_messages == ("Make the tests pass", "Also document it")
    assert facts.last_request == "Also document it"
    assert facts.files == (
        FileTouch("/p/b.py", reads=1),
        FileTouch("/p/a.py", reads=1, edits=1),
        FileTouch("/p/c.py", writes=1),
    )
    assert facts.commands == (Command("make test", "failed", 1), Command("make test", "ok"))
    (trouble,) = facts.troubles
    assert trouble.lines == ("a.py:3: error: bad thing",)
    assert trouble.changed == ("/p/a.py",)
    assert trouble.fixed_by == "`make test`"
    assert facts.decisions == ("I'll use a set instead of a list.",)
    assert facts.open_question == "Should I commit this?"
    assert facts.last_words == "Done. Should I commit this?"
    assert facts.tool_calls == 6
    assert facts.work_log == (
        "asked: Make the tests pass",
        "read p/a.py, p/b.py",
        "ran `make test` → exit 1",
        "edited p/a.py",
        "ran `make test`",
        "wrote p/c.py",
        "asked: Also document it",
    )


def test_a_failure_is_made_up_for_by_all_of_its_parts() -> None:
    facts = read_facts(
        story(failed("make lint && make test", "error: x"), ran("make lint"), ran("make test"))
    )
    assert facts.troubles[0].fixed_by == ""
    facts = read_facts(
        story(failed("make lint", "error: x"), ran("cd . && make lint && make test"))
    )
    assert facts.troubles[0].fixed_by == "`cd . && make lint && make test`"


def test_a_line_that_runs_nothing_is_not_made_up_for_by_anything() -> None:
    facts = read_facts(story(failed("cd gone", "no such file or directory"), ran("make")))
    assert facts.troubles[0].fixed_by == ""


def test_a_pipe_that_still_speaks_of_errors_fixes_nothing() -> None:
    start = failed("make", "error: x")
    assert not read_facts(story(start, ran("make | tail", "error: x"))).troubles[0].fixed_by
    assert read_facts(story(start, ran("make | tail", "all good"))).troubles[0].fixed_by


def test_the_same_failure_again_is_counted() -> None:
    facts = read_facts(story(failed("make", "error: x"), failed("make", "error: x")))
    assert [trouble.times for trouble in facts.troubles] == [2]


def test_a_file_that_could_not_be_read_was_not_touched() -> None:
    facts = read_facts(story(did("Read", "File does not exist.", error=True, file_path="x")))
    assert facts.files == ()
    assert facts.troubles[0].call == "read x"


def test_a_call_the_user_refused_is_no_failure() -> None:
    facts = read_facts(
        story(did("Bash", "The user did not allow `rm`; ask", error=True, command="rm -r x"))
    )
    assert facts.troubles == ()
    assert facts.commands == (Command("rm -r x", "not run"),)
    assert facts.work_log == ("ran `rm -r x` → not run",)


def test_words_of_hooks_and_tools_are_not_the_users() -> None:
    facts = read_facts(
        [
            new_message("user", Text("from a hook"), origin="hook"),
            user("real"),
            new_message("user", Text("summary"), render(["earlier"]), origin="reverie"),
        ]
    )
    assert facts.user_messages == ("real", "earlier")


def test_what_a_client_writes_is_kept_but_not_taken_for_a_request() -> None:
    facts = read_facts([user("fix it"), user("<command-name>/exit</command-name>")])
    assert len(facts.user_messages) == 2
    assert facts.last_request == "fix it"
    assert facts.work_log == ("asked: fix it",)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Done.\n\nShall I go on?", "Shall I go on?"),
        ("It works. **Want me to commit?**", "Want me to commit?"),
        ("Why? Because.", ""),
        ("", ""),
    ],
)
def test_a_question_left_open(text: str, question: str) -> None:
    assert read_facts([user("x"), model(text)]).open_question == question


def test_a_question_is_closed_by_an_answer_or_by_going_on() -> None:
    asked = [user("x"), model("Shall I?")]
    assert read_facts([*asked, user("yes")]).open_question == ""
    assert read_facts([*asked, *read("a")]).open_question == ""


def test_a_question_asked_through_a_tool_is_open_until_it_returns() -> None:
    asked, answered = did("AskUserQuestion", "Blue", questions=[{"question": "Which colour?"}])
    assert read_facts([asked]).open_question == "Which colour?"
    assert read_facts([asked, answered]).open_question == ""


@pytest.mark.parametrize(
    "sentence",
    [
        "We decided to drop Python 3.10.",
        "Let's go with option 2.",
        "I'll keep the old name so that nothing breaks.",
        "Decision: one table per tenant.",
        "The cleanest fix is to read the file once.",
    ],
)
def test_a_decision_is_noted(sentence: str) -> None:
    assert read_facts([model(f"Hm. {sentence} Then we see.")]).decisions == (sentence,)


@pytest.mark.parametrize(
    "sentence",
    [
        "Let me check how it is done instead.",
        "Should we go with option 2 instead?",
        "Reading the file now.",
        "```\nWe decided nothing here.\n```",
        "The cleanest approach is to:",
    ],
)
def test_what_is_no_decision(sentence: str) -> None:
    assert read_facts([model(sentence)]).decisions == ()


def test_the_last_list_of_todos_stands() -> None:
    first = did("TodoWrite", todos=[{"content": "old", "status": "pending"}])
    todos = [
        {"content": "a", "status": "completed"},
        {"text": "b"},
        "c",
        {"content": 7},
        None,
    ]
    facts = read_facts(story(first, did("Todo", todos=todos)))
    assert facts.todos == (Todo("a", "completed"), Todo("b"), Todo("c"))
    assert [todo.open for todo in facts.todos] == [False, True, True]


def test_tasks_are_followed_by_their_number() -> None:
    facts = read_facts(
        story(
            did("TaskCreate", "Task #4 created successfully: A", subject="A"),
            did("TaskCreate", "Task #5 created successfully: B", subject="B"),
            did("TaskUpdate", taskId="4", status="completed"),
            did("TaskUpdate", taskId="5", status="deleted"),
            did("TaskUpdate", taskId="9", status="completed"),
        )
    )
    assert facts.todos == (Todo("A", "completed"),)


def test_an_approved_plan_is_kept_and_a_refused_one_is_not() -> None:
    refusal = "The user doesn't want to proceed with this tool use."
    facts = read_facts(
        story(
            did("ExitPlanMode", plan="1. do it"),
            did("ExitPlanMode", refusal, error=True, plan="2. no"),
        )
    )
    assert facts.plan == "1. do it"


# ── bounds and growth ────────────────────────────────────────────────────────


def test_lists_stay_small_and_the_users_words_stay_whole() -> None:
    long = story(
        user("first"),
        *(read(f"/p/{n}.py") for n in range(MOST_FILES + 50)),
        edit("/p/0.py"),
        *(failed(f"make t{n}", f"error: {n}") for n in range(100)),
        *(user(f"message {n}") for n in range(500)),
    )
    facts = read_facts(long)
    assert len(facts.user_messages) == 501
    assert len(facts.files) == MOST_FILES
    assert facts.files[-1] == FileTouch("/p/0.py", edits=1)
    assert len(facts.commands) == 80
    assert facts.commands[0].line == "make t0"
    assert facts.commands[-1].line == "make t99"
    assert len(facts.troubles) == 40
    assert len(facts.work_log) == 121
    assert facts.work_log[0] == "asked: first"
    assert "steps left out" in facts.work_log[20]
    assert facts.work_log[-1] == "asked: message 499"


def test_a_changed_file_outlives_files_that_were_only_read() -> None:
    facts = read_facts(story(edit("/p/mine.py"), *(read(f"/p/{n}") for n in range(MOST_FILES * 2))))
    assert facts.files[0] == FileTouch("/p/mine.py", edits=1)


@given(conversations(interrupted=True) | st.lists(messages, max_size=12), st.data())
def test_fed_bit_by_bit_or_at_once_the_facts_are_the_same(
    said: list[Message], data: st.DataObject
) -> None:
    """Asking in between changes nothing, and the facts of a prefix are those of that prefix."""
    keeper = FactCollector()
    for n, message in enumerate(said, 1):
        keeper.add(message)
        if data.draw(st.booleans()):
            assert keeper.facts() == read_facts(said[:n])
    assert keeper.facts() == read_facts(said)


def test_a_result_nobody_asked_for_and_a_call_nobody_answered_are_passed_over() -> None:
    asked, _ = read("a.py")
    stray = new_message("user", ToolResult("unknown", (Text("x"),)), origin="tool")
    facts = read_facts([asked, stray])
    assert facts.files == ()
    assert facts.tool_calls == 1
