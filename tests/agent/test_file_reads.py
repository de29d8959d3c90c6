"""What was read is known, newest first, and a clone goes its own way."""

from __future__ import annotations

from pathlib import Path

from reverie.agent.tools import FileRead, FileReads

A, B, C = Path("/a"), Path("/b"), Path("/c")


def read(text: str, at: int = 1) -> FileRead:
    return FileRead.of(text.encode(), at)


def test_the_newest_comes_first_and_the_oldest_is_forgotten() -> None:
    reads = FileReads(most=2)
    reads.remember(A, read("a"))
    reads.remember(B, read("b"))
    reads.remember(A, read("a2"))
    reads.remember(C, read("c"))
    assert reads.recent() == (C, A)
    assert reads.last(A) == read("a2")
    assert reads.last(B) is None


def test_a_clone_goes_its_own_way() -> None:
    reads = FileReads([(A, read("a"))])
    clone = reads.clone()
    clone.remember(B, read("b"))
    assert clone.recent() == (B, A)
    assert reads.recent() == (A,)


def test_only_content_counts_as_a_change() -> None:
    assert read("a", at=1).same_content(read("a", at=2))
    assert not read("a").same_content(read("b"))
