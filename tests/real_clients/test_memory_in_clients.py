"""Real coding agents with Reverie installed in them: what they ask the model, and what is learnt.

Nothing stands in for anything: the clients' own programs, our hooks and daemon, a provider on loopback.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.place import Place, git
from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest
from tests.provider.script import ToolCall
from tests.provider.server import ProviderServer
from tests.real_clients.gemini import GeminiServer

pytestmark = pytest.mark.clients

REVERIE = Path(sys.executable).parent / "reverie"
FACT = "Deploys freeze on 2026-12-20 because of the audit"


@dataclass
class Desk:
    """A person's machine in a folder: a home, a project, and programs that know nothing else."""

    place: Place
    provider: Provider
    env: dict[str, str] = field(default_factory=dict)

    def run(self, program: str | Path, *arguments: str) -> str:
        found = shutil.which(program)
        assert found is not None, f"{program} is missing: run `make test-clients`"
        own = {"PATH": os.environ["PATH"], "HOME": str(self.place.person)}
        ran = subprocess.run(
            [found, *arguments],
            cwd=self.place.root,
            env=own | self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def reverie(self, *arguments: str) -> str:
        return self.run(REVERIE, *arguments)

    def memories(self) -> str:
        return self.reverie("list", "--json")

    def wait_for(self, holds: Callable[[], bool], seconds: float = 30.0) -> None:
        """What goes on detached from the client takes a moment."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, self.reverie("daemon", "status")
            time.sleep(0.1)


@pytest.fixture
def desk(place: Place, provider_server: ProviderServer) -> Iterator[Desk]:
    git(place.root, "init", "-q")
    found = Desk(place, provider_server.serve(Provider()))
    yield found
    found.reverie("daemon", "stop")


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class TestClaudeCode:
    @pytest.fixture(autouse=True)
    def _at_home(self, desk: Desk) -> None:
        desk.env = {
            "ANTHROPIC_BASE_URL": desk.provider.anthropic_url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CONFIG_DIR": str(desk.place.person / ".claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
        }

    def say(self, desk: Desk, prompt: str, *options: str) -> dict[str, Any]:
        # Its MCP servers connect beside the first request otherwise, and change its tools then.
        desk.env["MCP_CONNECTION_NONBLOCKING"] = "0"
        model = ("--model", "claude-sonnet-5-5")
        told = desk.run("claude", "-p", prompt, *model, "--output-format", "json", *options)
        found: dict[str, Any] = json.loads(told)
        return found

    def test_memory_is_where_it_belongs_and_the_prefix_stays(self, desk: Desk) -> None:
        desk.reverie("remember", FACT)
        desk.reverie("install", "claude-code", "--yes")
        desk.provider.script("On 20 December.", "Because of the audit.", "You are welcome.")
        first = self.say(desk, "When do deploys freeze?")
        for prompt in ("And why is that?", "Thank you."):
            self.say(desk, prompt, "--resume", first["session_id"])
        opening = _texts(desk.provider.requests[0])
        assert "# Memory, kept by Reverie" in opening
        assert "MEMORY.md" in opening
        # Recall stands behind the prompt it belongs to, not before it.
        prompt, recalled = opening.index("When do deploys freeze?"), opening.rindex(FACT)
        assert prompt < recalled
        later = [_texts(request) for request in desk.provider.requests[1:]]
        # What was shown is not shown again.
        assert [text.count("## project_deploys") for text in (opening, *later)] == [1, 1, 1]
        assert desk.provider.problems() == []

    def test_what_was_told_in_one_conversation_is_known_in_the_next(self, desk: Desk) -> None:
        desk.reverie("install", "claude-code", "--yes")
        desk.provider.script("I will.", "On 8731.")
        self.say(desk, "Remember that the staging server listens on port 8731.")
        desk.wait_for(lambda: "8731" in desk.memories())
        desk.provider.expect_conversation("the next one")
        self.say(desk, "Which port does the staging server listen on?")
        assert "8731" in _texts(desk.provider.requests[-1])

    def test_a_long_result_is_put_aside(self, desk: Desk) -> None:
        desk.reverie("install", "claude-code", "--yes")
        command = "for i in $(seq 4000); do echo line $i is here; done"
        desk.provider.script(
            ToolCall("Bash", {"command": command, "description": "count"}), "Counted."
        )
        self.say(desk, "Count to four thousand.", "--allowedTools", "Bash")
        result = desk.provider.requests[-1].json["messages"]
        assert "tool-results" in json.dumps(result)
        assert len(json.dumps(result)) < 40_000

    def test_the_memory_server_answers(self, desk: Desk) -> None:
        desk.reverie("install", "claude-code", "--yes")
        desk.reverie("remember", FACT)
        call = ToolCall("mcp__reverie__recall", {"question": "when do deploys freeze?"})
        desk.provider.script(call, "In December.")
        self.say(desk, "Look it up.", "--allowedTools", "mcp__reverie__recall")
        assert FACT in json.dumps(desk.provider.requests[-1].json["messages"][-1])

    def test_after_a_compaction_memory_is_there_again(self, desk: Desk) -> None:
        desk.reverie("remember", FACT)
        desk.reverie("install", "claude-code", "--yes")
        desk.provider.script("Hello.", "<summary>They said hello.</summary>", "In December.")
        first = self.say(desk, "Hello. You must always answer in one sentence.")
        self.say(desk, "/compact", "--resume", first["session_id"])
        desk.provider.expect_break("the client compacted")
        self.say(desk, "When do deploys freeze?", "--resume", first["session_id"])
        shown = _texts(desk.provider.requests[-1])
        assert "# Memory, kept by Reverie" in shown
        assert "always answer in one sentence" in shown

    def test_a_prompt_waits_a_moment_only(self, desk: Desk) -> None:
        desk.reverie("remember", FACT)
        desk.reverie("install", "claude-code", "--yes")
        desk.provider.script("In December.")
        self.say(desk, "When do deploys freeze?")
        hook = {
            "session_id": "s",
            "transcript_path": str(desk.place.base / "none.jsonl"),
            "cwd": str(desk.place.root),
            "hook_event_name": "UserPromptSubmit",
            "prompt": "When do deploys freeze?",
        }
        taken = [_timed(desk, hook) for _ in range(15)]
        assert statistics.median(taken) <= 0.150

    def test_uninstalled_everything_is_as_it_was(self, desk: Desk) -> None:
        home = desk.place.person / ".claude"
        home.mkdir()
        (home / "settings.json").write_text(
            '{\n    "model": "claude-sonnet-5-5",\n    "hooks": {}\n}\n'
        )
        before = files_of(home)
        desk.reverie("install", "claude-code", "--yes")
        assert files_of(home) != before
        desk.reverie("uninstall", "claude-code", "--yes")
        assert files_of(home) == before


class TestCodex:
    @pytest.fixture(autouse=True)
    def _at_home(self, desk: Desk) -> None:
        home = desk.place.person / ".codex"
        home.mkdir()
        desk.env = {"STUB_KEY": "dummy", "CODEX_HOME": str(home)}
        (home / "config.toml").write_text(
            f"""model = "gpt-5.5"
model_provider = "stub"

[model_providers.stub]
name = "stub"
base_url = "{desk.provider.openai_url}"
env_key = "STUB_KEY"
wire_api = "responses"
supports_websockets = false

[projects."{desk.place.root}"]
trust_level = "trusted"
"""
        )

    def say(self, desk: Desk, prompt: str, *resume: str) -> str:
        # A person trusts hooks once, with /hooks; nobody is there to do so.
        trust = "--dangerously-bypass-hook-trust"
        told = desk.run("codex", "exec", *resume, "--json", trust, prompt)
        events = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
        return next(str(e["thread_id"]) for e in events if e["type"] == "thread.started")

    def test_memory_is_where_it_belongs_and_the_prefix_stays(self, desk: Desk) -> None:
        desk.reverie("remember", FACT)
        desk.reverie("install", "codex", "--yes")
        desk.provider.script("On 20 December.", "Because of the audit.")
        thread = self.say(desk, "When do deploys freeze?")
        self.say(desk, "And why is that?", "resume", thread)
        first, second = (json.dumps(request.json["input"]) for request in desk.provider.requests)
        assert "# Memory, kept by Reverie" in first
        assert first.index("When do deploys freeze?") < first.rindex(FACT)
        assert first.count("## project_deploys") == second.count("## project_deploys") == 1
        assert desk.provider.problems() == []

    def test_what_was_told_in_one_conversation_is_known_in_the_next(self, desk: Desk) -> None:
        desk.reverie("install", "codex", "--yes")
        desk.provider.script("I will.", "On 8731.")
        self.say(desk, "Remember that the staging server listens on port 8731.")
        desk.wait_for(lambda: "8731" in desk.memories())
        desk.provider.expect_conversation("the next one")
        self.say(desk, "Which port does the staging server listen on?")
        assert "8731" in json.dumps(desk.provider.requests[-1].json["input"])

    def test_uninstalled_everything_is_as_it_was(self, desk: Desk) -> None:
        home = desk.place.person / ".codex"
        before = files_of(home)
        desk.reverie("install", "codex", "--yes")
        assert files_of(home) != before
        desk.reverie("uninstall", "codex", "--yes")
        assert files_of(home) == before


class TestGemini:
    @pytest.fixture(autouse=True)
    def _at_home(self, desk: Desk) -> Iterator[None]:
        (desk.place.person / ".gemini").mkdir()
        self.settings(desk).write_text(
            '{"security": {"auth": {"selectedType": "gemini-api-key"}}}\n'
        )
        with GeminiServer() as self.server:
            desk.env = {
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
                "GEMINI_API_KEY": "dummy",
                "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{self.server.server_port}",
            }
            yield

    def settings(self, desk: Desk) -> Path:
        return desk.place.person / ".gemini" / "settings.json"

    def say(self, desk: Desk, prompt: str, *options: str) -> str:
        """What the model was shown, as text."""
        desk.run("gemini", "-m", "gemini-2.5-flash", *options, "-p", prompt)
        return self.server.shown()

    def test_memory_is_where_it_belongs_and_is_not_shown_twice(self, desk: Desk) -> None:
        desk.reverie("remember", FACT)
        desk.reverie("install", "gemini", "--yes")
        first = self.say(desk, "When do deploys freeze?")
        second = self.say(desk, "And why is that?", "--resume", "latest")
        assert "# Memory, kept by Reverie" in first
        assert first.index("When do deploys freeze?") < first.rindex(FACT)
        assert second.startswith(first)
        assert "# Memory, kept" not in second.removeprefix(first)
        assert first.count("## project_deploys") == second.count("## project_deploys") == 1

    def test_what_was_told_in_one_conversation_is_known_in_the_next(self, desk: Desk) -> None:
        desk.reverie("install", "gemini", "--yes")
        self.say(desk, "Remember that the staging server listens on port 8731.")
        desk.wait_for(lambda: "8731" in desk.memories())
        [heard] = desk.place.home.glob("projects/*/hooks/gemini-*/said.jsonl")
        assert "kept by Reverie" not in heard.read_text()
        assert "8731" in self.say(desk, "Which port does the staging server listen on?")

    def test_uninstalled_everything_is_as_it_was(self, desk: Desk) -> None:
        before = self.settings(desk).read_bytes()
        desk.reverie("install", "gemini", "--yes")
        assert self.settings(desk).read_bytes() != before
        desk.reverie("uninstall", "gemini", "--yes")
        assert self.settings(desk).read_bytes() == before


class TestOpencode:
    @pytest.fixture(autouse=True)
    def _at_home(self, desk: Desk) -> None:
        stub = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "stub",
            "options": {"baseURL": desk.provider.openai_url, "apiKey": "dummy"},
            "models": {"gpt-5.5": {"name": "m"}},
        }
        self.home(desk).mkdir(parents=True)
        config = {"provider": {"stub": stub}, "model": "stub/gpt-5.5"}
        (self.home(desk) / "opencode.json").write_text(json.dumps(config))

    def home(self, desk: Desk) -> Path:
        return desk.place.person / ".config" / "opencode"

    def say(self, desk: Desk, prompt: str, *options: str) -> str:
        """What the model was shown, as text; a request for a title is none."""
        desk.run("opencode", "run", *options, "--format", "json", prompt)
        return next(
            _texts(request)
            for request in reversed(desk.provider.requests)
            if request.json.get("tools")
        )

    def test_memory_is_where_it_belongs_and_is_not_shown_twice(self, desk: Desk) -> None:
        desk.reverie("remember", FACT)
        desk.reverie("install", "opencode", "--yes")
        first = self.say(desk, "When do deploys freeze?")
        second = self.say(desk, "And why is that?", "--continue")
        opening, prompt = first.index("# Memory, kept"), first.index("When do deploys freeze?")
        assert opening < prompt < first.rindex(FACT)
        assert second.startswith(first)
        assert first.count("## project_deploys") == second.count("## project_deploys") == 1

    def test_what_was_told_in_one_conversation_is_known_in_the_next(self, desk: Desk) -> None:
        desk.reverie("install", "opencode", "--yes")
        self.say(desk, "Remember that the staging server listens on port 8731.")
        desk.wait_for(lambda: "8731" in desk.memories())
        assert "8731" in self.say(desk, "Which port does the staging server listen on?")

    def test_uninstalled_everything_is_as_it_was(self, desk: Desk) -> None:
        before = files_of(self.home(desk))
        desk.reverie("install", "opencode", "--yes")
        assert files_of(self.home(desk)) != before
        desk.reverie("uninstall", "opencode", "--yes")
        assert files_of(self.home(desk)) == before


def _texts(request: RecordedRequest) -> str:
    """Everything the model is shown beside the tools, in order."""
    return "\n".join(
        block if isinstance(block, str) else block.get("text", "") or json.dumps(block)
        for message in request.json["messages"]
        for block in (
            [message["content"]] if isinstance(message["content"], str) else message["content"]
        )
    )


def _timed(desk: Desk, payload: dict[str, Any]) -> float:
    own = {"PATH": os.environ["PATH"], "HOME": str(desk.place.person)}
    began = time.perf_counter()
    subprocess.run(
        [str(REVERIE), "hook", payload["hook_event_name"], "--client", "claude-code"],
        input=json.dumps(payload).encode(),
        env=own | desk.env,
        cwd=desk.place.root,
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - began
