"""A fork that dreams can write memories and nothing else; and it is told what it may do."""

from pathlib import Path
from typing import Any

import pytest

from reverie.agent.kit import standard_kit
from reverie.agent.permissions import Allowed, Call, Denied
from reverie.agent.tools import Workplace
from reverie.layers.dreaming.changes import Reason
from reverie.layers.dreaming.permission import memory_only
from reverie.layers.dreaming.prompts import Surroundings, directive, parse_account

KIT = {tool.name: tool for tool in standard_kit()}


def call(root: Path, name: str, **arguments: Any) -> Call:
    place = Workplace(root)
    tool = KIT[name]
    return Call(tool, arguments, tool.access(arguments, place), tool.paths(arguments, place))


def allowed(folder: Path, made: Call) -> bool:
    decision = memory_only(folder)(made)
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


def test_the_directive_names_every_phase_and_limit(tmp_path: Path) -> None:
    text = directive(tmp_path, Surroundings(Path("/sessions"), Path("/logs")))
    for part in (str(tmp_path), "/sessions", "/logs", "200 lines", "25,000 bytes", "superseded_by"):
        assert part in text
    assert [line[:2] for line in text.splitlines() if line[:1].isdigit()] == [
        "1.",
        "2.",
        "3.",
        "4.",
    ]
    assert "/logs" not in directive(tmp_path, Surroundings(Path("/sessions")))


def test_an_account_is_read_line_by_line() -> None:
    reply = (
        "All done.\n"
        "- `port.md` | says the same as old_port.md | old_port.md, s1#m2\n"
        "colour.md | dates made absolute |\n"
        "nonsense | x\n"
        "plan.md | why\n"
    )
    assert parse_account(reply) == {
        "port.md": Reason("says the same as old_port.md", ("old_port.md", "s1#m2")),
        "colour.md": Reason("dates made absolute"),
        "plan.md": Reason("why"),
    }
