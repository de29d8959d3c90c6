"""The history: every change is a commit, and all ways to read it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count

import pygit2
import pytest
from tests.memory.recording import ME, history, record, three
from tests.place import NOON, FixedClock

from reverie.errors import InputError
from reverie.memory.format.revisions import Revision, version
from reverie.memory.history import GitHistory

__all__ = ["history", "three"]


# --- reading it back ---


def test_log_says_who_when_why_and_what(history: GitHistory, three: list[Revision]) -> None:
    assert list(history.log()) == three[::-1]
    newest = three[-1]
    assert (newest.author, newest.summary, newest.at) == (ME, "third", NOON + 120)
    assert newest.files == ("b.md", "c.md")
    assert [found.summary for found in history.log("a.md")] == ["second", "first"]
    assert [found.summary for found in history.log("b.md")] == ["third", "first"]
    assert list(history.log("never.md")) == []


def test_files_and_contents_of_any_revision(history: GitHistory, three: list[Revision]) -> None:
    assert history.files().keys() == {"a.md", "c.md"}
    assert history.files(three[0].id) == {"a.md": version(b"one\ntwo\n"), "b.md": version(b"bee\n")}
    assert history.read("a.md", three[0].id) == b"one\ntwo\n"
    assert history.read("a.md") == b"one\ntwo\nthree\n"
    assert history.read("b.md") is None
    assert history.read("no/such.md") is None
    assert history.version("c.md") == version(b"sea\n")
    assert history.content(version(b"bee\n")) == b"bee\n"
    assert history.content("0" * 40) is None


@pytest.mark.parametrize("wanted", ["HEAD", "main", "{id}", "{short}"])
def test_a_revision_by_any_of_its_names(
    history: GitHistory, three: list[Revision], wanted: str
) -> None:
    newest = three[-1]
    assert history.revision(wanted.format(id=newest.id, short=newest.short)) == newest
    assert history.revision("HEAD~2") == three[0]
    assert history.parent(three[1]) == three[0].id
    assert history.parent(three[0]) is None


NO_REVISIONS = [
    " ",
    "zzz",
    "HEAD~9",
    "HEAD^2",
    "f" * 40,
    "..",
    "@{u}",
    ":/x",
    "a b",
    "HEAD:a.md",
    "-1",
    "\0",
]


@pytest.mark.parametrize("wanted", NO_REVISIONS)
def test_what_is_no_revision_is_said_so(
    history: GitHistory, three: list[Revision], wanted: str
) -> None:
    for ask in (
        history.revision,
        history.files,
        lambda name: history.read("a.md", name),
        history.diff,
    ):
        with pytest.raises(InputError, match="revision"):
            ask(wanted)  # type: ignore[operator]


def test_files_with_the_same_start_are_no_revisions(history: GitHistory) -> None:
    record(history, "first", a="0")
    repo = pygit2.Repository(str(history.git_dir))
    head = str(repo.references["refs/heads/main"].target)
    # Small content whose id starts like the revision's: one in 65,536 does.
    twin = next(text for n in count() if version(text := b"%d" % n).startswith(head[:4]))
    repo.create_blob(twin)
    assert history.revision(head[:4]).summary == "first"
    assert history.revision(head[:12]).summary == "first"


def test_an_ambiguous_start_is_said_so(history: GitHistory) -> None:
    starts: dict[str, str] = {}
    for n in count():
        made = record(history, f"number {n}", a=str(n)).id
        twin = starts.setdefault(made[:4], made)
        if twin != made:
            break
    with pytest.raises(
        InputError, match=f"matches 2 revisions: {made[:10]}, {twin[:10]}; give more"
    ):
        history.revision(made[:4])
    assert history.revision(made[:12]).id == made


@pytest.mark.parametrize("wanted", ["0", "000"])
def test_a_start_that_is_too_short(history: GitHistory, wanted: str) -> None:
    record(history, "first", a="0")
    with pytest.raises(InputError, match=f"{wanted!r} is too short for a revision"):
        history.revision(wanted)


def test_nothing_is_there_before_the_first_write(history: GitHistory) -> None:
    assert history.is_empty
    assert list(history.log()) == []
    assert history.files() == {}
    assert history.read("a.md") is None
    assert history.as_of(datetime.now(UTC)) is None
    assert history.pending() is None
    for ask in (history.revision, history.diff, history.blame):
        with pytest.raises(InputError):
            ask("HEAD")  # type: ignore[operator]
    # Reading creates nothing.
    assert not history.git_dir.exists()


def test_as_of(history: GitHistory, three: list[Revision]) -> None:
    def at(seconds: float) -> str | None:
        found = history.as_of(datetime.fromtimestamp(NOON + seconds, UTC))
        return None if found is None else found.summary

    assert [at(-1), at(0), at(59), at(60), at(10_000)] == [
        None,
        "first",
        "first",
        "second",
        "third",
    ]


def test_a_clock_that_goes_backwards(history: GitHistory, clock: FixedClock) -> None:
    record(history, "first", a="1\n")
    clock.advance(-3_600)
    record(history, "second", a="2\n")
    clock.advance(7_200)
    record(history, "third", a="3\n")
    # The order is that of the changes, even if the clock goes back.
    assert [found.summary for found in history.log()] == ["third", "second", "first"]
    assert [line.revision.summary for line in history.blame("a.md")] == ["third"]
    found = history.as_of(datetime.fromtimestamp(NOON, UTC))
    assert found is not None
    assert found.summary == "second"


def test_diff(history: GitHistory, three: list[Revision]) -> None:
    changed = history.diff("HEAD~2", "HEAD~1")
    assert "+three" in changed
    assert "bee" not in changed
    assert "-bee" in history.diff("HEAD~1")
    assert history.diff("HEAD~2", "HEAD", "c.md").count("diff --git") == 1
    assert "+bee" in history.diff(None, "HEAD~2")
    assert history.diff("HEAD", "HEAD") == ""


def test_diff_of_bytes_that_are_no_text(history: GitHistory) -> None:
    history.record({"a.md": b"caf\xe9\n"}, ME, "latin")
    history.record({"a.md": b"caf\xe9s\r\n\x00"}, ME, "binary")
    history.record({"a.md": b"th\xe9\n"}, ME, "latin again")
    assert "a.md" in history.diff("HEAD~2", "HEAD~1")
    assert "th" in history.diff("HEAD~2", "HEAD")


def test_blame(history: GitHistory, three: list[Revision]) -> None:
    found = history.blame("a.md")
    assert [(line.number, line.text, line.revision.summary) for line in found] == [
        (1, "one", "first"),
        (2, "two", "first"),
        (3, "three", "second"),
    ]
    with pytest.raises(InputError, match=r"b\.md is not in the history"):
        history.blame("b.md")


def test_blame_counts_lines_as_git_does(history: GitHistory) -> None:
    history.record({"a.md": "one\x0cform feed\r\ntwo\u2028split\n".encode()}, ME, "odd")
    history.record({"a.md": "one\x0cform feed\r\ntwo\u2028split\nlast".encode()}, ME, "more")
    lines = [(line.text, line.revision.summary) for line in history.blame("a.md")]
    assert lines == [("one\x0cform feed", "odd"), ("two\u2028split", "odd"), ("last", "more")]


MERGES = {
    "both sides": ("a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", "A\nb\nc\nd\nE\n"),
    "same change": ("a\n", "b\n", "b\n", "b\n"),
    "only ours": ("a\n", "b\n", "a\n", "b\n"),
    "only theirs": ("a\n", "a\n", "b\n", "b\n"),
    "conflict": ("a\n", "b\n", "c\n", None),
    "Windows lines": (
        "a\r\nb\r\nc\r\nd\r\n",
        "A\r\nb\r\nc\r\nd\r\n",
        "a\r\nb\r\nc\r\nD\r\n",
        "A\r\nb\r\nc\r\nD\r\n",
    ),
    "all gone": ("a\nb\nc\nd\n", "c\nd\n", "a\nb\n", None),
}


@pytest.mark.parametrize(("base", "ours", "theirs", "merged"), MERGES.values(), ids=MERGES)
def test_merge(history: GitHistory, base: str, ours: str, theirs: str, merged: str | None) -> None:
    record(history, "begin", x="x")
    made = history.merge(base.encode(), ours.encode(), theirs.encode())
    assert made == (None if merged is None else merged.encode())


def test_merge_of_bytes_that_are_no_text_is_a_conflict(history: GitHistory) -> None:
    record(history, "begin", x="x")
    base = b"caf\xe9\nb\nc\nd\n"
    assert history.merge(base, base.replace(b"caf", b"CAF"), base.replace(b"d", b"D")) is None
