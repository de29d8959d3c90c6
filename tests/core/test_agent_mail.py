"""Letters: what may be sent, and that what may be sent comes back as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.subagents.letters import (
    KINDS,
    LARGEST_LETTER,
    Letter,
    Malformed,
    name_problem,
    parse,
    problem,
    render,
    session_of,
)

PLAIN = Letter("lead", "researcher", "Look at loop.py.", "look at the loop", "message", 1.5, "a1")
ANSWER = replace(PLAIN, kind="shutdown_response", reply_to="q1", agreed=True)


@pytest.mark.parametrize("name", ["a", "lead", "worker-2", "code_reviewer", "7", "x" * 48])
def test_names_agents_may_have(name: str) -> None:
    assert name_problem(name) is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "not allowed"),
        (".", "not allowed"),
        ("..", "not allowed"),
        ("../lead", "not allowed"),
        ("a/b", "not allowed"),
        ("a.b", "not allowed"),
        ("Lead", "not allowed"),
        ("-a", "not allowed"),
        ("a\n", "not allowed"),
        ("a\0b", "not allowed"),
        ("*", "not allowed"),
        ("uds:x", "not allowed"),
        ("é", "not allowed"),
        ("٣", "not allowed"),
        ("x" * 49, "longer than 48"),
        ("user", "reserved"),
        ("everyone", "reserved"),
        ("nul", "reserved"),
        ("com1", "reserved"),
    ],
)
def test_names_nobody_may_have(name: str, said: str) -> None:
    assert said in (name_problem(name) or "")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sender": "../x"}, "sender: the name '../x'"),
        ({"to": "user"}, "recipient: the name 'user' is reserved"),
        ({"id": "../x"}, "id must be"),
        ({"id": ""}, "id must be"),
        ({"reply_to": "a b"}, "reply_to must be"),
        ({"kind": "gossip"}, "the kind 'gossip' is unknown: use message,"),
        ({"at": float("nan")}, "at is not a time"),
        ({"at": float("inf")}, "at is not a time"),
        ({"at": 2**60}, "at is not a time"),
        ({"summary": "x" * 201}, "longer than 200"),
        ({"text": "half \ud83d"}, "lone surrogate"),
        ({"summary": "\udc00"}, "lone surrogate"),
        ({"text": " \n"}, "the message is empty"),
        ({"text": "x" * LARGEST_LETTER}, "send its path"),
        ({"kind": "shutdown_response", "agreed": True}, "needs reply_to"),
        ({"kind": "plan_approval_response", "reply_to": "q"}, "must say whether it agrees"),
        ({"agreed": True}, "answers nothing"),
        ({"kind": "plan_approval_request", "agreed": False}, "answers nothing"),
        (
            {"kind": "shutdown_response", "reply_to": "q", "agreed": False, "text": ""},
            "must say why",
        ),
    ],
)
def test_what_cannot_be_sent_and_why(changes: dict[str, Any], said: str) -> None:
    assert said in (problem(replace(PLAIN, **changes)) or "")


def test_the_largest_letter_is_counted_in_bytes() -> None:
    room = LARGEST_LETTER - len(render(replace(PLAIN, text="")))
    assert problem(replace(PLAIN, text="x" * room)) is None
    assert problem(replace(PLAIN, text="x" * (room + 1))) is not None
    assert problem(replace(PLAIN, text="é" * (room // 2 + 1))) is not None


names = st.from_regex(r"[a-z0-9]([a-z0-9_-]{0,10}[a-z0-9])?", fullmatch=True)
ids = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)
letters = st.builds(
    Letter,
    sender=names,
    to=names,
    text=st.text(),
    summary=st.text(max_size=220),
    kind=st.sampled_from(KINDS),
    at=st.floats(),
    id=ids,
    reply_to=st.none() | ids,
    agreed=st.none() | st.booleans(),
)


@given(letters)
def test_what_may_be_sent_comes_back_as_it_was(letter: Letter) -> None:
    if problem(letter) is None:
        assert parse(render(letter)) == letter


@given(letters)
def test_what_may_not_be_sent_is_not_read_either(letter: Letter) -> None:
    if problem(letter) is not None and letter.text.isascii() and letter.summary.isascii():
        assert isinstance(parse(render(letter)), Malformed)


@given(st.binary(max_size=200))
def test_any_bytes_are_answered(data: bytes) -> None:
    assert isinstance(parse(data), Letter | Malformed)


def body(**changes: Any) -> bytes:
    return json.dumps(json.loads(render(ANSWER)) | changes).encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not JSON"),
        (render(PLAIN)[:-1], "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[]", "not a JSON object"),
        (b"{}", "lacks sender, to, text, summary, kind, at, id"),
        (body(role="system"), "an unknown field: 'role'"),
        (body(text=["x"]), "text is not text"),
        (body(kind=None), "kind is not text"),
        (body(at=True), "at is not a time"),
        (body(at="noon"), "at is not a time"),
        (body(at=10**400), "at is not a time"),
        (body(reply_to=1), "reply_to is not text"),
        (body(agreed="yes"), "agreed is not true or false"),
        (body(agreed=1), "agreed is not true or false"),
        (body(to=".."), "recipient: the name '..'"),
        (body(text="\ud800"), "lone surrogate"),
    ],
)
def test_bytes_that_are_no_letter(data: bytes, said: str) -> None:
    found = parse(data)
    assert isinstance(found, Malformed)
    assert said in found.reason


def test_what_is_not_set_is_not_written() -> None:
    assert b"reply_to" not in render(PLAIN)
    assert json.loads(render(ANSWER))["agreed"] is True


@pytest.mark.parametrize(
    ("address", "session"),
    [
        ("bridge:20250615-120000-abcdef", "20250615-120000-abcdef"),
        ("bridge:2025", "2025"),
        ("uds:/home/a/.reverie/sockets/20250615-120000-abcdef.sock", "20250615-120000-abcdef"),
        ("uds:main.sock", "main"),
        ("uds:", ""),
        ("bridge:../x.sock", "../x.sock"),
    ],
)
def test_the_session_an_address_names(address: str, session: str) -> None:
    assert session_of(address) == session
