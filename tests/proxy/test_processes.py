"""The proxy as a process of its own: its log, doctor, a token, Ctrl-C, and a client started with it."""

from __future__ import annotations

import signal
import sys

import httpx2
import pytest
from tests.cli.run import data, done, process
from tests.proxy.conftest import proxy_process
from tests.proxy.test_conversations import user

HEADERS = {"authorization": "Bearer k", "anthropic-version": "2026-10-21"}
BODY = {"model": "claude-opus-4-8", "max_tokens": 9, "messages": [user("hello")]}
# A client that asks once, says what it was given, and ends with a code of its own.
CLIENT = f"""
import json, os, sys, urllib.request
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
headers = {HEADERS!r} | {{"content-type": "application/json"}}
request = urllib.request.Request(url, json.dumps({BODY!r}).encode(), headers)
print(json.load(urllib.request.urlopen(request))["role"], os.environ["ENABLE_TOOL_SEARCH"])
sys.exit(7)
"""


@pytest.fixture
def broken(place):
    """A project where no session can be kept: a file is where its folder should be."""
    sessions = place.app().project.sessions
    sessions.parent.mkdir(parents=True, exist_ok=True)
    sessions.write_text("no folder")


def ended(child) -> int:
    child.send_signal(signal.SIGINT)
    return child.wait()


def test_why_something_failed_is_in_the_log_and_in_doctor(place, provider, broken):
    child, told = proxy_process(place, provider)
    with child:
        answer = httpx2.post(f"{told['url']}/v1/messages", json=BODY, headers=HEADERS)
        examined, status = done("doctor"), data("proxy", "status")
        assert ended(child) == 0
    assert answer.status_code == 200
    assert provider.requests[0].json["messages"] == BODY["messages"]
    assert "proxy: 1 × failed, so that nothing new was decided for the request" in examined
    assert "lock: File exists" in examined
    assert status["troubles"]["failed"] == 1
    assert "lock: File exists" in (place.home / "proxy.log").read_text()
    assert data("proxy", "status") == {"running": False}


def test_beyond_this_machine_the_token_is_asked_for_and_goes_no_further(place, provider):
    child, told = proxy_process(place, provider, "--listen", "0.0.0.0")
    url = told["url"].replace("0.0.0.0", "127.0.0.1")
    with child:
        refused = httpx2.post(f"{url}/v1/messages", json=BODY, headers=HEADERS)
        given = {**HEADERS, "x-reverie-token": told["token"]}
        answer = httpx2.post(f"{url}/v1/messages", json=BODY, headers=given)
        ended(child)
    assert (refused.status_code, answer.status_code) == (401, 200)
    assert "x-reverie-token" in refused.json()["error"]["message"]
    (sent,) = provider.requests
    assert "x-reverie-token" not in sent.headers


def run_client(place, provider, *options: str):
    upstream = f"proxy.upstream.anthropic={provider.base_url}"
    settings = ("--set", upstream, "--set", "proxy.patience=60000", "--home", place.home)
    return process(
        place, "proxy", *settings, *options, "run", "--", sys.executable, "-c", CLIENT
    )  # fmt: skip


def test_a_client_is_started_with_the_proxy(place, provider):
    ran = run_client(place, provider)
    assert (ran.returncode, ran.stdout, ran.stderr) == (7, "assistant true\n", "")
    assert len(place.app().journals()) == 1


def test_what_failed_is_said_when_the_client_has_ended(place, provider, broken):
    ran = run_client(place, provider)
    assert (ran.returncode, ran.stdout) == (7, "assistant true\n")
    assert "1 × failed" in ran.stderr
    assert str(place.home / "proxy.log") in ran.stderr


def test_a_client_of_this_machine_needs_no_other_address(place, provider):
    ran = run_client(place, provider, "--listen", "0.0.0.0")
    assert ran.returncode == 2
    assert "--listen goes with" in ran.stderr
    assert provider.requests == []


def test_a_second_proxy_at_the_same_port(place, provider):
    child, told = proxy_process(place, provider)
    with child:
        port = told["url"].rpartition(":")[2]
        second = process(place, "proxy", "--home", place.home, "--port", port)
        assert data("proxy", "status")["url"] == told["url"]
        ended(child)
    assert second.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in second.stderr
