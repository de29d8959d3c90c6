"""The person's own hooks around a session of ours: commands, with the JSON of Claude Code's hooks."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import done
from tests.place import Place

from reverie import Agent, Context
from reverie.core.messages import Text, ToolUse
from reverie.core.request import Reply, Request
from reverie.errors import InputError
from reverie.events import Event, TroubleNoted
from reverie.models.offline import ScriptedModel
from reverie.session.hooks import MOST_CONTINUATIONS, parsed


def write(path: Path, **events: Any) -> None:
    """A hooks file; a value is a command, or a command and a matcher."""
    groups = {}
    for event, given in events.items():
        command, *matcher = (given,) if isinstance(given, str) else given
        group = {"hooks": [{"type": "command", "command": command, "timeout": 20}]}
        groups[event] = [group | ({"matcher": matcher[0]} if matcher else {})]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": groups}))


def seen(model: ScriptedModel) -> str:
    return "\n".join(str(message) for message in model.requests[-1].messages)


def agent_with(model: ScriptedModel, events: list[Event] | None = None) -> Agent:
    heard: list[Event] = [] if events is None else events
    return Agent(model, listener=heard.append, mode="bypass")


async def test_each_moment_gets_its_json_and_context_reaches_the_model(place: Place) -> None:
    log = place.base / "heard.jsonl"
    keep = f"cat >> {log}; echo >> {log}"
    write(
        place.home / "hooks.json",
        SessionStart=f"{keep}; echo START-CONTEXT",
        UserPromptSubmit=f"""{keep}; echo '{{"hookSpecificOutput": {{"additionalContext": "PROMPT-CONTEXT"}}}}'""",
        PreToolUse=(keep, "Bash"),
        PostToolUse=f"""{keep}; echo '{{"hookSpecificOutput": {{"additionalContext": "TOOL-CONTEXT"}}}}'""",
        Stop=keep,
        SessionEnd=keep,
    )
    model = ScriptedModel([(ToolUse("t1", "Bash", '{"command": "echo hi"}'),), "Done."])
    async with agent_with(model) as agent:
        await agent.ask("Say hi.")
    heard = [json.loads(line) for line in log.read_text().splitlines() if line.strip()]
    assert [one["hook_event_name"] for one in heard] == [
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd",
    ]  # fmt: skip
    assert all(one["session_id"] and one["cwd"] == str(place.root) for one in heard)
    assert heard[1]["prompt"] == "Say hi."
    assert heard[2]["tool_input"] == {"command": "echo hi"}
    assert "hi" in heard[3]["tool_response"]["stdout"]
    assert heard[4]["last_assistant_message"] == "Done."
    for context in ("START-CONTEXT", "PROMPT-CONTEXT", "TOOL-CONTEXT"):
        assert context in seen(model)


async def test_a_tool_is_refused_or_gets_other_arguments(place: Place) -> None:
    changed = '{"hookSpecificOutput": {"updatedInput": {"command": "echo CHANGED"}}}'
    script = place.base / "pre.sh"
    script.write_text(
        f"grep -q forbidden && {{ echo NOT-HERE >&2; exit 2; }}\necho '{changed}'\n", "utf-8"
    )
    write(place.home / "hooks.json", PreToolUse=(f"sh {script}", "Bash|Edit"))
    calls = [(ToolUse(f"t{n}", "Bash", json.dumps({"command": c})),) for n, c in enumerate(["forbidden", "echo A"])]  # fmt: skip
    model = ScriptedModel([*calls, "Done."])
    async with agent_with(model) as agent:
        await agent.ask("Run both.")
    assert "NOT-HERE" in seen(model)
    assert "CHANGED" in seen(model)


def decides(permission: str) -> str:
    said = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": permission}}
    return f"echo '{json.dumps(said)}'"


class Asking:
    """The person at the desk: what they were asked, and that they say no."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    async def __call__(self, call: object, asked: Any) -> Any:
        self.questions.append(asked.question)
        return "no"


