"""Commands end with an exit code, at their time limit or when cancelled, and so do their children."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.agent.workplaces import call, workplace
from tests.place import git

from reverie.agent.kit import Capture
from reverie.agent.tools import Workplace
from reverie.core.messages import ToolResult


async def bash(desk: Workplace, command: str, **arguments: int) -> ToolResult:
    return await call(desk, "Bash", command=command, **arguments)


@pytest.mark.parametrize(
    ("command", "failed", "text"),
    [
        ("echo hello", False, "hello\n[exit code 0]"),
        ("echo out; echo err >&2", False, "out\nerr\n[exit code 0]"),
        ("true", False, "(no output)\n[exit code 0]"),
        ("echo x; exit 3", True, "x\n[exit code 3]"),
        ("false", True, "(no output)\n[exit code 1]"),
        ("kill -KILL $$", True, "(no output)\n[ended by signal 9 (Killed)]"),
        ("cat; echo end", False, "end\n[exit code 0]"),
        ("printf '\\377\\376ok'", False, "��ok\n[exit code 0]"),
        ("cat <<'E'\n$x `y`\nE\necho z", False, "$x `y`\nz\n[exit code 0]"),
        ("echo \"$# $0 '$1'\"", False, "0 bash ''\n[exit code 0]"),
        ("set -e; false; echo no", True, "(no output)\n[exit code 1]"),
        ("echo a\n\n\necho b # c", False, "a\nb\n[exit code 0]"),
        ("trap 'echo bye' EXIT; echo hi", False, "hi\nbye\n[exit code 0]"),
        ("[ -t 0 ] || echo no terminal", False, "no terminal\n[exit code 0]"),
    ],
)
async def test_output_and_code(desk: Workplace, command: str, failed: bool, text: str) -> None:
    result = await bash(desk, command)
    assert (result.is_error, result.text) == (failed, text)


async def test_a_broken_command_is_an_error_with_the_shells_words(desk: Workplace) -> None:
    result = await bash(desk, "if")
    assert result.is_error
    assert "syntax error" in result.text


async def test_the_environment_is_the_workplaces_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_TEST_SECRET", "x")
    result = await bash(workplace(tmp_path, COLOUR="blue"), "echo $COLOUR-$REVERIE_TEST_SECRET")
    assert result.text.startswith("blue-\n")


async def test_the_folder_is_kept_as_people_expect(desk: Workplace) -> None:
    (desk.root / "src" / "inner").mkdir(parents=True)
    moved = await bash(desk, "cd src")
    assert moved.text == "(no output)\n[exit code 0]\n[now in src]"
    assert (await bash(desk, "pwd")).text == f"{desk.root}/src\n[exit code 0]"
    failed = await bash(desk, "cd inner && false")
    assert failed.text.endswith("[exit code 1]\n[now in src/inner]")
    left = await bash(desk, "cd ../..; exit 7")
    assert left.text.endswith("[exit code 7]\n[now in .]")
    subshell = await bash(desk, "(cd src)")
    assert subshell.text == "(no output)\n[exit code 0]"


async def test_a_command_that_leaves_the_root_is_brought_back(desk: Workplace) -> None:
    (desk.root / "src").mkdir()
    await bash(desk, "cd src")
    result = await bash(desk, "cd / && pwd")
    assert result.text.startswith("/\n[exit code 0]\n[/ is outside the working directory")
    assert (await bash(desk, "pwd")).text.startswith(f"{desk.root}\n")


async def test_a_folder_that_is_gone_is_left_for_the_root(desk: Workplace) -> None:
    (desk.root / "src").mkdir()
    await bash(desk, "cd src")
    (desk.root / "src").rmdir()
    assert (await bash(desk, "pwd")).text.startswith(f"{desk.root}\n")


async def test_a_clone_moves_alone(desk: Workplace) -> None:
    (desk.root / "src").mkdir()
    clone = desk.clone()
    await bash(clone, "cd src")
    assert clone.shell_folder == desk.root / "src"
    assert desk.shell_folder is None


Over: TypeAlias = Callable[[], Awaitable[bytes]]


@pytest.fixture
def alive(desk: Workplace) -> Over:
    """The pipe `alive` in the workplace: what was written, once all who held it open are gone."""
    pipe = desk.root / "alive"
    os.mkfifo(pipe)

    async def over() -> bytes:
        async with asyncio.timeout(20):
            return await asyncio.to_thread(pipe.read_bytes)

    return over


async def test_a_command_ends_with_its_time_and_its_children_too(
    desk: Workplace, alive: Over
) -> None:
    over = asyncio.ensure_future(alive())
    command = "echo begun; exec 3>alive; sleep 100 & sleep 100"
    result = await bash(desk, command, timeout_seconds=1)
    assert result.is_error
    assert result.text == (
        "begun\n[time-out after 1 s: ended before it was done, with all it had started]"
    )
    assert await over == b""


async def test_a_command_that_ignores_being_asked_is_ended_all_the_same(desk: Workplace) -> None:
    result = await bash(desk, "trap '' TERM; while :; do sleep 1; done", timeout_seconds=1)
    assert "time-out after 1 s" in result.text


async def test_nothing_is_left_running(desk: Workplace, alive: Over) -> None:
    over = asyncio.ensure_future(alive())
    result = await bash(desk, "exec 3>alive; sleep 100 & echo begun")
    assert result.text == (
        "begun\n[exit code 0]\n[what it left running in the background was ended]"
    )
    assert await over == b""


async def test_one_who_left_the_group_does_not_hold_the_call(desk: Workplace) -> None:
    """It keeps the output open for as long as it lives; the call waits a moment, no more."""
    os.mkfifo(desk.root / "away")
    command = "setsid sh -c 'echo yes >away; exec sleep 100' & read x <away; echo $!"
    async with asyncio.timeout(20):
        result = await bash(desk, command)
    child, code, *_ = result.text.split("\n")
    assert code == "[exit code 0]"
    os.kill(int(child), signal.SIGKILL)


async def test_cancelling_ends_the_command_and_its_children(desk: Workplace, alive: Over) -> None:
    os.mkfifo(desk.root / "started")
    over = asyncio.ensure_future(alive())
    command = "exec 3>alive; sleep 100 & echo yes >started; wait"
    task = asyncio.create_task(bash(desk, command))
    assert await asyncio.to_thread((desk.root / "started").read_text) == "yes\n"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await over == b""


async def test_much_output_keeps_its_beginning_and_its_end(desk: Workplace) -> None:
    result = await bash(desk, "echo first; seq 200000; echo last")
    assert result.text.startswith("first\n1\n2\n")
    assert result.text.endswith("\n200000\nlast\n[exit code 0]")
    assert " bytes left out]\n" in result.text
    assert 190_000 < len(result.text) < 201_000


async def test_a_command_that_cannot_be_started_says_why(desk: Workplace) -> None:
    for command, said in (("echo a\0b", "null byte"), ("#" * 3_000_000, "too long")):
        result = await bash(desk, command)
        assert result.is_error
        assert said in result.text


def _capture(most: int, *pieces: bytes) -> str:
    capture = Capture(most)
    for piece in pieces:
        assert capture.take(piece)
    return capture.text


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ((b"abc",), "abc"),
        ((b"abcd", b"efgh"), "abcdefgh"),
        ((b"ab\ncd\nef\ngh\nij",), "ab\n[8 bytes left out]\nij"),
        ((b"abcdefghijkl",), "abcd\n[4 bytes left out]\nijkl"),
        ((b"a",) * 12, "aaaa\n[4 bytes left out]\naaaa"),
    ],
)
def test_the_middle_is_counted_not_kept(pieces: tuple[bytes, ...], text: str) -> None:
    assert _capture(8, *pieces) == text


async def test_git_only_reads_when_nobody_was_asked(desk: Workplace) -> None:
    """Neither a watcher hidden in a folder of files, nor a refreshed index."""
    git(desk.root, "init", "-q")
    (desk.root / "file").write_text("x")
    git(desk.root, "add", "file")
    index = desk.root / ".git" / "index"
    os.utime(desk.root / "file", (1, 1))
    before = index.stat().st_mtime_ns
    assert (await bash(desk, "git status --short && git diff")).text.startswith("A  file")
    assert index.stat().st_mtime_ns == before

    trap = desk.root / "assets"
    git(desk.root, "init", "-q", "--bare", trap)
    settings = "[core]\n repositoryformatversion = 0\n bare = false\n worktree = .\n"
    (trap / "config").write_text(f"{settings} fsmonitor = touch {desk.root}/sprung; false\n")
    await bash(desk, "cd assets && git status; cd ..")
    assert not (desk.root / "sprung").exists()
    # It is a trap: a command that was asked about runs as it is.
    await bash(desk, "cd assets && git status > /tmp/../dev/null; cd ..")
    assert (desk.root / "sprung").exists()
