"""The prefix invariant, as a checker and as a fixture."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from tests.provider import Provider, overloaded
from tests.provider.blocks import Json
from tests.provider.prefix import PrefixInvariant
from tests.provider.record import RecordedRequest, Registration
from tests.provider.samples import (
    HOUR,
    MARK,
    ask,
    assistant,
    call,
    result,
    system,
    text,
    tool,
    user,
)


def recorded(
    *bodies: Json, api: str = "anthropic.messages", status: int = 200
) -> list[RecordedRequest]:
    return [
        RecordedRequest(i, api, "POST", "/v1/messages", {}, json.dumps(body).encode(), body, status)
        for i, body in enumerate(bodies)
    ]


def failures(*bodies: Json, **more: Any) -> list[str]:
    return PrefixInvariant(recorded(*bodies, **more)).failures()


FIRST = ask(user("one"), system="be kind", tools=[tool("read"), tool("write")])
SECOND = FIRST | {"messages": [user("one"), assistant("yes"), user("two")]}
THIRD = FIRST | {
    "messages": [*SECOND["messages"], assistant(call("t")), user(result("t", "contents of a"))]
}


def test_a_conversation_that_only_grows() -> None:
    assert failures(FIRST, SECOND, THIRD) == []


def test_markers_and_forms_are_no_difference() -> None:
    marked = SECOND | {
        "system": [text("be kind", MARK)],
        "cache_control": HOUR,
        "messages": [{"role": "user", "content": "one"}, *SECOND["messages"][1:]],
        "max_tokens": 7,
        "stream": True,
    }
    assert failures(FIRST, marked) == []


def test_a_retry_and_a_fork() -> None:
    fork = SECOND | {"messages": [*SECOND["messages"], assistant("x"), user("another way")]}
    aside = SECOND | {"messages": [*SECOND["messages"], user("summarize this")]}
    assert failures(FIRST, SECOND, SECOND, THIRD, fork, aside, THIRD) == []


CHANGES: list[tuple[Json, str]] = [
    ({"model": "claude-opus-4-8"}, "model differs from byte"),
    ({"thinking": {"type": "adaptive"}}, "thinking differs"),
    ({"tool_choice": {"type": "any"}}, "tool_choice differs"),
    ({"output_config": {"effort": "low"}}, "effort differs"),
    ({"tools": [tool("read"), tool("write", "Writes!")]}, "tool 1 (`write`) differs from byte"),
    ({"tools": [tool("read")]}, "tool 1 (`write`) was removed"),
    ({"tools": [tool("read"), tool("write"), tool("grep")]}, "tool 2 (`grep`) was added"),
    ({"system": "be Kind"}, "system block 0 differs from byte"),
    ({"system": [text("be kind"), text("and quick")]}, "system block 1 was added"),
]


@pytest.mark.parametrize(("change", "words"), CHANGES)
def test_what_changed_is_named(change: Json, words: str) -> None:
    (failure,) = failures(FIRST, SECOND, THIRD | change)
    assert words in failure
    assert failure.startswith("request 2 does not extend request")


def test_one_byte_in_the_middle_of_the_history() -> None:
    fourth: Json = json.loads(json.dumps(THIRD))
    fourth["messages"] += [assistant("so"), user("three")]
    fourth["messages"][4]["content"][0]["content"] = "contents of b"
    (failure,) = failures(FIRST, SECOND, THIRD, fourth)
    assert "request 3 does not extend request 2" in failure
    assert "message 4 block 0 (user tool_result) differs from byte" in failure
    assert "contents of a" in failure
    assert "contents of b" in failure


def test_a_message_taken_out() -> None:
    fourth = THIRD | {"messages": [*THIRD["messages"][2:], assistant("so"), user("three")]}
    (failure,) = failures(FIRST, SECOND, THIRD, fourth)
    assert "message 0 block 0 (user text) differs" in failure


def test_a_rewrite_that_begins_like_the_first_request() -> None:
    """Every edit does; it is told from a fork by the replies it carries along."""
    edited = [user("one"), assistant("YES"), *THIRD["messages"][2:], assistant("so"), user("on")]
    (failure,) = failures(FIRST, SECOND, THIRD, FIRST | {"messages": edited})
    assert "message 1 block 0 (assistant text) differs" in failure
    assert "YES" in failure


def test_a_resumed_conversation_may_jump_ahead() -> None:
    assert failures(FIRST, THIRD) == []


def test_a_changed_reminder() -> None:
    with_note = SECOND | {"messages": [*SECOND["messages"], system("now", clear_at="never")]}
    changed = SECOND | {
        "messages": [
            *SECOND["messages"],
            system("now", clear_at="next_user_message"),
            assistant("a"),
            user("b"),
        ]
    }
    assert failures(with_note, changed) != []


def test_refused_requests_do_not_count_and_failed_ones_may_be_repeated() -> None:
    other = ask(user("something else"))
    refused = recorded(FIRST, other, SECOND)
    refused[1] = RecordedRequest(1, "anthropic.messages", "POST", "", {}, b"", other, 400)
    assert PrefixInvariant(refused).failures() == []
    said = [Registration("break", "compaction", since=1)]
    failed = recorded(FIRST, other, other)
    failed[1] = RecordedRequest(1, "anthropic.messages", "POST", "", {}, b"", other, 529)
    assert PrefixInvariant(failed, said).failures() == []
    assert PrefixInvariant(failed).failures() != []


@pytest.mark.parametrize("kind", ["break", "conversation"])
def test_registered(provider: Provider, claude: anthropic.Anthropic, kind: str) -> None:
    claude.messages.create(**FIRST)
    (provider.expect_break if kind == "break" else provider.expect_conversation)("on purpose")
    claude.messages.create(**ask(user("something else")))
    claude.messages.create(**ask(user("something else"), assistant("a"), user("b")))
    claude.messages.create(**SECOND)
    assert provider.problems() == []


def test_registered_within_some_requests(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.expect_break("compaction", within=3)
    claude.messages.create(**FIRST)
    claude.messages.create(**SECOND)
    claude.messages.create(**ask(user("summary")))
    assert provider.problems() == []


def test_a_registered_break_that_fails_first(
    provider: Provider, claude: anthropic.Anthropic
) -> None:
    claude.messages.create(**FIRST)
    provider.expect_break("compaction")
    provider.script(overloaded())
    with pytest.raises(anthropic.OverloadedError):
        claude.messages.create(**ask(user("summary")))
    claude.messages.create(**ask(user("summary")))


def test_a_registered_break_must_happen() -> None:
    said = [Registration("break", "compaction", since=1)]
    (failure,) = PrefixInvariant(recorded(FIRST, SECOND), said).failures()
    assert "'compaction'" in failure
    assert "breaks nothing" in failure
    (failure,) = PrefixInvariant(recorded(FIRST), said).failures()
    assert "none came" in failure


def test_chat_and_responses_are_checked_too() -> None:
    first = {"model": "m", "messages": [{"role": "user", "content": "a"}]}
    second: Json = {"model": "m", "messages": [{"role": "user", "content": "b"}]}
    (failure,) = failures(first, second, api="openai.chat")
    assert "message 0 block 0 (user) differs" in failure
    asked: Json = {"model": "m", "instructions": "be kind", "input": "a"}
    changed = asked | {"instructions": "be brief"}
    (failure,) = failures(asked, changed, api="openai.responses")
    assert "instructions differs" in failure


def test_two_apis_are_two_conversations(
    provider: Provider, claude: anthropic.Anthropic, gpt: openai.OpenAI
) -> None:
    claude.messages.create(**FIRST)
    gpt.responses.create(model="gpt-6-sol", input="hi")
    assert provider.problems() == []


SUITE = """
import anthropic
import pytest