class TestPermission:
    """What a hook before a tool says about asking the person."""

    TOUCH = (ToolUse("t1", "Bash", '{"command": "touch made.txt"}'),)

    async def run(self, place: Place, mode: Any) -> tuple[bool, list[str]]:
        """Was the command run, and what was asked?"""
        asking = Asking()
        model = ScriptedModel([self.TOUCH, "Done."])
        async with Agent(model, mode=mode, approve=asking) as agent:
            await agent.ask("Make it.")
        return (place.root / "made.txt").exists(), asking.questions

    async def test_a_hook_of_ones_own_allows_without_a_question(self, place: Place) -> None:
        assert await self.run(place, "ask") == (False, ["Allow $ touch made.txt?"])
        write(place.home / "hooks.json", PreToolUse=decides("allow"))
        assert await self.run(place, "ask") == (True, [])

    async def test_what_is_denied_stays_denied(self, place: Place) -> None:
        write(place.home / "hooks.json", PreToolUse=decides("allow"))
        assert await self.run(place, "plan") == (False, [])

    async def test_a_hook_of_the_project_cannot_allow(self, place: Place) -> None:
        write(place.root / ".reverie" / "hooks.json", PreToolUse=decides("allow"))
        done("trust", "--yes")
        ran, questions = await self.run(place, "ask")
        assert (ran, len(questions)) == (False, 1)

    async def test_a_hook_can_have_the_person_asked(self, place: Place) -> None:
        write(place.root / ".reverie" / "hooks.json", PreToolUse=decides("ask"))
        write(place.home / "hooks.json", PreToolUse=decides("allow"))
        done("trust", "--yes")
        ran, questions = await self.run(place, "bypass")
        assert (ran, questions) == (False, ["A hook asks: allow $ touch made.txt?"])

    async def test_what_the_project_changed_is_not_allowed_by_another_hook(
        self, place: Place
    ) -> None:
        changed = (
            '{"hookSpecificOutput": {"updatedInput": {"command": "touch made.txt other.txt"}}}'
        )
        write(place.root / ".reverie" / "hooks.json", PreToolUse=f"echo '{changed}'")
        write(place.home / "hooks.json", PreToolUse=decides("allow"))
        done("trust", "--yes")
        assert await self.run(place, "ask") == (False, ["Allow $ touch made.txt other.txt?"])


async def test_sub_agents_have_the_hooks_around_their_tools(place: Place) -> None:
    log = place.base / "heard.jsonl"
    keep = f"cat >> {log}; echo >> {log}"
    write(
        place.home / "hooks.json",
        SessionStart=keep,
        UserPromptSubmit=keep,
        SubagentStart=(f"{keep}; echo HIRED-CONTEXT", "general"),
        SubagentStop=keep,
        PreToolUse=(f"{keep}; echo NOT-HERE >&2; exit 2", "Bash"),
    )
    hire = {"task": "run it", "summary": "run", "type": "general", "how": "wait"}

    def answer(request: Request) -> Any:
        hired = "has given a task" in str(request.head.system)
        turns = sum(message.role == "assistant" for message in request.messages)
        if turns:
            return "Done."
        name, arguments = ("Bash", {"command": "echo hi"}) if hired else ("Agent", hire)
        return (ToolUse("t1", name, json.dumps(arguments)),)

    model = ScriptedModel(otherwise=answer)
    async with agent_with(model) as agent:
        await agent.ask("Have an agent run it.")
        session = agent.session
    heard = [json.loads(line) for line in log.read_text().splitlines() if line.strip()]
    events = [one["hook_event_name"] for one in heard]
    assert events == ["SessionStart", "UserPromptSubmit", "SubagentStart", "PreToolUse", "SubagentStop"]  # fmt: skip
    assert {one["session_id"] for one in heard} == {session}
    assert heard[3]["agent_type"] == "general"
    assert heard[3]["agent_transcript_path"].endswith(f"{heard[3]['agent_id']}.jsonl")
    everything = "\n".join(str(request.messages) for request in model.requests)
    assert "HIRED-CONTEXT" in everything
    assert "NOT-HERE" in everything


class TestOwnLoop:
    """A program that calls the model itself may ask for the hooks, except those around its tools."""

    HISTORY = ({"role": "user", "content": "Do it."},)

    async def test_context_of_a_prompt_and_a_stop_hook(self, place: Place) -> None:
        write(
            place.home / "hooks.json",
            SessionStart="echo START-CONTEXT",
            UserPromptSubmit="echo PROMPT-CONTEXT",
            Stop="echo RUN-THE-TESTS >&2; exit 2",
        )
        async with Context(model=ScriptedModel(), hooks=True) as context:
            prepared = await context.prepare(self.HISTORY)
            await context.observe(Reply("m", "scripted", (Text("Done."),), "end"))
            assert context.go_on == "RUN-THE-TESTS"
        sent = str(prepared.request.messages)
        assert "START-CONTEXT" in sent
        assert "PROMPT-CONTEXT" in sent

    async def test_a_refused_prompt_is_not_recorded(self, place: Place) -> None:
        write(place.home / "hooks.json", UserPromptSubmit="grep -q secret && exit 2 || exit 0")
        secret = [{"role": "user", "content": "The secret is …"}]
        async with Context(model=ScriptedModel(), hooks=True) as context:
            with pytest.raises(InputError, match="a hook refused the prompt"):
                await context.prepare(secret)
            prepared = await context.prepare(self.HISTORY)
        assert "secret" not in str(prepared.request.messages)

    async def test_hooks_do_not_run_unasked(self, place: Place) -> None:
        write(place.home / "hooks.json", UserPromptSubmit="echo PROMPT-CONTEXT")
        async with Context(model=ScriptedModel()) as context:
            prepared = await context.prepare(self.HISTORY)
        assert "PROMPT-CONTEXT" not in str(prepared.request.messages)


