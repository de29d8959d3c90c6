"""What the server hides or clears on its own side."""

from typing import Any

import anthropic
import pytest
from tests.provider import Provider, Text, Thinking
from tests.provider.blocks import Json
from tests.provider.samples import MARK, ask, assistant, call, prose, result, system, text, user

EDITING = ["context-management-2025-06-27"]
CLEAR_AT = ["mid-conversation-system-clear-at-2026-08-21"]


def loop(steps: int) -> list[Json]:
    """A tool loop whose every result is 100 tokens."""
    history = [user("go!!")]
    for number in range(steps):
        name = "keep" if number == 1 else "read"
        history += [
            assistant(call(f"t{number}", name)),
            user(result(f"t{number}", prose(100, "abcdefgh"[number]))),
        ]
    return history


def edits(**edit: object) -> Any:
    return {"edits": [{"type": "clear_tool_uses_20250919", **edit}]}


def tokens(value: int) -> Json:
    return {"type": "input_tokens", "value": value}


def uses(value: int) -> Json:
    return {"type": "tool_uses", "value": value}


@pytest.mark.parametrize(
    ("edit", "cleared"),
    [
        ({}, 0),
        ({"trigger": tokens(200)}, 3),
        ({"trigger": uses(5), "keep": uses(1)}, 5),
        ({"trigger": uses(6), "keep": uses(1)}, 0),
        ({"trigger": tokens(200), "keep": uses(1), "exclude_tools": ["keep"]}, 4),
        ({"trigger": tokens(200), "clear_at_least": tokens(1000)}, 0),
        ({"trigger": tokens(200), "clear_at_least": tokens(200)}, 3),
    ],
)
def test_clear_tool_uses(claude: anthropic.Anthropic, edit: Json, cleared: int) -> None:
    body = ask(*loop(6))
    plain = claude.messages.create(**body).usage.input_tokens
    reply = claude.beta.messages.create(**body, context_management=edits(**edit), betas=EDITING)
    assert reply.context_management is not None
    applied = reply.context_management.applied_edits
    assert sum(getattr(one, "cleared_tool_uses", 0) for one in applied) == cleared
    saved = sum(one.cleared_input_tokens for one in applied)
    assert reply.usage.input_tokens == plain - saved
    assert (saved > 0) == (cleared > 0)


def test_inputs_can_go_too(claude: anthropic.Anthropic) -> None:
    history = [user("go"), assistant(call("t", "read", path="p" * 90)), user(result("t", "ok"))]
    history += loop(3)[1:]
    wanted = edits(trigger=tokens(10), keep=uses(3))
    less = edits(trigger=tokens(10), keep=uses(3), clear_tool_inputs=True)
    full = claude.messages.create(**ask(*history)).usage.input_tokens
    # A result shorter than its placeholder is not worth clearing.
    one = claude.beta.messages.create(**ask(*history), context_management=wanted, betas=EDITING)
    two = claude.beta.messages.create(**ask(*history), context_management=less, betas=EDITING)
    assert full == one.usage.input_tokens > two.usage.input_tokens


def test_count_tokens_says_both_sizes(claude: anthropic.Anthropic) -> None:
    body = ask(*loop(6))
    del body["max_tokens"]
    count = claude.beta.messages.count_tokens(
        **body, context_management=edits(trigger=tokens(200)), betas=EDITING
    )
    assert count.context_management is not None
    assert count.input_tokens < count.context_management.original_input_tokens
    assert count.context_management.original_input_tokens == (
        claude.messages.count_tokens(**body).input_tokens
    )


def test_clearing_breaks_the_cache_from_there_on(claude: anthropic.Anthropic) -> None:
    history = [user(text(prose(600), MARK)), *loop(6)]
    body = ask(*history, cache_control=MARK)
    claude.messages.create(**body)
    reply = claude.beta.messages.create(
        **body, context_management=edits(trigger=tokens(200)), betas=EDITING
    )
    assert reply.usage.cache_read_input_tokens == 600
    assert (reply.usage.cache_creation_input_tokens or 0) > 0


def test_server_side_clearing_is_no_edit_for_bound_thinking(
    provider: Provider, claude: anthropic.Anthropic
) -> None:
    body = ask(*loop(6), model="claude-fable-5-1")
    provider.script([Thinking("seen it all"), Text("ok")])
    said = claude.messages.create(**body).to_param()
    more = ask(*loop(6), dict(said), user("go on"), model="claude-fable-5-1")
    claude.beta.messages.create(
        **more, context_management=edits(trigger=tokens(200)), betas=EDITING
    )


def thoughts(provider: Provider, claude: anthropic.Anthropic, turns: int) -> list[Json]:
    history: list[Json] = []
    for _ in range(turns):
        history.append(user("go!!"))
        provider.script([Thinking(prose(50)), Text("ok")])
        history.append(dict(claude.messages.create(**ask(*history)).to_param()))
    return [*history, user("last")]


@pytest.mark.parametrize(
    ("keep", "cleared"),
    [({"type": "thinking_turns", "value": 2}, 2), ("all", 0), ({"type": "all"}, 0)],
)
def test_clear_thinking(
    provider: Provider, claude: anthropic.Anthropic, keep: Json, cleared: int
) -> None:
    body = ask(*thoughts(provider, claude, 4))
    edit: Any = {"edits": [{"type": "clear_thinking_20251015", "keep": keep}]}
    reply = claude.beta.messages.create(**body, context_management=edit, betas=EDITING)
    assert reply.context_management is not None
    found = [one.to_dict() for one in reply.context_management.applied_edits]
    expected: Json = {
        "type": "clear_thinking_20251015",
        "cleared_thinking_turns": cleared,
        "cleared_input_tokens": 50 * cleared,
    }
    assert found == ([expected] if cleared else [])


@pytest.mark.parametrize(
    "wrong",
    [
        [{"type": "clear_tool_uses_20250919"}, {"type": "clear_thinking_20251015"}],
        [{"type": "clear_everything"}],
        [{"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 0}}],
    ],
)
def test_wrong_edits(provider: Provider, claude: anthropic.Anthropic, wrong: list[Json]) -> None:
    provider.expect_violation("context-management")
    edit: Any = {"edits": wrong}
    with pytest.raises(anthropic.BadRequestError, match="context_management"):
        claude.beta.messages.create(**ask(user("hi")), context_management=edit, betas=EDITING)


def test_a_reminder_for_one_turn(claude: anthropic.Anthropic) -> None:
    reminder = system(prose(30), clear_at="next_user_message")
    history = [user("go!!"), reminder]
    first = claude.beta.messages.create(**ask(*history), betas=CLEAR_AT)
    assert first.usage.input_tokens == 31
    history += [assistant("ok!!"), user("more")]
    later = claude.beta.messages.create(**ask(*history), betas=CLEAR_AT)
    assert later.usage.input_tokens == 3


def test_a_reminder_that_stays(claude: anthropic.Anthropic) -> None:
    history = [user("go!!"), system(prose(30)), assistant("ok!!"), user("more")]
    assert claude.messages.create(**ask(*history)).usage.input_tokens == 33
