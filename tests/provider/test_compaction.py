"""Summaries on demand: written, signed, sent back."""

from typing import Any

import anthropic
import pytest
from tests.provider import Provider, Reply, Text, Thinking, overloaded
from tests.provider.blocks import Json
from tests.provider.samples import ask, assistant, call, prose, result, text, tool, user

BETA = ["compact-2026-09-04"]
SUMMARIZE: Any = {"type": "summarize"}
HISTORY = [user(prose(100)), assistant("yes!"), user("more")]


def summarize(client: anthropic.Anthropic, *history: Json, **more: Any) -> Any:
    body = ask(*history, **more)
    return client.beta.messages.create(**body, compaction=SUMMARIZE, betas=BETA)


def block(client: anthropic.Anthropic) -> Json:
    found: Json = summarize(client, *HISTORY).content[0].to_dict()
    return found


def test_round_trip(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.script("They said yes.")
    reply = summarize(claude, *HISTORY)
    assert reply.stop_reason == "compaction"
    assert [b.type for b in reply.content] == ["compaction"]
    assert reply.content[0].content == "They said yes."
    provider.expect_break("compaction")
    body = ask(dict(reply.to_param()), user("next"))
    later = claude.beta.messages.create(**body, betas=BETA)
    assert later.usage.input_tokens == 4 + 1
    assert later.usage.iterations is not None
    assert later.usage.iterations[0].type == "message"


def test_its_tokens_stand_in_iterations(claude: anthropic.Anthropic) -> None:
    usage = summarize(claude, *HISTORY).usage
    assert (usage.input_tokens, usage.output_tokens) == (0, 0)
    assert usage.iterations[0].type == "compaction"
    assert usage.iterations[0].input_tokens == 102


def test_streamed(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.script("They said yes.")
    with claude.beta.messages.stream(**ask(*HISTORY), compaction=SUMMARIZE, betas=BETA) as stream:
        reply = stream.get_final_message()
    provider.expect_break("compaction")
    claude.beta.messages.create(**ask(dict(reply.to_param()), user("next")), betas=BETA)


def test_a_failed_summary_is_a_no_op(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.script(Reply(failed_summary=True))
    reply = summarize(claude, *HISTORY)
    assert reply.content[0].content is None
    whole = ask(*HISTORY, dict(reply.to_param()), user("next"))
    assert claude.beta.messages.create(**whole, betas=BETA).usage.input_tokens == 103


def test_unavailable(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.script(overloaded("compaction_unavailable"))
    with pytest.raises(anthropic.OverloadedError) as caught:
        summarize(claude, *HISTORY)
    assert caught.value.error_code == "compaction_unavailable"


def refused(
    provider: Provider, client: anthropic.Anthropic, code: str, *history: Json, **more: Any
) -> None:
    provider.expect_violation(code)
    with pytest.raises(anthropic.BadRequestError) as caught:
        client.beta.messages.create(**ask(*history), betas=BETA, **more)
    if code != "compaction":
        assert caught.value.error_code == code


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"signature": "bm8="}, "compaction_signature_invalid"),
        ({"signature": None}, "compaction_signature_invalid"),
        ({"content": "They said no."}, "compaction_content_mismatch"),
        ({"tool_changes": [{"type": "tool_removal"}]}, "compaction_tool_changes_mismatch"),
    ],
)
def test_a_changed_block(
    provider: Provider, claude: anthropic.Anthropic, change: Json, code: str
) -> None:
    summary = {**block(claude), **change}
    refused(provider, claude, code, assistant(summary), user("next"))


def test_place_and_number(provider: Provider, claude: anthropic.Anthropic) -> None:
    summary = block(claude)
    refused(
        provider, claude, "compaction_block_misplaced", user("a"), assistant(summary), user("b")
    )
    refused(
        provider,
        claude,
        "compaction_block_ambiguous",
        assistant(summary, summary),
        user("next"),
    )


def test_what_cannot_be_summarized(provider: Provider, claude: anthropic.Anthropic) -> None:
    open_call = [user("a"), assistant(call("t"))]
    code = "compaction_incomplete_turn"
    refused(provider, claude, code, *open_call, compaction=SUMMARIZE)
    summary = assistant(block(claude))
    code = "compaction_nothing_to_summarize"
    refused(provider, claude, code, summary, compaction=SUMMARIZE)


