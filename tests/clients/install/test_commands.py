"""`reverie install` and `reverie uninstall` as a person runs them, in a scratch home."""

import json
import stat
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.cli.memories import asked
from tests.cli.run import data, done, failed, run
from tests.place import Place

from reverie.cli.wiring.client_plans import bare, carry_out, installations, places_of
from reverie.cli.wiring.doctor import Finding, examine
from reverie.clients.install.clients import CLIENTS
from reverie.clients.install.plan import Plan, install, open_clients
from reverie.clients.install.wiring import InstallOptions, program
from reverie.workspace import Workspace

ANSWERS = """\
#!/bin/sh
cat > "$(dirname "$0")/heard.json"
echo "$*" >> "$(dirname "$0")/called"
echo '{"hookSpecificOutput": {"hookEventName": "'"$2"'", "additionalContext": "hello"}}'
"""


@pytest.fixture
def reverie(place: Place, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `reverie` that answers hooks, and by which this one was called."""
    return called_as(place.base / "bin" / "reverie", ANSWERS, monkeypatch)


@pytest.fixture(autouse=True)
def foreign_owner(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)


def called_as(path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(path)])
    return path


def tree(folder: Path) -> dict[str, str]:
    """Every file and folder below, except Reverie's own."""
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else "/"
        for path in sorted(folder.rglob("*"))
        if ".reverie" not in path.parts
    }


def load(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.mark.parametrize("scope", ["user", "project"])
def test_every_client_is_wired_and_unwired_without_a_trace(
    place: Place, reverie: Path, scope: str
) -> None:
    before = tree(place.base)
    printed = done("install", *CLIENTS, "--scope", scope, "--yes")
    assert f"{reverie} hook SessionStart --client claude-code" in printed
    assert "/hooks" in printed
    assert '"Read(~/.reverie/projects/*/hooks/**)"' in printed
    after = tree(place.base)
    assert after != before
    message = done("install", *CLIENTS, "--scope", scope, "--yes")
    assert message.count("nothing to change") == len(CLIENTS)
    assert tree(place.base) == after
    assert "Uninstalled." in done("uninstall", *CLIENTS, "--yes")
    assert tree(place.base) == before
    assert not (place.home / "clients.json").exists()
    assert "Nothing of Reverie" in done("uninstall", *CLIENTS, "--yes")


def test_a_dry_run_shows_and_writes_nothing(place: Place, reverie: Path) -> None:
    before = tree(place.base)
    printed = done("install", "claude-code", "--dry-run")
    assert "+++ ~/.claude/settings.json" in printed
    assert '+            "command": ' in printed
    assert tree(place.base) == before
    shown = data("install", "claude-code", "--dry-run")
    assert shown["written"] is False
    [client] = shown["clients"]
    assert [(Path(row["path"]).name, row["change"]) for row in client["files"]] == [
        ("settings.json", "create"),
        (".claude.json", "create"),
    ]
    assert client["files"][0]["diff"].startswith("--- /dev/null\n")


def test_without_a_terminal_it_cannot_ask(place: Place, reverie: Path) -> None:
    before = tree(place.base)
    result = run("install", "cursor")
    assert result.exit_code == 1
    assert "--yes" in result.stderr
    assert "~/.cursor/hooks.json" in result.stderr
    assert tree(place.base) == before


def test_json_tells_what_was_written(place: Place, reverie: Path) -> None:
    shown = data("install", "gemini", "--yes")
    assert shown["written"] is True
    assert data("uninstall", "gemini", "--yes")["clients"][0]["files"][0]["change"] == "delete"


def test_clients_own_variables_are_honoured(
    place: Place, reverie: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(place.base / name.lower()))
    done("install", "claude-code", "codex", "opencode", "--yes")
    for file in (
        "claude_config_dir/settings.json",
        "claude_config_dir/.claude.json",
        "codex_home/hooks.json",
        "codex_home/config.toml",
        "xdg_config_home/opencode/plugins/reverie.js",
    ):
        assert (place.base / file).is_file()
    # They are found where they were written, even if the variables have changed since.
    monkeypatch.undo()
    monkeypatch.setenv("HOME", str(place.person))
    monkeypatch.chdir(place.root)
    done("uninstall", "claude-code", "codex", "opencode", "--yes")
    assert not (place.base / "codex_home").exists()


def test_links_and_permissions_are_kept(place: Place, reverie: Path) -> None:
    dotfiles = place.base / "dotfiles" / "settings.json"
    dotfiles.parent.mkdir()
    dotfiles.write_text('{"model": "opus"}\n')
    dotfiles.chmod(0o640)
    link = place.person / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(dotfiles)
    done("install", "claude-code", "--yes", "--no-mcp")
    assert link.is_symlink()
    assert "hooks" in load(dotfiles)
    assert stat.S_IMODE(dotfiles.stat().st_mode) == 0o640
    assert not (place.person / ".claude.json").exists()
    done("uninstall", "claude-code", "--yes")
    assert dotfiles.read_text() == '{"model": "opus"}\n'
    assert link.is_symlink()


def test_a_read_only_file_is_not_changed(place: Place, reverie: Path) -> None:
    settings = place.person / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    settings.chmod(0o444)
    printed = done("install", "gemini", "--dry-run")
    assert "settings.json" in printed
    result = run("install", "gemini", "--yes")
    assert result.exit_code == 1
    assert "is read-only" in result.stderr
    assert settings.read_text() == "{}"
    assert not (place.home / "clients.json").exists()


def test_one_malformed_file_and_nothing_is_written_anywhere(place: Place, reverie: Path) -> None:
    settings = place.person / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n  "model": "opus"\n  "x": 1\n}')
    before = tree(place.base)
    message = failed("install", "cursor", "claude-code", "--yes")
    assert f"{settings}, line 3: ',' or '}}' is missing" in message
    assert tree(place.base) == before


