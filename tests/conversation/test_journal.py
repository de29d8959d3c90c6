"""The transcript on disk: nothing is lost, whatever happens to its last line or to any other."""

from __future__ import annotations

import gzip
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conversation.build import RECORDS, user, write_lines

from reverie.conversation import journal
from reverie.conversation.journal import Journal, load
from reverie.conversation.records import Said
from reverie.errors import StorageError, TranscriptError

GOOD = b'{"type":"date","date":"2026-01-02"}'


def journal_of(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def test_every_kind_of_record_comes_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "s.jsonl"
    with Journal(path) as journal:
        for record in RECORDS[:5]:
            journal.append(record)
        journal.append(*RECORDS[5:])
    loaded = load(path)
    assert loaded.records == RECORDS
    assert loaded.notes == ()


def test_one_record_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with Journal(path) as journal:
        journal.append(Said(user("two\nlines and \u2028 a third")), *RECORDS)
    assert path.read_bytes().count(b"\n") == len(RECORDS) + 1


def test_a_journal_is_private_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "s.jsonl"
    Journal(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_reopening_adds_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    for record in RECORDS:
        with Journal(path) as journal:
            journal.append(record)
    assert load(path).records == RECORDS


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "s.jsonl")
    journal.close()
    journal.close()


def test_a_record_torn_at_any_byte_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with Journal(path) as journal:
        journal.append(*RECORDS[:4])
    start = path.stat().st_size
    with Journal(path) as journal:
        journal.append(RECORDS[4])
    whole = path.read_bytes()
    for end in range(start, len(whole)):
        path.write_bytes(whole[:end])
        complete = end == len(whole) - 1
        loaded = load(path)
        assert loaded.records == RECORDS[: 5 if complete else 4], end
        torn = start < end < len(whole) - 1
        assert loaded.notes == (("s.jsonl, line 5: torn by a crash; skipped",) if torn else ())
        with Journal(path) as journal:
            journal.append(RECORDS[5], RECORDS[6])
        assert load(path).records[-2:] == RECORDS[5:7], end
        assert path.read_bytes().startswith(whole[:end])


HOSTILE = {
    "not JSON": (b"<html>", "not JSON"),
    "half an object": (b'{"type":', "not JSON"),
    "binary": (bytes(range(11, 256)), "not JSON"),
    "bad UTF-8": (b'{"type":"date","date":"\xff\xfe"}', "not JSON"),
    "zeros": (b"\0" * 50, "not JSON"),
    "endless list": (b"[" * 100_000, "not JSON"),
    "endless object": (b'{"a":' * 100_000, "not JSON"),
    "endless number": (b"9" * 10_000, "not JSON"),
    "a list": (b"[1]", "must be a JSON object"),
    "a number": (b"NaN", "must be a JSON object"),
    "a message without fields": (b'{"type":"message"}', "'blocks' must be a list"),
    "a time that is none": (
        b'{"type":"session","session":"s","at":"yesterday"}',
        "bad 'session' record",
    ),
    "an infinite size": (
        b'{"type":"compacted","start":[],"trigger":"a","tokens_before":1e999,"at":"2026-01-01"}',
        "bad 'compacted' record",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_line_nobody_can_read_is_noted_with_its_number(tmp_path: Path, name: str) -> None:
    line, reason = HOSTILE[name]
    loaded = load(journal_of(tmp_path / "s.jsonl", GOOD, line, GOOD))
    assert len(loaded.records) == 2
    [note] = loaded.notes
    assert note.startswith("s.jsonl, line 2: ")
    assert reason in note
    assert note.endswith("; skipped")


@pytest.mark.parametrize("size", [60, 61, 119, 120, 121, 5_000])
def test_a_line_that_is_too_long_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(journal, "LONGEST_LINE", 60)
    loaded = load(journal_of(tmp_path / "s.jsonl", GOOD, GOOD.ljust(size), GOOD))
    assert len(loaded.records) == 2
    assert loaded.notes == ("s.jsonl, line 2: not JSON; skipped",)
    whole = load(journal_of(tmp_path / "s.jsonl", GOOD.ljust(59), GOOD))
    assert len(whole.records) == 2


@pytest.mark.parametrize("line", [b"", b"   ", b"\r", b"\t"])
def test_empty_lines_say_nothing(tmp_path: Path, line: bytes) -> None:
    loaded = load(journal_of(tmp_path / "s.jsonl", GOOD, line, line, GOOD))
    assert (len(loaded.records), loaded.notes) == (2, ())


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    loaded = load(journal_of(tmp_path / "s.jsonl", b"\xef\xbb\xbf" + GOOD + b"\r", GOOD + b"\r"))
    assert (len(loaded.records), loaded.notes) == (2, ())


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.binary(max_size=40)))
def test_no_bytes_make_loading_fail(tmp_path: Path, lines: list[bytes]) -> None:
    path = write_lines(tmp_path / "s.jsonl", lines)
    load(path)
    with Journal(path) as journal:
        journal.append(RECORDS[0])
    assert load(path).records[-1] == RECORDS[0]


def test_a_packed_journal_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(gzip.compress(GOOD + b"\n"))
    assert len(load(path).records) == 1


PACKED = gzip.compress(GOOD * 200, mtime=0)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("not packed at all", GOOD),
        ("cut off", PACKED[:-9]),
        ("damaged inside", PACKED[:12] + b"\xff\xff\xff" + PACKED[15:]),
        ("with a wrong sum", PACKED[:-8] + b"\0" * 8),
    ],
)
def test_a_damaged_packed_journal_is_a_clear_error(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(data)
    with pytest.raises(TranscriptError, match=r"cannot read the transcript .*s\.jsonl\.gz: ."):
        load(path)


def test_a_journal_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="No such file"):
        load(tmp_path / "none.jsonl")
    with pytest.raises(TranscriptError, match="Is a directory"):
        load(tmp_path)


@pytest.mark.parametrize("parent_is_a_file", [True, False])
def test_a_place_nothing_can_be_written_to(tmp_path: Path, parent_is_a_file: bool) -> None:
    blocked = tmp_path / "blocked"
    if parent_is_a_file:
        blocked.write_text("in the way")
        path = blocked / "s.jsonl"
    else:
        path = blocked
        path.mkdir()
    with pytest.raises(StorageError, match=r"cannot open the transcript .*blocked"):
        Journal(path)