ONE = {"role": "user", "content": "one"}
TWO = {"role": "user", "content": "two"}


@pytest.fixture
def ask(provider):
    with anthropic.Anthropic(base_url=provider.anthropic_url, api_key="k") as client:
        yield lambda *m: client.messages.create(model="claude-opus-5", max_tokens=9, messages=m)


def test_fine(ask):
    ask(ONE)
    ask(ONE, TWO)


def test_registered(provider, ask):
    ask(ONE)
    provider.expect_break("told")
    ask(TWO)


def test_changed_prefix(ask):
    ask(ONE)
    ask(TWO)


def test_violation(ask):
    with pytest.raises(anthropic.BadRequestError):
        ask({"role": "assistant", "content": "x"}, ONE)


def test_violation_that_never_came(provider, ask):
    provider.expect_violation("window")
    ask(ONE)
"""


def test_the_fixture_fails_the_test_at_its_end(tmp_path: Path) -> None:
    suite = tmp_path / "test_suite.py"
    suite.write_text(SUITE)
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "pytest", "-p", "tests.provider.fixtures", "-rA", str(suite)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert "5 passed, 3 errors" in done.stdout, done.stdout + done.stderr
    for words in (
        "request 1 does not extend request 0: message 0 block 0 (user text) differs from byte",
        "request 0 broke [first-role]",
        "expected 1 more violation(s) of [window], none came",
    ):
        assert words in done.stdout
