"""Small conversations and one record of every kind, for tests of sessions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from reverie.conversation.journal import Loaded
from reverie.conversation.records import (
    Branched,
    CacheEdited,
    Compacted,
    CompactionFailed,
    DateChanged,
    Extracted,
    Folded,
    HeadFrozen,
    MemoriesShown,
    NotesTaken,
    Opened,
    Record,
    Replaced,
    Rewound,
    Said,
    TodosSet,
    ToolResultsCleared,
    Unfolded,
    Unknown,
    Used,
)
from reverie.core.messages import (
    Attachment,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    new_message,
)
from reverie.core.request import ClearThinking, ClearToolUses, Head, Options, Summarize, ToolSpec
from reverie.core.usage import Usage
from reverie.core.window import CacheRules, Capabilities

AT = 1_750_000_000.123

HEAD = Head(
    "scripted",
    (Text("You are careful. " * 20), Text("# Memory\nnothing yet")),
    (ToolSpec.of("Read", "Read a file.", {"type": "object"}), ToolSpec.of("Grep", "Search.", {})),
)

# Every option there is, set to something.
FULL_HEAD = Head(
    "claude-opus-5",
    (Text('Emoji 🙂, a quote " and a lone \ud800 surrogate.'),),
    HEAD.tools,
    Options(
        max_tokens=100,
        thinking="adaptive",
        effort="high",
        tool_choice="Read",
        output_schema='{"type":"object"}',
        stop=("END", "STOP"),
        temperature=0.0,
        edits=(ClearThinking(2), ClearThinking(), ClearToolUses(1000, 500, 4, ("Read",))),
        summarize=Summarize("keep the names"),
    ),
)

# Caches anything, and refuses thinking whose prefix changed.
STRICT = Capabilities(window=200_000, cache=CacheRules("explicit", minimum=1), thinking_bound=True)

BLOCKS: tuple[Block, ...] = (
    Text("plain, 🙂, \u2028 and \udc80"),
    Thinking("hmm", "signed"),
    Thinking("", "data", redacted=True),
    ToolUse("t1", "Read", '{"path": "a b"}'),
    ToolResult("t1", (Text("out"), Image("image/png", "AAAA"), Document("text/plain", "x", "t"))),
    ToolResult("t2", (), is_error=True),
    Image("image/png", "", "https://example.invalid/x.png"),
    Document("application/pdf", "JVBE"),
    Attachment("recall", "a memory"),
    Opaque("anthropic", '{"type": "compaction"}'),
)


def user(text: str, after: Message | None = None, at: float = AT) -> Message:
    return new_message("user", Text(text), after=after, at=at)


def answer(text: str, after: Message, response: str = "r1", at: float = AT) -> Message:
    return new_message("assistant", Text(text), after=after, at=at, response=response)


HELLO = user("hello")
BIG = Said(user("x" * 200_000))
EVERYTHING = new_message("assistant", *BLOCKS, after=HELLO, at=AT, response="r1", bound_to="d1")

# One record of every kind.
RECORDS: tuple[Record, ...] = (
    Opened("s1", AT, "/project"),
    HeadFrozen(HEAD),
    HeadFrozen(FULL_HEAD),
    Said(HELLO),
    Said(EVERYTHING),
    Rewound("never said"),
    Used("r1", "main", "scripted", Usage(1, 2, 3, 4, 5), AT),
    Replaced("t1", "stored in a file"),
    CacheEdited(("t1", "t2"), EVERYTHING.id),
    Compacted((user("the story so far"),), EVERYTHING.id, "auto", 1234, AT),
    Compacted((), None, "manual", 0, AT, HELLO.id, "notes", EVERYTHING.id),
    ToolResultsCleared({"t1": "cleared"}, "it pays"),
    CompactionFailed("no room"),
    Folded(HELLO.id, EVERYTHING.id, user("two messages were here"), "snip"),
    Unfolded("some marker"),
    NotesTaken(EVERYTHING.id, 12_000),
    MemoriesShown(("a.md", "b.md"), 800),
    TodosSet((("write tests", "doing"), ("ship", "open"))),
    Branched("s0", HELLO.id, "notes"),
    Extracted(EVERYTHING.id),
    DateChanged("2026-01-02"),
    Unknown({"type": "from-the-future", "field": [1, {"deep": None}]}),
    Unknown({"no": "type"}),
)


def talk(turns: int, *, prompt: int = 0) -> list[Record]:
    """A plain session: each turn a question, an answer and what the provider reported."""
    records: list[Record] = [Opened("s1", AT, "/project"), HeadFrozen(HEAD)]
    last: Message | None = None
    for i in range(turns):
        question = user(f"question {i} " * 40, last, AT + i * 10)
        last = answer(f"answer {i} " * 40, question, f"r{i}", AT + i * 10 + 5)
        usage = Usage(prompt + i * 200, 0, 0, 0, 10) if prompt else Usage(10, 0, 0, 0, 10)
        used = Used(f"r{i}", "main", "scripted", usage, AT + i * 10 + 5)
        records += [Said(question), Said(last), used]
    return records


def said(loaded: Loaded) -> list[Message]:
    return [record.message for record in loaded.records if isinstance(record, Said)]


def write_lines(path: Path, lines: Iterable[object]) -> Path:
    """Objects as JSON; bytes and text as they are."""
    with path.open("wb") as file:
        for line in lines:
            if isinstance(line, bytes):
                file.write(line + b"\n")
            else:
                file.write(json.dumps(line).encode() + b"\n")
    return path
