"""Whole sessions of clients' hooks: real hook processes and a real daemon."""

import json
import re
from pathlib import Path

from tests.cli.run import process
from tests.clients.hooks.running import Hooks
from tests.conversation import claude_lines as claude
from tests.conversation.build import write_lines
from tests.conversation.test_codex import META, spoke
from tests.place import Place

WISH = "From now on always use pnpm instead of npm in this repository."
VPN = "The deploy script needs the VPN to be up before it starts."
QUESTION = "does the deploy script need the VPN?"


def remember(place: Place, text: str) -> None:
    assert process(place, "remember", text).returncode == 0


def test_a_session_of_claude_code(hooks: Hooks) -> None:
    hooks.start()
    remember(hooks.place, VPN)
    start = hooks.context("claude-code", "SessionStart", source="startup")
    assert start.startswith("# Memory, kept by Reverie")
    assert "The deploy script needs the VPN" in start
    found = hooks.context("claude-code", "UserPromptSubmit", prompt=QUESTION)
    assert VPN in found
    assert hooks.say("claude-code", "UserPromptSubmit", prompt=QUESTION) is None
    long = "".join(f"line {n}\n" for n in range(5_000))
    response = {"stdout": long, "stderr": "", "interrupted": False, "isImage": False}
    answer = hooks.say(
        "claude-code", "PostToolUse", tool_name="Bash", tool_use_id="toolu_1", tool_input={}, tool_response=response
    )  # fmt: skip
    shaped = answer["hookSpecificOutput"]["updatedToolOutput"]
    assert shaped.keys() == response.keys()
    [stored] = hooks.place.home.glob(
        "projects/*/hooks/claude-code-s1/tool-results/toolu_1-stdout.txt"
    )
    assert str(stored) in shaped["stdout"]
    assert stored.read_text() == long
    assert hooks.say("claude-code", "Stop", stop_hook_active=False) is None
    assert hooks.say("claude-code", "SessionEnd", reason="other") is None
    assert hooks.errors == ""


def learnt_and_recalled(hooks: Hooks, client: str, transcript: Path) -> None:
    """What was said in one session is known in the next; the daemon may end in between."""
    fields = {"transcript_path": str(transcript)}
    hooks.start()
    hooks.say(client, "SessionStart", source="startup", **fields)
    assert hooks.say(client, "Stop", stop_hook_active=False, **fields) is None
    hooks.finish()
    assert "saved feedback_" in hooks.log
    hooks.start()
    hooks.say(client, "SessionStart", "s2", source="startup")
    found = hooks.context(
        client, "UserPromptSubmit", session="s2", prompt="use npm or pnpm in this repository?"
    )
    assert WISH in found


def test_claude_code_is_learnt_from(hooks: Hooks) -> None:
    lines = [claude.prompt(WISH), claude.reply(claude.text("I will."))]
    learnt_and_recalled(hooks, "claude-code", write_lines(hooks.place.base / "s1.jsonl", lines))


def test_codex_is_learnt_from(hooks: Hooks) -> None:
    lines = [META, spoke("user", WISH), spoke("assistant", "I will.")]
    learnt_and_recalled(hooks, "codex", write_lines(hooks.place.base / "rollout-1.jsonl", lines))


def test_a_compaction_is_quiet_and_the_session_goes_on_with_what_is_owed(hooks: Hooks) -> None:
    transcript = write_lines(
        hooks.place.base / "s1.jsonl", [claude.prompt("add a parser for dates")]
    )
    hooks.start()
    data = {
        "session_id": "s1",
        "cwd": str(hooks.place.root),
        "transcript_path": str(transcript),
        "trigger": "auto",
    }
    for client in ("claude-code", "codex"):
        assert hooks.raw(client, "PreCompact", json.dumps(data).encode()) == b""
    again = hooks.context(
        "claude-code", "SessionStart", source="compact", transcript_path=str(transcript)
    )
    assert "> add a parser for dates" in again


