"""The index follows each change: one line per memory, and a correct count when it is full."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from reverie.memory.format import topic
from reverie.memory.format.index import (
    MOST_LINES,
    Index,
    moved,
    parse,
    pointed,
    pointer_to,
    refreshed,
    render,
    unpointed,
)
from reverie.memory.format.manifest import ManifestEntry
from reverie.memory.format.taxonomy import parse_type
from reverie.memory.format.topic import Topic

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def memory(number: int, description: str = "says something", **keys: str) -> Topic:
    return topic.new(f"M{number}", description, "project", "x", file=f"m{number}.md", **keys)


def full(extra: int = 0) -> Index:
    index = Index()
    for number in range(MOST_LINES + extra):
        index = pointed(index, memory(number))
    return index


def test_a_full_index_counts_what_it_cannot_list():
    index = full(extra=5)
    assert len(index.lines) == MOST_LINES
    assert (len(index.pointers), index.more) == (MOST_LINES - 1, 6)
    assert index.fits


def test_a_change_to_a_counted_memory_does_not_count_it_again():
    index = full(extra=5)
    last = memory(MOST_LINES + 4)
    assert refreshed(index, last, last) == index
    assert refreshed(index, last, memory(MOST_LINES + 4, "says it better")) == index


def test_forgetting_a_counted_memory_counts_one_less():
    index = full()
    assert index.more == 1
    gone = unpointed(index, f"m{MOST_LINES - 1}.md")
    assert (gone.more, len(gone.pointers)) == (0, MOST_LINES - 1)
    assert unpointed(index, "m0.md").more == 1


def test_a_line_follows_the_words_of_its_memory_and_only_them():
    theirs = parse(b"# Mine\n* [My title](./m1.md): my hook\n")
    old = memory(1)
    assert refreshed(theirs, old, old.with_(pinned=True)) == theirs
    changed = refreshed(theirs, old, old.with_(description="new words"))
    assert changed.lines == ("# Mine\n", "* [M1](m1.md) — new words\n")


def test_what_was_superseded_stays_out():
    old = memory(1).with_(superseded_by="m2.md")
    assert refreshed(Index(), old, old.with_(pinned=True)) == Index()
    assert refreshed(pointed(Index(), memory(1)), memory(1), old) == Index()


def test_archiving_takes_the_pointer_and_bringing_back_gives_it_again():
    listed = pointed(pointed(Index(), memory(1)), memory(2))
    away = memory(1).with_(archived="2027-01-09")
    without = refreshed(listed, memory(1), away)
    assert [pointer.file for pointer in without.pointers] == ["m2.md"]
    assert refreshed(without, away, away.with_(pinned=True)) == without
    assert pointed(without, away) == without
    back = refreshed(without, away, memory(1))
    assert [pointer.file for pointer in back.pointers] == ["m2.md", "m1.md"]


def test_the_count_of_a_full_index_follows_archiving():
    index = full(extra=5)
    last = memory(MOST_LINES + 4)
    away = last.with_(archived="2027-01-09")
    without = refreshed(index, last, away)
    assert (without.more, without.pointers) == (index.more - 1, index.pointers)
    assert refreshed(without, away, away.with_(pinned=True)) == without
    assert refreshed(without, away, last) == index


def test_a_hook_says_only_what_the_title_does_not():
    rows = {
        ("Ask first", "Ask first."): "",
        ("Ask first", "Ask before you delete"): "Ask before you delete",
        ("Ask before you…", "Ask before you delete"): "… delete",
        ("…", "anything"): "…anything",
    }
    assert {key: pointer_to(key[0], "f.md", key[1]).hook for key in rows} == rows


# --- pinning ---


def listed(*types: str, pinned: str = "") -> list[ManifestEntry]:
    """Memories `a.md`, `b.md` … of these types; `pinned` names some by their letter."""
    return [
        ManifestEntry(f"{name}.md", parse_type(kind), NOON, "", name.upper(), pinned=name in pinned)
        for name, kind in zip("abcdefgh", types, strict=False)
    ]


def index_of(order: str) -> Index:
    return parse("".join(f"- [{name.upper()}]({name}.md)\n" for name in order).encode())


@pytest.mark.parametrize(
    ("before", "file", "pinned", "after"),
    [
        ("abcd", "d", "d", "dabc"),
        ("abcd", "c", "ac", "acbd"),
        ("dabc", "d", "", "abcd"),
        ("cabd", "c", "", "abcd"),
        ("a", "a", "a", "a"),
        ("bacd", "a", "ab", "abcd"),
    ],
)
def test_one_pointer_moves_and_no_other(before: str, file: str, pinned: str, after: str):
    entries = listed("user", "feedback", "project", "reference", pinned=pinned)
    made = moved(index_of(before), f"{file}.md", entries)
    assert [pointer.file[0] for pointer in made.pointers] == list(after)


def test_lines_of_other_writers_stay_where_they_are():
    old = parse(b"# Mine\n\n- [A](a.md)\nwords between\n- [B](b.md) \xe2\x80\x94 my own hook")
    made = moved(old, "b.md", listed("user", "feedback", pinned="b"))
    assert render(made).decode().splitlines() == [
        "# Mine",
        "",
        "- [B](b.md) — my own hook",
        "- [A](a.md)",
        "words between",
    ]


def test_a_pinned_memory_that_was_only_counted_is_listed():
    entries = [
        ManifestEntry(f"m{n}.md", "project", NOON, "says something", f"M{n}")
        for n in range(MOST_LINES + 5)
    ]
    entries[-1] = replace(entries[-1], pinned=True)
    made = moved(full(extra=5), f"m{MOST_LINES + 4}.md", entries)
    assert made.pointers[0].file == f"m{MOST_LINES + 4}.md"
    assert made.fits
