"""A dream is merged: the live file wins, the other changes are made."""

from datetime import datetime, timedelta

import pytest
from tests.learning.dreaming import changed, memory, with_index

from reverie.learning.dreaming.changes import (
    Change,
    FileStep,
    Reindexed,
    followed,
    listed,
    mended,
    merged,
    problem_of,
    settled,
    typed,
)
from reverie.memory.format import index as indexes
from reverie.memory.format import topic as topics
from reverie.memory.format.index import Index
from reverie.memory.format.manifest import INDEX_FILE
from reverie.memory.format.topic import Value

A = memory("The port of the harbour service is 8080.")
B = memory("The port of the harbour service is 8080.", source=("s2#m1",))
C = memory("Ada likes purple.")
BEFORE = with_index({"a.md": A, "b.md": B, "c.md": C})
C_LINKED = changed(C, links=("a",))
C_EDITED = C + b"More.\n"


def dreamt() -> dict[str, bytes]:
    """A dream that removes the duplicate and adds a link."""
    return with_index({"a.md": A, "c.md": C_LINKED})


def home(live: dict[str, bytes]) -> tuple[dict[str, bytes | None], list[tuple[str, ...]]]:
    after = dreamt()
    reindexed = Reindexed(BEFORE[INDEX_FILE], indexes.parse(after[INDEX_FILE]))
    found = merged(typed(BEFORE, after), live.get, reindexed)
    return found.files, [change.files for change in found.waiting]


def test_memory_did_not_change_meanwhile() -> None:
    files, waiting = home(BEFORE)
    assert files == {"b.md": None, "c.md": C_LINKED, INDEX_FILE: dreamt()[INDEX_FILE]}
    assert waiting == []


@pytest.mark.parametrize("mine", [C + b"More.\n", None])
def test_where_both_changed_a_file_the_live_one_stays(mine: bytes | None) -> None:
    live = {name: data for name, data in {**BEFORE, "c.md": mine}.items() if data is not None}
    files, waiting = home(live)
    assert "c.md" not in files
    assert files["b.md"] is None
    assert waiting == [("c.md",)]


@pytest.mark.parametrize("mine", [A.replace(b"8080", b"8081"), None])
def test_a_merge_waits_when_what_it_rests_on_changed(mine: bytes | None) -> None:
    live = {name: data for name, data in {**BEFORE, "a.md": mine}.items() if data is not None}
    files, waiting = home(live)
    assert "b.md" not in files
    assert waiting == [("b.md",)]


def test_a_change_waits_when_one_it_relies_on_waits() -> None:
    edit = Change("1", "edit", (FileStep("c.md", C, C_LINKED),), "")
    merge = Change("2", "merge", (FileStep("b.md", B, None),), "", relies_on=(("c.md", C_EDITED),))
    other = Change("3", "edit", (FileStep("a.md", A, A + b"More.\n"),), "")
    found = merged((edit, merge, other), {**BEFORE, "c.md": C_EDITED}.get, None)
    assert [change.id for change in found.waiting] == ["1", "2"]
    assert [change.id for change in found.made] == ["3"]


def test_an_index_that_a_person_changed_only_follows() -> None:
    live = {**BEFORE, INDEX_FILE: b"# Mine\n" + BEFORE[INDEX_FILE]}
    files, _ = home(live)
    made = files[INDEX_FILE]
    assert made is not None
    assert made.startswith(b"# Mine\n")
    assert [pointer.file for pointer in indexes.parse(made).pointers] == ["a.md", "c.md"]


def test_a_second_time_nothing_is_left_to_do() -> None:
    files, waiting = home(dreamt())
    assert (files, waiting) == ({"b.md": None, "c.md": C_LINKED}, [])


