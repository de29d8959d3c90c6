"""A fork that tends memory can write memories and nothing else."""

from pathlib import Path
from typing import Any

import pytest

from reverie.agent.kit import standard_kit
from reverie.agent.permissions import Allowed, Call, Denied, fenced
from reverie.agent.tools import Workplace

KIT = {tool.name: tool for tool in standard_kit()}


def call(root: Path, name: str, **arguments: Any) -> Call:
    place = Workplace(root)
    tool = KIT[name]
    return Call(tool, arguments, tool.access(arguments, place), tool.paths(arguments, place))


def allowed(folder: Path, made: Call) -> bool:
    decision = fenced(folder)(made)
    assert isinstance(decision, Allowed | Denied)
    return isinstance(decision, Allowed)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "memory"
    made.mkdir()
    (made / "out").symlink_to(tmp_path)
    (made / "leads_out.md").symlink_to(tmp_path / "victim.md")
    return made


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls -la", True),
        ("grep -rn port . | head", True),
        ("cat a.md > b.md", False),
        ("find . -delete", False),
        ("rm a.md", False),
        ("git commit -am x", False),
        ("ls $(touch x)", False),
    ],
)
def test_commands_may_only_read(folder: Path, command: str, *, expected: bool) -> None:
    assert allowed(folder, call(folder, "Bash", command=command)) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.md", True),
        ("MEMORY.md", True),
        ("sub/a.md", True),
        ("../a.md", False),
        ("run.sh", False),
        ("out/a.md", False),
        ("leads_out.md", False),
        (".hidden/../../a.md", False),
    ],
)
@pytest.mark.parametrize("tool", ["Write", "Edit"])
def test_only_memories_may_be_written(
    folder: Path, tool: str, name: str, *, expected: bool
) -> None:
    words = {"content": "x"} if tool == "Write" else {"old_string": "x", "new_string": "y"}
    made = call(folder, tool, path=str(folder / name), **words)
    assert allowed(folder, made) is expected


def test_reading_is_free_and_all_else_is_denied(folder: Path, tmp_path: Path) -> None:
    assert allowed(folder, call(folder, "Read", path=str(tmp_path / "any.txt")))
    others = set(KIT) - {"Read", "Grep", "Glob", "Bash", "Edit", "Write"}
    assert others
    for name in others:
        assert not allowed(folder, Call(KIT[name], {}, "edit", ()))
