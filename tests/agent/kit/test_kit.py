"""The kit as a whole: what each tool is called, does to the world, and says of itself."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.agent.workplaces import tool

from reverie.agent.kit import standard_kit
from reverie.agent.kit.web_fetch import web_fetch_tool
from reverie.agent.tools import Workplace

CALLS: tuple[tuple[str, dict[str, Any], str, str], ...] = (
    ("Read", {"path": "a.py"}, "read", "Read a.py"),
    ("Read", {"path": "a.py", "offset": 5, "limit": 10}, "read", "Read a.py (line 5–14)"),
    ("Read", {"path": "a.py", "offset": 5}, "read", "Read a.py (line 5 on)"),
    ("Grep", {"pattern": "x", "glob": "*.py"}, "read", "Grep 'x' in *.py"),
    ("Grep", {"pattern": "x"}, "read", "Grep 'x'"),
    ("Glob", {"pattern": "**/*.py", "path": "src"}, "read", "Glob **/*.py in src"),
    ("Bash", {"command": "ls -la"}, "read", "$ ls -la"),
    ("Bash", {"command": "rm x\nls"}, "run", "$ rm x …"),
    ("Edit", {"path": "a", "old_text": "x", "new_text": "y"}, "edit", "Edit a"),
    ("Write", {"path": "a", "content": "x"}, "edit", "Write a"),
    ("Todo", {"todos": []}, "read", "Todo 0/0"),
    (
        "Todo",
        {"todos": [{"text": "a", "status": "done"}, {"text": "b", "status": "doing"}]},
        "read",
        "Todo 1/2: b",
    ),
)


@pytest.mark.parametrize(("name", "arguments", "access", "headline"), CALLS)
def test_a_call_says_what_it_would_do(
    desk: Workplace, name: str, arguments: dict[str, Any], access: str, headline: str
) -> None:
    used = tool(name)
    assert used.access(arguments, desk) == access
    assert used.headline(arguments) == headline


def test_the_kit_has_no_web_unless_asked_for(desk: Workplace) -> None:
    names = [tool.name for tool in standard_kit()]
    assert names == ["Read", "Grep", "Glob", "Bash", "Edit", "Write", "Todo"]
    web = web_fetch_tool()
    assert (web.name, web.access({"url": "x"}, desk)) == ("WebFetch", "network")
    assert web.headline({"url": "https://a.example"}) == "Fetch https://a.example"


def test_reading_is_never_stored_and_results_may_be_cleared() -> None:
    assert tool("Read").result_threshold is None
    assert tool("Bash").result_threshold == 50_000
    assert {tool.name for tool in standard_kit() if not tool.clearable} == {"Todo"}


def test_schemas_are_closed_and_every_argument_is_named_in_lower_case() -> None:
    for one in (*standard_kit(), web_fetch_tool()):
        schema = json.loads(one.spec.schema)
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) <= set(schema["properties"])
        assert all(re.fullmatch("[a-z_]+", name) for name in schema["properties"])


def test_a_writer_names_the_file_past_every_link(desk: Workplace, tmp_path: Path) -> None:
    (desk.root / "inner").mkdir()
    (desk.root / "link").symlink_to(tmp_path / "outside.txt")
    for name in ("Edit", "Write"):
        paths = tool(name).paths
        assert paths({"path": "inner/../a"}, desk) == (desk.root / "a",)
        assert paths({"path": "link"}, desk) == (tmp_path / "outside.txt",)
        assert paths({"path": "../b"}, desk) == (tmp_path / "b",)


def test_the_kit_loads_no_network_and_no_compressors() -> None:
    """They take longer to load than all of it, and few sessions need them."""
    code = (
        "import sys; before = set(sys.modules); import reverie.agent.kit; "
        "print(*set(sys.modules) - before)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"http.client", "html.parser", "lzma", "shutil", "random"} & set(loaded)
