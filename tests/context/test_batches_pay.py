"""The predicted savings of a batch against the simulated provider's bill with and without it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
from tests.context.clearing import AUTOMATIC, EXPLICIT, PRICES, UNCACHED, WIDE, Talk, careful
from tests.context.saying import did, edit, model, user

from reverie.context import NotDue, microcompaction
from reverie.context.microcompaction import (
    Batch,
    Clear,
    Due,
    Policy,
    RequestConditions,
    TokenValue,
    ToolResultLedger,
    batch,
    clearable,
    token_value,
)
from reverie.context.microcompaction.ledger import Held
from reverie.conversation.conversation import Assembler
from reverie.core.messages import Message, Text, ToolResult
from reverie.core.prompt_cache.tracker import Call, Simulator
from reverie.core.request import Head
from reverie.core.usage import FREE, PER_MILLION, Prices
from reverie.core.window import Capabilities, Window, substituted

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
    value = microcompaction.token_value(
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


# A token that is freed saves 2 dollars a million in all, one that is rewritten costs 2.
EVEN = Prices(1.0, 1.0, 1.0, 3.0, 9.0)
EVENLY = Policy(keep=1, least_context=0, least_freed=1_000_000, calls=1)
MILLION = 1_000_000


def held(gain: int, mark: int = 0, at: float = 0.0, tokens: int = 1) -> Held:
    return Held(ToolResult(f"r{gain}.{mark}", ()), tokens, gain, mark + 1, mark, at)


def ledger(seen: int, *results: Held) -> ToolResultLedger:
    """A ledger of these results; another one is the newest, which stays."""
    made = ToolResultLedger()
    made.held = [*results, held(0)]
    made.gain = sum(one.gain for one in results)
    made.seen = seen
    return made


def right_now(**changes: object) -> RequestConditions:
    known = {
        "now": 0.0,
        "context": 50_000,
        "window": WIDE,
        "capabilities": EXPLICIT,
        "prices": EVEN,
    }
    return RequestConditions(**{**known, **changes})  # type: ignore[arg-type]


def found(seen: int, *results: Held, policy: Policy = EVENLY, **changes: object) -> Batch | NotDue:
    return batch(ledger(seen, *results), right_now(**changes), policy)


@pytest.mark.parametrize(
    ("seen", "results", "rewritten"),
    [
        # What lies behind is to be written again, without what is freed.
        (2 * MILLION, [held(MILLION)], None),
        (2 * MILLION - 1, [held(MILLION)], MILLION - 1),
        (MILLION, [held(MILLION)], 0),
        (MILLION - 1, [held(MILLION)], 0),
        (3 * MILLION - 1, [held(MILLION, MILLION)], MILLION - 1),
        (2_500_000, [held(MILLION, 2 * MILLION)], 0),
        # Too little is freed, in all or in what may be cleared.
        (MILLION, [held(MILLION - 1)], None),
        (MILLION, [held(MILLION - 1), held(1)], 0),
    ],
)
def test_a_batch_pays_for_what_it_rewrites(
    seen: int, results: list[Held], rewritten: int | None
) -> None:
    done = found(seen, *results)
    assert (done.rewritten if isinstance(done, Batch) else None) == rewritten


def test_a_batch_begins_where_it_saves_most() -> None:
    old, near, new = held(MILLION, 0), held(MILLION, MILLION), held(MILLION, 4 * MILLION)
    for seen, last, all_ in ((2_500_000, near, True), (5 * MILLION, new, False)):
        done = found(seen, old, last)
        assert isinstance(done, Batch)
        assert list(done.results) == ([old, last] if all_ else [last])
    # Marks that lapsed are not found: all from the start would be written again.
    life = 300.0
    for now, pays in ((life, True), (life + 1, False)):
        assert isinstance(found(5 * MILLION, new, now=now), Batch) is pays
        automatic = found(5 * MILLION, new, now=now, capabilities=AUTOMATIC)
        assert isinstance(automatic, Batch)
        assert automatic.rewritten == 0


def test_a_batch_says_what_it_saves_and_costs() -> None:
    done = found(2 * MILLION - 1_000, held(MILLION))
    assert isinstance(done, Batch)
    assert done.why == (
        "keeping 1,000,000 tokens of old tool results would cost $2.000, clearing them $1.998"
    )


@pytest.mark.parametrize(
    ("budget", "spent", "context", "made"),
    [
        (1.0, None, 50_000, True),
        (0.999, None, 50_000, False),
        (9.0, 2.0, 50_000, True),
        (9.0, 1.999, 50_000, False),
        (0.5, 100.0, 50_000, False),
        # A compaction would cost more.
        (0.0, 0.0, WIDE.warning, True),
        (0.0, 0.0, WIDE.warning - 1, False),
    ],
)
def test_what_a_batch_may_cost_at_once(
    budget: float, spent: float | None, context: int, made: bool
) -> None:
    policy = replace(EVENLY, budget=budget, share=0.5)
    done = found(MILLION + MILLION // 2, held(MILLION), policy=policy, spent=spent, context=context)
    assert isinstance(done, Batch) is made
    if not made:
        allowed = policy.allowed(spent)
        assert done == NotDue(f"clearing may cost at most ${allowed:.3f} now")


@pytest.mark.parametrize(("margin", "pays"), [(1.0, True), (1.9, True), (2.0, False), (3.0, False)])
def test_a_margin_makes_what_is_rewritten_dearer(margin: float, pays: bool) -> None:
    policy = replace(EVENLY, margin=margin)
    assert isinstance(found(MILLION * 3 // 2, held(MILLION), policy=policy), Batch) is pays


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({}, TokenValue(5.5, 2.5)),
        ({"now": 300.0}, TokenValue(5.5, 2.5)),
        ({"now": 301.0}, TokenValue(8.0, 0.0)),
        ({"capabilities": UNCACHED}, TokenValue(22.0, 0.0)),
        ({"prices": Prices(2.0, 1.0, 0.5, 0.25, 9.0)}, TokenValue(5.5, 0.0)),
        ({"prices": None}, None),
        ({"prices": FREE}, None),
        ({"prices": None, "context": WIDE.warning}, TokenValue(11 * 0.1, 1.25 - 0.1)),
        (
            {"prices": None, "context": WIDE.warning, "capabilities": UNCACHED},
            TokenValue(11.0, 0.0),
        ),
    ],
)
def test_what_a_token_is_worth(changes: dict[str, object], value: TokenValue | None) -> None:
    there = ledger(0)
    there.replied_at = 0.0
    known = {"prices": Prices(2.0, 1.0, 0.5, 3.0, 9.0), **changes}
    assert token_value(there, right_now(**known), Policy()) == value


def test_the_figures_of_a_policy() -> None:
    assert Policy() == Policy(
        time=False,
        cached=True,
        batch=True,
        keep=3,
        idle_seconds=3_600.0,
        live_above=20,
        least_context=40_000,
        least_freed=1_000,
        keep_tokens=0,
        margin=1.0,
        calls=10,
        budget=math.inf,
        share=math.inf,
    )
    assert Policy(budget=2.0, share=0.5).allowed(None) == 2.0
    assert Policy(budget=2.0, share=0.5).allowed(3.0) == 1.5
    assert Policy(budget=2.0, share=0.5).allowed(5.0) == 2.0


@pytest.mark.parametrize(
    ("tokens", "sizes"),
    [
        (400_000, (12, 40_000, 8_000, 10_000)),
        (200_000, (12, 40_000, 8_000, 10_000)),
        (100_000, (6, 20_000, 4_000, 5_000)),
        (20_000, (3, 4_000, 800, 1_000)),
    ],
)
def test_sizes_shrink_with_the_window(tokens: int, sizes: tuple[int, ...]) -> None:
    policy = Policy(keep=12, least_context=40_000, least_freed=8_000, keep_tokens=10_000)
    fitting = policy.fitting(Window(tokens, "test"))
    names = ("keep", "least_context", "least_freed", "keep_tokens")
    assert tuple(getattr(fitting, name) for name in names) == sizes
    assert Policy(keep=2).fitting(Window(20_000, "test")).keep == 2


@pytest.mark.parametrize(
    ("keep", "keep_tokens", "seen", "clearable_"),
    [
        (1, 0, 99, 3),
        (0, 0, 99, 3),
        (2, 0, 99, 2),
        (4, 0, 99, 0),
        (9, 0, 99, 0),
        (1, 10, 99, 3),
        (1, 11, 99, 2),
        (1, 0, 31, 3),
        (1, 0, 21, 2),
        (1, 0, 20, 2),
        (1, 0, 11, 1),
    ],
)
def test_how_many_results_may_be_cleared(
    keep: int, keep_tokens: int, seen: int, clearable_: int
) -> None:
    there = ledger(seen)
    there.held = [held(5, mark, tokens=10) for mark in (0, 10, 20, 30)]
    assert clearable(there, keep, keep_tokens) == clearable_


def test_an_empty_result_counts_as_the_newest_unless_tokens_are_asked_for() -> None:
    there = ledger(99)
    there.held = [held(5, 0), held(5, 10, tokens=0)]
    assert clearable(there, 1) == 1
    assert clearable(there, 1, 1) == 0
