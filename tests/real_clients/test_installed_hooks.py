"""Real coding agents after `reverie install`: their hooks run, and what they answer reaches the model.

A small `reverie` stands in for ours: this is about what the installer wrote.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.run import done
from tests.place import Place, git
from tests.provider.provider import Provider
from tests.provider.server import ProviderServer
from tests.real_clients.desk import LONGEST
from tests.real_clients.gemini import GeminiServer

pytestmark = pytest.mark.clients

PLUGIN = Path(__file__).parents[2] / "integrations" / "claude-code-plugin"

STAND_IN = """\
#!/bin/sh
[ "$1" = hook ] || exit 1
echo "$2" >> "$(dirname "$0")/heard"
cat > /dev/null
mark="MARK-$2"
case "$4 $2" in
  *" SessionStart"|*" UserPromptSubmit"|*" BeforeAgent")
    echo '{"hookSpecificOutput": {"hookEventName": "'"$2"'", "additionalContext": "'"$mark"'"}}';;
  "opencode session.created"|"opencode chat.message")
    echo '{"context": "'"$mark"'"}';;
esac
"""


class Bench:
    """A client in a scratch home, before a provider on loopback."""

    def __init__(self, place: Place, provider: Provider) -> None:
        self.place = place
        self.provider = provider
        self.reverie = place.base / "bin" / "reverie"
        self.reverie.parent.mkdir()
        self.reverie.write_text(STAND_IN)
        self.reverie.chmod(0o755)

    def run(self, name: str, *arguments: str, **env: str) -> str:
        """What the client prints; its own variables only, so that nothing of this machine leaks in."""
        program = shutil.which(name)
        if program is None:
            pytest.skip(f"{name} is not on PATH")
        quiet = {"PATH": os.environ["PATH"], "HOME": str(self.place.person), **env}
        ran = subprocess.run(
            [program, *arguments],
            cwd=self.place.root,
            env=quiet,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    @property
    def heard(self) -> list[str]:
        return (self.reverie.parent / "heard").read_text().split()

    @property
    def sent(self) -> str:
        return "\n".join(request.body.decode() for request in self.provider.requests)


@pytest.fixture
def bench(
    place: Place, provider_server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Bench]:
    git(place.root, "init", "-q")
    provider = provider_server.serve(Provider())
    found = Bench(place, provider)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "argv", [str(found.reverie)])
    yield found
    # Clients break rules of their own; whether they keep the provider's is not what is tested.
    provider.close()


def claude(bench: Bench, *arguments: str) -> None:
    bench.run(
        "claude",
        *arguments,
        ANTHROPIC_BASE_URL=bench.provider.anthropic_url,
        ANTHROPIC_API_KEY="dummy",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_TELEMETRY="1",
        DISABLE_AUTOUPDATER="1",
        DISABLE_ERROR_REPORTING="1",
        PATH=f"{bench.reverie.parent}{os.pathsep}{os.environ['PATH']}",
    )


def test_the_plugin_of_claude_code(bench: Bench) -> None:
    """It finds `reverie` by PATH."""
    claude(bench, "--plugin-dir", str(PLUGIN), "-p", "hello")
    assert bench.heard == ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]
    assert "MARK-UserPromptSubmit" in bench.sent
    for command in ("recall", "remember", "dream", "inbox"):
        assert f"reverie:{command}" in bench.sent


@pytest.mark.parametrize("scope", ["user", "project"])
def test_claude_code(bench: Bench, scope: str) -> None:
    done("install", "claude-code", "--scope", scope, "--yes")
    claude(bench, "-p", "hello")
    assert bench.heard == ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]
    assert "MARK-SessionStart" in bench.sent
    assert "MARK-UserPromptSubmit" in bench.sent
    if scope == "user":
        # The client has filled its file meanwhile: only our entry goes.
        state = bench.place.person / ".claude.json"
        before = json.loads(state.read_text())
        assert before.pop("mcpServers")["reverie"]["args"] == ["mcp"]
        done("uninstall", "claude-code", "--yes")
        assert json.loads(state.read_text()) == before


def test_codex(bench: Bench) -> None:
    done("install", "codex", "--yes")
    assert "reverie" in bench.run("codex", "mcp", "list")
    provider = {
        "model_provider": '"stub"',
        "model": '"gpt-5.5"',
        "model_providers.stub.name": '"stub"',
        "model_providers.stub.base_url": f'"{bench.provider.openai_url}"',
        "model_providers.stub.env_key": '"STUB_KEY"',
        "model_providers.stub.wire_api": '"responses"',
        "model_providers.stub.supports_websockets": "false",
    }
    options = [part for key, value in provider.items() for part in ("-c", f"{key}={value}")]
    # A person trusts hooks once, with /hooks; nobody is there to do so.
    trust = "--dangerously-bypass-hook-trust"
    bench.run("codex", "exec", "--json", trust, *options, "hello", STUB_KEY="dummy")
    assert bench.heard == ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]
    assert "MARK-SessionStart" in bench.sent
    assert "MARK-UserPromptSubmit" in bench.sent


def test_opencode(bench: Bench) -> None:
    options = {"baseURL": bench.provider.openai_url, "apiKey": "dummy"}
    stub = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "stub",
        "options": options,
        "models": {"gpt-5.5": {"name": "m"}},
    }
    config = {"provider": {"stub": stub}, "model": "stub/gpt-5.5"}
    file = bench.place.root / "opencode.json"
    file.write_text(json.dumps(config))
    done("install", "opencode", "--scope", "project", "--yes", "--no-mcp")
    bench.run("opencode", "run", "--format", "json", "hello")
    bench.run("opencode", "run", "--continue", "--format", "json", "again")
    # The second process finds the opening in the stored conversation.
    assert bench.heard == [
        "session.created",
        "chat.message",
        "session.idle",
        "chat.message",
        "session.idle",
    ]
    assert "MARK-session.created" in bench.sent
    assert "MARK-chat.message" in bench.sent


def test_gemini(bench: Bench) -> None:
    settings = bench.place.person / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    done("install", "gemini", "--yes")
    with GeminiServer() as server:
        bench.run(
            "gemini",
            "-m",
            "gemini-2.5-flash",
            "-p",
            "hello",
            GEMINI_CLI_TRUST_WORKSPACE="true",
            GEMINI_API_KEY="dummy",
            GOOGLE_GEMINI_BASE_URL=f"http://127.0.0.1:{server.server_port}",
        )
    assert bench.heard == ["SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"]
    assert "MARK-SessionStart" in server.shown()
    assert "MARK-BeforeAgent" in server.shown()