FILES = {"a.md": A, "c.md": C}
OLD = indexes.parse(with_index(FILES)[INDEX_FILE] + b"A line of mine.\n")
WRONG = {
    "emptied": (Index(), "it leaves out 2 memories without a word"),
    "leads nowhere": (OLD.with_pointer(indexes.Pointer("x", "x.md")), "it points to x.md"),
    "too long": (Index((*OLD.lines, *["x\n"] * 300)), "it is over its limit of 200 lines"),
    "drops a line": (
        Index(OLD.lines[:-1]),
        "it drops a line that a person wrote: 'A line of mine.'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_index_that_leads_astray_is_not_taken(name: str) -> None:
    wanted, reason = WRONG[name]
    assert reason in (problem_of(wanted, OLD, FILES) or "")
    index, problem = settled(OLD, wanted, FILES)
    assert index == mended(OLD, FILES) == OLD
    assert problem is not None


@pytest.mark.parametrize(
    ("keys", "belongs"),
    [
        ({}, True),
        ({"superseded_by": "a.md"}, False),
        ({"archived": "2026-11-01"}, False),
        ({"superseded_by": "a.md", "archived": "2026-11-01"}, False),
        ({"supersedes": ("a.md",)}, True),
    ],
)
def test_which_memories_belong_in_the_index(keys: dict[str, Value], belongs: bool) -> None:
    data = changed(C, **{key: value for key, value in keys.items() if key != "archived"})
    if "archived" in keys:
        data = data.replace(b"type:", b"archived: 2026-11-01\ntype:")
    assert listed(topics.parse(data, "c.md")) is belongs


def test_a_dream_may_drop_pointers_blank_lines_and_what_it_lists_again_but_no_prose() -> None:
    before = Index(("# Mine\n", "\n", *OLD.lines, "   \n", "- [Old](gone.md): it is gone\n"))
    wanted = Index(("# Mine\n", *OLD.lines))
    assert problem_of(wanted, before, FILES) is None
    for longest in (80, 81):
        line = "x" * longest
        problem = problem_of(wanted, Index((*before.lines, f"{line}\n")), FILES)
        assert problem == f"it drops a line that a person wrote: {'x' * 80!r}"


def test_what_an_index_leaves_out_it_has_to_say() -> None:
    more = {f"m{n}.md": memory(f"The pier {n} is long.") for n in range(3)}
    problem = problem_of(OLD, OLD, {**FILES, **more})
    assert problem == "it leaves out 3 memories without a word"
    says = Index((*OLD.lines, "_1 more memories are not listed here; recall finds them._\n"))
    problem = problem_of(says, OLD, {**FILES, **more})
    assert problem == "it leaves out 2 memories without a word"


@pytest.mark.parametrize(("lines", "follows"), [(197, True), (198, True), (199, False)])
def test_missing_memories_are_added_to_an_index_that_has_room(lines: int, follows: bool) -> None:
    mine = Index(tuple(f"line {n}\n" for n in range(lines)))
    made = mended(mine, FILES)
    assert made.fits
    assert {pointer.file for pointer in made.pointers} == ({*FILES} if follows else set())
    if follows:
        assert made.lines[:lines] == mine.lines


def test_an_index_without_room_lists_the_newest() -> None:
    days = {f"m{n:03}.md": 250 - n for n in range(250)}
    files = {
        name: memory(
            f"The pier {name} is long.",
            # Updates count before the day it was made, and so do times without a zone.
            created="2020-01-01T10:00:00+00:00" if day % 2 else _moment(day),
            **({"updated": _moment(day) + ("Z" if day % 3 else "")} if day % 2 else {}),
        )
        for name, day in days.items()
    }
    listed_files = {pointer.file for pointer in mended(Index(), files).pointers}
    assert 100 < len(listed_files) < 200
    newest = sorted(days, key=lambda name: -days[name])[: len(listed_files)]
    assert listed_files == set(newest)


def _moment(day: int) -> str:
    return (datetime(2021, 1, 1, 10) + timedelta(days=day)).isoformat()


def test_an_index_follows_changes_line_by_line() -> None:
    new = Change("1", "new", (FileStep("d.md", None, memory("Lunch is at noon.")),), "")
    edited = memory("Ada likes green.")
    edit = Change("2", "edit", (FileStep("c.md", C, edited),), "")
    gone = Change("3", "delete", (FileStep("a.md", A, None),), "")
    over = Change("4", "supersede", (FileStep("b.md", B, changed(B, superseded_by="a.md")),), "")
    before = indexes.parse(with_index({"a.md": A, "b.md": B, "c.md": C})[INDEX_FILE])
    made = followed(before, [new, edit, gone, over])
    assert {pointer.file: pointer.title for pointer in made.pointers} == {
        "c.md": "Ada likes green",
        "d.md": "Lunch is at noon",
    }


def test_an_index_that_leads_to_everything_is_taken() -> None:
    wanted = Index(tuple(reversed(OLD.lines)))
    assert settled(OLD, wanted, FILES) == (wanted, None)


@pytest.mark.parametrize(("length", "stays"), [(200, True), (201, False)])
def test_only_a_pointer_over_the_limit_is_shortened(length: int, stays: bool) -> None:
    bare = len(indexes.Pointer("x", "c.md", "h").render()) - 1
    long = indexes.Pointer("x", "c.md", "h" * (length - bare))
    assert len(long.render()) == length
    assert (long in mended(OLD.with_pointer(long), FILES).pointers) is stays
