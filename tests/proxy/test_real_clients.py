"""Real coding agents and curl through the proxy, against the provider that enforces the rules."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from tests.cli.run import done
from tests.place import git
from tests.provider.script import Reply, Text, ToolCall
from tests.proxy.test_conversations import remember
from tests.real_clients.desk import OLDER_CLAUDE
from tests.real_clients.gemini import GeminiServer

from reverie.conversation import journal
from reverie.conversation.records import Said
from reverie.proxy.running import client_environment

pytestmark = pytest.mark.clients

FACT = "The deploy of the shop needs the flag --canary"
QUESTION = "How do I deploy the shop?"
TASK = {
    "description": "look",
    "prompt": "Look at the shop",
    "subagent_type": "general-purpose",
}
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "MCP_CONNECTION_NONBLOCKING": "0",
}
# An MCP server with thirty tools.
MANY_TOOLS = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("many")
for number in range(30):
    server.tool(name=f"tool{number}")(lambda text: text)
server.run("stdio")
"""


@pytest.fixture
def run(place):
    """Run a program as a person would, in the project."""
    git(place.root, "init", "-q")

    def running(env: dict[str, str], program: str, *arguments: str) -> str:
        found = shutil.which(program)
        assert found is not None, f"{program} is missing: run `make test-clients`"
        own = {"PATH": os.environ["PATH"], "HOME": str(place.person), **QUIET, **env}
        ran = subprocess.run(
            [found, *arguments], cwd=place.root, env=own, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=240,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    return running


def installed(place, proxy, client: str) -> None:
    """The client's own file as `reverie install` writes it, for this proxy's port."""
    port = proxy.url.rpartition(":")[2]
    done("install", client, "--proxy", "--yes", "--set", f"proxy.port={port}")


def main_requests(provider):
    """The requests of the conversation, without titles and the like."""
    return [r for r in provider.requests if r.json.get("tools") and r.status == 200]


@dataclass
class Direct:
    """The provider itself, where a proxy would be."""

    url: str


def cached(request) -> int:
    """How many tokens the provider has in its cache after this request."""
    usage = request.usage
    return usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]


class TestClaudeCode:
    def ask(self, run, proxy, prompt: str, *options: str) -> dict:
        env = {**client_environment(proxy.url), "ANTHROPIC_API_KEY": "dummy"}
        model = ("--model", "claude-opus-4-8")
        told = run(env, "claude", "-p", prompt, *model, "--output-format", "json", *options)
        return json.loads(told)

    @pytest.mark.parametrize("proxied", [False, True], ids=["direct", "proxied"])
    def test_sixty_calls_with_a_sub_agent_resume_and_compaction(
        self, start, provider, run, place, proxied
    ):
        """Never a fifth mark, and no prefix breaks but where the client by itself breaks it.

        The provider's fixture fails the test for every break that is not registered here; without
        the proxy the client breaks exactly the same.
        """
        proxy = start()
        remember(proxy, FACT)
        there = proxy if proxied else Direct(provider.base_url)
        (place.root / "notes.txt").write_text("line of the notes\n" * 50)
        call = Reply(
            (Text("reading"), ToolCall("Read", {"file_path": str(place.root / "notes.txt")}))
        )
        hire = Reply((Text("hiring"), ToolCall("Agent", TASK)))
        options = ("--max-turns", "40", "--allowedTools", "Read,Agent,Task")
        provider.expect_conversation("the sub-agent has one of its own", within=40)
        provider.expect_break("the client declares one more tool once it has an agent", within=40)
        provider.script(*[call] * 14, hire, *[call] * 3, "the agent is done", *[call] * 12, "done")
        first = self.ask(run, there, QUESTION, *options)
        resumed = ("--resume", first["session_id"])
        provider.script(*[call] * 28, "done again")
        self.ask(run, there, "Read them again", *resumed, *options)
        self.ask(run, there, "/compact", *resumed)
        provider.expect_conversation("the client goes on from its own summary")
        self.ask(run, there, "And now?", *resumed)

        asked = main_requests(provider)
        assert len(asked) >= 60
        assert all(json.dumps(r.json).count('"cache_control"') <= 4 for r in asked)
        own = [r for r in asked[:60] if TASK["prompt"] not in json.dumps(r.json["messages"][0])]
        assert len(own) >= 40
        # What the provider read from its cache: all that the request before had written.
        for before, after in pairwise(own[:14]):
            assert after.usage["cache_read_input_tokens"] >= cached(before)
        proxy.stop()
        if proxied:
            assert all("--canary" in json.dumps(r.json["messages"]) for r in own)
            records = [journal.load(path).records for path in proxy.app.journals()]
            assert sum(isinstance(r, Said) for one in records for r in one) > 110

    @pytest.mark.parametrize("program", ["claude", str(OLDER_CLAUDE)], ids=["newest", "older"])
    def test_tool_search_stays_on(self, start, provider, run, place, program):
        """The older release loads every tool behind a foreign address, unless it is told not to."""
        installed(place, start(), "claude-code")
        (place.root / "tools.py").write_text(MANY_TOOLS)
        server = {"command": sys.executable, "args": [str(place.root / "tools.py")]}
        (place.root / ".mcp.json").write_text(json.dumps({"mcpServers": {"many": server}}))
        run({"ANTHROPIC_API_KEY": "dummy"}, program, "-p", QUESTION, "--model", "claude-opus-4-8")
        tools = {tool["name"] for tool in main_requests(provider)[0].json["tools"]}
        assert "ToolSearch" in tools
        assert not any(name.startswith("mcp__many") for name in tools)
        provider.problems = list

    def test_sub_agents_are_sessions_of_their_own(self, start, provider, run):
        proxy = start()
        remember(proxy, FACT)
        provider.script(
            Reply((Text("hiring"), ToolCall("Agent", TASK))), "the agent is done", "all done"
        )
        self.ask(run, proxy, QUESTION, "--allowedTools", "Agent,Task")
        assert provider.violations == []
        provider.problems = list
        proxy.stop()
        assert len(proxy.app.journals()) >= 2


