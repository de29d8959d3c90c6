"""Undo plans: later changes stay, or are reported as conflicts."""

import pytest

from reverie.memory.format.revisions import Author, Revision, Step, plan, standing

A1 = b"---\nname: A\ndescription: first\ntype: project\n---\none\n"
A2 = A1.replace(b"one", b"two")
OTHER = b"---\nname: A\ndescription: other\ntype: project\n---\nthree\n"
POINTER = b"- [A](a.md) \xe2\x80\x94 first\n"


def never(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    return None


def lines(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """A merge that only knows appended lines."""
    return theirs + ours[len(base) :] if ours.startswith(base) else None


def test_a_change_is_taken_back():
    undone = plan([Step({"a.md": A1}, {"a.md": A2})], {"a.md": A2}.get, never)
    assert undone.files == {"a.md": A1}


def test_what_is_already_so_stays():
    undone = plan([Step({"a.md": A1}, {"a.md": A2})], {"a.md": A1}.get, never)
    assert undone.files == {"a.md": A1}


def test_later_lines_stay():
    undone = plan([Step({"a.md": A1}, {"a.md": A2})], {"a.md": A2 + b"later\n"}.get, lines)
    assert undone.files == {"a.md": A1 + b"later\n"}


def test_a_conflict_changes_nothing_and_names_the_file():
    steps = [Step({"a.md": A1, "b.md": None}, {"a.md": A2, "b.md": A1})]
    undone = plan(steps, {"a.md": OTHER, "b.md": A1}.get, never)
    assert (undone.files, undone.conflicts) == ({}, ("a.md",))


def test_a_new_file_that_changed_since_is_not_thrown_away():
    undone = plan([Step({"a.md": None}, {"a.md": A1})], {"a.md": A2}.get, lines)
    assert undone.conflicts == ("a.md",)


def test_several_steps_newest_first():
    steps = [Step({"a.md": A1}, {"a.md": A2}), Step({"a.md": None}, {"a.md": A1})]
    assert plan(steps, {"a.md": A2}.get, never).files == {"a.md": None}


def test_an_index_that_does_not_merge_gets_the_pointers_of_what_came_and_went():
    forgot = Step({"a.md": A1, "MEMORY.md": POINTER}, {"a.md": None, "MEMORY.md": b""})
    now = {"a.md": None, "MEMORY.md": b"- [B](b.md)\n"}
    undone = plan([forgot], now.get, never)
    assert undone.files["a.md"] == A1
    assert undone.files["MEMORY.md"] == b"- [B](b.md)\n" + POINTER
    saved = Step({"a.md": None, "MEMORY.md": b""}, {"a.md": A1, "MEMORY.md": POINTER})
    now = {"a.md": A1, "MEMORY.md": POINTER + b"- [B](b.md)\n"}
    assert plan([saved], now.get, never).files["MEMORY.md"] == b"- [B](b.md)\n"


@pytest.mark.parametrize("key", [b"superseded_by: b.md\n", b"archived: 2027-01-09\n"])
def test_what_is_put_away_gets_no_pointer_back(key):
    old = A1.replace(b"type: project\n", b"type: project\n" + key)
    step = Step({"a.md": old, "MEMORY.md": b""}, {"a.md": None, "MEMORY.md": b"x\n"})
    undone = plan([step], {"a.md": None, "MEMORY.md": b"y\n"}.get, never)
    assert undone.files["MEMORY.md"] == b"y\n"


AWAY = A1.replace(b"type: project\n", b"type: project\narchived: 2027-01-09\n")


def test_undoing_an_archiving_brings_the_pointer_back():
    archived = Step({"a.md": A1, "MEMORY.md": POINTER}, {"a.md": AWAY, "MEMORY.md": b""})
    undone = plan([archived], {"a.md": AWAY, "MEMORY.md": b"- [B](b.md)\n"}.get, never)
    assert undone.files == {"a.md": A1, "MEMORY.md": b"- [B](b.md)\n" + POINTER}


def test_undoing_a_return_from_the_archive_takes_the_pointer():
    back = Step({"a.md": AWAY, "MEMORY.md": b""}, {"a.md": A1, "MEMORY.md": POINTER})
    undone = plan([back], {"a.md": A1, "MEMORY.md": POINTER + b"- [B](b.md)\n"}.get, never)
    assert undone.files == {"a.md": AWAY, "MEMORY.md": b"- [B](b.md)\n"}


# --- which revision is next ---


def history(*steps: str) -> list[Revision]:
    """A log, newest first, of changes (`a`) and of revisions that undo others (`u:a,b`)."""
    made = []
    for step in steps:
        id_, _, undoes = step.partition(":")
        author = Author(undoes=tuple(filter(None, undoes.split(","))))
        made.append(Revision(id_, 0.0, author, id_))
    return made[::-1]


@pytest.mark.parametrize(
    ("steps", "undo", "redo"),
    [
        ("", "", ""),
        ("a b c", "c b a", ""),
        # A second undo goes further back; a redo brings back what was undone last.
        ("a b c u:c", "b a", "u"),
        ("a b c u:c v:b", "a", "v u"),
        ("a b c u:c v:b w:a", "", "w v u"),
        # A redo takes an undo back, and can be undone itself.
        ("a b c u:c v:b r:v", "r a", "u"),
        ("a b c u:c v:b r:v s:u", "s r a", ""),
        ("a b u:b r:u x:r", "a", "x"),
        ("a b u:b r:u x:r y:a", "", "y x"),
        # A change after an undo stands on top; what was undone can still be redone.
        ("a b u:b c", "c a", "u"),
        ("a b u:b c v:c", "a", "v u"),
        # One in the middle, several at once.
        ("a b c u:a", "c b", "u"),
        ("a b c u:c,a", "b", "u"),
        ("a b c u:c,a r:u", "r b", ""),
        ("a b c u:c,a r:u x:r", "b", "x"),
        # What was undone already, or is not in this history, changes nothing.
        ("a b u:b v:b", "a", "u"),
        ("a u:zzz", "a", ""),
    ],
)
def test_undo_and_redo_like_an_editor(steps: str, undo: str, redo: str):
    found = standing(history(*steps.split()))
    assert " ".join(one.id for one in found.undo) == undo
    assert " ".join(one.id for one in found.redo) == redo
