"""claude-agent-sdk: the hooks and the store by themselves, then with the bundled command line."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.clients.adapters.common import FACT, LONG, QUESTION, Listener, bodies, memory
from tests.flows.examples import Example, examples, run
from tests.place import Place
from tests.provider.provider import Provider
from tests.provider.script import ToolCall

from reverie import Memory
from reverie.events import MemoriesSaved, TroubleNoted
from reverie.learning.service import spoken
from reverie.workspace import Workspace

pytest.importorskip("claude_agent_sdk")

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage
from claude_agent_sdk.testing import run_session_store_conformance

from reverie.adapters.claude_agent_sdk import ReverieHooks, ReverieSessionStore

PAGE = "docs/integrations/claude-agent-sdk.md"
LEARN = "Please remember that deploys freeze on 2026-12-20 because of the audit."


class Harness:
    """The hooks, their memory and their events."""

    def __init__(self, place: Place, provider: Provider) -> None:
        self.listener = Listener(provider)
        self.memory = memory(place, provider)
        self.hooks = ReverieHooks(memory=self.memory, listener=self.listener)

    async def fire(self, event: str, **data: Any) -> dict[str, Any]:
        [matcher] = self.hooks.hooks[event]
        payload: Any = {"session_id": "s1", "cwd": "/", "hook_event_name": event, **data}
        return dict(await matcher.hooks[0](payload, None, {"signal": None}))


@pytest.fixture
async def harness(place: Place, provider: Provider) -> AsyncIterator[Harness]:
    made = Harness(place, provider)
    yield made
    await made.hooks.aclose()


def transcript(place: Place, *messages: tuple[str, str]) -> str:
    path = place.base / "s1.jsonl"
    lines = [
        {
            "type": role,
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": "s1",
            "timestamp": "2025-06-15T12:00:00Z",
            "message": {"role": role, "content": text},
        }
        for number, (role, text) in enumerate(messages)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


class TestHooks:
    async def test_a_prompt_recalls_once(self, harness: Harness) -> None:
        harness.memory.remember(FACT, type="project")
        answer = await harness.fire("UserPromptSubmit", prompt=QUESTION)
        assert answer["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
        assert "6543" in answer["hookSpecificOutput"]["additionalContext"]
        assert await harness.fire("UserPromptSubmit", prompt=QUESTION) == {}

    async def test_a_long_output_becomes_a_preview(self, harness: Harness, place: Place) -> None:
        response = {"stdout": LONG, "stderr": "", "interrupted": False, "isImage": False}
        answer = await harness.fire(
            "PostToolUse", tool_name="Bash", tool_use_id="t1", tool_input={}, tool_response=response
        )
        updated = answer["hookSpecificOutput"]["updatedToolOutput"]
        assert updated["stdout"].startswith("<persisted-output>")
        assert updated["interrupted"] is False
        [path] = Workspace.open(place.root).project.folder.rglob("tool-results/*")
        assert path.read_text() == LONG

    async def test_a_long_text_of_an_mcp_tool_too(self, harness: Harness) -> None:
        answer = await harness.fire(
            "PostToolUse",
            tool_name="mcp__weather__log",
            tool_use_id="t1",
            tool_input={},
            tool_response=[{"type": "text", "text": LONG}],
        )
        updated = answer["hookSpecificOutput"]["updatedMCPToolOutput"]
        assert updated.startswith("<persisted-output>")

    @pytest.mark.parametrize(
        ("event", "data"),
        [
            ("UserPromptSubmit", {"prompt": f"<task-notification>{QUESTION}"}),
            ("UserPromptSubmit", {"prompt": QUESTION, "agent_id": "a1"}),
            ("PostToolUse", {"tool_name": "Read", "tool_response": {"content": LONG}}),
            ("PostToolUse", {"tool_name": "Bash", "tool_response": {"stdout": "short"}}),
            ("PostToolUse", {"tool_name": "mcp__x", "tool_response": [{"type": "image"}]}),
        ],
    )
    async def test_what_is_left_alone(self, harness: Harness, event: str, data: Any) -> None:
        harness.memory.remember(FACT, type="project")
        assert await harness.fire(event, **data) == {}

    async def test_the_end_of_a_turn_is_learnt_from(self, harness: Harness, place: Place) -> None:
        path = transcript(place, ("user", LEARN), ("assistant", "I will."))
        assert await harness.fire("Stop", transcript_path=path, stop_hook_active=False) == {}
        await harness.hooks.aclose()
        [saved] = harness.listener.events(MemoriesSaved)
        assert [entry.file for entry in harness.memory] == list(saved.files)

    async def test_a_compaction_is_followed_by_what_is_owed(
        self, harness: Harness, place: Place
    ) -> None:
        harness.memory.remember(FACT, type="project")
        path = transcript(place, ("user", "Rename the ferry to Aurora."), ("assistant", "Why?"))
        assert await harness.fire("PreCompact", transcript_path=path, trigger="auto") == {}
        answer = await harness.fire("SessionStart", transcript_path=path, source="compact")
        text = answer["hookSpecificOutput"]["additionalContext"]
        assert "Aurora" in text
        assert "staging database" in text

    async def test_instructions_hold_the_index(self, harness: Harness) -> None:
        harness.memory.remember(FACT, type="project")
        assert "staging database" in harness.hooks.instructions()

    async def test_a_broken_memory_is_no_answer(self, harness: Harness, place: Place) -> None:
        folder = Workspace.open(place.root).project.folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.write_text("no folder")
        for event in ("UserPromptSubmit", "Stop", "SessionStart"):
            assert await harness.fire(event, prompt=QUESTION, source="compact") == {}
        assert harness.listener.events(TroubleNoted)


def tear(folder: Path) -> None:
    """Leave half a line behind, as a crash would."""
    [path] = folder.rglob("*.jsonl")
    path.write_text(path.read_text() + '{"type": "us')


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


class TestTheStore:
    async def test_conforms(self, tmp_path: Path) -> None:
        folders = (tmp_path / str(number) for number in range(100))
        await run_session_store_conformance(lambda: ReverieSessionStore(next(folders)))

    async def test_an_entry_comes_once(self, tmp_path: Path) -> None:
        key: Any = {"project_key": "p", "session_id": "s"}
        first: Any = {"type": "user", "uuid": "a"}
        untold: Any = {"type": "mode"}
        await ReverieSessionStore(tmp_path).append(key, [first, untold])
        again = ReverieSessionStore(tmp_path)
        await again.append(key, [first, untold])
        assert await again.load(key) == [first, untold, untold]

    async def test_a_torn_line_is_left_out(self, tmp_path: Path) -> None:
        key: Any = {"project_key": "p", "session_id": "s"}
        store = ReverieSessionStore(tmp_path)
        await store.append(key, [{"type": "user", "uuid": "a"}])
        tear(tmp_path)
        await store.append(key, [{"type": "user", "uuid": "b"}])
        loaded = await store.load(key)
        assert [entry["uuid"] for entry in loaded or ()] == ["a", "b"]

    @pytest.mark.parametrize("name", ["../up", ".", "..", "a/b", "%2E", "wörter 1"])
    async def test_any_name_stays_inside(self, tmp_path: Path, name: str) -> None:
        key: Any = {"project_key": name, "session_id": name}
        store = ReverieSessionStore(tmp_path / "in")
        await store.append(key, [{"type": "user"}])
        await store.append({**key, "subpath": name}, [{"type": "user"}])
        assert [found["session_id"] for found in await store.list_sessions(name)] == [name]
        assert await store.list_subkeys(key) == [name]
        assert names(tmp_path) == ["in"]


class CommandLine:
    """The bundled command line, with a home of its own, on the loopback provider."""

    def __init__(self, place: Place, provider: Provider) -> None:
        self.place = place
        self.provider = provider
        self.harness = Harness(place, provider)
        self.store = ReverieSessionStore(memory=self.harness.memory)
        self.session = ""

    async def say(self, text: str, **more: Any) -> None:
        options = ClaudeAgentOptions(
            cwd=self.place.root,
            hooks=self.harness.hooks.hooks,
            session_store=self.store,
            setting_sources=[],
            allowed_tools=["Bash"],
            env=environment(self.place, self.provider),
            **more,
        )
        async with ClaudeSDKClient(options) as client:
            await client.query(text)
            async for message in client.receive_response():
                if isinstance(message, ResultMessage):
                    self.session = message.session_id

    @property
    def asked(self) -> list[Any]:
        return [body for body in bodies(self.provider) if body.get("tools")]


def environment(place: Place, provider: Provider) -> dict[str, str]:
    return {
        "HOME": str(place.person),
        "CLAUDE_CONFIG_DIR": str(place.person / ".claude"),
        "ANTHROPIC_BASE_URL": provider.anthropic_url,
        "ANTHROPIC_API_KEY": "mine",
        "ANTHROPIC_MODEL": "claude-sonnet-4-5",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }


@pytest.mark.clients
class TestWithTheCommandLine:
    async def test_recall_previews_learning_and_resume(
        self, place: Place, provider: Provider
    ) -> None:
        provider.script(
            ToolCall("Bash", {"command": "seq -f 'line %05g of clouds' 1 1200"}),
            "On port 6543.",
            "As I said.",
        )
        line = CommandLine(place, provider)
        line.harness.memory.remember(FACT, type="project")
        await line.say(f"{LEARN} {QUESTION}")
        first, second = line.asked[0], line.asked[1]
        assert "6543" in str(first["messages"])
        assert "<persisted-output>" in str(second["messages"][-1])
        [path] = Workspace.open(place.root).project.folder.rglob("tool-results/*")
        assert "line 01200 of clouds" in path.read_text()
        await line.harness.hooks.aclose()
        assert len(list(line.harness.memory)) == 2

        await line.say("Say it again, please.", resume=line.session)
        third = line.asked[-1]
        assert "6543" in str(third["messages"])
        assert "<persisted-output>" in str(third["messages"])
        assert "On port 6543." in str(third["messages"])
        [kept] = Workspace.open(place.root).project.folder.glob("claude-agent-sdk/*/*.jsonl")
        assert LEARN in str([message.text for message in spoken(kept)])
        await line.harness.hooks.aclose()


@pytest.mark.clients
@pytest.mark.parametrize("example", examples(PAGE), ids=str)
def test_the_page(
    example: Example, place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(place, provider).items():
        monkeypatch.setenv(name, value)
    with Memory.open(place.root) as opened:
        opened.remember(FACT, type="project")
    provider.script("On port 6543.")
    assert run(example, place, provider) == example.output
    assert "6543" in str(bodies(provider)[0]["messages"])
