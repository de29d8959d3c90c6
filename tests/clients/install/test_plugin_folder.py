"""The Claude Code plugin: its files are valid and name only commands and tools that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from reverie import __version__
from reverie.cli.group import COMMANDS
from reverie.clients.install.clients import CLIENTS
from reverie.clients.install.wiring import InstallOptions, Places

FOLDER = Path(__file__).parents[3] / "integrations" / "claude-code-plugin"
TEXTS = sorted(FOLDER.rglob("*.md"))


def load(name: str) -> Any:
    return json.loads((FOLDER / name).read_text())


def test_the_manifest_has_our_version() -> None:
    manifest = load(".claude-plugin/plugin.json")
    assert manifest["name"] == "reverie"
    assert manifest["version"] == __version__


def test_its_hooks_are_the_ones_that_are_installed() -> None:
    nowhere = Path("/nowhere")
    places = Places(*[nowhere] * 6)
    settings = CLIENTS["claude-code"].files(InstallOptions(places, "user", "reverie", way="adopt"))[
        0
    ]
    assert settings.holds(json.dumps(load("hooks/hooks.json")))


def test_its_server_is_ours() -> None:
    assert load(".mcp.json") == {"mcpServers": {"reverie": {"command": "reverie", "args": ["mcp"]}}}


def test_there_are_four_commands_and_a_skill() -> None:
    assert [str(path.relative_to(FOLDER)) for path in TEXTS] == [
        "commands/dream.md",
        "commands/inbox.md",
        "commands/recall.md",
        "commands/remember.md",
        "skills/memory/SKILL.md",
    ]


# For commands that change memory, the client asks the person.
READ_ONLY = {
    "Bash(reverie inbox)",
    "Bash(reverie inbox show:*)",
    "Bash(reverie inbox list:*)",
    "Bash(reverie dream --dry-run:*)",
    "Bash(reverie recall:*)",
    "mcp__plugin_reverie_reverie__recall",
    "mcp__plugin_reverie_reverie__search_past",
}


def test_commands_may_only_read_without_asking() -> None:
    heads = (yaml.safe_load(path.read_text().split("---\n")[1]) for path in TEXTS)
    allowed = {tool for head in heads for tool in (head.get("allowed-tools") or "").split(", ")}
    assert allowed - {""} == READ_ONLY


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_every_command_it_names_exists(path: Path) -> None:
    text = path.read_text()
    head = yaml.safe_load(text.split("---\n")[1])
    assert head["description"]
    named = re.findall(r"(?:`|Bash\()reverie ([a-z-]+)", text)
    assert named
    assert set(named) <= set(COMMANDS)


def test_every_tool_it_names_exists() -> None:
    from reverie.clients.mcp.tools import BY_NAME

    for path in TEXTS:
        for tool in re.findall(r"mcp__plugin_reverie_reverie__(\w+)", path.read_text()):
            assert tool in BY_NAME


def test_every_installable_client_has_a_dialect() -> None:
    """`reverie hook` must understand every client that can be installed."""
    from reverie.clients.hooks.dialects import DIALECTS

    assert set(CLIENTS) == set(DIALECTS)
