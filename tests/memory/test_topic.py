"""Topic files: any file can be read, and an edit changes only what it should."""

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reverie.errors import InputError
from reverie.memory.format import manifest
from reverie.memory.format import topic as topics
from reverie.memory.format.topic import KEYS, Anchor, new, parse, render

PLAIN = b"""---
name: Integration tests hit a real database
description: Never mock the database; a mock hid a broken migration
type: feedback
---
Integration tests use a real database. See [[test-helpers|the helper]].
"""

FOREIGN = (
    b"\xef\xbb\xbf---   \r\n"
    b"# kept by hand\r\n"
    b"type:   feedback   # a habit\r\n"
    b"'name': \"Build tip\"\r\n"
    b"\r\n"
    b"metadata:\r\n"
    b"    node_type: memory\r\n"
    b"\r\n"
    b"    # theirs\r\n"
    b"    originSessionId: 7f3a\r\n"
    b"modified: 2026-11-14T10:00:00Z   \r\n"
    b"tags:\r\n"
    b"- one\r\n"
    b"- two\r\n"
    b"# the end\r\n"
    b"---\r\n"
    b"\r\nBody with trailing spaces   \r\n\xff\xfe not utf-8"
)


def test_a_plain_file():
    topic = parse(PLAIN, "feedback_testing.md")
    assert topic.name == "Integration tests hit a real database"
    assert topic.description == "Never mock the database; a mock hid a broken migration"
    assert topic.type == "feedback"
    assert topic.body.startswith("Integration tests use")
    assert topic.wikilinks == ("test-helpers",)
    assert topic.problem is None
    assert topic.warnings == ()
    assert render(topic) == PLAIN


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        (b"archived: 2027-01-09", False),
        (b"archived: '2027-01-09T08:00:00Z'  # by a dream", False),
        (b"superseded_by: b.md", False),
        (b"archived: soon", True),
        (b"archived:", True),
        (b"archive: 2027-01-09", True),
    ],
)
def test_what_is_put_away_is_not_listed(text, listed):
    data = PLAIN.replace(b"type:", text + b"\ntype:", 1)
    topic = parse(data, "a.md")
    assert topic.listed is listed
    assert manifest.entry("a.md", data, datetime.now(UTC)).listed is listed
    assert render(topic) == data


def test_archiving_and_bringing_back_leaves_every_other_byte():
    for data in (PLAIN, FOREIGN):
        away = parse(data).with_(archived="2027-01-09")
        assert (away.archived, away.listed) == ("2027-01-09", False)
        assert render(away) != data
        assert render(away.with_(archived=None)) == data


@pytest.mark.parametrize(
    "mark", [b"\xff\xfe", b"\x01", b"\xe2\x80\xa8", b"\xc2\x85", b"\xef\xbf\xbf"]
)
def test_an_edit_is_read_back_before_any_comment(mark):
    data = PLAIN.replace(b"a broken migration", b"it  # a " + mark + b"habit")
    edited = parse(data).with_(description='new: "words"')
    assert edited.description == 'new: "words"'
    assert parse(render(edited)).description == 'new: "words"'
    assert b"# a " + mark + b"habit\n" in render(edited)


def test_quotes_beside_bytes_that_are_no_text_are_read_back():
    text = 'say "hi" \\ \udcff'
    assert parse(render(new(text, text, "user", "b"))).name == 'say "hi" \\ \ufffd'


@pytest.mark.parametrize(
    "value",
    [{"description": 'a "b" ' * 4_000}, {"entities": tuple(f"name-{n}" for n in range(2_000))}],
)
def test_a_value_too_long_to_be_read_back_is_refused(value):
    with pytest.raises(InputError, match=r"characters; a value of a topic file has at most 15,000"):
        parse(PLAIN).with_(**value)


