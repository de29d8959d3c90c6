"""Real coding agents with Reverie installed in them: what they ask the model, and what is learnt.

Nothing stands in for anything: the clients' own programs, our hooks and daemon, a provider on loopback.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.provider.script import ToolCall
from tests.real_clients.desk import (
    FACT,
    OLDER_CLAUDE,
    REVERIE,
    Claude,
    Codex,
    Desk,
    Opencode,
    files_of,
    texts,
)
from tests.real_clients.gemini import GeminiServer

from reverie.clients import hook_client

pytestmark = pytest.mark.clients


class TestClaudeCode:
    @pytest.fixture(autouse=True, params=["claude", OLDER_CLAUDE], ids=["newest", "older"])
    def _at_home(self, desk: Desk, request: pytest.FixtureRequest) -> None:
        if isinstance(request.param, Path) and not request.param.exists():
            pytest.skip("the earlier release is not installed: run `make test-clients`")
        self.claude = Claude(desk, request.param)

    def say(self, desk: Desk, prompt: str, *options: str) -> dict[str, Any]:
        return self.claude.say(prompt, *options)[-1]

    def test_memory_is_where_it_belongs_and_the_prefix_stays(self, desk: Desk) -> None:
        desk.reverie("remember", FACT)
        desk.reverie("install", "claude-code", "--yes")
        desk.reverie("daemon", "start")
        desk.provider.script("On 20 December.", "Because of the audit.", "You are welcome.")
        first = self.say(desk, "When do deploys freeze?")
        for prompt in ("And why is that?", "Thank you."):
            self.say(desk, prompt, "--resume", first["session_id"])
        opening = texts(desk.provider.requests[0])
        assert "# Memory, kept by Reverie" in opening
        assert "MEMORY.md" in opening
        # Recall stands behind the prompt it belongs to, not before it.
        asked, recalled = opening.index("When do deploys freeze?"), opening.rindex(FACT)
        assert asked < recalled
        later = [texts(request) for request in desk.provider.requests[1:]]
        # What was shown is not shown again.
        assert {text.count("## project_deploys") for text in (opening, *later)} == {1}
        # The newest release tries a field that this provider refuses, and goes on without it.
        refused = "messages.1.output_config: Extra inputs are not permitted"
        assert [one for one in desk.provider.problems() if refused not in one] == []

    def test_what_was_told_in_one_conversation_is_known_in_the_next(self, desk: Desk) -> None:
        desk.reverie("install", "claude-code", "--yes")
        desk.reverie("daemon", "start")
        desk.provider.script("I will.", "On 8731.")
        self.say(desk, "Remember that the staging server listens on port 8731.")
        desk.wait_for(lambda: "8731" in desk.memories())
        desk.provider.expect_conversation("the next one")
        self.say(desk, "Which port does the staging server listen on?")
        assert "8731" in texts(desk.provider.requests[-1])

    def test_a_long_result_is_put_aside(self, desk: Desk) -> None:
        desk.reverie("install", "claude-code", "--yes")
        desk.reverie("daemon", "start")
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
        desk.reverie("daemon", "start")
        desk.reverie("remember", FACT)
        # The client connects to its servers beside the first requests.
        listed = desk.place.home / hook_client.FOLDER / hook_client.LISTED
        waiting = f"until ls {listed}/* > /dev/null 2>&1; do sleep 0.1; done"
        desk.provider.script(
            ToolCall("Bash", {"command": waiting, "description": "wait"}),
            ToolCall("mcp__reverie__recall", {"question": "when do deploys freeze?"}),
            "In December.",
        )
        self.say(desk, "Look it up.", "--allowedTools", "Bash mcp__reverie__recall")
        messages = desk.provider.requests[-1].json["messages"]
        blocks = [block for one in messages if one["role"] == "user" for block in one["content"]]
        *_, result = (block for block in blocks if block["type"] == "tool_result")
        assert FACT in json.dumps(result)

    def test_after_a_compaction_memory_is_there_again(self, desk: Desk) -> None:
        desk.reverie("remember", FACT)
        desk.reverie("install", "claude-code", "--yes")
        desk.reverie("daemon", "start")
        desk.provider.script("Hello.", "<summary>They said hello.</summary>", "In December.")
        first = self.say(desk, "Hello. You must always answer in one sentence.")
        self.say(desk, "/compact", "--resume", first["session_id"])
        desk.provider.expect_break("the client compacted")
        self.say(desk, "When do deploys freeze?", "--resume", first["session_id"])
        shown = texts(desk.provider.requests[-1])
        assert "# Memory, kept by Reverie" in shown
        assert "always answer in one sentence" in shown

    def test_a_prompt_waits_a_moment_only(self, desk: Desk) -> None:
        desk.reverie("remember", FACT)
        desk.reverie("install", "claude-code", "--yes")
        desk.reverie("daemon", "start")
        desk.provider.script("In December.")
        self.say(desk, "When do deploys freeze?")
        hook = {
            "session_id": "s",
            "transcript_path": str(desk.place.base / "none.jsonl"),
            "cwd": str(desk.place.root),
            "hook_event_name": "UserPromptSubmit",
            "prompt": "When do deploys freeze?",
        }
        pairs = [(_spent_by_hook(desk, hook), _spent_by_empty_process()) for _ in range(15)]
        hooks, empty = (statistics.median(times) for times in zip(*pairs, strict=True))
        # Twice as much; by the clock 36 ms beside 13 on an idle machine.
        assert hooks <= 5 * empty

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
        self.codex = Codex(desk)

    def say(self, desk: Desk, prompt: str, *resume: str) -> str:
        return self.codex.say(prompt, *resume)

    def test_memory_is_where_it_belongs_and_the_prefix_stays(self, desk: Desk) -> None:
        desk.reverie("remember", FACT)
        desk.reverie("install", "codex", "--yes")
        desk.reverie("daemon", "start")
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
        desk.reverie("daemon", "start")
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
        desk.reverie("daemon", "start")
        first = self.say(desk, "When do deploys freeze?")
        second = self.say(desk, "And why is that?", "--resume", "latest")
        assert "# Memory, kept by Reverie" in first
        assert first.index("When do deploys freeze?") < first.rindex(FACT)
        assert second.startswith(first)
        assert "# Memory, kept" not in second.removeprefix(first)
        assert first.count("## project_deploys") == second.count("## project_deploys") == 1

    def test_what_was_told_in_one_conversation_is_known_in_the_next(self, desk: Desk) -> None:
        desk.reverie("install", "gemini", "--yes")
        desk.reverie("daemon", "start")
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
        self.opencode = Opencode(desk)

    def home(self, desk: Desk) -> Path:
        return self.opencode.home

    def say(self, desk: Desk, prompt: str, *options: str) -> str:
        return self.opencode.say(prompt, *options)

    def test_memory_is_where_it_belongs_and_is_not_shown_twice(self, desk: Desk) -> None:
        desk.reverie("remember", FACT)
        desk.reverie("install", "opencode", "--yes")
        desk.reverie("daemon", "start")
        first = self.say(desk, "When do deploys freeze?")
        second = self.say(desk, "And why is that?", "--continue")
        opening, prompt = first.index("# Memory, kept"), first.index("When do deploys freeze?")
        assert opening < prompt < first.rindex(FACT)
        assert second.startswith(first)
        assert first.count("## project_deploys") == second.count("## project_deploys") == 1

    def test_what_was_told_in_one_conversation_is_known_in_the_next(self, desk: Desk) -> None:
        desk.reverie("install", "opencode", "--yes")
        desk.reverie("daemon", "start")
        self.say(desk, "Remember that the staging server listens on port 8731.")
        desk.wait_for(lambda: "8731" in desk.memories())
        assert "8731" in self.say(desk, "Which port does the staging server listen on?")

    def test_uninstalled_everything_is_as_it_was(self, desk: Desk) -> None:
        before = files_of(self.home(desk))
        desk.reverie("install", "opencode", "--yes")
        assert files_of(self.home(desk)) != before
        desk.reverie("uninstall", "opencode", "--yes")
        assert files_of(self.home(desk)) == before


def _spent_by_empty_process() -> float:
    return _spent([sys.executable, "-c", "pass"])


def _spent_by_hook(desk: Desk, payload: dict[str, Any]) -> float:
    own = {"PATH": os.environ["PATH"], "HOME": str(desk.place.person)}
    return _spent(
        [str(REVERIE), "hook", payload["hook_event_name"], "--client", "claude-code"],
        input=json.dumps(payload).encode(),
        env=own | desk.env,
        cwd=desk.place.root,
    )


def _spent(command: list[str], **options: Any) -> float:
    """The processor time of a command: a busy machine changes it less than the time by the clock."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
