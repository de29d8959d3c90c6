"""A metered model: each call is reserved before it and recorded after it, even if it fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.place import NOON, FixedClock

from reverie.core.messages import Text, new_message
from reverie.core.request import (
    Head,
    Options,
    Reply,
    Request,
    StreamItem,
    TextDelta,
    ThinkingDelta,
    ToolUseStarted,
    estimated_size,
)
from reverie.core.usage import Caps, Prices, Usage
from reverie.core.window import Capabilities, text_tokens
from reverie.errors import Overloaded, ReplyBroken, SpendCapReached
from reverie.events import CapReached, Event, MoneySpent
from reverie.models.ledger import Ledger
from reverie.models.metered import CEILING_MARGIN, MeteredModel
from reverie.models.offline import ScriptedModel
from reverie.ports import Model, complete

PRICES = Prices.of(10, 50)
REQUEST = Request(
    Head("m", options=Options(max_tokens=100)), (new_message("user", Text("word " * 400)),)
)
USAGE = Usage(100, 200, 300, 0, 50)


class Streaming:
    """Streams these items; an exception among them is raised."""

    name = "m"
    capabilities = Capabilities()

    def __init__(self, *items: StreamItem | BaseException, prices: Prices | None = PRICES) -> None:
        self.items = items
        self.prices = prices
        self.calls = 0
        self.closed = False

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        self.calls += 1
        for item in self.items:
            if isinstance(item, BaseException):
                raise item
            yield item

    async def aclose(self) -> None:
        self.closed = True


REPLY = Reply("r1", "m", (Text("hi"),), "end", USAGE)


class Setup:
    """A ledger, and everything that was announced."""

    def __init__(self, folder: Path, clock: FixedClock) -> None:
        self.clock = clock
        self.ledger = Ledger(folder / "projects" / "p", home=folder, clock=clock)
        self.events: list[Event] = []

    def meter(self, model: Model, caps: Caps = Caps(), purpose: str = "recall") -> MeteredModel:  # noqa: B008
        events = self.events.append
        return MeteredModel(model, self.ledger, caps, self.clock, "s1", purpose, events)

    @property
    def held(self) -> float:
        return self.ledger.spent("recall", "s1").day


@pytest.fixture
def setup(tmp_path: Path, clock: FixedClock) -> Setup:
    return Setup(tmp_path, clock)


async def test_a_call_is_written_down_at_what_it_cost(setup: Setup) -> None:
    model = setup.meter(Streaming(TextDelta("hi"), REPLY), Caps(day=1))
    items = [item async for item in model.stream(REQUEST)]
    assert items == [TextDelta("hi"), REPLY]
    [entry] = setup.ledger.entries()
    assert (entry.at, entry.purpose, entry.session, entry.model) == (NOON, "recall", "s1", "m")
    assert (entry.usage, entry.cost, entry.estimated) == (USAGE, PRICES.cost(USAGE), False)
    assert setup.events == [MoneySpent(entry)]
    assert setup.held == entry.cost


async def test_it_is_the_model_it_meters(setup: Setup) -> None:
    inner = Streaming(REPLY)
    model = setup.meter(inner)
    assert (model.name, model.capabilities, model.prices) == ("m", inner.capabilities, PRICES)
    await model.aclose()
    assert inner.closed


async def test_while_it_runs_the_most_it_can_cost_is_held(setup: Setup) -> None:
    model = setup.meter(Streaming(TextDelta("hi"), REPLY), Caps(day=1))
    stream = model.stream(REQUEST)
    await anext(stream)
    ceiling = PRICES.ceiling(int(estimated_size(REQUEST) * CEILING_MARGIN), 100)
    assert setup.held == pytest.approx(ceiling)
    assert ceiling > PRICES.cost(Usage(input=estimated_size(REQUEST), output=100))
    _ = [item async for item in stream]
    assert setup.held == pytest.approx(PRICES.cost(USAGE))


async def test_a_call_that_could_pass_a_cap_is_not_made(setup: Setup) -> None:
    inner = Streaming(REPLY)
    model = setup.meter(inner, Caps(day=0.01))
    for _ in range(3):
        with pytest.raises(SpendCapReached, match=r"day cap of \$0\.01.*raise spend\.day"):
            await complete(model, REQUEST)
    assert inner.calls == 0
    assert list(setup.ledger.entries()) == []
    # Announced once, so that a loop of retries does not fill the screen.
    [notice] = setup.events
    assert isinstance(notice, CapReached)
    assert (notice.purpose, notice.stopped) == ("recall", True)


@pytest.mark.parametrize(("main_stops", "calls"), [(False, 2), (True, 0)])
async def test_the_conversation_warns_or_stops_by_setting(
    setup: Setup, main_stops: bool, calls: int
) -> None:
    inner = Streaming(REPLY)
    model = setup.meter(inner, Caps(day=0.01, main_stops=main_stops), "main")
    for _ in range(2):
        if main_stops:
            with pytest.raises(SpendCapReached):
                await complete(model, REQUEST)
        else:
            assert await complete(model, REQUEST) == REPLY
    assert inner.calls == calls
    [notice] = [event for event in setup.events if isinstance(event, CapReached)]
    assert notice.stopped is main_stops


class TestUnpriced:
    async def test_without_caps_it_is_only_written_down(self, setup: Setup) -> None:
        await complete(setup.meter(Streaming(REPLY, prices=None)), REQUEST)
        [entry] = setup.ledger.entries()
        assert (entry.cost, entry.usage) == (None, USAGE)

    async def test_under_a_cap_background_work_stops(self, setup: Setup) -> None:
        inner = Streaming(REPLY, prices=None)
        with pytest.raises(SpendCapReached, match=r'price of m is not known.*prices\."m"\.input'):
            await complete(setup.meter(inner, Caps(session=1)), REQUEST)
        assert inner.calls == 0

    @pytest.mark.parametrize("main_stops", [False, True])
    async def test_under_a_cap_the_conversation_warns_or_stops(
        self, setup: Setup, main_stops: bool
    ) -> None:
        model = setup.meter(Streaming(REPLY, prices=None), Caps(1, main_stops=main_stops), "main")
        if main_stops:
            with pytest.raises(SpendCapReached):
                await complete(model, REQUEST)
        else:
            await complete(model, REQUEST)
        notice = [event for event in setup.events if isinstance(event, CapReached)]
        assert [event.stopped for event in notice] == [main_stops]


BROKEN: list[tuple[str, list[Any], int]] = [
    ("after some words", [TextDelta("word " * 40)], text_tokens("word " * 40)),
    ("after some thinking", [ThinkingDelta("word " * 40)], text_tokens("word " * 40)),
    ("after a call began", [ToolUseStarted("t1", "Read")], 0),
]


@pytest.mark.parametrize(("name", "items", "events"), BROKEN)
async def test_a_stream_that_breaks_off_is_put_down_as_an_estimate(
    setup: Setup, name: str, items: list[Any], events: int
) -> None:
    model = setup.meter(Streaming(*items, ReplyBroken("cut")), Caps(day=1))
    with pytest.raises(ReplyBroken):
        await complete(model, REQUEST)
    [entry] = setup.ledger.entries()
    assert entry.estimated
    assert entry.usage == Usage(input=estimated_size(REQUEST), output=events)
    assert setup.held == entry.cost == PRICES.cost(entry.usage)


async def test_a_call_that_failed_at_once_costs_nothing(setup: Setup) -> None:
    with pytest.raises(Overloaded):
        await complete(setup.meter(Streaming(Overloaded("later")), Caps(day=1)), REQUEST)
    assert setup.held == 0
    assert setup.events == []


async def test_a_stream_nobody_reads_to_its_end_is_settled(setup: Setup) -> None:
    stream = setup.meter(Streaming(TextDelta("hi"), REPLY), Caps(day=1)).stream(REQUEST)
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    [entry] = setup.ledger.entries()
    assert entry.estimated


async def test_a_cancelled_call_is_settled(setup: Setup) -> None:
    begun = asyncio.Event()

    class Endless(Streaming):
        async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
            yield TextDelta("hi")
            begun.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(complete(setup.meter(Endless(), Caps(day=1)), REQUEST))
    await begun.wait()
    assert setup.held > 0.01
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [entry] = setup.ledger.entries()
    assert entry.estimated
    assert setup.held == entry.cost


async def test_a_free_model_may_always_be_called(setup: Setup) -> None:
    assert (await complete(setup.meter(ScriptedModel(["hi"]), Caps(day=0)), REQUEST)).text == "hi"


class TestACapThatIsNearlyReached:
    LONG = Request(
        Head("m", options=Options(max_tokens=32_000)), (new_message("user", Text("word " * 400)),)
    )

    async def test_the_reply_is_made_to_fit(self, setup: Setup) -> None:
        sent: list[int] = []

        class Asked(Streaming):
            async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
                sent.append(request.options.max_tokens)
                async for item in super().stream(request):
                    yield item

        # 32,000 tokens of output could cost $1.60.
        model = setup.meter(Asked(REPLY), Caps(day=0.25))
        assert await complete(model, self.LONG) == REPLY
        [most] = sent
        prompt = int(estimated_size(self.LONG) * CEILING_MARGIN)
        assert 1_024 <= most < 32_000
        assert 0.2499 < PRICES.ceiling(prompt, most) <= 0.25

    async def test_too_little_is_told_with_what_is_needed(self, setup: Setup) -> None:
        inner = Streaming(REPLY)
        notice = r"day cap of \$0\.03.*this call needs at least \$0\.0\d+, and \$0\.0300 is left"
        with pytest.raises(SpendCapReached, match=notice):
            await complete(setup.meter(inner, Caps(day=0.03)), self.LONG)
        assert inner.calls == 0

    async def test_a_budget_for_thinking_is_kept(self, setup: Setup) -> None:
        options = Options(max_tokens=32_000, thinking="budget:20000")
        thinking = Request(Head("m", options=options), self.LONG.messages)
        with pytest.raises(SpendCapReached):
            await complete(setup.meter(Streaming(REPLY), Caps(day=0.25)), thinking)
