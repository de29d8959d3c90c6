"""Long histories are read in a process of their own, with the same result as in this one."""

import asyncio
import subprocess

import pytest
from tests.context.saying import model, ran, story, user

from reverie.learning.extraction import reading
from reverie.learning.extraction.rules import find

LONG = story(
    user("Please remember that the release branch is cut on Thursdays."),
    model("Noted."),
    *(user(f"Run number {i}, please. " + "It failed again with the same line. " * 60) for i in range(12)),
    ran("pytest", "x" * 50_000),
    model("So we should always run the migrations before the deploy. Shall I remember that?"),
    user("Yes, please remember that."),
)  # fmt: skip


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What was given to processes."""
    given: list[bytes] = []
    run = subprocess.run

    def watched(command, *, input, **options):
        given.append(input)
        return run(command, input=input, **options)

    monkeypatch.setattr(reading.subprocess, "run", watched)
    return given


def test_a_long_history_is_read_elsewhere_with_the_same_result(commands: list[bytes]) -> None:
    found = asyncio.run(reading.apart(LONG[-1:], LONG[:-1]))
    assert not commands
    everything = asyncio.run(reading.apart(LONG, ()))
    assert len(commands) == 1
    assert everything == find(LONG)
    assert any("Thursdays" in one.text for one in everything)
    assert found == find(LONG[-1:], LONG[:-1])


def test_only_words_are_sent_and_of_earlier_messages_the_last(commands: list[bytes]) -> None:
    again = story(*(user("Go on. " * 4_000) for _ in range(2)))
    assert asyncio.run(reading.apart(again, LONG[:-1])) == find(again, LONG[:-1])
    assert b"xxxxx" not in commands[0]
    assert b"Thursdays" not in commands[0]
    assert b"migrations" in commands[0]


def test_a_process_that_fails_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading.sys, "executable", "/bin/false")
    assert asyncio.run(reading.apart(LONG, ())) == find(LONG)
