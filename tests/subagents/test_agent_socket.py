"""Letters over a socket: whoever is at the other end, the listener goes on and the sender is told."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from tests.subagents.socket_speaking import (
    NOBODY,
    Recipient,
    as_root,
    calling,
    descriptors,
    left_behind,
    letter,
    reason,
    short_folder,
)

from reverie.core.codec import dump
from reverie.errors import InputError
from reverie.subagents.agent_socket import LARGEST_FRAME, MOST_CONNECTIONS, framed, listening, send
from reverie.subagents.letters import LARGEST_LETTER, Letter, Refused, Sent, render
from reverie.subagents.socket_files import LONGEST_PATH, socket_path

_FORK = multiprocessing.get_context("fork")


@pytest.fixture
def home() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


@pytest.fixture
def path(home: Path) -> Path:
    return socket_path(home, "20250615-120000-abcdef")


@pytest.fixture
def open_home(home: Path) -> Path:
    """Others may look into it."""
    home.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def _nothing_stays_open() -> Iterator[None]:
    before = descriptors()
    yield
    assert descriptors() <= before


# --- letters ---


async def test_letters_arrive_whole_and_in_order(path: Path) -> None:
    taken = Recipient()
    sent = [letter(number, text="é" * number) for number in range(1, 21)]
    async with listening(path, taken):
        for each in sent:
            assert await send(path, each) == Sent(each)
    assert taken.letters == sent


async def test_one_connection_carries_several(path: Path) -> None:
    taken = Recipient()
    async with listening(path, taken), calling(path) as caller:
        await caller.say(b"".join(framed(render(letter(number))) for number in (1, 2, 3)))
        answers = [await caller.hear() for _ in range(3)]
        caller.writer.write_eof()
        assert await caller.hear() is None
    assert answers == [{"taken": f"worker-{number}"} for number in (1, 2, 3)]
    assert [each.id for each in taken.letters] == ["worker-1", "worker-2", "worker-3"]


async def test_the_largest_letter_fits(path: Path) -> None:
    taken = Recipient()
    room = LARGEST_LETTER - len(render(letter(1, text="")))
    largest = letter(1, text="x" * room)
    async with listening(path, taken):
        assert await send(path, largest) == Sent(largest)
        too_large = letter(2, text="x" * (room + 1))
        assert "write the content to a file" in reason(await send(path, too_large))
    assert taken.letters == [largest]


async def test_what_the_recipient_says_reaches_the_sender(path: Path) -> None:
    async with listening(path, Recipient("nobody here\nis called 'lead'")):
        assert "nobody here is called 'lead'" in reason(await send(path, letter(1)))


async def test_a_recipient_that_fails_ends_nothing(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    taken = Recipient()

    def deliver(arrived: Letter) -> str | None:
        return taken(arrived) if arrived.id == "worker-2" else str(1 // 0)

    async with listening(path, deliver):
        assert "failed to take it" in reason(await send(path, letter(1)))
        assert isinstance(await send(path, letter(2)), Sent)
    assert "worker-1 could not be delivered" in caplog.text


# --- what is no letter ---


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param((LARGEST_FRAME + 1).to_bytes(4, "big"), "not 266,241", id="oversized"),
        pytest.param(b"\xff\xff\xff\xff", "not 4,294,967,295", id="as large as can be"),
        pytest.param(bytes(4), "not 0", id="empty"),
        pytest.param(framed(b"{"), "not JSON", id="not JSON"),
        pytest.param(framed(b"\xff\xfe"), "not UTF-8", id="not UTF-8"),
        pytest.param(framed(b"[" * 200_000), "not JSON", id="deep"),
        pytest.param(framed(b"[]"), "not a JSON object", id="a list"),
        pytest.param(framed(b'{"sender":"worker"}'), "lacks", id="half a letter"),
        pytest.param(
            framed(dump({**json.loads(render(letter(1))), "sender": "user"})), "reserved", id="user"
        ),
    ],
)
async def test_what_is_no_letter_is_answered_and_hung_up_on(
    path: Path, data: bytes, said: str
) -> None:
    taken = Recipient()
    async with listening(path, taken):
        async with calling(path) as caller:
            await caller.say(data)
            assert said in (await caller.hear())["error"]
            assert await caller.hear() is None
        assert isinstance(await send(path, letter(2)), Sent)
    assert [each.id for each in taken.letters] == ["worker-2"]


@pytest.mark.parametrize(
    ("kept", "said"), [(2, "after 2 of 4"), (4, "after 0 of"), (50, "after 46 of")]
)
async def test_a_torn_frame_is_no_letter(path: Path, kept: int, said: str) -> None:
    taken = Recipient()
    async with listening(path, taken), calling(path) as caller:
        await caller.say(framed(render(letter(1)))[:kept])
        caller.writer.write_eof()
        assert said in (await caller.hear())["error"]
        assert await caller.hear() is None
    assert taken.letters == []


@pytest.mark.parametrize("said", [0, 3, 60])
async def test_who_is_too_slow_is_hung_up_on(path: Path, said: int) -> None:
    async with listening(path, Recipient(), seconds=0.02), calling(path) as caller:
        await caller.say(framed(render(letter(1)))[:said])
        assert "within 0.02 seconds" in (await caller.hear())["error"]
        assert await caller.hear() is None


async def test_who_never_reads_the_answers_is_hung_up_on(path: Path) -> None:
    taken = Recipient()
    many = b"".join(framed(render(letter(number))) for number in range(1_000))
    async with listening(path, taken, seconds=0.05), calling(path) as caller:
        caller.writer.transport.pause_reading()

        async def flood() -> None:
            while True:
                await caller.say(many)

        with pytest.raises(ConnectionError):
            await flood()


async def test_who_hangs_up_at_once_ends_nothing(path: Path) -> None:
    taken = Recipient()
    async with listening(path, taken):
        for _ in range(3):
            async with calling(path) as caller:
                await caller.say(framed(render(letter(1)))[:9])
        assert isinstance(await send(path, letter(2)), Sent)


async def test_so_many_connections_and_no_more(path: Path) -> None:
    async with listening(path, Recipient()), AsyncExitStack() as crowd:
        callers = [await crowd.enter_async_context(calling(path)) for _ in range(MOST_CONNECTIONS)]
        assert "32 connections" in reason(await send(path, letter(1)))
        await callers[0].say(framed(b"{}"))
        assert "error" in await callers[0].hear()
        assert await callers[0].hear() is None
        async with asyncio.timeout(5):
            while isinstance(await send(path, letter(1)), Refused):
                pass
        # Those that waited meanwhile are served.
        await callers[1].say(framed(render(letter(2))))
        assert await callers[1].hear() == {"taken": "worker-2"}


# --- who may speak ---


async def test_only_one_user_is_heard(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    taken = Recipient()
    ours = os.geteuid()
    async with listening(path, taken, uid=ours + 1):
        said = reason(await send(path, letter(1, text="x" * 250_000)))
        assert f"you are user {ours}; only user {ours + 1} is heard" in said
    assert taken.letters == []
    assert f"you are user {ours}" in caplog.text


def _stranger(path: Path, pipe: Connection) -> None:
    """Another user's process; it calls when it is told to, and repeats what it heard."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    pipe.recv()
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(path))
        except OSError as error:
            pipe.send(type(error).__name__)
            return
        heard = b""
        # It may hang up before it has heard us out.
        with suppress(ConnectionError):
            connection.sendall(framed(render(letter(1))))
        with suppress(ConnectionError):
            while more := connection.recv(1_000):
                heard += more
    pipe.send(heard.decode("utf-8", "replace"))


