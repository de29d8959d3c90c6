"""Embeddings on the official SDK: alike texts, both encodings, and the rules."""

import math
from typing import Any, Literal

import openai
import pytest
from tests.provider.provider import Provider
from tests.provider.script import server_error

SMALL = "text-embedding-3-small"


def client(provider: Provider) -> openai.OpenAI:
    return openai.OpenAI(api_key="test-key", base_url=provider.openai_url, max_retries=0)


def likeness(one: list[float], other: list[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / math.hypot(*one) / math.hypot(*other)


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_texts_with_the_same_words_are_alike(
    provider: Provider, encoding: Literal["float", "base64"]
) -> None:
    texts = ["the red boat", "a red boat", "quarterly figures"]
    with client(provider) as sdk:
        reply = sdk.embeddings.create(model=SMALL, input=texts, encoding_format=encoding)
        default = sdk.embeddings.create(model=SMALL, input="the red boat")
    if encoding == "float":
        rows = [item.embedding for item in reply.data]
        assert len(rows[0]) == 16
        assert likeness(rows[0], rows[1]) > likeness(rows[0], rows[2])
        assert rows[0] == pytest.approx(default.data[0].embedding)
    assert reply.usage.prompt_tokens > 0


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"input": ""}, "embeddings"),
        ({"input": []}, "embeddings"),
        ({"input": ["x"] * 2_049}, "embeddings"),
        ({"input": "x", "model": "nobody"}, "model"),
    ],
)
def test_the_rules(provider: Provider, given: dict[str, Any], rule: str) -> None:
    provider.expect_violation(rule)
    with client(provider) as sdk, pytest.raises(openai.APIStatusError):
        sdk.embeddings.create(**({"model": SMALL} | given))


def test_a_fault_can_be_scripted(provider: Provider) -> None:
    provider.script(server_error())
    with client(provider) as sdk, pytest.raises(openai.InternalServerError):
        sdk.embeddings.create(model=SMALL, input="x")