def test_codex(start, provider, run, place):
    proxy = start()
    remember(proxy, FACT)
    installed(place, proxy, "codex")
    call = ToolCall("exec_command", {"cmd": "echo hello"})
    provider.script(*[Reply((call,))] * 3, "done")
    run({"OPENAI_API_KEY": "dummy"}, "codex", "exec", "-m", "gpt-5.5", "--json", QUESTION)
    asked = [r for r in provider.requests if r.api == "openai.responses" and r.status == 200]
    assert len(asked) >= 2
    assert all("--canary" in json.dumps(r.json["input"]) for r in asked)
    assert provider.violations == []


def test_opencode(start, provider, run, place):
    proxy = start()
    remember(proxy, FACT)
    installed(place, proxy, "opencode")
    env = {"ANTHROPIC_API_KEY": "dummy"}
    model = ("--model", "anthropic/claude-opus-4-8")
    run(env, "opencode", "run", *model, "--format", "json", QUESTION)
    asked = main_requests(provider)
    assert "--canary" in json.dumps(asked[0].json["messages"])
    assert provider.violations == []
    provider.problems = list


def test_gemini(start, run, place):
    with GeminiServer() as server:
        proxy = start(upstream=f"http://127.0.0.1:{server.server_port}")
        remember(proxy, FACT)
        installed(place, proxy, "gemini")
        (place.person / ".gemini" / "settings.json").write_text(
            '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
        )
        env = {"GEMINI_API_KEY": "dummy", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
        told = run(env, "gemini", "-m", "gemini-2.5-flash", "-p", QUESTION)
        assert "Done." in told
        assert "--canary" in server.shown()


def test_curl(start, provider, run):
    proxy = start()
    remember(proxy, FACT)
    body = {
        "model": "claude-opus-4-8",
        "max_tokens": 50,
        "stream": True,
        "messages": [{"role": "user", "content": QUESTION}],
    }
    told = run(
        {}, "curl", "-sS", "-N", f"{proxy.url}/v1/messages", "-H", "x-api-key: k",
        "-H", "anthropic-version: 2026-10-21", "-d", json.dumps(body),
    )  # fmt: skip
    assert told.rstrip().endswith('{"type": "message_stop"}') or "message_stop" in told
    assert "--canary" in json.dumps(provider.requests[0].json["messages"])


def test_the_command_starts_both(place, provider, run):
    """`reverie proxy run -- claude`: for one command, with the environment set."""
    reverie = Path(sys.executable).parent / "reverie"
    upstream = f"proxy.upstream.anthropic={provider.base_url}"
    told = run(
        {"ANTHROPIC_API_KEY": "dummy", "PATH": os.environ["PATH"]}, str(reverie), "proxy",
        "--set", upstream, "--set", "proxy.patience=60000", "run", "--",
        "claude", "-p", QUESTION, "--model", "claude-opus-4-8",
    )  # fmt: skip
    assert "echo:" in told
    provider.problems = list
