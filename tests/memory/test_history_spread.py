"""A history whose files are spread over subfolders reads like one whose files are not."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pygit2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.place import FixedClock

from reverie.memory import git_trees
from reverie.memory.format.revisions import Author
from reverie.memory.history import GitHistory

ME = Author("main")
NAMES = ["a.md", "b.md", "c.md", "notes/d.md", "notes/deep/e.md", "é.md", "MEMORY.md", "f.md"]


def texts(name: str) -> st.SearchStrategy[bytes | None]:
    """A file's content, or none: each line once, in one order and in no other file.

    Git may call another one of two equal lines the new one, and takes a file that has the text of
    one that went away for the same file.
    """
    lines = st.sets(st.sampled_from(["a one", "b two", "c three", "d four", "@@ -1 +1 @@"]))
    contents = lines.map(lambda some: "".join(f"{line} {name}\n" for line in sorted(some)).encode())
    return st.one_of(st.none(), contents)


CHANGES = st.lists(
    st.fixed_dictionaries({}, optional={name: texts(name) for name in NAMES}), max_size=6
)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_trees, "SPREAD_FROM", 4)


@pytest.fixture
def spreading(tmp_path: Path, clock: FixedClock) -> GitHistory:
    """Two revisions as they always were, and two after the files were spread."""
    made = GitHistory(tmp_path / "history.git", clock)
    made.record({"a.md": b"one\ntwo\n"}, ME, "first")
    clock.advance(60)
    made.record({"a.md": b"one\ntwo\nthree\n", "b.md": b"bee\n"}, ME, "second")
    clock.advance(60)
    made.record({"a.md": b"zero\none\ntwo\nthree\n", "c.md": b"", "d.md": b""}, ME, "third")
    clock.advance(60)
    made.record({"a.md": b"zero\none\nthree\nfour\n"}, ME, "fourth")
    return made


def roots(history: GitHistory) -> list[list[str]]:
    """The top-level entries of each revision's tree, oldest first."""
    repo = pygit2.Repository(str(history.git_dir))
    trees = [repo[found.id].peel(pygit2.Commit).tree for found in history.log()]
    return [[item.name or "" for item in tree] for tree in reversed(trees)]


def test_many_files_are_spread_from_the_commit_on_that_makes_them_many(
    spreading: GitHistory,
) -> None:
    before, still, after, later = roots(spreading)
    assert before == ["a.md"]
    assert still == ["a.md", "b.md"]
    assert all(name.startswith(".") for name in (*after, *later))
    assert spreading.files().keys() == {"a.md", "b.md", "c.md", "d.md"}


def test_each_line_keeps_the_revision_that_wrote_it(spreading: GitHistory) -> None:
    contents = [(line.text, line.revision.summary) for line in spreading.blame("a.md")]
    assert contents == [
        ("zero", "third"),
        ("one", "first"),
        ("three", "second"),
        ("four", "fourth"),
    ]
    assert [line.revision.summary for line in spreading.blame("b.md")] == ["second"]


def test_only_what_changed_counts_as_changed(spreading: GitHistory) -> None:
    assert [found.files for found in spreading.log()] == [
        ("a.md",),
        ("a.md", "c.md", "d.md"),
        ("a.md", "b.md"),
        ("a.md",),
    ]
    assert [found.summary for found in spreading.log("b.md")] == ["second"]


def test_a_team_keeps_its_files_where_they_are(tmp_path: Path, clock: FixedClock) -> None:
    made = GitHistory(tmp_path / "history.git", clock, flat=True)
    made.record(dict.fromkeys("abcdefgh", b"x"), ME, "many")
    assert roots(made) == [list("abcdefgh")]


def test_what_is_forgotten_leaves_a_spread_history_too(spreading: GitHistory) -> None:
    spreading.rewrite(lambda name, data: None if name == "b.md" else data, lambda text: text)
    assert "b.md" not in spreading.files()
    assert [line.revision.summary for line in spreading.blame("a.md")] == [
        "third",
        "first",
        "second",
        "fourth",
    ]
    assert all(name.startswith(".") for name in roots(spreading)[-1])


@settings(max_examples=60, deadline=None)
@given(CHANGES)
def test_both_layouts_tell_the_same(changes: list[dict[str, bytes | None]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        clock = FixedClock()
        spread = GitHistory(Path(folder) / "spread.git", clock)
        flat = GitHistory(Path(folder) / "flat.git", clock, flat=True)
        both = (spread, flat)
        made = [[h.record(change, ME, f"{n}") for h in both] for n, change in enumerate(changes)]
        logs = [[(found.summary, found.files) for found in h.log()] for h in both]
        assert logs[0] == logs[1]
        for one, other in made:
            assert spread.files(one.id) == flat.files(other.id)
            assert spread.diff(one.id) == flat.diff(other.id)
            assert spread.diff(None, one.id) == flat.diff(None, other.id)
            assert spread.diff(one.id, made[0][0].id) == flat.diff(other.id, made[0][1].id)
            for file in NAMES:
                assert spread.read(file, one.id) == flat.read(file, other.id)
        for file in flat.files() if changes else ():
            lines = [[(line.text, line.revision.summary) for line in h.blame(file)] for h in both]
            assert lines[0] == lines[1]
