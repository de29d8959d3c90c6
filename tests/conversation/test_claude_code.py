"""Claude Code transcripts as our records: each kind of line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conversation import claude_lines as claude
from tests.conversation.build import said, write_lines

from reverie.conversation import claude_code
from reverie.conversation.cache_report import replay
from reverie.conversation.journal import Loaded
from reverie.conversation.records import Compacted, Opened, Used
from reverie.conversation.state import SessionState
from reverie.core.messages import (
    Attachment,
    Document,
    Image,
    Opaque,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from reverie.core.usage import Usage


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def loaded(*lines: object) -> Loaded:
        return claude_code.load(write_lines(tmp_path / "c.jsonl", lines))

    return loaded


def test_a_plain_exchange(load: Any) -> None:
    question = claude.prompt("hello")
    answer = claude.reply(claude.text("hi"), parentUuid=question["uuid"])
    loaded = load(question, answer)
    opened, first, second, used = loaded.records
    assert isinstance(opened, Opened)
    assert (opened.session, opened.project) == ("session-1", "/repo")
    assert (first.message.role, first.message.origin, first.message.text) == (
        "user",
        "user",
        "hello",
    )
    assert first.message.at == opened.at > 0
    assert second.message.role == second.message.origin == "assistant"
    assert (second.message.parent, second.message.response) == (question["uuid"], "msg_1")
    assert used == Used("msg_1", "main", "claude-opus-4-8", Usage(10, 2000, 200, 100, 5), used.at)
    assert loaded.notes == ()


BLOCKS = [
    (claude.text("hi"), Text("hi")),
    ({"type": "thinking", "thinking": "hm", "signature": "s"}, Thinking("hm", "s")),
    ({"type": "thinking", "thinking": "hm"}, Thinking("hm")),
    ({"type": "redacted_thinking", "data": "x"}, Thinking("", "x", redacted=True)),
    (claude.call("t1", command="ls é"), ToolUse("t1", "Bash", '{"command": "ls é"}')),
    ({"type": "tool_use", "id": "t", "name": "N", "input": None}, ToolUse("t", "N", "{}")),
    (
        {"type": "image", "source": {"media_type": "image/png", "data": "AA"}},
        Image("image/png", "AA"),
    ),
    ({"type": "image", "source": {"url": "https://x.invalid"}}, Image("", "", "https://x.invalid")),
    (
        {
            "type": "document",
            "title": "T",
            "source": {"media_type": "application/pdf", "data": "A"},
        },
        Document("application/pdf", "A", "T"),
    ),
    (
        {"type": "server_tool_use", "x": 1},
        Opaque("claude-code", '{"type": "server_tool_use", "x": 1}'),
    ),
    ({"type": 5}, Opaque("claude-code", '{"type": 5}')),
]


@pytest.mark.parametrize(("written", "read"), BLOCKS)
def test_every_kind_of_block(load: Any, written: Any, read: Any) -> None:
    [_, message] = said(load(claude.prompt(), claude.reply(written)))
    assert message.blocks == (read,)


RESULTS = [
    ("text", (Text("text"),)),
    ([claude.text("a"), {"type": "image", "source": {}}], (Text("a"), Image(""))),
    ([{"type": "tool_reference", "tool_name": "x"}, "stray"], (Text("[opaque]"),)),
    ([], ()),
    (None, ()),
]


@pytest.mark.parametrize(("written", "read"), RESULTS)
def test_every_kind_of_result(load: Any, written: Any, read: Any) -> None:
    lines = (claude.prompt(), claude.reply(claude.call("t1")), claude.result("t1", written))
    [_, _, message] = said(load(*lines))
    assert message.blocks == (ToolResult("t1", read),)
    assert message.origin == "tool"


def test_a_failed_tool_is_marked(load: Any) -> None:
    [_, message] = said(load(claude.prompt(), claude.result("t1", "no such file", is_error=True)))
    assert message.tool_results[0].is_error


def test_one_response_over_many_lines_with_results_between_them(load: Any) -> None:
    """Usage is repeated on each line, its output growing: the last figure counts, once."""
    loaded = load(
        claude.prompt(),
        claude.reply({"type": "thinking", "thinking": "hm"}, output=1),
        claude.reply(claude.call("t1"), output=40),
        claude.result("t1"),
        claude.reply(claude.call("t2"), output=90),
        claude.result("t2"),
        claude.reply(claude.text("done"), id="msg_2", output=7),
    )
    used = [record for record in loaded.records if isinstance(record, Used)]
    assert [(u.response, u.usage.output) for u in used] == [("msg_1", 90), ("msg_2", 7)]
    assert [m.response for m in said(loaded)] == [
        None,
        "msg_1",
        "msg_1",
        None,
        "msg_1",
        None,
        "msg_2",
    ]
    # The figure of a response stands after all of its lines, before the next one.
    kinds = [type(record).__name__ for record in loaded.records]
    assert kinds == ["Opened", *["Said"] * 6, "Used", "Said", "Used"]
    assert sum(len(message.tool_uses) for message in said(loaded)) == 2
    assert len(replay(loaded.records).calls) == 2


def test_what_a_hook_says_to_a_tool_does_not_split_its_response(load: Any) -> None:
    loaded = load(
        claude.prompt(),
        claude.reply(claude.call("t1"), output=4),
        claude.result("t1"),
        claude.attachment("hook_additional_context", content="after a tool"),
        claude.reply(claude.call("t2"), output=9),
    )
    [used] = [record for record in loaded.records if isinstance(record, Used)]
    assert used.usage.output == 9


def test_output_that_shrinks_does_not_count(load: Any) -> None:
    lines = [claude.reply(claude.text("a"), output=9), claude.reply(claude.text("b"), output=2)]
    [used] = [r for r in load(claude.prompt(), *lines).records if isinstance(r, Used)]
    assert used.usage.output == 9


def test_lines_a_fork_copied_are_read_once(load: Any) -> None:
    first, second = claude.prompt("one"), claude.reply(claude.text("two"))
    assert [m.text for m in said(load(first, second, first, second))] == ["one", "two"]


def test_sub_agents_in_the_file_are_not_the_conversation(load: Any) -> None:
    loaded = load(
        claude.prompt("main"),
        claude.prompt("agent", isSidechain=True),
        claude.reply(claude.text("agent says"), id="msg_9", isSidechain=True),
        claude.reply(claude.text("answer")),
    )
    assert [m.text for m in said(loaded)] == ["main", "answer"]
    assert [r.response for r in loaded.records if isinstance(r, Used)] == ["msg_1"]


def test_a_file_of_a_sub_agent_is_its_conversation(load: Any) -> None:
    lines = [
        claude.prompt("task", isSidechain=True),
        claude.reply(claude.text("x"), isSidechain=True),
    ]
    assert [m.text for m in said(load(claude.other("mode"), *lines))] == ["task", "x"]


def test_compaction_starts_the_conversation_anew(load: Any) -> None:
    loaded = load(
        claude.prompt("old"),
        claude.reply(claude.text("old answer")),
        claude.boundary(trigger="manual", preTokens=19409, postTokens=663),
        claude.prompt("continued from before", isCompactSummary=True),
        claude.reply(claude.text("new answer"), id="msg_2"),
    )
    [done] = [record for record in loaded.records if isinstance(record, Compacted)]
    assert (done.trigger, done.tokens_before, done.start, done.kept_from) == (
        "manual",
        19409,
        (),
        None,
    )
    state = SessionState.replay(loaded.records)
    assert [m.text for m in state.messages] == ["continued from before", "new answer"]
    assert state.messages[0].origin == "reverie"
    assert len(said(loaded)) == 4


def test_a_compaction_that_says_nothing_about_itself(load: Any) -> None:
    loaded = load(claude.prompt(), claude.other("system", subtype="compact_boundary"))
    assert loaded.records[-1].trigger == "auto"
    assert loaded.records[-1].tokens_before == 0


def test_errors_the_client_wrote_itself_were_never_said(load: Any) -> None:
    error = claude.reply(claude.text("API Error: 529"), id="x", model="<synthetic>")
    loaded = load(claude.prompt(), error, claude.reply(claude.text("fine")))
    assert [m.text for m in said(loaded)] == ["hello", "fine"]
    assert [r.response for r in loaded.records if isinstance(r, Used)] == ["msg_1"]
    assert loaded.notes == ()


ATTACHMENTS = [
    ({"content": ["MARK", "two"]}, "MARK\ntwo"),
    ({"content": "text"}, "text"),
    ({"content": "raw", "rendered": "as the model saw it"}, "as the model saw it"),
]


@pytest.mark.parametrize(("fields", "text"), ATTACHMENTS)
def test_attachments(load: Any, fields: Any, text: str) -> None:
    loaded = load(claude.prompt(), claude.attachment("hook_additional_context", **fields))
    assert said(loaded)[1].blocks == (Attachment("hook_additional_context", text),)
    assert said(loaded)[1].origin == "hook"


def test_attachments_nobody_can_read_are_counted(load: Any) -> None:
    lines = [
        claude.attachment("a"),
        claude.attachment("b", content={"x": 1}),
        claude.attachment("c", content=[5]),
    ]
    assert load(claude.prompt(), *lines).notes == ("c.jsonl: passed over 3 × attachment",)


def test_what_a_hook_or_the_client_said_is_not_the_person(load: Any) -> None:
    assert said(load(claude.prompt("caveat", isMeta=True)))[0].origin == "hook"


SILENT = ["progress", "file-history-snapshot", "queue-operation", "summary", "pr-link", "last-prompt", "mode", "custom-title", "agent-name", "tag", "atis-latch", "tools-used", "cost-state", "api-request", "api-request-shape", "api-request-blob", "content-replacement"]  # fmt: skip


@pytest.mark.parametrize("kind", SILENT)
def test_records_that_say_nothing_to_the_model_are_passed_over_quietly(
    load: Any, kind: str
) -> None:
    loaded = load(claude.prompt(), claude.other(kind, content="x"), claude.reply(claude.text("y")))
    assert (len(said(loaded)), loaded.notes) == (2, ())


def test_other_system_lines_are_passed_over_quietly(load: Any) -> None:
    lines = [
        claude.other("system", subtype=s) for s in ("stop_hook_summary", "informational", None)
    ]
    loaded = load(claude.prompt(), *lines)
    assert (len(said(loaded)), loaded.notes) == (1, ())


def test_kinds_nobody_knows_are_counted_in_a_note(load: Any) -> None:
    lines = [
        claude.other("newkind"),
        claude.other("newkind"),
        claude.other("x" * 9_999),
        {"no": "type"},
    ]
    [note] = load(claude.prompt(), *lines).notes
    assert note == f"c.jsonl: passed over 1 × None, 2 × newkind, 1 × {'x' * 40}"


def test_empty_messages_are_counted(load: Any) -> None:
    loaded = load(claude.prompt([]), claude.prompt(None), claude.prompt("said"))
    assert [m.text for m in said(loaded)] == ["said"]
    assert loaded.notes == ("c.jsonl: passed over 2 × user",)