def test_every_optional_key():
    topic = parse(
        b"---\nname: n\ndescription: d\ntype: project\ncreated: 2026-11-15\n"
        b"updated: 2026-11-15T08:00:00Z\nvalid_from: 2026-01-01\nvalid_until: 2026-12-31\n"
        b"confidence: 0.8\norigin: tool\nsource: [s1#m4, s1#m5]\nsupersedes: old.md\n"
        b"superseded_by: new.md\narchived: 2027-01-09\ncues: [on call]\nentities: [Mira, Postgres]\nlinks: [a.md]\n"
        b"anchors: [src/a.py@1f2e3d4, src/b.py::run]\npaths: [src/**]\npinned: yes\n---\n[[b]] [[a.md]]\n"
    )
    assert {key: getattr(topic, key) for key in KEYS} == {
        "name": "n",
        "description": "d",
        "type": "project",
        "created": "2026-11-15",
        "updated": "2026-11-15T08:00:00Z",
        "valid_from": "2026-01-01",
        "valid_until": "2026-12-31",
        "confidence": 0.8,
        "origin": "tool",
        "source": ("s1#m4", "s1#m5"),
        "supersedes": ("old.md",),
        "superseded_by": "new.md",
        "archived": "2027-01-09",
        "cues": ("on call",),
        "entities": ("Mira", "Postgres"),
        "links": ("a.md",),
        "anchors": ("src/a.py@1f2e3d4", "src/b.py::run"),
        "paths": ("src/**",),
        "pinned": True,
    }
    assert topic.linked == ("a.md", "b")


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        ("src/a.py@1f2e3d4", Anchor("src/a.py", "1f2e3d4")),
        ("src/a.py::run@sha256:1f2e3d4c", Anchor("src/a.py::run", "sha256:1f2e3d4c")),
        ("docs/me@home.md", Anchor("docs/me@home.md")),
    ],
)
def test_anchors(text, anchor):
    assert Anchor.parse(text) == anchor
    assert anchor.render() == text


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "no frontmatter"),
        (b"just text\n", "no frontmatter"),
        (b"\n---\nname: late\n---\n", "no frontmatter"),
        (b"---\nname: open\n", "never closed"),
        (b"---\nname: a\nname: b\n---\n", "'name' twice"),
        (b"---\nname: a\nno colon here\n---\n", "'no colon here'"),
        (b"---\n- a list\n---\n", "'- a list'"),
        (b"---\n  indented: first\n---\n", "'indented: first'"),
        (b"---\n: no key\n---\n", "': no key'"),
    ],
)
def test_broken_frontmatter_is_still_a_memory_under_its_file_name(data, problem):
    topic = parse(data, "note.md")
    assert topic.name == "note.md"
    assert topic.type is None
    assert problem in topic.problem
    assert render(topic) == data


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        (b"type: pattern", "type: 'pattern' is not one of user"),
        (b"created: last week", "created: 'last week' is not a date"),
        (b"confidence: 7", "confidence: '7' is not a number from 0 to 1"),
        (b"confidence: high", "confidence: 'high' is not a number from 0 to 1"),
        (b"origin: mars", "origin: 'mars' is not one of user"),
        (b"pinned: maybe", "pinned: 'maybe' is not true or false"),
    ],
)
def test_a_bad_value_reads_as_none_and_is_reported(line, warning):
    topic = parse(b"---\nname: n\n" + line + b"\n---\n")
    assert getattr(topic, line.split(b":")[0].decode()) in {None, False}
    assert topic.warnings[0].startswith(warning)


def test_an_empty_value_is_no_value_and_no_warning():
    topic = parse(b"---\nname:\ntype: # none yet\nconfidence:\n---\n", "f.md")
    assert (topic.name, topic.type, topic.confidence, topic.warnings) == ("f.md", None, None, ())


def test_the_type_may_stand_in_a_clients_metadata():
    assert parse(b"---\nname: n\nmetadata:\n  type: user\n---\n").type == "user"
    assert parse(b"---\nname: n\nmetadata:\n  type: x\n---\n").type is None
    assert parse(b"---\nmetadata:\n  type: user\ntype: project\n---\n").type == "project"


