"""The predicted savings of a batch against the simulated provider's bill with and without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from tests.context.clearing import AUTOMATIC, EXPLICIT, PRICES, Talk, careful

from reverie.context import microcompaction
from reverie.context.microcompaction import Clear, Due
from reverie.conversation.assemble import Assembler
from reverie.core.messages import Message, Text
from reverie.core.prompt_cache.simulator import Call, Simulator
from reverie.core.request import Head
from reverie.core.tokens import substituted
from reverie.core.usage import PER_MILLION
from reverie.core.window import Capabilities

HEAD = Head("m", (Text("word" * 5_000),))
NOTHING: Mapping[str, str] = {}


def billed(
    messages: list[Message], capabilities: Capabilities, since: int, texts: Mapping[str, str]
) -> float:
    """Dollars for a conversation in which these texts are sent from message `since` on."""
    assembler, provider = Assembler(capabilities), Simulator(capabilities.cache)
    early = list(messages)
    late = [substituted(message, texts) for message in messages]
    total = 0.0
    for i, message in enumerate(messages):
        if message.role == "assistant":
            sent = assembler.assemble(HEAD, (late if i >= since else early)[:i])
            total += PRICES.cost(provider.run(Call(sent.chain, messages[i - 1].at), sent.marks))
            assembler.sent(sent)
    return total


@dataclass(frozen=True)
class Story:
    """Rounds of a thousand tokens, a pause, and the calls that come after the batch."""

    rounds: int = 60
    step: float = 1.0
    pause: float = 0.0
    later: int = 40
    capabilities: Capabilities = EXPLICIT


@pytest.mark.parametrize(
    "story",
    [
        pytest.param(Story(), id="warm"),
        pytest.param(Story(step=10.0), id="warm, old marks lapsed"),
        pytest.param(Story(later=12), id="warm, few calls"),
        pytest.param(Story(pause=600.0), id="lapsed"),
        pytest.param(Story(capabilities=AUTOMATIC), id="automatic"),
        pytest.param(Story(capabilities=AUTOMATIC, pause=600.0), id="automatic, lapsed"),
    ],
)
def test_a_batch_saves_what_it_says(story: Story) -> None:
    talk = Talk()
    for _ in range(story.rounds):
        talk.round()
        talk.at += story.step - 10.0
    talk.reply()
    talk.at += story.pause
    talk.ask()
    policy = careful(margin=0.0, calls=story.later)
    due = talk.due(policy, capabilities=story.capabilities)
    assert isinstance(due, Due)
    change = microcompaction.plan(due)
    assert isinstance(change, Clear)
    value = microcompaction.batches.token_value(
        talk.ledger, talk.conditions(capabilities=story.capabilities), policy
    )
    assert value is not None
    said = (change.freed * value.freed - change.rewritten * value.rewritten) / PER_MILLION

    since = len(talk.messages)
    talk.rounds(story.later + 1, 100)
    without = billed(talk.messages, story.capabilities, since, NOTHING)
    with_it = billed(talk.messages, story.capabilities, since, change.texts)
    assert without - with_it == pytest.approx(said, rel=0.05)
