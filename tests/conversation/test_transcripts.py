"""Transcripts of every known program are recognised and loaded."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.conversation import claude_lines as claude
from tests.conversation.build import RECORDS, write_lines

from reverie.conversation import transcripts
from reverie.conversation.journal import Journal
from reverie.conversation.records import Said
from reverie.errors import TranscriptError


def test_ours(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with Journal(path) as journal:
        journal.append(*RECORDS)
    assert transcripts.author(path) == "reverie"
    assert transcripts.load(path).records == RECORDS


def test_theirs_plain_and_packed(tmp_path: Path) -> None:
    plain = write_lines(tmp_path / "c.jsonl", [claude.prompt(), claude.reply(claude.text("x"))])
    packed = tmp_path / "c.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert transcripts.author(plain) == transcripts.author(packed) == "claude-code"
    assert transcripts.load(plain).records == transcripts.load(packed).records
    assert sum(isinstance(record, Said) for record in transcripts.load(plain).records) == 2


AUTHORS = [
    ([{"type": "session"}], "reverie"),
    ([{"type": "head"}, claude.prompt()], "reverie"),
    ([{"type": "message"}], "reverie"),
    ([{"type": "summary", "leafUuid": "x"}, claude.prompt()], "claude-code"),
    ([{"type": "file-history-snapshot", "messageId": "x"}], "claude-code"),
    ([{"type": "queue-operation", "sessionId": "x"}], "claude-code"),
    ([b"torn", [], 5, {"type": []}, claude.prompt()], "claude-code"),
    ([], "reverie"),
    ([{"type": "from-the-future"}], "reverie"),
]


@pytest.mark.parametrize(("lines", "author"), AUTHORS)
def test_the_first_readable_lines_tell_who_wrote_it(
    tmp_path: Path, lines: list[object], author: str
) -> None:
    assert transcripts.author(write_lines(tmp_path / "t.jsonl", lines)) == author


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([], "holds no conversation; expected JSON lines by Reverie, Claude Code or Codex"),
        ([b"not a transcript"], r"holds no conversation \(t.jsonl, line 1: not JSON; skipped\)"),
        ([{"type": "unheard-of"}], "holds no conversation"),
        ([claude.other("newkind")], r"\(t.jsonl: passed over 1 × newkind\)"),
    ],
)
def test_a_file_without_a_conversation(tmp_path: Path, lines: list[object], why: str) -> None:
    with pytest.raises(TranscriptError, match=why):
        transcripts.load(write_lines(tmp_path / "t.jsonl", lines))


@pytest.mark.parametrize("name", ["missing.jsonl", ".", "x" * 5000])
def test_no_file_at_all(tmp_path: Path, name: str) -> None:
    with pytest.raises(TranscriptError, match=r"there is no transcript at|File name too long"):
        transcripts.load(tmp_path / name)
