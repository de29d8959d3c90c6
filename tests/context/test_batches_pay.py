"""The predicted savings of a batch against the simulated provider's bill with and without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from tests.context.clearing import AUTOMATIC, EXPLICIT, PRICES, Talk, careful
from tests.context.saying import did, edit, model, user

from reverie.context import microcompaction
from reverie.context.microcompaction import Clear, Due, Policy
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


def reading(path: str, size: int = 4_000) -> list[Message]:
    return list(did("Read", "word" * size, file_path=path))


def cleared_files(talk: Talk, policy: Policy) -> list[str]:
    due = talk.due(policy)
    assert isinstance(due, Due), due
    return [held.file for held in due.results]


def test_a_file_that_was_asked_about_is_not_cleared_before_it_is_changed() -> None:
    """Neither is one that the last reply names."""
    policy = Policy(keep=1, least_context=0, calls=100)
    asked = [user("Please mend /src/a.py, then go on.")]
    work = [m for name in ("a", "b", "c", "d") for m in reading(f"/src/{name}.py")]
    talk = Talk(messages=[*asked, *work, model("Now c.py."), user("Yes.")])
    files = cleared_files(talk, policy)
    assert files == ["b.py"]
    talk.messages += [*edit("/src/a.py"), model("Done."), user("And now?")]
    assert "a.py" in cleared_files(talk, policy)


def test_outlines_are_made_before_a_batch_needs_them() -> None:
    talk = Talk()
    for _ in range(12):
        talk.round(4_000)
        talk.conditions()
    due = talk.due(Policy(keep=1, least_context=0))
    assert isinstance(due, Due)
    assert {held.id for held in due.results} <= due.outlines.keys()
    change = microcompaction.plan(due)
    assert isinstance(change, Clear)
    assert all(due.outlines[id_] in text for id_, text in change.texts.items())
