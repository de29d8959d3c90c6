"""Install and uninstall on any configuration: no foreign entry is ever lost."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clients.install.configurations import (
    HOME,
    OTHER,
    PLACES,
    PROGRAM,
    Machine,
    Texts,
    files,
    json_files,
    settings,
    toml_files,
)

from reverie.clients.install import entries, json_text
from reverie.clients.install.clients import CLIENTS
from reverie.clients.install.files import JsonFile
from reverie.clients.install.wiring import InstallOptions, Way
from reverie.errors import InputError

JSON_CLIENTS = ("claude-code", "codex", "gemini", "opencode", "cursor")


def json_paths(client: str) -> list[Path]:
    return [file.path for file in files(client) if isinstance(file, JsonFile)]


def load(text: str) -> Any:
    return json.loads(text.removeprefix("\ufeff"))


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Any client on a machine where its files have any content, or do not exist."""
    client = draw(st.sampled_from(JSON_CLIENTS))
    disk = Texts()
    for path in json_paths(client):
        text = draw(st.none() | st.just("") | json_files)
        if text is not None:
            disk.there[path] = text
    if client == "codex" and draw(st.booleans()):
        disk.there[HOME / ".codex" / "config.toml"] = draw(toml_files())
    return Machine(client, disk)


@given(machines())
def test_uninstalling_restores_every_byte(machine: Machine) -> None:
    before = dict(machine.disk.there)
    machine.install()
    machine.uninstall()
    assert machine.disk.there == before


@given(machines())
def test_installing_twice_is_installing_once(machine: Machine) -> None:
    machine.install()
    once = dict(machine.disk.there)
    assert machine.install().empty
    assert machine.disk.there == once


@given(machines())
def test_an_upgrade_replaces_our_entries_and_still_goes_back(machine: Machine) -> None:
    before = dict(machine.disk.there)
    machine.install()
    machine.install(OTHER)
    fresh = Machine(machine.client, Texts(dict(before)))
    fresh.install(OTHER)
    assert machine.disk.there == fresh.disk.there
    machine.uninstall()
    assert machine.disk.there == before


@given(machines())
def test_everything_else_is_kept_and_everything_of_ours_is_there(machine: Machine) -> None:
    before = dict(machine.disk.there)
    machine.install()
    for file in files(machine.client):
        text = machine.disk.there[file.path]
        assert file.holds(text)
        if isinstance(file, JsonFile) and before.get(file.path):
            old, new = load(before[file.path]), load(text)
            assert list(new)[: len(old)] == list(old)
            assert without_ours(new, file.client) == without_empty(old)


@given(machines())
def test_without_a_record_our_entries_are_still_found(machine: Machine) -> None:
    before = dict(machine.disk.there)
    machine.install()
    machine.known = None
    machine.uninstall()
    for path, text in machine.disk.there.items():
        if path.suffix == ".toml":
            assert tomllib.loads(text) == tomllib.loads(before.get(path, ""))
        else:
            old = without_empty(load(before.get(path) or "{}"))
            assert without_empty(load(text) | {"version": 0}) == without_empty(old | {"version": 0})


@given(machines(), st.data())
def test_what_others_add_meanwhile_stays(machine: Machine, data: st.DataObject) -> None:
    """Another tool rewrites a file with entries of its own beside ours; only ours go."""
    machine.install()
    path = data.draw(st.sampled_from(json_paths(machine.client)))
    value = load(machine.disk.there[path])
    theirs = {"hooks": [{"type": "command", "command": "theirs"}]}
    hooks = value.get("hooks")
    if isinstance(hooks, dict):
        for elements in hooks.values():
            elements.insert(data.draw(st.integers(0, len(elements))), theirs)
    value["added"] = 1
    machine.disk.there[path] = json.dumps(value, indent=data.draw(st.sampled_from([None, 3])))
    assert machine.install().empty
    machine.uninstall()
    left = load(machine.disk.there[path])
    assert left["added"] == 1
    expected = without_ours(value, machine.client)
    # A member that the client requires stays for the other entries.
    assert {"version": 1, **without_empty(left)} == {"version": 1, **without_empty(expected)}


@given(settings(), st.sampled_from(JSON_CLIENTS))
def test_leaving_and_coming_back_without_the_server(value: dict[str, Any], client: str) -> None:
    machine = Machine(client, Texts({json_paths(client)[-1]: json.dumps(value, indent=2)}))
    before = dict(machine.disk.there)
    machine.install()
    machine.install(mcp=False)
    bare = Machine(client, Texts(dict(before)))
    bare.install(mcp=False)
    assert machine.disk.there == bare.disk.there


