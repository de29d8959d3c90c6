"""Fixtures of the provider's own tests."""

from collections.abc import AsyncIterator, Iterator

import anthropic
import openai
import pytest
from tests.provider.provider import Provider
from tests.provider.server import ProviderServer


@pytest.fixture(scope="session")
def claude_client(provider_server: ProviderServer) -> Iterator[anthropic.Anthropic]:
    """One client for all tests: making one takes longer than most tests."""
    with anthropic.Anthropic(base_url=provider_server.url, api_key="test", max_retries=0) as client:
        yield client


@pytest.fixture
def claude(provider: Provider, claude_client: anthropic.Anthropic) -> anthropic.Anthropic:
    return claude_client


@pytest.fixture
async def async_claude(provider: Provider) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(
        base_url=provider.anthropic_url, api_key="test", max_retries=0
    ) as client:
        yield client


@pytest.fixture(scope="session")
def gpt_client(provider_server: ProviderServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=f"{provider_server.url}/v1", api_key="test", max_retries=0
    ) as client:
        yield client


@pytest.fixture
def gpt(provider: Provider, gpt_client: openai.OpenAI) -> openai.OpenAI:
    return gpt_client


@pytest.fixture
async def async_gpt(provider: Provider) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(
        base_url=provider.openai_url, api_key="test", max_retries=0
    ) as client:
        yield client