@pytest.mark.parametrize(
    ("change", "old", "new_"),
    [
        ({"type": "project"}, b"type:   feedback   # a", b"type:   project   # a"),
        ({"name": "Tip: two"}, b"'name': \"Build tip\"\r\n", b"'name': \"Tip: two\"\r\n"),
        ({"type": None}, b"type:   feedback   # a habit\r\n", b""),
        ({"pinned": True}, b"- two\r\n", b"- two\r\npinned: true\r\n"),
        ({"links": ("a.md", "b: c")}, b"- two\r\n", b'- two\r\nlinks: [a.md, "b: c"]\r\n'),
        ({"confidence": 0.5}, b"- two\r\n", b"- two\r\nconfidence: 0.5\r\n"),
        ({"name": "Build tip"}, b"", b""),
        ({"created": None}, b"", b""),
    ],
)
def test_an_edit_changes_one_entry_of_a_foreign_file(change, old, new_):
    topic = parse(FOREIGN, "build-tip.md")
    assert topic.problem is None
    edited = topic.with_(**change)
    assert render(edited) == FOREIGN.replace(old, new_, 1)
    for key, value in change.items():
        assert getattr(edited, key) == value


def test_an_edit_of_a_value_over_several_lines_replaces_only_that_value():
    topic = parse(b"---\nname: >\n  two\n  lines\nlinks:\n- a\n- b\n# c\nx: y\n---\nbody")
    edited = topic.with_(name="one", links=("c",))
    assert render(edited) == b"---\nname: one\nlinks: [c]\n# c\nx: y\n---\nbody"


def test_an_empty_value_can_be_filled():
    assert render(parse(b"---\nname:\n---\n").with_(name="title")) == b"---\nname: title\n---\n"


def test_the_body_can_be_replaced():
    topic = parse(PLAIN).with_(body="New.\n", updated="2026-11-15")
    assert (
        render(topic)
        == PLAIN.replace(b"type: feedback\n", b"type: feedback\nupdated: 2026-11-15\n").split(
            b"Integration tests use"
        )[0]
        + b"New.\n"
    )


@pytest.mark.parametrize(
    ("data", "edited"),
    [
        (b"loose\r\ntext", b"---\r\nsuperseded_by: b.md\r\n---\r\nloose\r\ntext"),
        (b"\xef\xbb\xbfloose", b"\xef\xbb\xbf---\nsuperseded_by: b.md\n---\nloose"),
        (b"", b"---\nsuperseded_by: b.md\n---\n"),
        (b"---\n# empty\n---\n", b"---\nsuperseded_by: b.md\n# empty\n---\n"),
    ],
)
def test_a_file_without_frontmatter_gains_one_when_a_key_is_set(data, edited):
    assert render(parse(data).with_(superseded_by="b.md")) == edited


def test_broken_frontmatter_is_never_rewritten():
    topic = parse(b"---\nname: open\n", "open.md")
    with pytest.raises(InputError, match=r"open\.md cannot be edited.*never closed.*by hand"):
        topic.with_(name="x")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": "red"}, "'colour' is not a key"),
        ({"type": "pattern"}, "type: 'pattern' is not one of"),
        ({"created": "yesterday"}, "created: 'yesterday' is not a date"),
        ({"confidence": 2}, "confidence: 2 is not a number"),
        ({"origin": "mars"}, "origin: 'mars' is not one of"),
    ],
)
def test_values_that_could_not_be_read_back_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        parse(PLAIN).with_(**change)
    with pytest.raises(InputError, match=message):
        new(**{"name": "title", "description": "d", "type": "user", "body": "", **change})