def without_ours(value: dict[str, Any], client: str) -> dict[str, Any]:
    """The value without our entries, computed independently for comparison."""
    value = json.loads(json.dumps(value))
    for elements in value["hooks"].values() if isinstance(value.get("hooks"), dict) else ():
        for element in list(elements):
            mine = [h for h in element.get("hooks", []) if entries.is_ours(h["command"], client)]
            if mine or entries.is_ours(element.get("command"), client):
                elements.remove(element)
    for table in ("mcpServers", "mcp"):
        if isinstance(value.get(table), dict) and entries.is_our_server(
            value[table].get("reverie")
        ):
            del value[table]["reverie"]
    value.pop("version", None) if client == "cursor" else None
    value.pop("autoMemoryEnabled", None) if client == "claude-code" else None
    return without_empty(value)


def without_empty(value: dict[str, Any]) -> dict[str, Any]:
    """The value without empty containers, which may come and go with our entries."""
    value = dict(value)
    if isinstance(value.get("hooks"), dict):
        value["hooks"] = {event: kept for event, kept in value["hooks"].items() if kept}
    return {
        key: inner
        for key, inner in value.items()
        if key not in ("hooks", "mcpServers", "mcp") or inner
    }


class TestPlaces:
    def test_where_each_client_looks(self) -> None:
        shown = {
            (client, scope): [str(file.path) for file in files(client, scope)]
            for client in CLIENTS
            for scope in ("user", "project")
        }
        assert shown == {
            ("claude-code", "user"): ["/home/me/.claude/settings.json", "/home/me/.claude.json"],
            ("claude-code", "project"): ["/srv/app/.claude/settings.json", "/srv/app/.mcp.json"],
            ("codex", "user"): ["/home/me/.codex/hooks.json", "/home/me/.codex/config.toml"],
            ("codex", "project"): ["/srv/app/.codex/hooks.json", "/srv/app/.codex/config.toml"],
            ("gemini", "user"): ["/home/me/.gemini/settings.json"],
            ("gemini", "project"): ["/srv/app/.gemini/settings.json"],
            ("opencode", "user"): [
                "/home/me/.config/opencode/plugins/reverie.js",
                "/home/me/.config/opencode/opencode.json",
            ],
            ("opencode", "project"): [
                "/srv/app/.opencode/plugins/reverie.js",
                "/srv/app/opencode.json",
            ],
            ("cursor", "user"): ["/home/me/.cursor/hooks.json", "/home/me/.cursor/mcp.json"],
            ("cursor", "project"): ["/srv/app/.cursor/hooks.json", "/srv/app/.cursor/mcp.json"],
        }


