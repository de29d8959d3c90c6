"""Claude Code transcripts that are damaged, or written to do damage: a line costs at most itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conversation import claude_lines as claude
from tests.conversation.build import said, write_lines

from reverie.conversation import claude_code, transcripts
from reverie.conversation.cache_report import replay
from reverie.conversation.journal import Loaded
from reverie.conversation.state import SessionState, window_fill
from reverie.core.messages import message_to_json


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Loaded]:
    def loaded(*lines: object) -> Loaded:
        return claude_code.load(write_lines(tmp_path / "c.jsonl", lines))

    return loaded


WRONG: list[Any] = [
    None,
    True,
    5,
    -1.5,
    float("inf"),
    "text",
    "9999-12-31T23:59:59-23:59",
    [],
    [[]],
    {},
    {"type": []},
]
SAMPLES = [
    claude.prompt("hello"),
    claude.result("t1", [claude.text("a")]),
    claude.reply({"type": "thinking", "thinking": "h", "signature": "s"}, claude.call("t", a=1)),
    claude.attachment("hook", content=["x"]),
    claude.boundary(trigger="auto", preTokens=5),
]


def wrong_lines(line: Any) -> Any:
    """The line, with each value anywhere inside it replaced by each wrong one."""
    places = line.items() if isinstance(line, dict) else enumerate(line)
    for key, value in list(places):
        for wrong in WRONG:
            copy = dict(line) if isinstance(line, dict) else list(line)
            copy[key] = wrong
            yield copy
        if isinstance(value, dict | list):
            for inner in wrong_lines(value):
                copy = dict(line) if isinstance(line, dict) else list(line)
                copy[key] = inner
                yield copy


def use_everything(loaded: Loaded) -> None:
    """Whatever was accepted can be counted, replayed and shown."""
    state = SessionState.replay(loaded.records)
    assert state.tokens >= 0
    window_fill(state)
    replay(loaded.records)
    json.dumps([message_to_json(message) for message in state.messages])


@pytest.mark.parametrize(
    "sample", SAMPLES, ids=["prompt", "result", "reply", "attachment", "boundary"]
)
def test_a_wrong_value_anywhere_costs_at_most_its_line(load: Any, sample: Any) -> None:
    lines = list(wrong_lines(sample))
    for i, line in enumerate(lines):
        if isinstance(line.get("uuid"), str):
            line["uuid"] = f"wrong-{i}"
    loaded = load(claude.prompt("before"), *lines, claude.prompt("after"))
    texts = [message.text for message in said(loaded)]
    assert (texts[0], texts[-1]) == ("before", "after")
    use_everything(loaded)


keys = st.sampled_from(["type", "uuid", "message", "content", "id", "usage", "attachment", "sessionId", "isSidechain", "subtype", "compactMetadata", "timestamp", "output_tokens", "input", "text"])  # fmt: skip
kinds = st.sampled_from(["user", "assistant", "attachment", "system", "text", "tool_use", "tool_result", "thinking", "image", "compact_boundary"])  # fmt: skip
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | kinds | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=6),
    max_leaves=15,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(anything | st.dictionaries(keys, anything), max_size=4))
def test_no_lines_at_all_make_reading_fail(tmp_path: Path, lines: list[object]) -> None:
    path = write_lines(tmp_path / "h.jsonl", lines)
    use_everything(claude_code.load(path))
    assert transcripts.author(path) in {"reverie", "claude-code"}


def test_nesting_without_end_costs_its_line(load: Any) -> None:
    block = claude.text("x")
    for _ in range(400):
        block = {"type": "tool_result", "tool_use_id": "t", "content": [block]}
    loaded = load(claude.prompt("before"), claude.prompt([block]), claude.prompt("after"))
    assert [m.text for m in said(loaded)] == ["before", "after"]
    assert loaded.notes == ("c.jsonl: passed over 1 × user",)


def test_torn_and_foreign_lines_are_noted(load: Any) -> None:
    loaded = load(claude.prompt(), b'{"type": "user", "mess', b"[1, 2]")
    assert loaded.notes == ("c.jsonl, line 2: not JSON; skipped",)