@pytest.mark.parametrize("make", ["link", "folder", "bytes"])
def test_what_is_not_text_is_refused(place: Place, reverie: Path, make: str) -> None:
    path = place.person / ".cursor" / "hooks.json"
    path.parent.mkdir()
    if make == "link":
        path.symlink_to(place.base / "nowhere")
    elif make == "folder":
        path.mkdir()
    else:
        path.write_bytes(b'{\n"a": "\xff"}')
    message = failed("install", "cursor", "--yes")
    assert str(path) in message
    wanted = {"link": "leads nowhere", "folder": "not a plain file", "bytes": "line 2: this is not UTF-8"}  # fmt: skip
    assert wanted[make] in message


def test_an_edit_in_between_is_kept(place: Place, reverie: Path) -> None:
    settings = place.person / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n    "model": "opus"\n}\n')
    done("install", "claude-code", "--yes")
    settings.write_text(settings.read_text().replace('"opus"', '"sonnet"'))
    done("uninstall", "claude-code", "--yes")
    assert settings.read_text() == '{\n    "model": "sonnet"\n}\n'


def test_both_scopes_at_once_are_mentioned(place: Place, reverie: Path) -> None:
    done("install", "gemini", "--yes")
    printed = done("install", "gemini", "--scope", "project", "--yes")
    assert "both scopes" in printed
    assert "do not commit" in printed
    done("uninstall", "gemini", "--scope", "project", "--yes")
    assert (place.person / ".gemini" / "settings.json").exists()
    assert not (place.root / ".gemini").exists()


def test_installs_at_the_same_time_lose_no_record(place: Place, reverie: Path) -> None:
    """The record is locked between reading and writing it."""
    clients = open_clients(place.app())
    app, places = place.app(), places_of(place.app())
    plans = []
    for name in CLIENTS:
        new = bare(app, name, "user", str(reverie))
        files = CLIENTS[name].files(InstallOptions(places, "user", str(reverie)))
        plans.append(install(new, files, None, clients.files))
    together = threading.Barrier(len(plans))

    def write(plan: Plan) -> None:
        together.wait()
        carry_out(open_clients(app), [plan])

    for _ in range(5):
        with ThreadPoolExecutor(len(plans)) as pool:
            list(pool.map(write, plans))
        assert {one.client for one in installations(clients)} == set(CLIENTS)
        done("uninstall", *CLIENTS, "--yes")