class TestEntries:
    def test_the_commands_a_client_will_run(self) -> None:
        machine = Machine("claude-code", Texts())
        machine.install(OTHER)
        hooks = load(machine.disk.there[HOME / ".claude" / "settings.json"])["hooks"]
        assert list(hooks) == [
            "SessionStart",
            "UserPromptSubmit",
            "PostToolUse",
            "PostToolUseFailure",
            "Stop",
            "SessionEnd",
        ]
        [end] = hooks["SessionEnd"]
        assert end["hooks"] == [
            {
                "type": "command",
                "command": "'/home/me/my tools/reverie' hook SessionEnd --client claude-code"
                " 2>/dev/null || :",
                "timeout": 10,
            }
        ]
        files = "Read|Edit|MultiEdit|Write|NotebookEdit"
        assert hooks["PostToolUse"][0]["matcher"] == f"Bash|Grep|WebFetch|mcp__.*|{files}"
        assert load(machine.disk.there[HOME / ".claude.json"]) == {
            "mcpServers": {"reverie": {"command": OTHER, "args": ["mcp"]}}
        }

    def test_its_own_memory_is_off_while_ours_is_beside_it(self) -> None:
        path = HOME / ".claude" / "settings.json"
        for text in ('{"model": "opus"}\n', '{"autoMemoryEnabled": true}\n'):
            machine = Machine("claude-code", Texts({path: text}))
            machine.install()
            # What the person has set stays as it is.
            assert load(machine.disk.there[path])["autoMemoryEnabled"] is ("true" in text)
            value = load(machine.disk.there[path]) | {"theme": "dark"}
            machine.disk.there[path] = json.dumps(value)
            machine.uninstall()
            assert load(machine.disk.there[path]) == json.loads(text) | {"theme": "dark"}

    def test_the_other_ways_leave_its_memory_on(self) -> None:
        ways: dict[Way, bool] = {"adopt": True, "mcp": False}
        for way, hooks in ways.items():
            options = InstallOptions(PLACES, "user", PROGRAM, way=way)
            settings_file, server = CLIENTS["claude-code"].files(options)
            assert settings_file.wanted is hooks
            assert server.wanted
            assert "autoMemoryEnabled" not in (settings_file.added("{}", None) or "")

    def test_codex_gets_a_table_and_keeps_its_trust_records(self) -> None:
        path = HOME / ".codex" / "config.toml"
        text = 'model = "m"\n\n[hooks.state."x:stop:0:0"]\ntrusted_hash = "h"\n'
        machine = Machine("codex", Texts({path: text}))
        machine.install()
        assert tomllib.loads(machine.disk.there[path])["mcp_servers"] == {
            "reverie": {"command": PROGRAM, "args": ["mcp"]}
        }
        # Codex writes a new trust record after our table, which must not be removed.
        machine.disk.there[path] += (
            '\n# trusted by hand\n[hooks.state."x:stop:1:0"]\nenabled = true\n'
        )
        machine.uninstall()
        assert machine.disk.there[path] == (
            text + '\n# trusted by hand\n[hooks.state."x:stop:1:0"]\nenabled = true\n'
        )

    @pytest.mark.parametrize(
        ("command", "ours"),
        [
            ("/a/reverie hook Stop --client codex", True),
            ("'/my tools/reverie' hook Stop --client codex", True),
            ("reverie hook Stop --client codex", True),
            ("/a/reverie hook Stop --client gemini", False),
            ("/a/reverie-dev hook Stop --client codex", False),
            ("/a/reverie hook Stop --client codex; rm x", False),
            ("/a/reverie hook Stop --client codex --home '/my home'", True),
            ("/a/reverie hook Stop --client codex --home", False),
            ("/a/reverie hook Stop --client codex --home /x; rm x", False),
            ("/a/reverie hook Stop --client codex --project /x", False),
            ("echo reverie hook Stop --client codex", False),
            ("/a/reverie hook 'Stop", False),
            (None, False),
        ],
    )
    def test_which_hooks_are_ours(self, command: object, ours: bool) -> None:
        assert entries.is_ours(command, "codex") is ours

    @pytest.mark.parametrize(
        ("entry", "ours"),
        [
            ({"command": "/a/reverie", "args": ["mcp"]}, True),
            ({"command": "/a/reverie", "args": ["mcp"], "env": {"X": "1"}}, True),
            ({"command": ["/a/reverie", "mcp"], "enabled": False}, True),
            ({"command": "npx", "args": ["reverie", "mcp"]}, False),
            ({"command": "/a/reverie"}, False),
            ({"url": "http://x"}, False),
            ("reverie mcp", False),
        ],
    )
    def test_which_servers_are_ours(self, entry: object, ours: bool) -> None:
        assert entries.is_our_server(entry) is ours

    def test_what_a_person_added_to_our_server_survives_an_upgrade(self) -> None:
        path = HOME / ".claude.json"
        machine = Machine("claude-code", Texts())
        machine.install()
        value = load(machine.disk.there[path])
        value["mcpServers"]["reverie"]["env"] = {"REVERIE_HOME": "/else"}
        machine.disk.there[path] = json.dumps(value)
        assert machine.install().empty
        machine.install(OTHER)
        assert load(machine.disk.there[path])["mcpServers"]["reverie"] == {
            "command": OTHER,
            "args": ["mcp"],
            "env": {"REVERIE_HOME": "/else"},
        }

    def test_an_empty_container_that_was_there_before_us_stays(self) -> None:
        path = HOME / ".claude" / "settings.json"
        machine = Machine("claude-code", Texts({path: '{"hooks": {"Stop": []}}'}))
        machine.install()
        value = load(machine.disk.there[path])
        machine.disk.there[path] = json.dumps({**value, "edited": True})
        machine.uninstall()
        assert load(machine.disk.there[path]) == {"hooks": {"Stop": []}, "edited": True}

    def test_a_hook_of_ours_in_a_group_with_others_leaves_alone(self) -> None:
        path = HOME / ".claude" / "settings.json"
        machine = Machine("claude-code", Texts())
        machine.install()
        value = load(machine.disk.there[path])
        value["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "theirs"})
        machine.disk.there[path] = json.dumps(value)
        machine.uninstall()
        assert load(machine.disk.there[path]) == {
            "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "theirs"}]}]}
        }


class TestRefusals:
    @pytest.mark.parametrize(
        ("client", "file", "text", "message"),
        [
            ("claude-code", ".claude/settings.json", '{\n "a": 1,\n}', "line 3: there is an extra ','"),
            ("claude-code", ".claude/settings.json", '{\n // x\n}', "line 2: comments are not allowed"),
            ("claude-code", ".claude/settings.json", "[]", "line 1: the file should hold an object"),
            ("claude-code", ".claude/settings.json", '{"hooks": []}', "hooks is not an object"),
            ("claude-code", ".claude/settings.json", '{"hooks":\n{"Stop": {}}}', "line 2: hooks.Stop is not a list"),
            ("claude-code", ".claude/settings.json", '{"a": "x\ny"}', "line 1: a string is not closed"),
            ("claude-code", ".claude/settings.json", '{"a": tru}', "a value is missing"),
            ("claude-code", ".claude/settings.json", '{"a" 1}', "':' is missing"),
            ("claude-code", ".claude/settings.json", '{"a": 1} x', "there is more text after the end"),
            ("claude-code", ".claude/settings.json", '{"a": ' + "[" * 100_000, "nested too deeply"),
            ("claude-code", ".claude.json", '{"mcpServers": {"reverie": {"command": "else"}}}', "mcpServers.reverie is not Reverie's entry"),
            ("codex", ".codex/config.toml", "a = 1\nb =\n", "line 2: Invalid value"),
            ("codex", ".codex/config.toml", 'x = 1\nmcp_servers = { a = { command = "c" } }\n', "line 2: mcp_servers is written in a way"),
            ("codex", ".codex/config.toml", '[mcp_servers.reverie]\ncommand = "c"\n', "is not Reverie's entry"),
            ("opencode", ".config/opencode/plugins/reverie.js", "export default 1\n", "this file is not Reverie's"),
        ],
    )  # fmt: skip
    def test_a_file_that_cannot_be_changed_safely(
        self, client: str, file: str, text: str, message: str
    ) -> None:
        machine = Machine(client, Texts({HOME / file: text}))
        with pytest.raises(InputError) as refused:
            machine.install()
        assert str(refused.value).startswith(f"{HOME / file}, line ")
        assert message in str(refused.value)
        assert str(refused.value).endswith("; nothing was written")
        assert machine.disk.there == {HOME / file: text}

    def test_a_text_that_looks_like_our_table_is_not_touched(self) -> None:
        path = HOME / ".codex" / "config.toml"
        text = "a = '''\n[mcp_servers.reverie]\ncommand = 1\n'''\n"
        machine = Machine("codex", Texts({path: text}))
        machine.install()
        machine.disk.there[path] += "# seen\n"
        with pytest.raises(InputError, match="remove it by hand"):
            machine.uninstall()


class TestComments:
    TEXT = """\
{
  // which model
  "model": "m", /* big */
  "mcp": {
    "git": { "type": "local" }, // keep this
  },
}
"""

    def test_they_stay_where_the_client_reads_them(self) -> None:
        path = HOME / ".config" / "opencode" / "opencode.json"
        machine = Machine("opencode", Texts({path: self.TEXT}))
        machine.install()
        text = machine.disk.there[path]
        root = json_text.parse(text, comments=True)
        assert json_text.plain(text, root)["mcp"]["reverie"]["command"] == [PROGRAM, "mcp"]
        for comment in ("// which model\n", "/* big */", "// keep this\n"):
            assert comment in text
        machine.known = None
        machine.uninstall()
        assert machine.disk.there[path] == self.TEXT

    def test_a_comment_behind_the_last_member_is_not_broken(self) -> None:
        text = '{\n  "a": 1 // one\n}\n'
        root = json_text.parse(text, comments=True)
        more = json_text.added(text, root, root, "b", 2)
        assert more == '{\n  "a": 1, // one\n  "b": 2\n}\n'
        assert json_text.without(more, ["b"], comments=True) == text
