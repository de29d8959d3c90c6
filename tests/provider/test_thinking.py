"""Thinking blocks bound to their prefix."""

from typing import Any

import anthropic
import pytest
from tests.provider import Provider, Text, Thinking, ToolCall
from tests.provider.blocks import Json
from tests.provider.samples import MARK, ask, result, text, tool, user

BINDING = ["thinking-binding-controls-2026-08-01"]
DROP: Any = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BOUND = ["claude-fable-5-1", "claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"]


class Talk:
    """A conversation that replays exactly what it was given."""

    def __init__(self, client: anthropic.Anthropic, model: str = "claude-fable-5-1") -> None:
        self.client = client
        self.history: list[Json] = []
        self.more: Json = {"model": model, "system": "be kind", "tools": [tool()]}

    def say(self, *content: str | Json) -> Any:
        self.history.append(user(*content))
        reply = self.client.messages.create(**(ask(*self.history) | self.more))
        self.history.append({"role": "assistant", "content": [b.to_dict() for b in reply.content]})
        return reply


@pytest.fixture
def talk(provider: Provider, claude: anthropic.Anthropic) -> Talk:
    """Two turns with thinking, the first of them with a tool loop."""
    talk = Talk(claude)
    provider.script(
        [Thinking("look first"), ToolCall("read", {"path": "a"}, "t1")],
        [Thinking("now I know"), Text("It says so.")],
        [Thinking("easy"), Text("Yes.")],
    )
    talk.say("what does it say?")
    talk.say(result("t1", "contents of a"))
    talk.say("sure?")
    return talk


def refused(provider: Provider, talk: Talk, rule: str = "thinking-prefix") -> str:
    provider.expect_violation(rule)
    with pytest.raises(anthropic.BadRequestError) as caught:
        talk.say("go on")
    return caught.value.api_message or ""


@pytest.mark.parametrize("model", BOUND)
def test_an_appended_history_is_accepted(
    provider: Provider, claude: anthropic.Anthropic, model: str
) -> None:
    talk = Talk(claude, model)
    for number in range(3):
        provider.script([Thinking(f"thought {number}"), Text("ok")])
        talk.say("go on")
    assert provider.violations == []


