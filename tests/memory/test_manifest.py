"""The manifest: a memory's data from the first lines of its file."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.memory.format.manifest import HEAD_LINES, entry, head, is_index, newest_first, render
from reverie.memory.format.topic import parse

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
FILE = b"---\nname: Role\ndescription: Runs the pharmacy desk\ntype: user\n---\nbody\n"


def test_rendered_one_a_line_newest_first_without_index_files():
    entries = [
        entry("user_role.md", FILE, NOON - timedelta(days=1)),
        entry("MEMORY.md", b"- [A](a.md)\n", NOON),
        entry("team/MEMORY.md", b"", NOON),
        entry("broken.md", b"no frontmatter\n", NOON),
        entry("team/b.md", FILE.replace(b"user", b"odd"), NOON + timedelta(hours=1)),
    ]
    assert render(entries) == (
        "- team/b.md (2026-11-15T13:00:00Z): Runs the pharmacy desk\n"
        "- broken.md (2026-11-15T12:00:00Z)\n"
        "- [user] user_role.md (2026-11-14T12:00:00Z): Runs the pharmacy desk\n"
    )


def test_equal_times_are_ordered_by_name():
    entries = [entry(file, FILE, NOON) for file in ("c.md", "a.md", "b.md")]
    assert [one.file for one in newest_first(entries)] == ["a.md", "b.md", "c.md"]


def test_archived_is_told_from_the_head():
    away, odd = (
        entry("a.md", b"---\narchived: %s\n---\n" % value, NOON)
        for value in (b"2027-01-09", b"yes")
    )
    assert (away.archived, away.listed, odd.archived, odd.listed) == (True, False, False, True)


def test_pinned_superseded_nested_type_and_problem():
    one = entry(
        "a.md", b"---\npinned: true\nsuperseded_by: b.md\nmetadata:\n  type: project\n---\n", NOON
    )
    assert (one.pinned, one.superseded, one.type, one.name, one.problem) == (
        True,
        True,
        "project",
        "a.md",
        None,
    )
    assert "no frontmatter" in entry("a.md", b"x", NOON).problem


def test_only_the_first_thirty_lines_are_read():
    long = b"---\nname: Long\ndescription: d\n" + b"# note\n" * 40 + b"type: user\n---\n"
    one = entry("long.md", long, NOON)
    assert (one.name, one.description, one.type, one.problem) == ("Long", "d", None, None)
    assert head(long).count(b"\n") == HEAD_LINES


def test_a_time_in_another_zone_is_written_in_utc():
    local = NOON.astimezone(datetime.fromisoformat("2026-01-01T00:00:00+09:00").tzinfo)
    assert "(2026-11-15T12:00:00Z)" in render([entry("a.md", FILE, local)])


@pytest.mark.parametrize(
    ("file", "index"), [("MEMORY.md", True), ("team/MEMORY.md", True), ("MY-MEMORY.md", False)]
)
def test_index_files(file, index):
    assert is_index(file) == index


@given(st.one_of(st.binary(), st.binary().map(lambda b: b"---\n" + b + b"\n---\n")))
def test_any_bytes_make_one_line_that_can_be_sent(data):
    line = render([entry("any.md", data, NOON)])
    assert line.count("\n") == 1
    line.encode()


@given(st.binary().map(lambda b: b"---\nname: " + b + b"\n---\n"))
def test_the_manifest_agrees_with_the_topic(data):
    if data.count(b"\n") >= HEAD_LINES:
        return
    topic, listed = parse(data, "any.md"), entry("any.md", data, NOON)
    assert (topic.name, topic.description, topic.type) == (
        listed.name,
        listed.description,
        listed.type,
    )