@as_root
@pytest.mark.parametrize(
    ("mode", "said"), [(0o600, "PermissionError"), (0o666, f"you are user {NOBODY}")]
)
async def test_another_users_process_is_not_heard(open_home: Path, mode: int, said: str) -> None:
    path = open_home / "s.sock"
    here, there = _FORK.Pipe()
    process = _FORK.Process(target=_stranger, args=(path, there), daemon=True)
    process.start()
    taken = Recipient()
    async with listening(path, taken):
        path.chmod(mode)
        here.send("now")
        assert said in await asyncio.to_thread(here.recv)
        path.chmod(0o600)
        assert isinstance(await send(path, letter(2)), Sent)
    process.join()
    here.close()
    there.close()
    assert [each.id for each in taken.letters] == ["worker-2"]


@as_root
async def test_nothing_is_said_to_a_strangers_socket(path: Path) -> None:
    taken = Recipient()
    async with listening(path, taken):
        os.chown(path, NOBODY, NOBODY)
        assert f"belongs to another user ({NOBODY})" in reason(await send(path, letter(1)))
    assert taken.letters == []


def _impostor(path: Path, pipe: Connection) -> None:
    """Another user's process that listens at a file which looks like ours."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        os.setuid(NOBODY)
        listener.listen()
        pipe.send("ready")
        pipe.recv()


@as_root
async def test_nothing_is_said_to_a_strangers_process(home: Path) -> None:
    path = home / "s.sock"
    here, there = _FORK.Pipe()
    process = _FORK.Process(target=_impostor, args=(path, there), daemon=True)
    process.start()
    here.recv()
    assert f"belongs to another user ({NOBODY})" in reason(await send(path, letter(1)))
    here.send("enough")
    process.join()
    here.close()
    there.close()


# --- nobody at the other end ---


@contextmanager
def hung(path: Path, waiting: int) -> Iterator[None]:
    """A process that listens and never picks up."""
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(waiting)
        yield


def no_file(path: Path) -> None:
    pass


def no_folder(path: Path) -> None:
    path.parent.rmdir()


def plain_file(path: Path) -> None:
    path.write_text("hello")


def link(path: Path) -> None:
    real = path.with_name("real.sock")
    left_behind(real)
    path.symlink_to(real)


@pytest.mark.parametrize(
    ("put", "said"),
    [
        (no_file, "nobody listens"),
        (no_folder, "nobody listens"),
        (left_behind, "nobody listens"),
        (plain_file, "is not a socket"),
        (link, "is not a socket"),
    ],
)
async def test_the_sender_is_told_that_nobody_is_there(
    path: Path, put: Callable[[Path], None], said: str
) -> None:
    path.parent.mkdir(mode=0o700)
    put(path)
    assert said in reason(await send(path, letter(1)))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (Path("/tmp") / ("x" * LONGEST_PATH), f"at most {LONGEST_PATH} are possible"),
        (Path("s.sock"), "from / on"),
        (Path("/tmp/\0s.sock"), "from / on"),
    ],
)
async def test_a_path_that_is_no_address(path: Path, said: str) -> None:
    assert said in reason(await send(path, letter(1)))
    with pytest.raises(InputError, match=said):
        async with listening(path, Recipient()):
            pass


@pytest.mark.parametrize("size", [5, 250_000])
async def test_the_sender_does_not_wait_for_ever(path: Path, size: int) -> None:
    with hung(path, waiting=8):
        said = reason(await send(path, letter(1, text="x" * size), seconds=0.02))
    assert "within 0.02 seconds; it is not known whether the letter arrived" in said


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it looks as if nobody listened")
async def test_who_picks_up_no_more_is_busy(path: Path) -> None:
    with hung(path, waiting=0):
        async with calling(path):
            assert "too many are waiting" in reason(await send(path, letter(1)))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "hung up without an answer; it is not known whether the letter arrived"),
        (b"\x00\x00", "hung up without an answer"),
        (framed(b'{"taken":"worker-1"}')[:-4], "may not be a session"),
        (framed(b'{"taken":"worker-2"}'), "may not be a session"),
        (framed(b"HTTP"), "may not be a session"),
        (b"\xff\xff\xff\xff" + b"x" * 100_000, "may not be a session"),
        (framed(b'{"error":"busy"}'), "refused it: busy"),
    ],
)
async def test_what_another_program_may_answer(path: Path, answer: bytes, said: str) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(10)
        writer.write(answer)
        writer.close()

    path.parent.mkdir(mode=0o700)
    async with await asyncio.start_unix_server(speak, path):
        assert said in reason(await send(path, letter(1, text="x" * 250_000)))


async def test_a_letter_that_cannot_be_sent_is_not(path: Path) -> None:
    taken = Recipient()
    async with listening(path, taken):
        assert "the message is empty" in reason(await send(path, replace(letter(1), text="")))
    assert taken.letters == []
