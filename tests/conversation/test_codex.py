"""Codex rollouts as records: what was observed of 0.166.0, and whatever else a line may hold."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.conversation.build import write_lines

from reverie.conversation import codex, transcripts
from reverie.conversation.records import Compacted, Opened, Said
from reverie.core.messages import Message, Text, ToolResult, ToolUse

Line = dict[str, Any]


def line(kind: str, **payload: Any) -> Line:
    return {"timestamp": "2026-11-15T10:00:00.000Z", "type": kind, "payload": payload}


def spoke(role: str, text: str) -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    return line("response_item", type="message", role=role, content=[{"type": kind, "text": text}])


META = line("session_meta", id="thread-1", cwd="/repo", cli_version="0.166.0")
ROLLOUT = [
    META,
    line("turn_context", model="gpt-5-codex"),
    spoke("developer", "base prompt"),
    spoke("user", "# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>be kind</INSTRUCTIONS>"),
    spoke("user", "<environment_context>\n  <cwd>/repo</cwd>\n</environment_context>"),
    line("event_msg", type="task_started"),
    spoke("user", "list the files"),
    line("response_item", type="reasoning", summary=[], encrypted_content="gAAA"),
    line("response_item", type="function_call", name="shell", arguments='{"command":["ls"]}', call_id="c1"),
    line("response_item", type="function_call_output", call_id="c1", output="a.py\n"),
    line("response_item", type="custom_tool_call", name="apply_patch", input="*** Begin", call_id="c2"),
    line("response_item", type="custom_tool_call_output", call_id="c2", output=[{"type": "input_text", "text": "done"}]),
    spoke("assistant", "There is a.py."),
]  # fmt: skip


def said(path: Path) -> list[Message]:
    return [r.message for r in transcripts.load(path).records if isinstance(r, Said)]


def test_a_rollout_is_recognised(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rollout-1.jsonl", ROLLOUT)
    assert transcripts.author(path) == "codex"
    loaded = transcripts.load(path)
    assert loaded.notes == ()
    assert loaded.records[0] == Opened("thread-1", loaded.records[0].at, "/repo")


def test_who_said_what(tmp_path: Path) -> None:
    found = said(write_lines(tmp_path / "r.jsonl", ROLLOUT))
    assert [message.origin for message in found] == [
        "hook", "hook", "hook", "user", "assistant", "tool", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert found[3].blocks == (Text("list the files"),)
    assert found[4].blocks == (ToolUse("c1", "shell", '{"command":["ls"]}'),)
    assert found[5].blocks == (ToolResult("c1", (Text("a.py\n"),)),)
    assert found[7].tool_results[0].text == "done"


def test_ids_stay_when_the_file_grows(tmp_path: Path) -> None:
    before = said(write_lines(tmp_path / "r.jsonl", ROLLOUT))
    after = said(write_lines(tmp_path / "r.jsonl", [*ROLLOUT, spoke("user", "list the files")]))
    assert after[: len(before)] == before
    assert len({message.id for message in after}) == len(after)


def test_a_compaction(tmp_path: Path) -> None:
    more = [line("compacted", message="so far", replacement_history=[]), spoke("user", "go on")]
    records = transcripts.load(write_lines(tmp_path / "r.jsonl", [*ROLLOUT, *more])).records
    boundary, summary, last = records[-3:]
    assert isinstance(boundary, Compacted)
    assert isinstance(summary, Said)
    assert (summary.message.text, summary.message.origin) == ("so far", "reverie")
    assert isinstance(last, Said)
    assert last.message.text == "go on"


def test_the_answer_a_summary_was_made_of_is_no_answer(tmp_path: Path) -> None:
    made = "They asked for a parser; it is written."
    more = [
        spoke("assistant", made),
        line("compacted", message=f"Another model wrote this:\n{made}", replacement_history=[]),
    ]
    before = said(write_lines(tmp_path / "r.jsonl", ROLLOUT))
    *messages, summary = said(write_lines(tmp_path / "r.jsonl", [*ROLLOUT, *more]))
    assert messages == before
    assert summary.origin == "reverie"


def test_what_nobody_understands_is_counted(tmp_path: Path) -> None:
    odd = [
        line("response_item", type="hologram"),
        line("response_item"),
        {"type": "new", "payload": 3},
    ]
    loaded = codex.load(write_lines(tmp_path / "r.jsonl", [META, *odd, spoke("user", "hi")]))  # fmt: skip
    assert loaded.notes == (
        "r.jsonl: passed over 1 × new, 1 × response_item, 1 × response_item/hologram",
    )
    assert len(loaded.records) == 2


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
payloads = anything | st.dictionaries(
    st.sampled_from(["type", "role", "content", "call_id", "output", "name", "id", "action", "message"]),
    anything | st.sampled_from(["message", "function_call", "local_shell_call", "function_call_output", "user"]),
)  # fmt: skip


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "type": st.sampled_from(sorted(codex.TYPES)),
                "payload": payloads,
                "timestamp": anything,
            }
        ),
        max_size=5,
    )
)
def test_hostile_lines_never_fail(tmp_path_factory: Any, lines: list[Line]) -> None:
    path = tmp_path_factory.mktemp("codex") / "r.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    codex.load(path)
