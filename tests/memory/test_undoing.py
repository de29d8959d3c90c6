"""Undo plans: later changes stay, or are reported as conflicts."""

import pytest

from reverie.memory.format.revisions import (
    WRITERS,
    Author,
    Revision,
    Step,
    Undo,
    parse_message,
    plan,
    render_message,
    standing,
    version,
)

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


def test_the_version_of_content_is_its_blob_in_git():
    assert version(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert version(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert version(b"x" * 10) != version(b"x" * 11)


def test_a_revision_is_named_by_ten_letters():
    assert Revision("0123456789abcdef", 0.0, Author("user"), "").short == "0123456789"


@pytest.mark.parametrize(
    "author",
    [
        Author("user"),
        *(Author(writer) for writer in WRITERS),
        Author("extract", session="s1", messages=("m1", "m2"), model="m", proposal="p"),
        Author("dream", dream="d1", undoes=("0123456789abcdef", "fedcba9876543210")),
    ],
)
def test_an_author_is_kept_in_the_message(author):
    assert parse_message(render_message("A  summary\nof two lines", author)) == (
        "A summary of two lines",
        author,
    )


@pytest.mark.parametrize(
    ("message", "author"),
    [
        ("By hand\n", Author("user")),
        ("By hand\n\nReverie-Writer: a stranger\n", Author("user")),
        ("undo 0123456789: the port\n", Author("user", undoes=("0123456789",))),
        (
            "undo 0123456789: the port\n\nReverie-Undoes: fedcba9876543210\n",
            Author("user", undoes=("fedcba9876543210",)),
        ),
    ],
)
def test_messages_of_others_and_of_first_versions(message, author):
    assert parse_message(message)[1] == author


@pytest.mark.parametrize(
    ("before", "after", "present", "made"),
    [
        (A1, A2, A2, A1),
        (A1, A2, A1, A1),
        (None, A1, A1, None),
        (None, A1, None, None),
        (A1, None, None, A1),
        # Each of the three is missing, and something else is there.
        (None, A1, A2, "conflict"),
        (A1, None, A2, "conflict"),
        (A1, A2, None, "conflict"),
        (A1, A2, OTHER, "conflict"),
        (A1, A2, A2 + b"later\n", A1 + b"later\n"),
    ],
)
def test_what_taking_back_one_file_makes(before, after, present, made):
    undone = plan([Step({"a.md": before}, {"a.md": after})], {"a.md": present}.get, lines)
    if made == "conflict":
        assert undone == Undo({}, ("a.md",))
    else:
        assert undone == Undo({"a.md": made})


def test_an_index_that_merges_keeps_what_it_lists_and_gets_what_it_lacks():
    mine = POINTER.replace(b"[A]", b"[My own words]")
    step = Step({"a.md": A1, "MEMORY.md": b""}, {"a.md": A2, "MEMORY.md": b"x\n"})
    there = {"a.md": A2, "MEMORY.md": b"x\n" + mine}
    # The memory is listed already, in a person's words: there is no second line.
    assert plan([step], there.get, lines).files["MEMORY.md"] == mine
    step = Step({"a.md": A1, "MEMORY.md": b""}, {"a.md": A2, "MEMORY.md": b"x\n"})
    there = {"a.md": A2, "MEMORY.md": b"x\n- [B](b.md)\n"}
    assert plan([step], there.get, lines).files["MEMORY.md"] == b"- [B](b.md)\n" + POINTER


def test_of_several_steps_only_those_that_changed_the_index_count():
    kept = Step({"b.md": A1}, {"b.md": A2})
    step = Step({"a.md": A1, "MEMORY.md": POINTER}, {"a.md": A2, "MEMORY.md": b"x\n"})
    there = {"a.md": A2, "b.md": A2, "MEMORY.md": b"x\n- [B](b.md)\n"}
    for steps in ([kept, step], [step, kept]):
        undone = plan(steps, there.get, lines)
        assert undone.files["MEMORY.md"] == POINTER + b"- [B](b.md)\n"
    assert "MEMORY.md" not in plan([kept], there.get, lines).files