def test_streamed_thinking_replays_too(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.script([Thinking("a longer thought, in pieces"), Text("ok")])
    with claude.messages.stream(**ask(user("hi"), model="claude-fable-5-1")) as stream:
        said = stream.get_final_message()
    again = ask(user("hi"), {"role": "assistant", "content": said.content}, user("more"))
    claude.messages.create(**(again | {"model": "claude-fable-5-1"}))


def test_markers_are_not_compared(talk: Talk) -> None:
    talk.history[2]["content"][0]["cache_control"] = MARK
    talk.more["system"] = [text("be kind", MARK)]
    talk.say("go on")


def test_an_edited_tool_result_is_refused(provider: Provider, talk: Talk) -> None:
    talk.history[2]["content"][0]["content"] = "[cleared]"
    words = refused(provider, talk)
    assert words.startswith("messages.3.content.0: Invalid `signature` in `thinking` block.")
    assert "bound to a different conversation" in words
    assert "A message before this block differs" in words


def test_other_system_or_tools_are_refused(provider: Provider, talk: Talk) -> None:
    talk.more["system"] = "be brief"
    assert "`system` prompt differs" in refused(provider, talk)
    talk.history.pop()
    talk.more |= {"system": "be kind", "tools": [tool("write")]}
    assert "`tools` list differs" in refused(provider, talk)


def test_an_injected_reminder_is_refused(provider: Provider, talk: Talk) -> None:
    talk.history[0]["content"].append(text("<reminder>be quick</reminder>"))
    refused(provider, talk)


def test_dropped_on_request_and_reported(
    provider: Provider, talk: Talk, claude: anthropic.Anthropic
) -> None:
    talk.history[2]["content"][0]["content"] = "[cleared]"
    provider.expect_break("a cleared tool result")
    reply = claude.beta.messages.create(
        **(ask(*talk.history, user("go on")) | talk.more), thinking=DROP, betas=BINDING
    )
    assert reply.input_transformations is not None
    gone = [entry.to_dict() for entry in reply.input_transformations]
    # The first thought stands before the edit and stays; both later ones go.
    assert gone == [
        {
            "type": "thinking_dropped",
            "path": f"messages.{i}.content.0",
            "reason": "prefix_binding_mismatch",
        }
        for i in (3, 5)
    ]


def test_nothing_to_report_is_an_empty_list(talk: Talk, claude: anthropic.Anthropic) -> None:
    body = ask(*talk.history, user("go on")) | talk.more
    reply = claude.beta.messages.create(**body, betas=BINDING)
    assert reply.input_transformations == []
    assert claude.beta.messages.create(**body).input_transformations is None


def without_thinking(message: Json) -> Json:
    kept = [block for block in message["content"] if block["type"] != "thinking"]
    return {**message, "content": kept}


@pytest.mark.parametrize("removed", [(1,), (1, 3), (1, 3, 5)])
def test_thinking_may_be_cut_from_the_start(
    provider: Provider, talk: Talk, removed: tuple[int, ...]
) -> None:
    for index in removed:
        talk.history[index] = without_thinking(talk.history[index])
    provider.expect_break("thinking cut")
    provider.script([Thinking("after the cut"), Text("ok")])
    talk.say("go on")
    talk.say("and on")


def test_thinking_may_not_be_cut_from_the_middle(provider: Provider, talk: Talk) -> None:
    talk.history[3] = without_thinking(talk.history[3])
    assert "preceded this one when it was created is missing" in refused(provider, talk)


def test_the_last_thinking_may_go(provider: Provider, talk: Talk) -> None:
    talk.history[5] = without_thinking(talk.history[5])
    provider.script([Thinking("again"), Text("ok")])
    talk.say("go on")
    talk.say("and on")


@pytest.mark.parametrize(
    "forgery",
    [
        {"signature": "bm90IG91cnM="},
        {"signature": "???"},
        {"thinking": "something else"},
    ],
)
@pytest.mark.parametrize("model", ["claude-fable-5-1", "claude-opus-4-8"])
def test_a_forged_block_is_refused_on_every_model(
    provider: Provider, claude: anthropic.Anthropic, forgery: Json, model: str
) -> None:
    talk = Talk(claude, model)
    provider.script([Thinking("mine"), Text("ok")])
    talk.say("hi")
    talk.history[1]["content"][0] |= forgery
    assert "Invalid `signature`" in refused(provider, talk, "thinking-signature")


def test_an_unbound_model_does_not_look_at_the_prefix(
    provider: Provider, claude: anthropic.Anthropic
) -> None:
    talk = Talk(claude, "claude-opus-4-8")
    provider.script([Thinking("mine"), Text("ok")])
    talk.say("hi")
    talk.history[0] = user("hello")
    provider.expect_break("edited")
    talk.say("go on")


def test_a_model_that_cannot_read_a_block_drops_it(
    provider: Provider, talk: Talk, claude: anthropic.Anthropic
) -> None:
    provider.expect_break("another model")
    body = ask(*talk.history, user("go on")) | talk.more | {"model": "claude-opus-5-5"}
    reply = claude.beta.messages.create(**body, betas=BINDING)
    assert reply.input_transformations is not None
    assert {entry.reason for entry in reply.input_transformations} == {"model_binding_mismatch"}


def test_omitted_thinking_still_replays(provider: Provider, claude: anthropic.Anthropic) -> None:
    talk = Talk(claude)
    talk.more["thinking"] = {"type": "adaptive", "display": "omitted"}
    provider.script([Thinking("secret"), Text("ok")])
    assert talk.say("hi").content[0].thinking == ""
    talk.say("go on")


def test_an_older_model_forgets_the_thinking_of_earlier_turns(
    provider: Provider, claude: anthropic.Anthropic
) -> None:
    talk = Talk(claude, "claude-haiku-4-5")
    provider.script([Thinking("a" * 400), Text("ok!!")], [Text("ok!!")], [Text("ok!!")])
    first = talk.say("hi!!").usage.input_tokens
    # The thought is in the prompt of its own turn only.
    assert talk.say("more").usage.input_tokens == first + 2
