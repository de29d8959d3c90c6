"""What an agent may do: memories in its folder alone when fenced, its own folder besides what it was allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from reverie.agent.kit import bash_tool, todo_tool
from reverie.agent.kit.editing import write_tool
from reverie.agent.permissions import (
    ALLOWED,
    FENCED,
    Answer,
    Asked,
    Call,
    Consent,
    Denied,
    HooksSay,
    Mode,
    also_within,
    by_mode,
    fenced,
    only,
)
from reverie.agent.tools import Access, Workplace


def writing(*paths: Path) -> Call:
    return Call(write_tool(), {"path": "a file", "content": "x"}, "edit", paths)


def test_memories_in_the_folder_may_be_written(tmp_path: Path) -> None:
    assert fenced(tmp_path)(writing(tmp_path / "project_a.md")) == ALLOWED


@pytest.mark.parametrize("name", ["../outside.md", "program.py", ".hidden.md", "", "link.md"])
def test_nothing_else_may_be_written(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    decide = fenced(folder)
    assert isinstance(decide(writing(folder / name)), Denied)
    assert isinstance(decide(writing(folder / "good.md", folder / name)), Denied)


def test_a_write_without_a_path_is_denied(tmp_path: Path) -> None:
    assert isinstance(fenced(tmp_path)(writing()), Denied)


@pytest.mark.parametrize(("access", "allowed"), [("read", True), ("run", False)])
def test_a_shell_may_only_read(tmp_path: Path, access: Access, allowed: bool) -> None:
    decision = fenced(tmp_path)(Call(bash_tool(), {"command": "ls"}, access, ()))
    assert (decision == ALLOWED) is allowed


def test_other_tools_are_denied(tmp_path: Path) -> None:
    assert isinstance(fenced(tmp_path)(Call(todo_tool(), {"todos": []}, "read", ())), Denied)


def test_an_own_folder_may_be_edited_and_nothing_else(tmp_path: Path) -> None:
    own = tmp_path / "own"
    decide = also_within(own, only(()))
    assert decide(writing(own / "notes.md")) == ALLOWED
    assert isinstance(decide(writing(own / "notes.md", tmp_path / "outside.md")), Denied)
    assert isinstance(decide(writing()), Denied)
    run_inside = Call(bash_tool(), {"command": "rm notes.md"}, "run", (own / "notes.md",))
    assert isinstance(decide(run_inside), Denied)


def test_a_fenced_agent_has_tools_to_look_and_to_write() -> None:
    assert sorted(FENCED) == ["Bash", "Edit", "Glob", "Grep", "Read", "Write"]


@pytest.mark.parametrize(
    ("tools", "said"), [((), "allowed: none"), (("Read", "Grep"), "allowed: Grep, Read")]
)
def test_what_is_denied_is_told_what_is_allowed(tools: tuple[str, ...], said: str) -> None:
    decision = only(tools)(writing())
    assert isinstance(decision, Denied)
    assert decision.reason.endswith(said)


def test_a_fork_may_read_with_its_tools_and_write_its_files(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine.md", tmp_path / "other.md"
    decide = only(["Bash", "Write"], [mine])
    assert decide(Call(bash_tool(), {"command": "ls"}, "read", ())) == ALLOWED
    assert isinstance(decide(Call(bash_tool(), {"command": "x"}, "run", ())), Denied)
    assert decide(writing(mine)) == ALLOWED
    for paths in [(other,), (mine, other), ()]:
        assert isinstance(decide(writing(*paths)), Denied)


@pytest.mark.parametrize(
    ("mode", "call", "expected"),
    [
        ("ask", "read", "allowed"),
        ("ask", "edit inside", "edits in this project"),
        ("ask", "edit outside", "this call"),
        ("ask", "edit nothing", "this call"),
        ("ask", "run inside", "this call"),
        ("accept-edits", "read", "allowed"),
        ("accept-edits", "edit inside", "allowed"),
        ("accept-edits", "edit outside", "this call"),
        ("accept-edits", "edit both", "this call"),
        ("accept-edits", "edit nothing", "this call"),
        ("accept-edits", "edit .git", "this call"),
        ("accept-edits", "edit .Claude", "this call"),
        ("accept-edits", "run inside", "this call"),
        ("plan", "read", "allowed"),
        ("plan", "edit inside", "denied"),
        ("plan", "run inside", "denied"),
        ("bypass", "edit outside", "allowed"),
        ("bypass", "run inside", "allowed"),
    ],
)
def test_what_a_mode_allows(tmp_path: Path, mode: Mode, call: str, expected: str) -> None:
    root = tmp_path / "project"
    inside, outside = root / "a.py", tmp_path / "b.py"
    calls = {
        "read": Call(write_tool(), {}, "read", (outside,)),
        "edit inside": writing(inside),
        "edit outside": writing(outside),
        "edit both": writing(inside, outside),
        "edit nothing": writing(),
        "edit .git": writing(root / "sub" / ".git" / "config"),
        "edit .Claude": writing(root / ".Claude" / "settings.json"),
        "run inside": Call(write_tool(), {"path": "a file", "content": "x"}, "run", (inside,)),
    }
    decision = by_mode(mode, Workplace(root))(calls[call])
    if expected == "allowed":
        assert decision == ALLOWED
    elif expected == "denied":
        assert isinstance(decision, Denied)
    else:
        whole = 'Write: {"content": "x", "path": "a file"}'
        assert isinstance(decision, Asked)
        assert decision.scope == (whole if expected == "this call" else expected)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answers", "hooks_say", "refused", "asked"),
    [
        (["no", "no"], "", [True, True], 2),
        (["yes", "no"], "", [False, True], 2),
        (["always"], "", [False, False], 1),
        (["always", "no"], "ask", [False, True], 2),
        ([], "allow", [False, False], 0),
    ],
)
async def test_what_was_always_allowed_is_not_asked_again(
    answers: list[Answer], hooks_say: HooksSay, refused: list[bool], asked: int
) -> None:
    questions: list[Asked] = []

    async def ask(call: Call, question: Asked) -> Answer:
        questions.append(question)
        return answers[len(questions) - 1]

    consent = Consent(lambda call: Asked("Allow it?", "this"), ask)
    assert [await consent.refusal(writing(), hooks_say) is not None for _ in refused] == refused
    assert len(questions) == asked


@pytest.mark.anyio
async def test_a_question_of_hooks_is_asked_each_time_and_a_denial_stays_one() -> None:
    questions: list[Asked] = []

    async def ask(call: Call, question: Asked) -> Answer:
        questions.append(question)
        return "always"

    consent = Consent(lambda call: ALLOWED, ask)
    for _ in range(2):
        assert await consent.refusal(writing(), "ask") is None
    assert len(questions) == 2
    assert await consent.refusal(writing()) is None
    denied = Consent(lambda call: Denied("never"), ask)
    for say in ("", "allow", "ask"):
        assert await denied.refusal(writing(), say) == "never"
    assert len(questions) == 2
