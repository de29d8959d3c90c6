"""The rules of a merge, as a table and as laws that hold for any text."""

from __future__ import annotations

from pathlib import Path

import pygit2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.memory.format import index as indexes
from reverie.memory.format.index import Index, Pointer
from reverie.memory.format.paths import Accepted, check_name
from reverie.memory.git_trees import merged as merged_by_git
from reverie.memory.sync.merge import (
    TeamCopy,
    is_same,
    marked,
    merge_files,
    merge_pointers,
    pointers,
    with_pointers,
)


def both_conflict(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    return None


A, B, C = (
    b"---\norigin: user\n---\na\n",
    b"---\norigin: user\n---\nb\n",
    b"---\norigin: user\n---\nc\n",
)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "after", "conflict"),
    [
        (None, None, A, marked(A), False),
        (None, A, None, A, False),
        (None, A, A, A, False),
        (A, A, None, None, False),
        (A, marked(A), None, None, False),
        (A, None, A, None, False),
        (A, None, None, None, False),
        (A, A, B, marked(B), False),
        (A, marked(A), B, marked(B), False),
        (A, B, A, B, False),
        (A, B, marked(A), B, False),
        (A, B, B, B, False),
        (A, marked(B), B, marked(B), False),
        (A, None, B, marked(B), True),
        (A, B, None, B, True),
        (A, B, C, marked(C), True),
        (None, B, C, marked(C), True),
    ],
)
def test_one_file(
    base: bytes | None,
    ours: bytes | None,
    theirs: bytes | None,
    after: bytes | None,
    conflict: bool,
) -> None:
    sides = [{} if side is None else {"f.md": side} for side in (base, ours, theirs)]
    merged = merge_files(sides[0], sides[1], sides[2], set(), both_conflict, TeamCopy())
    assert merged.changes.get("f.md", ours) == after
    assert bool(merged.conflicts) is conflict
    kept = {ours, theirs, marked(ours or b""), marked(theirs or b"")}
    assert {data for data in merged.changes.values() if data} <= kept


def test_a_merge_that_breaks_the_frontmatter_is_a_conflict(tmp_path: Path) -> None:
    repo = pygit2.init_repository(str(tmp_path), bare=True)
    base = b"---\nname: n\na: 1\nb: 2\nc: 3\nd: 4\ntype: project\n---\nx\n"
    ours = base.replace(b"name: n\n", b"name: n\npinned: true\n")
    theirs = base.replace(b"type: project\n", b"type: project\npinned: false\n")
    merge = lambda *sides: merged_by_git(repo, *sides)  # noqa: E731
    assert merge(base, ours, theirs) is not None
    merged = merge_files({"f.md": base}, {"f.md": ours}, {"f.md": theirs}, set(), merge, TeamCopy())
    assert merged.changes["f.md"] == marked(theirs)
    assert [conflict.file for conflict in merged.conflicts] == ["f.md"]


@given(st.sampled_from(["a", "é" * 120, "日" * 82, "long" * 60]), st.binary(max_size=40))
def test_the_other_version_gets_a_name_that_may_be(stem: str, ours: bytes) -> None:
    file = f"{stem}.md"
    merged = merge_files(
        {}, {file: ours}, {file: ours + b"different"}, set(), both_conflict, TeamCopy()
    )
    beside = str(merged.conflicts[0].beside)
    assert isinstance(check_name(beside), Accepted)
    assert merged.changes[beside] == ours


def test_a_conflict_met_again_after_a_death_gets_the_same_name() -> None:
    first = merge_files({}, {"f.md": B}, {"f.md": C}, set(), both_conflict, TeamCopy())
    beside = str(first.conflicts[0].beside)
    again = merge_files({}, {"f.md": B, beside: B}, {"f.md": C}, set(), both_conflict, TeamCopy())
    assert again.conflicts[0].beside == beside
    edited = merge_files({}, {"f.md": B, beside: A}, {"f.md": C}, set(), both_conflict, TeamCopy())
    assert edited.conflicts[0].beside != beside


texts = st.one_of(
    st.binary(max_size=200),
    st.lists(
        st.sampled_from(["---", "origin: user", "origin: team", "name: x", "- y", "  z", "", "# c"])
    ).map(lambda lines: "\n".join(lines).encode()),
)


@given(texts)
def test_a_mark_is_made_once_and_changes_nothing_else(data: bytes) -> None:
    once = marked(data)
    assert marked(once) == once
    assert is_same(data, once)
    assert is_same(once, data)


lines = st.lists(
    st.one_of(
        st.sampled_from(["# heading\n", "\n", "prose\r\n", "- [out](../up.md)\n", "no end"]),
        st.builds(
            lambda title, n, hook: Pointer(title, f"f{n}.md", hook).render() + "\n",
            st.text(max_size=120),
            st.integers(0, 5),
            st.text(max_size=250),
        ),
    ),
    max_size=12,
)
index = lines.map(lambda found: indexes.parse("".join(found).encode("utf-8", "replace")))
FILES = {f"f{number}.md" for number in range(6)}


@given(index, index, index)
def test_pointers_merge_to_one_line_a_file_and_other_lines_stay(
    ours: Index, theirs: Index, base: Index
) -> None:
    wanted = merge_pointers(ours, theirs, base, FILES)
    here, there = with_pointers(ours, wanted, FILES), with_pointers(theirs, wanted, FILES)
    assert {f: p.file for f, p in pointers(here).items() if f in FILES}.keys() == wanted.keys()
    assert {f for f in pointers(there) if f in FILES} == wanted.keys()
    assert _foreign(here) == _foreign(ours)
    assert with_pointers(here, wanted, FILES) == here
    # After one sync, the next merge changes neither side.
    again = merge_pointers(here, there, there, FILES)
    assert with_pointers(here, again, FILES) == here
    assert with_pointers(there, again, FILES) == there


def _foreign(found: Index) -> list[str]:
    kept = [
        line for line in found.lines if not any(p.file in FILES for p in Index((line,)).pointers)
    ]
    return [line.rstrip("\r\n") for line in kept]


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "after"),
    [
        (None, "a", None, "a"),
        (None, None, "a", "a"),
        ("a", "a", "b", "b"),
        ("a", "b", "a", "b"),
        ("a", None, "a", None),
        ("a", "a", None, None),
        ("a", None, "b", "b"),
        ("a", "b", "c", "b"),
    ],
)
def test_one_pointer(
    base: str | None, ours: str | None, theirs: str | None, after: str | None
) -> None:
    sides = [
        Index() if hook is None else Index((f"- [t](f.md) — {hook}\n",))
        for hook in (ours, theirs, base)
    ]
    merged = merge_pointers(*sides, {"f.md"})
    assert [p.hook for p in merged.values()] == ([] if after is None else [after])
