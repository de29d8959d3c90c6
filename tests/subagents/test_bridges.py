"""Bridges: found by id or the start of one, told apart from the dead, and never outside their folder."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from tests.place import NOON, FixedClock
from tests.subagents.socket_speaking import (
    Recipient,
    as_root,
    left_behind,
    letter,
    mode,
    short_folder,
)

from reverie.errors import InputError
from reverie.files.locks import this_host
from reverie.subagents.agent_socket import listening, send
from reverie.subagents.bridges import FOLDER, Bridge, find, listed, register
from reverie.subagents.letters import Refused, Sent
from reverie.subagents.socket_files import Door, occupant, socket_path

ID = "20250615-120000-abcdef"
OTHER = "20250615-120000-fedcba"
SOCKET = Path("/run/user/1/x.sock")
_FORK = multiprocessing.get_context("fork")


@pytest.fixture
def home() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


def entry(home: Path, id: str = ID) -> Path:
    return home / FOLDER / f"{id}.json"


def write(home: Path, said: object, id: str = ID) -> Path:
    """As another program would."""
    path = entry(home, id)
    path.parent.mkdir(exist_ok=True)
    path.write_text(said if isinstance(said, str) else json.dumps(said))
    path.chmod(0o600)
    return path


def reason(found: Bridge | Refused) -> str:
    assert isinstance(found, Refused)
    return found.reason


def gone_pid() -> int:
    """The number of a process that has ended."""
    process = _FORK.Process(target=int)
    process.start()
    process.join()
    assert process.pid is not None
    return process.pid


async def test_a_session_is_reached_under_its_id(home: Path, clock: FixedClock) -> None:
    path = socket_path(home, ID)
    taken = Recipient()
    async with listening(path, taken):
        with register(home, ID, path, clock) as bridge:
            assert find(home, ID) == bridge
            assert await send(bridge.socket, letter(1)) == Sent(letter(1))
    assert taken.letters == [letter(1)]


def test_an_entry_is_for_our_eyes_and_goes_with_us(home: Path, clock: FixedClock) -> None:
    with register(home, ID, SOCKET, clock):
        assert mode(entry(home)) == 0o600
        assert mode(home / FOLDER) == 0o700
        said = json.loads(entry(home).read_text())
        assert said["socket"] == str(SOCKET)
        assert (said["pid"], said["host"], said["since"]) == (os.getpid(), this_host(), NOON)
    assert list((home / FOLDER).iterdir()) == []


def test_it_goes_also_when_things_go_wrong(home: Path, clock: FixedClock) -> None:
    with pytest.raises(KeyboardInterrupt), register(home, ID, SOCKET, clock):
        raise KeyboardInterrupt
    assert listed(home) == ()


def test_the_start_of_an_id_is_enough_if_it_is_the_only_one(home: Path, clock: FixedClock) -> None:
    with register(home, ID, SOCKET, clock) as one, register(home, OTHER, SOCKET, clock) as other:
        assert listed(home) == (one, other)
        assert find(home, "20250615-120000-a") == one
        assert find(home, OTHER) == other
        said = reason(find(home, "2025"))
        assert ID in said
        assert OTHER in said
        assert "give more of the id" in said
        with register(home, "2025", SOCKET, clock) as exact:
            assert find(home, "2025") == exact


def test_nobody_of_that_id(home: Path, clock: FixedClock) -> None:
    assert "registered are: none" in reason(find(home, ID))
    assert listed(home) == ()
    assert list(home.iterdir()) == []
    with register(home, OTHER, SOCKET, clock):
        assert f"registered are: {OTHER}" in reason(find(home, ID))


def test_one_id_is_one_process(home: Path, clock: FixedClock) -> None:
    with register(home, ID, SOCKET, clock) as bridge:
        # However long it runs.
        clock.advance(100_000)
        with pytest.raises(InputError, match=f"{os.getpid()} is registered as '{ID}' already"):
            register(home, ID, SOCKET, clock).__enter__()
        assert find(home, ID) == bridge


def _registered(home: Path, pipe: Connection) -> None:
    path = socket_path(home, ID)
    door = Door(path)
    with register(home, ID, path, FixedClock()):
        pipe.send("ready")
        pipe.recv()
    door.close()


def test_the_killed_are_told_of_once_and_cleaned_up(home: Path, clock: FixedClock) -> None:
    here, there = _FORK.Pipe()
    process = _FORK.Process(target=_registered, args=(home, there), daemon=True)
    process.start()
    here.recv()
    found = find(home, "2025")
    assert isinstance(found, Bridge)
    assert found.holder.pid == process.pid
    process.kill()
    process.join()
    assert occupant(found.socket) == "dead"
    assert f"'{ID}' has ended: its process {process.pid} is gone" in reason(find(home, "2025"))
    assert not entry(home).exists()
    assert occupant(found.socket) == "nothing"
    assert "registered are: none" in reason(find(home, "2025"))
    with register(home, ID, SOCKET, clock) as bridge:
        assert listed(home) == (bridge,)


def test_a_dead_one_gives_way_and_is_not_listed(home: Path, clock: FixedClock) -> None:
    pid = gone_pid()
    write(home, {"socket": str(SOCKET), "pid": pid})
    with register(home, ID, SOCKET, clock) as bridge:
        assert find(home, ID) == bridge
    write(home, {"socket": str(SOCKET), "pid": pid})
    assert listed(home) == ()
    assert not entry(home).exists()


def test_an_exact_id_that_has_ended_is_not_somebody_elses(home: Path, clock: FixedClock) -> None:
    write(home, {"socket": str(SOCKET), "pid": gone_pid()}, id="2025")
    with register(home, ID, SOCKET, clock):
        assert "'2025' has ended" in reason(find(home, "2025"))


def test_another_process_under_its_number_is_not_it(home: Path) -> None:
    said = {"socket": str(SOCKET), "pid": os.getpid(), "host": this_host(), "started": "long ago"}
    write(home, said)
    assert "has ended" in reason(find(home, ID))


def test_only_a_socket_of_our_own_place_is_cleaned_up(home: Path) -> None:
    elsewhere = home / "theirs.sock"
    left_behind(elsewhere)
    write(home, {"socket": str(elsewhere), "pid": gone_pid()})
    assert listed(home) == ()
    assert occupant(elsewhere) == "dead"


async def test_the_socket_of_a_session_that_came_back_stays(home: Path) -> None:
    path = socket_path(home, ID)
    write(home, {"socket": str(path), "pid": gone_pid()})
    async with listening(path, Recipient()):
        assert "has ended" in reason(find(home, ID))
        assert occupant(path) == "alive"


def test_another_program_needs_to_say_little(home: Path) -> None:
    write(home, {"socket": str(SOCKET), "pid": os.getpid(), "name": "an editor"}, id="editor-1")
    found = find(home, "editor")
    assert isinstance(found, Bridge)
    assert (found.id, found.socket, found.holder.pid) == ("editor-1", SOCKET, os.getpid())


def test_another_computer_is_out_of_reach(home: Path, clock: FixedClock) -> None:
    write(home, {"socket": str(SOCKET), "pid": gone_pid(), "host": "elsewhere"})
    assert "runs on another computer (elsewhere)" in reason(find(home, ID))
    assert listed(home) == ()
    assert entry(home).exists()
    with register(home, ID, SOCKET, clock) as bridge:
        assert find(home, ID) == bridge


def test_an_entry_that_became_somebody_elses_stays(home: Path, clock: FixedClock) -> None:
    with register(home, ID, SOCKET, clock):
        write(home, {"socket": str(SOCKET), "pid": os.getpid(), "token": "theirs"})
    assert entry(home).exists()


@pytest.mark.parametrize(
    "said",
    [
        "",
        "{",
        "[]",
        "[" * 10_000,
        "x" * 20_000,
        {"socket": str(SOCKET)},
        {"pid": 1},
        {"socket": "relative.sock", "pid": 1},
        {"socket": "/" + "x" * 200, "pid": 1},
        {"socket": str(SOCKET), "pid": "1"},
        {"socket": str(SOCKET), "pid": 0},
        {"socket": str(SOCKET), "pid": -1},
        {"socket": str(SOCKET), "pid": 10**30},
    ],
)
def test_what_makes_no_sense_is_nobody(home: Path, said: object) -> None:
    path = write(home, said)
    assert "no bridge" in reason(find(home, ID))
    assert listed(home) == ()
    # It may be half written.
    assert path.exists()


def test_odd_additions_are_ignored(home: Path) -> None:
    write(home, {"socket": str(SOCKET), "pid": os.getpid(), "host": 7, "since": "x", "token": []})
    assert [bridge.id for bridge in listed(home)] == [ID]


def test_only_entries_are_read(home: Path, clock: FixedClock) -> None:
    with register(home, ID, SOCKET, clock) as bridge:
        good = entry(home).read_bytes()
        for name in (ID, f"{ID}.json.bak", "..json", ".hidden.json", "a b.json"):
            (home / FOLDER / name).write_bytes(good)
        (home / FOLDER / "link.json").symlink_to(entry(home))
        (home / FOLDER / "folder.json").mkdir()
        os.mkfifo(home / FOLDER / "pipe.json")
        assert listed(home) == (bridge,)


@as_root
def test_an_entry_of_somebody_else_is_not_believed(home: Path) -> None:
    path = write(home, {"socket": str(SOCKET), "pid": os.getpid()})
    os.chown(path, 65_534, 65_534)
    assert listed(home) == ()


def test_a_folder_others_can_write_to_is_refused(home: Path, clock: FixedClock) -> None:
    (home / FOLDER).mkdir()
    (home / FOLDER).chmod(0o777)
    with pytest.raises(InputError, match="not yours alone"):
        find(home, ID)
    with pytest.raises(InputError, match="not yours alone"):
        register(home, ID, SOCKET, clock).__enter__()


@pytest.mark.parametrize("id", ["", "..", "../bridges/x", "a/b", "/etc/passwd", "a.json", "a\0b"])
def test_ids_lead_nowhere_else(home: Path, clock: FixedClock, id: str) -> None:
    write(home, {"socket": str(SOCKET), "pid": os.getpid()}, id="x")
    assert "is no id" in reason(find(home, id))
    with pytest.raises(InputError, match="is no id"):
        register(home, id, SOCKET, clock).__enter__()