@pytest.fixture
def no_mcp(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if Reverie was installed without the `mcp` extra."""
    monkeypatch.setitem(sys.modules, "mcp", None)


def test_without_the_package_the_server_is_left_out(
    place: Place, reverie: Path, no_mcp: None
) -> None:
    printed = done("install", *CLIENTS, "--yes")
    assert printed.count("The MCP server was left out") == len(CLIENTS)
    assert "pip install 'reverie[mcp]', then `reverie install claude-code codex" in printed
    written = tree(place.person)
    assert not any('"mcpServers"' in text for text in written.values())
    assert not any(Path(name).name in ("config.toml", "opencode.json") for name in written)
    assert "left out" not in done("install", "codex", "--no-mcp", "--yes", "--scope", "project")


def test_the_server_comes_later(
    place: Place, reverie: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(place.base)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "mcp", None)
        done("install", *CLIENTS, "--yes")
    assert "left out" not in done("install", *CLIENTS, "--yes")
    assert load(place.person / ".claude.json")["mcpServers"]["reverie"]["args"] == ["mcp"]
    done("uninstall", *CLIENTS, "--yes")
    assert tree(place.base) == before


def test_another_home_is_named_in_every_command(place: Place, reverie: Path) -> None:
    before = tree(place.person)
    home = str(place.base / "my home")
    done("install", *CLIENTS, "--home", home, "--yes")
    written = tree(place.person)
    for name, text in written.items():
        if text != "/":
            assert "--home" in text, name
            assert home in text, name
    assert load(place.person / ".claude.json")["mcpServers"]["reverie"]["args"] == [
        "mcp",
        "--home",
        home,
    ]
    again = done("install", *CLIENTS, "--home", home, "--yes")
    assert again.count("nothing to change") == len(CLIENTS)
    done("uninstall", *CLIENTS, "--home", home, "--yes")
    assert tree(place.person) == before


def test_entries_for_another_home_are_known_again(place: Place, reverie: Path) -> None:
    """The default home has no record of them."""
    done("install", *CLIENTS, "--home", place.base / "elsewhere", "--yes")
    done("install", *CLIENTS, "--yes")
    assert not any("--home" in text for text in tree(place.person).values())
    assert len(load(place.person / ".codex" / "hooks.json")["hooks"]["Stop"]) == 1


def test_an_unknown_client_is_wrong_usage(place: Place) -> None:
    assert run("install", "emacs").exit_code == 2
    assert run("install").exit_code == 2


def test_the_command_beside_this_python_is_the_one_clients_call(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["pytest"])
    assert program() == str(Path(sys.executable).with_name("reverie"))


class TestDoctor:
    def findings(self, place: Place) -> list[Finding]:
        titles = tuple(client.title for client in CLIENTS.values())
        return [one for one in examine(place.app()) if one.what.startswith(titles)]

    def test_it_runs_a_hook_of_each_client(self, place: Place, reverie: Path) -> None:
        assert self.findings(place) == []
        done("install", *CLIENTS, "--yes")
        found = self.findings(place)
        assert {one.state for one in found} <= {"ok", "note"}
        assert len(found) == len(CLIENTS)
        assert all("hooks fire" in one.what for one in found)
        received = load(reverie.parent / "heard.json")
        assert received["hook_event_name"] == "sessionEnd"
        assert received["workspace_roots"] == [str(place.root)]
        called = (reverie.parent / "called").read_text().splitlines()
        for client in CLIENTS.values():
            for event in client.events:
                assert f"hook {event} --client {client.name}" in called

    def test_its_session_belongs_to_the_project(self, place: Place, reverie: Path) -> None:
        done("install", "gemini", "--yes")
        sessions = set()
        for root in (place.root, place.base / "another"):
            root.mkdir(exist_ok=True)
            assert list(examine(Workspace.open(root, clock=place.clock)))
            sessions.add(load(reverie.parent / "heard.json")["session_id"])
        assert len(sessions) == 2

    @pytest.mark.parametrize("memory", [True, False])
    @pytest.mark.parametrize(
        ("client", "event"), [("claude-code", "SessionStart"), ("gemini", "BeforeAgent")]
    )
    def test_hooks_that_say_nothing_are_wrong(
        self, place: Place, monkeypatch: pytest.MonkeyPatch, client: str, event: str, memory: bool
    ) -> None:
        called_as(place.base / "bin" / "reverie", "#!/bin/sh\ncat > /dev/null\n", monkeypatch)
        done("install", client, "--yes")
        if not memory:
            place.settings("[memory]\nenabled = false\n")
        [found] = self.findings(place)
        if memory:
            assert found.what.endswith(f"its {event} hook failed: it answered nothing")
            assert found.advice == "see ~/.reverie/hooks.log, or run it by hand"
        else:
            assert "hooks fire" in found.what

    def test_it_asks_the_home_it_was_installed_for(self, place: Place, reverie: Path) -> None:
        home = place.base / "my home"
        done("install", "opencode", "--home", home, "--yes", "--no-mcp")
        app = Workspace.open(place.root, home=home, clock=place.clock)
        [found] = [one for one in examine(app) if one.what.startswith("opencode")]
        assert "hooks fire" in found.what
        last = (reverie.parent / "called").read_text().splitlines()[-1]
        assert last == f"hook session.deleted --client opencode --home {home}"

    def test_a_file_that_lost_our_entries_is_wrong(self, place: Place, reverie: Path) -> None:
        done("install", "claude-code", "--yes", "--no-mcp")
        settings = place.person / ".claude" / "settings.json"
        value = load(settings)
        del value["hooks"]["Stop"]
        settings.write_text(json.dumps(value))
        [lost, fired] = self.findings(place)
        assert (lost.state, lost.what) == (
            "wrong",
            "Claude Code (user): ~/.claude/settings.json no longer holds what Reverie wrote",
        )
        assert lost.advice == "restore it: reverie install claude-code --scope user"
        assert "hooks fire" in fired.what
        done("install", "claude-code", "--yes", "--no-mcp")
        assert len(self.findings(place)) == 1
        settings.unlink()
        assert "is gone" in self.findings(place)[0].what
        settings.write_text("{")
        assert "line 1" in self.findings(place)[0].what

    def test_a_missing_package_is_reported(
        self, place: Place, reverie: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        done("install", "claude-code", "gemini", "--yes")
        done("install", "codex", "--yes", "--no-mcp")
        monkeypatch.setitem(sys.modules, "mcp", None)
        found = {
            one.what.partition(" (")[0]: one for one in self.findings(place) if "mcp" in one.what
        }
        states = {name: one.state for name, one in found.items()}
        assert states == {"Claude Code": "wrong", "Gemini CLI": "wrong", "Codex": "note"}
        assert found["Gemini CLI"].advice == "pip install 'reverie[mcp]'"
        assert found["Codex"].advice.endswith("then reverie install codex --scope user")

    def test_a_missing_command_is_wrong(self, place: Place, reverie: Path) -> None:
        done("install", "gemini", "--yes")
        reverie.unlink()
        [gone] = self.findings(place)
        assert gone.state == "wrong"
        assert f"{reverie} no longer exists" in gone.what

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("#!/bin/sh\necho broken >&2\nexit 3\n", "failed: broken"),
            ("#!/bin/sh\necho no json\n", "failed: no json"),
        ],
    )
    def test_a_hook_that_fails_is_wrong(
        self, place: Place, monkeypatch: pytest.MonkeyPatch, text: str, message: str
    ) -> None:
        called_as(place.base / "bin" / "reverie", text, monkeypatch)
        done("install", "codex", "--yes")
        [wrong] = self.findings(place)
        assert wrong.state == "wrong"
        assert message in wrong.what

    def test_hooks_that_are_switched_off_are_wrong(self, place: Place, reverie: Path) -> None:
        settings = place.person / ".claude" / "settings.json"
        settings.parent.mkdir()
        settings.write_text('{"disableAllHooks": true}')
        done("install", "claude-code", "--yes")
        [off, _] = self.findings(place)
        assert off.state == "wrong"
        assert "disableAllHooks is set" in off.what

    def test_an_unreadable_record_is_ignored(self, place: Place, reverie: Path) -> None:
        done("install", "gemini", "--yes")
        note = place.home / "clients.json"
        assert stat.S_IMODE(note.stat().st_mode) == 0o600
        for text in ("{", "[]", '{"installations": [{"client": "gemini"}, 1]}'):
            note.write_text(text)
            assert self.findings(place) == []
        done("uninstall", "gemini", "--yes")
        assert not load(place.person / ".gemini" / "settings.json")


def test_on_a_terminal_it_asks(place: Place) -> None:
    before = tree(place.base)
    code, received = asked(place, "n", "install", "gemini")
    assert code == 1
    assert "Change ~/.gemini/settings.json?" in received
    assert tree(place.base) == before
    code, _ = asked(place, "y", "install", "gemini")
    assert code == 0
    assert "hooks" in load(place.person / ".gemini" / "settings.json")


class TestWays:
    """With Claude Code's own memory: adopted, switched off, or left alone."""

    def own_memory(self, place: Place) -> Path:
        key = "".join(c if c.isalnum() and c.isascii() else "-" for c in str(place.root))
        directory = place.person / ".claude" / "projects" / key / "memory"
        directory.mkdir(parents=True)
        (directory / "port.md").write_text("---\nname: Port\ntype: project\n---\n6543\n")
        return directory

    def settings(self, place: Place) -> Any:
        return load(place.person / ".claude" / "settings.json")

    def test_a_directory_that_holds_something_is_adopted(self, place: Place, reverie: Path) -> None:
        directory = self.own_memory(place)
        before = tree(directory)
        assert "its memory directory is adopted" in done("install", "claude-code", "--yes")
        assert place.app().adoption.current == str(directory)
        assert "autoMemoryEnabled" not in self.settings(place)
        assert "port.md" in done("list", "--json")
        assert tree(directory) == before

    def test_otherwise_ours_stands_beside_it_and_its_own_is_off(
        self, place: Place, reverie: Path
    ) -> None:
        assert "switched off" in done("install", "claude-code", "--yes")
        assert self.settings(place)["autoMemoryEnabled"] is False
        assert place.app().adoption.current == ""
        # The way is kept, also once there is something to adopt.
        self.own_memory(place)
        assert "nothing to change" in done("install", "claude-code", "--yes")
        done("install", "claude-code", "--yes", "--memory", "adopt")
        assert "autoMemoryEnabled" not in self.settings(place)
        done("uninstall", "claude-code", "--yes")
        assert not (place.person / ".claude" / "settings.json").exists()

    def test_the_server_alone(self, place: Place, reverie: Path) -> None:
        done("install", "claude-code", "--yes", "--memory", "mcp")
        assert not (place.person / ".claude" / "settings.json").exists()
        assert "reverie" in load(place.person / ".claude.json")["mcpServers"]
        found = [one.what for one in examine(place.app()) if "Claude Code" in one.what]
        assert found == ["Claude Code (user): the MCP server alone, without hooks"]
        assert "nothing is left" in failed(
            "install", "claude-code", "--yes", "--memory", "mcp", "--no-mcp"
        )

    def test_adopting_would_hide_what_is_saved_here(self, place: Place, reverie: Path) -> None:
        self.own_memory(place)
        done("remember", "The staging database listens on port 6543")
        told = failed("install", "claude-code", "--yes", "--memory", "adopt")
        assert "would become hidden" in told
        done("install", "claude-code", "--yes")
        assert self.settings(place)["autoMemoryEnabled"] is False