async def test_a_stop_hook_sends_the_turn_on_a_bounded_number_of_times(place: Place) -> None:
    write(
        place.home / "hooks.json",
        Stop="""echo '{"decision": "block", "reason": "RUN-THE-TESTS"}'""",
    )
    model = ScriptedModel()
    async with agent_with(model) as agent:
        await agent.ask("Do it.")
    counts = [
        str(request.messages).count("[Stop hook: RUN-THE-TESTS]") for request in model.requests
    ]
    # What follows is learning, which sees the conversation twice.
    assert counts[: MOST_CONTINUATIONS + 1] == list(range(MOST_CONTINUATIONS + 1))


async def test_a_prompt_is_refused(place: Place) -> None:
    events: list[Event] = []
    write(place.home / "hooks.json", UserPromptSubmit="echo no secrets please >&2; exit 2")
    model = ScriptedModel()
    async with agent_with(model, events) as agent:
        await agent.ask("My password is …")
    assert model.requests == []
    assert any("no secrets please" in one.what for one in events if isinstance(one, TroubleNoted))


async def test_a_broken_hook_changes_nothing_and_is_told(place: Place) -> None:
    events: list[Event] = []
    write(place.home / "hooks.json", UserPromptSubmit="/no/such/program", Stop="exit 1")
    model = ScriptedModel()
    async with agent_with(model, events) as agent:
        assert await agent.ask("Hello there.") == "Done."
    told = [one.where for one in events if isinstance(one, TroubleNoted)]
    assert {"hooks.UserPromptSubmit", "hooks.Stop"} <= set(told)


async def test_hooks_of_a_repository_run_only_after_consent(place: Place) -> None:
    file = place.root / ".reverie" / "hooks.json"
    write(file, UserPromptSubmit="echo FROM-THE-REPOSITORY")

    async def shown() -> bool:
        model = ScriptedModel()
        async with agent_with(model) as agent:
            await agent.ask("Hello there.")
        return "FROM-THE-REPOSITORY" in seen(model)

    assert not await shown()
    told = done("trust", "--yes")
    assert "wants hooks.UserPromptSubmit = echo FROM-THE-REPOSITORY" in told
    assert await shown()
    write(file, UserPromptSubmit="echo FROM-THE-REPOSITORY, changed")
    assert not await shown()
    done("trust", "--no")
    assert not await shown()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "this is not JSON"),
        ("[]", "it should hold"),
        ('{"hooks": {"OnStop": []}}', "'OnStop' is not an event; known: SessionStart"),
    ],
)
async def test_a_hooks_file_of_ones_own_that_cannot_be_read(
    place: Place, text: str, problem: str
) -> None:
    (place.home / "hooks.json").parent.mkdir(parents=True, exist_ok=True)
    (place.home / "hooks.json").write_text(text)
    with pytest.raises(InputError, match=re.escape(problem)):
        async with agent_with(ScriptedModel()) as agent:
            await agent.ask("Hello there.")


@pytest.mark.parametrize(
    ("out", "refusal", "context"),
    [
        ("", None, ""),
        ("plain", None, "plain"),
        ("{not json", None, "{not json"),
        ('{"continue": false, "stopReason": "why"}', "why", ""),
        ('{"hookSpecificOutput": {"permissionDecision": "deny"}}', "the UserPromptSubmit hook refused", ""),
        ('{"hookSpecificOutput": 7, "decision": "approve"}', None, ""),
    ],
)  # fmt: skip
def test_what_hooks_print(out: str, refusal: str | None, context: str) -> None:
    found = parsed(out, "UserPromptSubmit")
    assert (found.refusal, found.context) == (refusal, context)
