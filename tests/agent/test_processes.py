"""Whenever a program is given up, it and its children are gone."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from reverie.agent.processes import Inlet, found_program, inlet, program
from reverie.errors import InputError

ENVIRONMENT = {"PATH": os.environ["PATH"]}
CHILDREN = "sleep 100 & sleep 100 | sleep 100"


async def run(folder: Path, said: Inlet, *words: str) -> int:
    async with program(
        ["/bin/sh", "-c", *words], folder=folder, environment=ENVIRONMENT, output=said
    ) as process:
        return await process.wait()


@pytest.mark.parametrize("rounds", range(12))
async def test_cancelled_at_any_moment_nothing_is_left(tmp_path: Path, rounds: int) -> None:
    """Also while it is being started, when it may already run."""
    async with inlet(lambda data: True) as said:
        task = asyncio.create_task(run(tmp_path, said, CHILDREN))
        for _ in range(rounds):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await said.drained(20)


async def test_an_error_in_the_caller_ends_the_program(tmp_path: Path) -> None:
    async def careless(said: Inlet) -> None:
        async with program(
            ["/bin/sh", "-c", CHILDREN], folder=tmp_path, environment=ENVIRONMENT, output=said
        ):
            raise KeyError

    async with inlet(lambda data: True) as said:
        with pytest.raises(KeyError):
            await careless(said)
        assert await said.drained(20)


async def test_who_has_enough_stops_the_writer(tmp_path: Path) -> None:
    taken: list[bytes] = []

    def take(data: bytes) -> bool:
        taken.append(data)
        return False

    async with inlet(take) as said, asyncio.timeout(20):
        assert await run(tmp_path, said, "exec yes") != 0
    assert len(taken) == 1


async def test_what_cannot_be_started_is_said(tmp_path: Path) -> None:
    async with inlet(lambda data: True) as said:
        with pytest.raises(InputError, match="could not be started in"):
            await run(tmp_path / "nowhere", said, "true")


def test_programs_are_found_on_the_given_path_only(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.touch(mode=0o644)
    environment = {"PATH": f"relative::{tmp_path}"}
    assert found_program("tool", environment) is None
    tool.chmod(0o755)
    assert found_program("tool", environment) == str(tool)
    assert found_program("tool", {"PATH": ""}) is None
