"""Gemini, compressed bodies, requests whose history the provider holds, and learning after a turn."""

from __future__ import annotations

import gzip
import json

import httpx2
import pytest
import zstandard
from tests.proxy.test_conversations import claude, remember, said, user
from tests.proxy.test_pass_through import response

FACT = "The deploy of the shop needs the flag --canary"
QUESTION = "How do I deploy the shop?"
BODY = {"model": "claude-opus-4-8", "max_tokens": 9, "messages": [user(QUESTION)]}
HEADERS = {"authorization": "Bearer k", "anthropic-version": "2026-10-21"}


def received(raw_upstream, index: int = -1) -> bytes:
    return raw_upstream.received[index].partition(b"\r\n\r\n")[2]


def test_gemini(start, raw_upstream):
    reply = {
        "responseId": "r1",
        "modelVersion": "gemini-4-pro",
        "candidates": [{"content": {"role": "model", "parts": [{"text": "so"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 20, "cachedContentTokenCount": 5, "candidatesTokenCount": 3},
    }  # fmt: skip
    raw_upstream.answers = [response(json.dumps(reply).encode(), "Content-Type: application/json")]
    proxy = start(upstream=raw_upstream.url)
    remember(proxy, FACT)
    path = "/gemini/v1beta/models/gemini-4-pro:generateContent?key=of-the-client"
    contents = [{"role": "user", "parts": [{"text": QUESTION}]}]
    assert httpx2.post(proxy.url + path, json={"contents": contents}).json() == reply
    contents += [reply["candidates"][0]["content"], {"role": "user", "parts": [{"text": "And?"}]}]
    httpx2.post(proxy.url + path, json={"contents": contents})
    one, two = (json.loads(received(raw_upstream, i))["contents"] for i in (0, 1))
    assert "--canary" in json.dumps(one[1])
    assert two[:2] == one
    proxy.stop()
    usage = next(iter(proxy.app.ledger.entries())).usage
    assert (usage.input, usage.cache_read, usage.output) == (15, 5, 3)
    assert "of-the-client" not in "".join(p.read_text() for p in proxy.app.journals())


@pytest.mark.parametrize(
    ("encoding", "pack", "unpack"),
    [
        ("zstd", zstandard.compress, lambda data: zstandard.decompress(data, 1_000_000)),
        ("gzip", gzip.compress, gzip.decompress),
    ],
)
def test_a_compressed_body_is_read_and_stays_compressed(
    start, raw_upstream, encoding, pack, unpack
):
    raw_upstream.answers = [response(b"{}")]
    proxy = start(upstream=raw_upstream.url)
    remember(proxy, FACT)
    headers = {**HEADERS, "content-encoding": encoding}
    httpx2.post(
        f"{proxy.url}/v1/messages", content=pack(json.dumps(BODY).encode()), headers=headers
    )
    assert "--canary" in unpack(received(raw_upstream)).decode()


def test_an_unknown_encoding_passes(start, raw_upstream):
    raw_upstream.answers = [response(b"{}")]
    proxy = start(upstream=raw_upstream.url)
    headers = {**HEADERS, "content-encoding": "secret"}
    httpx2.post(f"{proxy.url}/v1/messages", content=b"\x01\x02", headers=headers)
    assert received(raw_upstream) == b"\x01\x02"


@pytest.mark.parametrize(
    "held", [{"thread": {"type": "create"}}, {"compaction": {"type": "summarize"}}]
)
def test_a_history_that_the_provider_holds_is_left_alone(start, raw_upstream, held):
    raw_upstream.answers = [response(b"{}")]
    proxy = start(upstream=raw_upstream.url)
    remember(proxy, FACT)
    body = json.dumps({**BODY, **held}).encode()
    httpx2.post(f"{proxy.url}/v1/messages", content=body, headers=HEADERS)
    assert received(raw_upstream) == body


def test_what_is_not_ours_to_change_stays(start, raw_upstream):
    """Unknown fields, blocks and numbers keep their bytes beside an added memory."""
    raw_upstream.answers = [response(b"{}")]
    proxy = start("proxy.marks=false", upstream=raw_upstream.url)
    remember(proxy, FACT)
    element = '{"role":"user","content":[{"type":"hologram","x":1.50},{"type":"text","text":"%s","new":[]}]}'
    body = f'{{"future":{{"a":1e3}},"messages":[{element % QUESTION}],"model":"claude-opus-4-8","max_tokens":9}}'
    httpx2.post(f"{proxy.url}/v1/messages", content=body.encode(), headers=HEADERS)
    before, _, after = body.partition(element % QUESTION)
    sent = received(raw_upstream).decode()
    assert sent.startswith(before + element % QUESTION + ",")
    assert sent.endswith(after)
    assert "--canary" in sent


def test_a_turn_is_learnt_from(start, provider):
    proxy = start()
    said(proxy, messages=[user("Please remember: the staging database listens on port 6543.")])
    proxy.stop()
    found = proxy.app.memory().store.listing()
    assert any("6543" in str(topic) for topic in found) or _proposed(proxy, "6543")


def _proposed(proxy, word: str) -> bool:
    folder = proxy.app.project.folder
    return any(word in p.read_text("utf-8", "ignore") for p in folder.rglob("*.md"))


def test_a_side_request_of_an_agent_is_only_booked(start, provider):
    proxy = start()
    remember(proxy, FACT)
    agent = claude(proxy, default_headers={"user-agent": "claude-cli/2.1.197"})
    agent.messages.create(model="claude-haiku-4-5", max_tokens=20, messages=[user(QUESTION)])
    assert provider.requests[0].json["messages"] == [user(QUESTION)]
    proxy.stop()
    assert [entry.purpose for entry in proxy.app.ledger.entries()] == ["client"]
    assert proxy.app.journals() == []


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("claude-cli/2", "Environment:\n - Primary working directory: {}\n - more"),
        ("codex_exec/0.1", "<environment_context>\n  <cwd>{}</cwd>\n</environment_context>"),
        ("opencode/1.1", "<env>\n  Working directory: {}\n  Workspace root folder: {}\n</env>"),
        ("GeminiCLI/0.6", "- **Workspace Directories:**\n  - {}\n- **Directory Structure:**"),
    ],
)
@pytest.mark.parametrize("titled", [False, True], ids=["", "title first"])
def test_the_project_is_where_the_client_works(start, provider, place, agent, words, titled):
    other = place.base / "other"
    other.mkdir()
    proxy = start()
    headers = {"user-agent": agent, "x-session-id": "abc"}
    tools = [{"name": "Read", "input_schema": {"type": "object"}}]
    model = claude(proxy, default_headers=headers)
    if titled:
        provider.problems = list
        model.messages.create(model="claude-haiku-4-5", max_tokens=9, messages=[user("a title")])
    model.messages.create(
        model="claude-opus-4-8", max_tokens=20, messages=[user("hi")], tools=tools,
        system=words.replace("{}", str(other)),
    )  # fmt: skip
    proxy.stop()
    assert proxy.app.journals() == []
    assert len(list((place.home / "projects").glob("*other*/sessions/*-abc-*.jsonl"))) == 1


def test_few_bodies_are_remembered():
    from reverie.proxy import body

    bodies = body.Bodies()
    for i in range(3 * body._MOST_KEYS):
        bodies.read(
            f'{{"n": {i}, "messages": [{{"role": "user", "content": "hello"}}]}}', "messages"
        )
    assert len(bodies._recent) == body._MOST_KEYS
    for i in range(3 * body._ALIKE):
        text = f'{{"model": "{"m" * 400}", "messages": [{{"role": "user", "content": "{i}"}}]}}'
        bodies.read(text, "messages")
    assert len(next(reversed(bodies._recent.values()))) == body._ALIKE
    assert bodies._size == sum(one.length for alike in bodies._recent.values() for one in alike)
