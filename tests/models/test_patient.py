"""Retries: as long as the provider asks, for a bounded time, and never after a reply began."""

import pytest
from tests.models.asking import ask, user
from tests.provider.gate import Gate
from tests.provider.provider import Provider
from tests.provider.script import (
    Held,
    HttpError,
    Reply,
    ScriptItem,
    StreamError,
    overloaded,
    rate_limited,
    server_error,
)

from reverie.core.request import StreamItem
from reverie.core.window import Capabilities
from reverie.errors import AccessDenied, ModelError, Overloaded, TimedOut, Unreachable
from reverie.models.anthropic import AnthropicModel
from reverie.models.openai import OpenAIModel
from reverie.models.wrappers import PatientModel
from reverie.ports import Model, complete

pytestmark = pytest.mark.anyio

QUESTION = ask("claude-sonnet-5-5", user("Are you well?"))


class Waits:
    """Records the requested waits and does not wait."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def bare(provider: Provider, **options: float) -> AnthropicModel:
    return AnthropicModel(
        "claude-sonnet-5-5",
        api_key="test",
        capabilities=Capabilities(),
        prices=None,
        base_url=provider.anthropic_url,
        retries=0,
        **options,  # type: ignore[arg-type]
    )


def bare_openai(provider: Provider, **options: float) -> OpenAIModel:
    return OpenAIModel(
        "gpt-5.5",
        api_key="test",
        capabilities=Capabilities(),
        prices=None,
        base_url=provider.openai_url,
        retries=0,
        **options,  # type: ignore[arg-type]
    )


async def tried(
    provider: Provider, *answers: ScriptItem, retries: int = 6
) -> tuple[str | ModelError, list[float]]:
    provider.script(*answers)
    waits = Waits()
    model = PatientModel(bare(provider), retries, waits)
    try:
        outcome: str | ModelError = (await complete(model, QUESTION)).text
    except ModelError as error:
        outcome = error
    await model.aclose()
    return outcome, waits.seconds


FAULTS = [rate_limited(), overloaded(), server_error(), StreamError(after=1)]


@pytest.mark.parametrize("fault", FAULTS)
async def test_three_in_a_row_do_not_end_the_turn(provider: Provider, fault: ScriptItem) -> None:
    assert await tried(provider, fault, fault, fault, "Yes.") == ("Yes.", [0.5, 1, 2])


async def test_the_provider_says_when(provider: Provider) -> None:
    answers = (rate_limited(7), rate_limited(0.1), "Yes.")
    assert await tried(provider, *answers) == ("Yes.", [7, 1])


async def test_it_ends(provider: Provider) -> None:
    outcome, waits = await tried(provider, *[overloaded()] * 9)
    assert isinstance(outcome, Overloaded)
    assert waits == [0.5, 1, 2, 4, 8, 16]
    provider.script()


async def test_a_wait_of_an_hour_is_told_at_once(provider: Provider) -> None:
    outcome, waits = await tried(provider, rate_limited(3_600))
    assert isinstance(outcome, Overloaded)
    assert (outcome.retry_after, waits) == (3_600, [])


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_what_is_wrong_is_not_repeated(provider: Provider, status: int) -> None:
    outcome, waits = await tried(provider, HttpError(status, "no"))
    assert isinstance(outcome, Exception)
    assert not isinstance(outcome, Overloaded)
    assert waits == []
    assert status != 401 or isinstance(outcome, AccessDenied)


async def taken(model: Model, items: list[StreamItem]) -> None:
    async for item in model.stream(QUESTION):
        items.append(item)  # noqa: PERF401 - what came before an error counts


async def test_nothing_is_heard_twice(provider: Provider) -> None:
    provider.script(StreamError(after=4))
    waits = Waits()
    model = PatientModel(bare(provider), 6, waits)
    items: list[StreamItem] = []
    with pytest.raises(Overloaded):
        await taken(model, items)
    await model.aclose()
    assert items
    assert waits.seconds == []


async def test_a_wrong_address_is_told_soon() -> None:
    model = AnthropicModel(
        "m", api_key="t", capabilities=Capabilities(), prices=None, base_url="http://127.0.0.1:9", retries=0,
    )  # fmt: skip
    waits = Waits()
    with pytest.raises(Unreachable):
        await complete(PatientModel(model, 6, waits), QUESTION)
    await model.aclose()
    assert waits.seconds == [0.5, 1]


@pytest.mark.parametrize("make", [bare, bare_openai])
async def test_a_silent_provider_is_given_up(provider: Provider, make: type[Model]) -> None:
    gate = Gate()
    provider.script(Held(Reply(()), gate))
    waits = Waits()
    model = PatientModel(make(provider, idle_timeout=0.2), 6, waits)  # type: ignore[call-arg]
    try:
        with pytest.raises(TimedOut, match=r"models\.idle_timeout"):
            await complete(model, ask(model.name, user("Are you well?")))
    finally:
        gate.release()
        await model.aclose()
    assert waits.seconds == []
