"""MEMORY.md: pointers, foreign lines, caps, rebuilding."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.memory.format.index import (
    MOST_BYTES,
    MOST_LINES,
    Index,
    Pointer,
    capped,
    more_line,
    parse,
    pointer_of,
    rebuild,
    render,
)
from reverie.memory.format.manifest import ManifestEntry

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
FOREIGN = (
    b"\xef\xbb\xbf# My memory  \r\n\r\n* [Role](user_role.md) - pharmacy desk  \r\n"
    b"Some text with a [link](https://example.org/a.md).\r\n"
    b"  - [Tests](./feedback_testing.md): real database\r\n\xff bytes\r\nno end"
)


@pytest.mark.parametrize(
    ("line", "pointer"),
    [
        (
            "- [Role](user_role.md) — pharmacy desk\n",
            Pointer("Role", "user_role.md", "pharmacy desk"),
        ),
        ("* [Role](user_role.md)", Pointer("Role", "user_role.md")),
        ("- [a [b] c](x.md) - d", Pointer("a [b] c", "x.md", "d")),
        (r"- [a \[b](x.md): d", Pointer("a [b", "x.md", "d")),
        ("- [a](<mein file.md>) – d", Pointer("a", "mein file.md", "d")),
        ("- [a](team/x.md) — d — e", Pointer("a", "team/x.md", "d — e")),
        ("- [](x.md)", Pointer("", "x.md")),
        ("# Heading", None),
        ("- [a](https://example.org/x.md)", None),
        ("- [a](notes.txt)", None),
        ("- see [a](x.md)", None),
        ("- [a](x.md) and more", None),
        ("", None),
    ],
)
def test_pointers(line, pointer):
    assert pointer_of(line) == pointer


@pytest.mark.parametrize(
    ("pointer", "line"),
    [
        (
            Pointer("Role", "user_role.md", "pharmacy\ndesk"),
            "- [Role](user_role.md) — pharmacy desk",
        ),
        (Pointer("a [b]", "x.md"), r"- [a \[b\]](x.md)"),
        (Pointer("", "x.md", "d"), "- [x.md](x.md) — d"),
        (Pointer("a", "mein (2).md"), "- [a](<mein (2).md>)"),
    ],
)
def test_rendered_pointers(pointer, line):
    assert pointer.render() == line


@pytest.mark.parametrize(
    ("pointer", "old", "new"),
    [
        (Pointer("Role", "user_role.md", "pharmacy desk"), b"", b""),
        (
            Pointer("Role", "user_role.md", "head of desk"),
            b"* [Role](user_role.md) - pharmacy desk  \r\n",
            "* [Role](user_role.md) — head of desk\r\n".encode(),
        ),
        (
            Pointer("New", "new.md", "hook"),
            b"real database\r\n",
            "real database\r\n- [New](new.md) — hook\r\n".encode(),
        ),
    ],
)
def test_adding_or_refreshing_touches_one_line(pointer, old, new):
    assert render(parse(FOREIGN).with_pointer(pointer)) == FOREIGN.replace(old, new, 1)


def test_refreshing_the_first_line_keeps_the_byte_order_mark():
    index = parse(b"\xef\xbb\xbf- [a](a.md)\n").with_pointer(Pointer("b", "a.md"))
    assert render(index) == b"\xef\xbb\xbf- [b](a.md)\n"


def test_removing_touches_one_line():
    without = parse(FOREIGN).without("feedback_testing.md")
    assert render(without) == FOREIGN.replace(
        b"  - [Tests](./feedback_testing.md): real database\r\n", b""
    )
    assert parse(FOREIGN).without("absent.md") == parse(FOREIGN)


@pytest.mark.parametrize(
    ("data", "after"),
    [
        (b"", "- [n](n.md)\n"),
        (b"# Title", "# Title\n- [n](n.md)\n"),
        (b"# Title\n_3 more memories are not listed here; recall finds them._\n", None),
    ],
)
def test_the_first_pointer_of_an_index(data, after):
    index = parse(data).with_pointer(Pointer("n", "n.md"))
    if after is None:
        assert index.lines[1] == "- [n](n.md)\n"
        assert index.more == 3
    else:
        assert render(index).decode() == after


def test_a_small_index_is_shown_as_it_is():
    shown = capped(parse(b"- [a](a.md)\n# x\n"))
    assert (shown.text, shown.shown, shown.hidden, shown.limit) == (
        "- [a](a.md)\n# x\n",
        1,
        0,
        None,
    )


@pytest.mark.parametrize(
    ("lines", "limit", "hidden"),
    [
        (["- [a](a.md)\n"] * 200, None, 0),
        (["- [a](a.md)\n"] * 201, "200 lines", 1),
        (["- [a](a.md)\n"] * 400, "200 lines", 200),
        (["- [a](a.md) — " + "x" * 485 + "\n"] * 100, "25,000 bytes", 51),
        (["# " + "x" * 30_000], "25,000 bytes", 0),
        (["- [a](a.md)\n"] * 199 + ["no line end"] + ["\n"], None, 0),
    ],
)
def test_a_cut_is_announced_with_its_limit_and_what_is_hidden(lines, limit, hidden):
    shown = capped(parse("".join(lines).encode()))
    assert (shown.limit, shown.hidden) == (limit, hidden)
    warning = shown.text.splitlines()[-1]
    assert warning.startswith("> WARNING: MEMORY.md is over its limit") == (limit is not None)
    if limit:
        assert limit in warning
        assert f"{hidden} pointer{' is' if hidden == 1 else 's are'} not shown" in warning
        assert "move detail into its topic file" in warning


_TEXT = st.text(st.characters(codec="utf-8"), max_size=300)
_LINES = st.one_of(
    st.binary(max_size=2000),
    st.builds(Pointer, _TEXT, st.sampled_from(["a.md", "b.md"]), _TEXT).map(
        lambda p: p.render().encode()
    ),
)
_DATA = st.builds(
    lambda lines, times, eol: eol.join(lines) * times,
    st.lists(_LINES, max_size=20),
    st.integers(1, 60),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
)


@given(_DATA)
def test_caps_hold_for_any_index_and_nothing_is_dropped_silently(data):
    index = parse(data)
    assert render(index) == data
    shown = capped(index)
    body = shown.text
    if shown.limit:
        body = body[: body.rindex("> WARNING")]
    assert len(body.encode()) <= MOST_BYTES + 1
    assert len(parse(body.encode()).lines) <= MOST_LINES
    assert shown.shown + shown.hidden == len(index.pointers)
    assert shown.limit or shown.hidden == 0
    assert index.fits == (shown.limit is None)


@given(_DATA, _TEXT)
def test_add_then_remove_leaves_other_lines_alone(data, title):
    index = parse(data)
    added = index.with_pointer(Pointer(title, "new.md", title))
    assert any(pointer.file == "new.md" for pointer in added.pointers)
    removed = added.without("new.md")
    assert [line.rstrip("\r\n") for line in removed.lines] == [
        line.rstrip("\r\n") for line in index.lines
    ]


def _entry(file, type_=None, *, hours=0, description="d", **more):
    return ManifestEntry(file, type_, NOON + timedelta(hours=hours), description, file[:-3], **more)


def test_rebuilt_order_pinned_then_type_then_recalled_then_newest():
    entries = [
        _entry("none.md"),
        _entry("ref.md", "reference"),
        _entry("old_user.md", "user"),
        _entry("new_user.md", "user", hours=1),
        _entry("used_user.md", "user", hours=-9),
        _entry("pinned_ref.md", "reference", pinned=True),
        _entry("gone.md", "user", superseded=True),
        _entry("away.md", "user", archived=True),
        _entry("MEMORY.md"),
    ]
    index = rebuild(entries, {"used_user.md": 3})
    assert [p.file for p in index.pointers] == [
        "pinned_ref.md",
        "used_user.md",
        "new_user.md",
        "old_user.md",
        "ref.md",
        "none.md",
    ]
    assert index.lines[0] == "- [pinned_ref](pinned_ref.md) — d\n"
    assert index.more == 0


def test_beyond_the_cap_the_most_useful_stay_and_the_last_line_counts_the_rest():
    many = [_entry(f"u{n}.md", "user", hours=-n) for n in range(300)]
    many += [_entry("used.md", "reference", hours=-999), _entry("pin.md", hours=-999, pinned=True)]
    index = rebuild(many, {"used.md": 1})
    assert len(index.lines) == MOST_LINES
    assert index.lines[-1] == "_103 more memories are not listed here; recall finds them._\n"
    files = {p.file for p in index.pointers}
    assert {"pin.md", "used.md", "u0.md"} <= files
    assert index.more == 302 - len(files)
    assert index.fits


def test_a_rebuilt_index_fits_in_bytes_too():
    long = [_entry(f"{'very_' * 30}{n}.md", "user", description="x " * 400) for n in range(150)]
    index = rebuild(long)
    assert index.fits
    assert index.more > 0
    assert index.more + len(index.pointers) == 150


def test_long_hooks_and_titles_are_cut_between_words():
    (pointer,) = rebuild([_entry("a.md", description="word " * 100)]).pointers
    assert len(pointer.render()) <= 150
    assert pointer.hook.endswith("word…")
    one = ManifestEntry("a.md", None, NOON, "x" * 400, "t" * 5000)
    (line,) = rebuild([one]).lines
    assert line == f"- [{'t' * 100}…](a.md)\n"


@pytest.mark.parametrize("count", [1, 2, 1000])
def test_the_more_line_is_read_back(count):
    assert Index((more_line(count),)).more == count