def test_what_it_cannot_be_combined_with(provider: Provider, claude: anthropic.Anthropic) -> None:
    for more in (
        {"stop_sequences": ["x"]},
        {"tool_choice": {"type": "any"}, "tools": [tool()]},
    ):
        refused(provider, claude, "compaction", *HISTORY, compaction=SUMMARIZE, **more)


def test_the_header_is_needed_every_time(provider: Provider, claude: anthropic.Anthropic) -> None:
    summary = assistant(block(claude))
    provider.expect_violation("beta")
    with pytest.raises(anthropic.BadRequestError, match="compact-2026-09-04"):
        claude.beta.messages.create(**ask(summary, user("next")))


class Kept:
    """Two turns with thinking on a bound model; the first is summarized, the second kept."""

    def __init__(self, provider: Provider, client: anthropic.Anthropic) -> None:
        self.client = client
        self.frame: Json = {"model": "claude-fable-5-1", "system": "be kind"}
        self.old = [user("one")]
        provider.script([Thinking("first"), Text("1")], [Thinking("second"), Text("2")])
        self.old.append(self.turn(self.old))
        self.new = [user("two")]
        self.new.append(self.turn([*self.old, *self.new]))

    def turn(self, history: list[Json]) -> Json:
        return dict(self.client.messages.create(**(ask(*history) | self.frame)).to_param())


def test_kept_thinking_stays_valid(provider: Provider, claude: anthropic.Anthropic) -> None:
    kept = Kept(provider, claude)
    summary = dict(summarize(claude, *kept.old, **kept.frame).to_param())
    provider.expect_break("compaction")
    provider.script([Thinking("third"), Text("3")])
    history = [summary, *kept.new, user("three")]
    said = claude.beta.messages.create(**(ask(*history) | kept.frame), betas=BETA)
    longer = [*history, dict(said.to_param()), user("four")]
    claude.beta.messages.create(**(ask(*longer) | kept.frame), betas=BETA)


def test_kept_thinking_needs_the_turns_that_followed(
    provider: Provider, claude: anthropic.Anthropic
) -> None:
    kept = Kept(provider, claude)
    summary = dict(summarize(claude, *kept.old, **kept.frame).to_param())
    provider.expect_violation("thinking-prefix", times=2)
    for history, frame in (
        ([summary, user("another"), kept.new[1]], kept.frame),
        ([summary, *kept.new], kept.frame | {"system": "be brief"}),
    ):
        with pytest.raises(anthropic.BadRequestError, match="different conversation"):
            claude.beta.messages.create(**(ask(*history, user("x")) | frame), betas=BETA)


def test_kept_thinking_needs_a_summary_under_the_same_system(
    provider: Provider, claude: anthropic.Anthropic
) -> None:
    kept = Kept(provider, claude)
    kept.old[1] = assistant("1")
    provider.expect_break("another system prompt")
    frame = kept.frame | {"system": "summarize well"}
    summary = dict(summarize(claude, *kept.old, **frame).to_param())
    provider.expect_violation("thinking-prefix")
    with pytest.raises(anthropic.BadRequestError, match="different conversation"):
        claude.beta.messages.create(**(ask(summary, *kept.new, user("x")) | kept.frame), betas=BETA)


def test_a_summary_by_the_client_invalidates_kept_thinking(
    provider: Provider, claude: anthropic.Anthropic
) -> None:
    kept = Kept(provider, claude)
    provider.expect_violation("thinking-prefix")
    history = [user("Summary: one was said."), assistant("ok"), *kept.new, user("three")]
    with pytest.raises(anthropic.BadRequestError, match="different conversation"):
        claude.messages.create(**(ask(*history) | kept.frame))


def test_results_survive_next_to_a_summary(provider: Provider, claude: anthropic.Anthropic) -> None:
    summary = assistant(block(claude))
    provider.expect_break("compaction")
    body = ask(summary, user("go"), assistant(call("t")), user(result("t"), text("thanks")))
    claude.beta.messages.create(**body, betas=BETA)