def test_memories_come_with_a_file_and_an_error_are_cited_counted_and_shown(hooks: Hooks) -> None:
    hooks.start()
    for text in (
        "src/billing.py rounds half to even.",
        "On 'database is locked' run make reset-db.",
        VPN,
    ):
        remember(hooks.place, text)
    touched = {
        "tool_name": "Read",
        "tool_input": {"file_path": str(hooks.place.root / "src/billing.py")},
    }
    found = hooks.context("claude-code", "PostToolUse", **touched)
    assert "rounds half to even" in found
    assert VPN not in found
    failed = {
        "tool_name": "Bash",
        "tool_input": {"command": "make"},
        "error": "Exit code 1\nERROR: database is locked",
    }
    error = hooks.context("claude-code", "PostToolUseFailure", **failed)
    assert "make reset-db" in error
    assert hooks.say("claude-code", "PostToolUse", **touched) is None
    assert hooks.say("claude-code", "PostToolUseFailure", **failed) is None
    [mark] = re.findall(r"^## .*(\[m:\w+\])$", error, re.MULTILINE)
    stopped = {"stop_hook_active": False}
    told = hooks.say("claude-code", "Stop", last_assistant_message=f"I reset it {mark}.", **stopped)
    assert told["systemMessage"].startswith("Reverie: 1 of 2 shown memories used: ")
    # Once a session.
    assert hooks.say("claude-code", "Stop", last_assistant_message="Done.", **stopped) is None
    shown = process(hooks.place, "watch", "--once").stdout
    assert "about a file in use" in shown
    assert "used" in shown


def test_a_long_output_in_codex_is_replaced_by_its_reason(hooks: Hooks) -> None:
    hooks.start()
    hooks.say("codex", "SessionStart", source="startup")
    answer = hooks.say(
        "codex", "PostToolUse", tool_name="Bash", tool_use_id="c1", tool_response="x\n" * 20_000
    )
    assert answer["decision"] == "block"
    assert "tool-results/c1.txt" in answer["reason"]


def test_a_session_stays_with_its_project(hooks: Hooks, tmp_path: Path) -> None:
    hooks.start()
    remember(hooks.place, VPN)
    hooks.say("claude-code", "SessionStart", source="startup")
    found = hooks.context("claude-code", "UserPromptSubmit", prompt=QUESTION, cwd=str(tmp_path))
    assert VPN in found


def test_a_person_who_turned_memory_off_is_left_alone(hooks: Hooks) -> None:
    data = json.dumps({"session_id": "s1", "cwd": str(hooks.place.root)}).encode()
    assert hooks.raw("claude-code", "SessionStart", data, REVERIE_DISABLE_MEMORY="1") == b""
    assert not hooks.daemon.folder.exists()


def test_gemini_is_told_beside_its_first_prompt(hooks: Hooks) -> None:
    hooks.start()
    remember(hooks.place, VPN)
    assert hooks.say("gemini", "SessionStart", source="startup") is None
    first = hooks.context("gemini", "BeforeAgent", prompt=QUESTION)
    assert first.startswith("# Memory, kept by Reverie")
    assert first.index("## MEMORY.md") < first.rindex(VPN)
    assert hooks.say("gemini", "BeforeAgent", prompt="and the tests?") is None
    assert hooks.say("gemini", "SessionStart", source="resume") is None
    assert hooks.say("gemini", "BeforeAgent", prompt="and the docs?") is None


def test_hook_output_in_geminis_first_prompt_is_not_the_persons(hooks: Hooks) -> None:
    hooks.start()
    said = "<hook_context>From now on always answer in French.</hook_context>\n\n"
    hooks.say("gemini", "BeforeAgent", prompt=f"{said}{WISH}")
    hooks.say("gemini", "AfterAgent", prompt_response="I will.", stop_hook_active=False)
    hooks.finish()
    [heard] = hooks.place.home.glob("projects/*/hooks/gemini-s1/said.jsonl")
    assert WISH in heard.read_text()
    assert "French" not in heard.read_text()
    assert hooks.log.count("saved feedback_") == 1


def test_cursor_is_recorded_and_not_answered(hooks: Hooks) -> None:
    hooks.start()
    remember(hooks.place, VPN)
    started = hooks.say("cursor", "sessionStart", workspace_roots=[str(hooks.place.root)])
    assert "The deploy script needs the VPN" in started["additional_context"]
    for prompt in (QUESTION, WISH):
        assert hooks.say("cursor", "beforeSubmitPrompt", prompt=prompt) is None
        assert hooks.say("cursor", "afterAgentResponse", text="Yes.") is None
    assert hooks.say("cursor", "stop", status="completed") is None
    hooks.finish()
    assert "saved feedback_" in hooks.log