def test_a_new_file():
    topic = new(
        "Audit: no schema changes",
        "No schema\nchanges until the audit",
        "project",
        "\nNone until 2026-11-24.\n\n",
        file="audit.md",
        origin="user",
        created="2026-11-15",
        source=("s1#m4",),
        pinned=False,
    )
    assert render(topic).decode() == (
        '---\nname: "Audit: no schema changes"\ndescription: No schema changes until the audit\n'
        "type: project\ncreated: 2026-11-15\norigin: user\nsource: [s1#m4]\n---\n"
        "None until 2026-11-24.\n"
    )
    assert (
        render(new("title", "d", "user", ""))
        == b"---\nname: title\ndescription: d\ntype: user\n---\n"
    )


def test_wikilinks_outside_code_each_once():
    body = "[[a]] [[b#part]] [[ c | C ]] `[[no]]` [[a]]\n```\n[[no]]\n```\n[[d]] [[]] [[x\ny]]\n~~~\n[[no]]"
    assert new("n", "d", "user", body).wikilinks == ("a", "b", "c", "d")


def test_plain_files_are_read_without_loading_yaml():
    code = (
        "import sys; from reverie.memory.format import manifest, topic;"
        "topic.parse(b'---\\nname: a\\ndescription: \"b\"\\nlinks: [x, y]\\n---\\n');"
        "sys.exit('yaml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


_LINE = st.sampled_from(
    [
        b"---",
        b"...",
        b"name: n",
        b"name : x # c",
        b"type: user",
        b"  nested: 1",
        b"- item",
        b"# comment",
        b"",
        b" ",
        b"'q': \"v\"",
        b"links: [a, 'b",
        b"x:",
        b"description: |",
        b"\xef\xbb\xbf---",
        b"\xff",
        b"a:b: c",
        b"pinned: on",
    ]
)
_EOL = st.sampled_from([b"\n", b"\r\n", b"\r", b""])
_FILES = st.lists(st.tuples(_LINE, _EOL)).map(lambda lines: b"".join(a + b for a, b in lines))
_LIKELY = _FILES.map(lambda inside: b"---\n" + inside + b"\n---\nbody")


@given(st.one_of(st.binary(), _FILES, _LIKELY))
@example(b"\xef\xbb\xbf")
@example(b"---")
@example(b"---\r---\r")
def test_any_bytes_parse_and_render_to_the_same_bytes(data):
    topic = parse(data, "any.md")
    assert render(topic) == data
    assert topic.name
    topic.name.encode()
    topic.description.encode()


_CHANGES = st.one_of(
    st.tuples(st.sampled_from(["name", "description", "superseded_by"]), st.text(min_size=1)),
    st.tuples(
        st.sampled_from(["links", "source"]), st.lists(st.text(min_size=1), max_size=3).map(tuple)
    ),
    st.tuples(st.just("pinned"), st.booleans()),
    st.tuples(st.sampled_from(["created", "valid_until"]), st.dates().map(str)),
    st.tuples(st.sampled_from(list(KEYS)), st.none()),
)


@given(_LIKELY, _CHANGES)
def test_editing_one_key_leaves_every_other_byte_alone(data, change):
    topic = parse(data)
    key, value = change
    if topic.problem:
        return
    try:
        edited = topic.with_(**{key: value})
    except InputError:
        # Only text that is nothing but white space has no written form.
        assert isinstance(value, str)
        assert not topics.one_line(value)
        return
    others = [entry.text for entry in topic.document.entries if entry.key != key]
    assert [entry.text for entry in edited.document.entries if entry.key != key] == others
    assert (edited.document.opening, edited.document.closing, edited.body) == (
        topic.document.opening,
        topic.document.closing,
        topic.body,
    )
    assert edited.problem is None


def test_a_line_of_spaces_does_not_take_a_minute():
    spaces = b" " * 60_000
    data = b"---\nname: a" + spaces + b"b#\nkey" + spaces + b"x\n" + b"--- " + spaces + b"x\n---\n"
    assert render(parse(data)) == data
    assert parse(b"---\nname: a" + spaces + b"b#\n---\n").with_(name="n").name == "n"
