"""The server itself: starting, stopping, sharing, and running by hand."""

import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import anthropic
import pytest
from tests.provider import (
    Gate,
    Held,
    Provider,
    ProviderServer,
    RecordedRequest,
    Reply,
    Text,
    serving,
)
from tests.provider.blocks import count_block
from tests.provider.samples import ask, call, prose, result, text, user

ROOT = Path(__file__).parents[2]


def test_a_provider_with_a_server_of_its_own() -> None:
    before = _server_threads()
    with serving(Provider(window={"claude-haiku-4-5": 5})) as mine:
        with anthropic.Anthropic(base_url=mine.anthropic_url, api_key="k") as client:
            client.messages.create(**ask(user("hi"), model="claude-haiku-4-5"))
        assert len(mine.requests) == 1
    assert _server_threads() == before


def _server_threads() -> int:
    return [thread.name for thread in threading.enumerate()].count("provider")


def test_a_fresh_provider_remembers_nothing(provider_server: ProviderServer) -> None:
    first = provider_server.serve(Provider())
    with anthropic.Anthropic(base_url=provider_server.url, api_key="k") as client:
        client.messages.create(**ask(user("hi")))
        second = provider_server.serve(Provider())
        client.messages.create(**ask(user("something else")))
    assert (len(first.requests), len(second.requests)) == (1, 1)
    assert second.problems() == []


def test_a_forgotten_gate_is_opened_when_the_provider_goes(provider_server: ProviderServer) -> None:
    held = provider_server.serve(Provider())
    gate = Gate()
    held.script(Held(Reply((Text("late"),)), gate))
    said: list[str] = []

    def wait() -> None:
        with anthropic.Anthropic(base_url=held.anthropic_url, api_key="k") as client:
            said.append(str(client.messages.create(**ask(user("hi"))).content[0].to_dict()["text"]))

    thread = threading.Thread(target=wait)
    thread.start()
    gate.wait_reached()
    provider_server.serve(Provider())
    thread.join(5)
    assert said == ["late"]


def test_a_mistake_of_the_server_fails_the_test_by_name(
    provider: Provider, claude: anthropic.Anthropic
) -> None:
    def broken(request: RecordedRequest) -> str:
        raise LookupError(f"no answer for request {request.index}")

    provider.expect_violation("server")
    provider.script(broken)
    with pytest.raises(anthropic.InternalServerError, match="no answer for request 0"):
        claude.messages.create(**ask(user("hi")))


def test_the_clock_goes_forwards(provider: Provider) -> None:
    with pytest.raises(ValueError, match="forwards"):
        provider.clock.advance(-1)


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        (text(""), 1),
        (text(prose(7)), 7),
        (text(prose(7) + "é"), 8),
        (result("t", prose(3)), 3),
        (result("t", ""), 1),
        ({"type": "tool_result", "tool_use_id": "t"}, 1),
        # {"name":"read","input":{}} is 26 bytes.
        (call("t", "read"), 13),
        ({"type": "image", "source": {}}, 1600),
        ({"type": "thinking", "thinking": "abcd", "signature": "not counted"}, 1),
    ],
)
def test_the_token_rule(block: dict[str, object], tokens: int) -> None:
    assert count_block(block) == tokens


def test_by_hand() -> None:
    command = [sys.executable, "-m", "tests.provider", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert url is not None
        with anthropic.Anthropic(base_url=url.group(), api_key="k") as client:
            reply = client.messages.create(**ask(user("hello")))
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert reply.content[0].to_dict()["text"] == "echo: hello"


def test_help() -> None:
    command = [sys.executable, "-m", "tests.provider", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "--port" in done.stdout
