"""What moved between two requests, in words a person can act on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import a_head, chain_of, conversations, extends, heads, messages, model, user

from reverie.core.messages import Text
from reverie.core.prompt_cache import Change, changes, difference
from reverie.core.request import ToolSpec

HEAD = a_head(system=["be kind", "be brief"], tools=["read: a file", "write: a file"])
SAID = [user("hello", "there"), model("hi"), user("bye")]


def test_a_request_that_only_grew_changed_nothing():
    assert changes(chain_of(HEAD, SAID), chain_of(HEAD, [*SAID, model("ciao")])) == ()


def option(**changed):
    return replace(HEAD, options=replace(HEAD.options, **changed))


READ, WRITE = HEAD.tools
GLOB = ToolSpec("glob", "finds", "{}")


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (replace(HEAD, model="n"), [Change("model", "m → n")]),
        (option(thinking="off"), [Change("options", "thinking: None → 'off'")]),
        (option(effort="low"), [Change("options", "effort: None → 'low'")]),
        (option(tool_choice="any"), [Change("options", "tool_choice: None → 'any'")]),
        (option(output_schema="{}"), [Change("options", "output_schema: None → '{}'")]),
        (option(max_tokens=1, temperature=0.5, stop=("x",)), []),
        (replace(HEAD, tools=(READ,)), [Change("tool_removed", "write")]),
        (replace(HEAD, tools=(READ, WRITE, GLOB)), [Change("tool_added", "glob")]),
        (replace(HEAD, tools=(READ, GLOB)), [Change("tool_removed", "write"), Change("tool_added", "glob")]),
        (replace(HEAD, tools=(WRITE, READ)), [Change("tools_reordered", "write, read")]),
        (
            replace(HEAD, tools=(READ, replace(WRITE, description="write: a tile"))),
            [Change("tool_changed", 'write: byte 9: “write: a file {"type":"o…” → “write: a tile {"type":"o…”')],
        ),
        (
            replace(HEAD, tools=(READ, replace(WRITE, schema="{}"))),
            [Change("tool_changed", 'write: byte 15: “…te: a file {"type":"obje…” → “…te: a file {}”')],
        ),
        (
            replace(HEAD, system=(Text("be kind"), Text("be vague"))),
            [Change("system", 'system block 1: byte 26: “…,"text":"be brief"}” → “…,"text":"be vague"}”')],
        ),
        (
            replace(HEAD, system=(Text("be kind"),)),
            [Change("system", 'system block 1 is gone: “{"type":"text","text":"b…”')],
        ),
        (
            replace(HEAD, system=(*HEAD.system, Text("be quick"))),
            [Change("system", 'system block 2 is new: “{"type":"text","text":"b…”')],
        ),
        (replace(HEAD, model="n", tools=()), [
            Change("model", "m → n"), Change("tool_removed", "read"), Change("tool_removed", "write"),
        ]),
    ],
)  # fmt: skip
def test_what_changed_in_the_head(head, found):
    assert list(changes(chain_of(HEAD, SAID), chain_of(head, SAID))) == found


@pytest.mark.parametrize(
    ("said", "detail"),
    [
        (
            [user("hello", "where"), *SAID[1:]],
            'message 0, block 1: byte 28: “…xt","text":"there"}” → “…xt","text":"where"}”',
        ),
        ([SAID[0], user("hi"), SAID[2]], "message 1, block 0: byte 0: “assistant {"),
        (SAID[:2], "message 2, block 0 is gone: “user {"),
        ([], "message 0, block 0 is gone: “user {"),
        ([user("hello"), user("there!"), *SAID[1:]], "message 0, block 1 (now message 1, block 0): byte"),
        ([user("hello"), *SAID[1:]], "message 0, block 1 (now message 1, block 0): byte 0: “user {"),
    ],
    ids=["a word", "the role", "taken back", "cleared", "moved and changed", "a block removed"],
)  # fmt: skip
def test_what_changed_in_the_messages(said, detail):
    (change,) = changes(chain_of(HEAD, SAID), chain_of(HEAD, said))
    assert change.what == "message"
    assert change.detail.startswith(detail)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (b"abc", b"abd", "byte 2: “abc” → “abd”"),
        (b"abc", b"abcd", "byte 3: “abc” → “abcd”"),
        (b"", b"x", "byte 0: “” → “x”"),
        (b"same", b"same", "byte 4: “same” → “same”"),
        (b"a" * 50 + b"x", b"a" * 50 + b"y", "byte 50: “…aaaaaaaaaaaax” → “…aaaaaaaaaaaay”"),
        (b"x" + b"a" * 23, b"y" + b"a" * 24, f"byte 0: “x{'a' * 23}” → “y{'a' * 23}…”"),
        ("é".encode(), "è".encode(), "byte 1: “é” → “è”"),
    ],
)
def test_the_first_byte_that_differs_is_shown_with_its_neighbours(old, new, found):
    assert difference(old, new) == found


@given(conversations(), conversations(), st.integers(0, 20))
def test_something_is_named_exactly_when_the_prefix_is_not_extended(said, more, cut):
    old, new = chain_of(HEAD, said), chain_of(HEAD, said[:cut] + more)
    assert bool(changes(old, new)) == (not extends(old, new))


@given(heads, heads, st.lists(messages, max_size=3), st.lists(messages, max_size=3))
def test_no_break_goes_unnamed_whatever_was_sent(head, other, said, more):
    old, new = chain_of(head, said), chain_of(other, more)
    assert changes(old, new) or extends(old, new)
    assert changes(old, chain_of(head, said + more)) == ()
