"""The files of sockets: ours alone, where a socket can lie, gone with the listener or given way."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from tests.subagents.socket_speaking import (
    NOBODY,
    Recipient,
    as_root,
    calling,
    left_behind,
    letter,
    mode,
    reason,
    short_folder,
)

from reverie.errors import InputError, StorageError
from reverie.subagents.agent_socket import framed, listening, send
from reverie.subagents.letters import Sent, render
from reverie.subagents.socket_files import LONGEST_PATH, Door, occupant, socket_path, sweep

_FORK = multiprocessing.get_context("fork")


@pytest.fixture
def home() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


@pytest.fixture
def path(home: Path) -> Path:
    return socket_path(home, "20250615-120000-abcdef")


async def test_the_file_is_ours_alone_and_goes_with_us(path: Path) -> None:
    before = os.umask(0)
    try:
        async with listening(path, Recipient()):
            assert mode(path) == 0o600
            assert mode(path.parent) == 0o700
    finally:
        os.umask(before)
    assert occupant(path) == "nothing"
    assert "nobody listens" in reason(await send(path, letter(1)))


async def test_two_cannot_listen_at_one_path(path: Path) -> None:
    taken = Recipient()
    async with listening(path, taken):
        with pytest.raises(InputError, match="another session listens"):
            async with listening(path, Recipient()):
                pass
        assert isinstance(await send(path, letter(1)), Sent)
    assert len(taken.letters) == 1
    async with listening(path, taken):
        assert isinstance(await send(path, letter(2)), Sent)


def _listener(path: Path, pipe: Connection) -> None:
    async def listen() -> None:
        async with listening(path, Recipient()):
            pipe.send("ready")
            await asyncio.Event().wait()

    asyncio.run(listen())


def test_the_file_of_a_killed_process_gives_way(path: Path) -> None:
    here, there = _FORK.Pipe()
    process = _FORK.Process(target=_listener, args=(path, there), daemon=True)
    process.start()
    here.recv()
    with pytest.raises(InputError, match="another session listens"):
        Door(path)
    assert not sweep(path)
    process.kill()
    process.join()
    assert occupant(path) == "dead"

    async def take_over() -> None:
        async with listening(path, Recipient()):
            assert isinstance(await send(path, letter(1)), Sent)

    asyncio.run(take_over())


def test_what_is_no_socket_does_not_give_way(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_text("precious")
    with pytest.raises(InputError, match="is not a socket"):
        Door(path)
    assert path.read_text() == "precious"


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_others_can_write_to_is_refused(path: Path, mode: int) -> None:
    path.parent.mkdir()
    path.parent.chmod(mode)
    with pytest.raises(InputError, match="not yours alone"):
        Door(path)


@as_root
def test_a_folder_of_somebody_else_is_refused(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    os.chown(path.parent, NOBODY, NOBODY)
    with pytest.raises(InputError, match="not yours alone"):
        Door(path)


def test_a_link_for_a_folder_is_refused(home: Path) -> None:
    (home / "real").mkdir(mode=0o700)
    (home / "sockets").symlink_to(home / "real")
    with pytest.raises(StorageError, match="cannot listen at"):
        Door(home / "sockets" / "s.sock")


async def test_cancelled_it_leaves_nothing(path: Path) -> None:
    ready = asyncio.Event()

    async def listen() -> None:
        async with listening(path, Recipient()):
            ready.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(listen())
    await ready.wait()
    async with calling(path) as caller:
        await caller.say(framed(render(letter(1))))
        assert await caller.hear() == {"taken": "worker-1"}
        await caller.say(framed(render(letter(2)))[:9])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert occupant(path) == "nothing"
        assert await caller.hear() is None


def test_a_file_that_took_its_place_stays(path: Path) -> None:
    door = Door(path)
    path.unlink()
    path.write_text("somebody else's")
    door.close()
    assert path.read_text() == "somebody else's"


def test_a_hidden_door_removes_nothing_later(path: Path) -> None:
    first = Door(path)
    first.hide()
    # As the event loop does. Now the disk may give the next file the same number.
    first.socket.close()
    second = Door(path)
    first.close()
    assert occupant(path) == "alive"
    second.close()
    assert occupant(path) == "nothing"


def test_a_home_with_a_long_path_has_its_sockets_elsewhere(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(home))
    deep = home / ("d" * 100)
    assert socket_path(home, "a-1") == home / "sockets" / "a-1.sock"
    found = socket_path(deep, "a-1")
    assert found.parent == home / f"reverie-{os.geteuid()}"
    assert len(os.fsencode(found)) <= LONGEST_PATH
    assert found == socket_path(deep, "a-1")
    assert found not in {socket_path(deep, "a-2"), socket_path(deep / "e", "a-1")}
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with pytest.raises(InputError, match="TMPDIR"):
        socket_path(deep, "a-1")


@pytest.mark.parametrize("id", ["", "..", "a/b", "../a", ".a", "a.b", "a\0", "a" * 65, "é", "-a"])
def test_ids_are_names_and_no_paths(home: Path, id: str) -> None:
    with pytest.raises(InputError, match="is no id"):
        socket_path(home, id)


def test_only_the_dead_are_swept(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    assert not sweep(path)
    left_behind(path)
    assert sweep(path)
    assert not path.exists()
    path.write_text("precious")
    assert not sweep(path)
