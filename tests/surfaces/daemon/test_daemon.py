"""The daemon: one a home, found again, closed to strangers, and never a burden to a client."""

import asyncio
import http.client
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.place import Place
from tests.surfaces.hooks.running import Hooks
from tests.surfaces.run import environment, process

from reverie.surfaces import hook_client
from reverie.surfaces.daemon import control
from reverie.surfaces.daemon.place import Address, DaemonPlace
from reverie.surfaces.daemon.running import _another_version, serve

STARTED = {"source": "startup"}


@pytest.fixture
def started(hooks: Hooks) -> Hooks:
    hooks.start()
    return hooks


def post(hooks: Hooks, path: str, body: bytes = b"{}", **fields: str) -> tuple[int, bytes]:
    """An HTTP hook with the right token, unless the fields say otherwise."""
    address = hooks.address
    headers = {"Authorization": f"Bearer {address.token}", "Host": f"127.0.0.1:{address.port}"}
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=10)
    try:
        connection.request("POST", path, body, headers | fields)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def prompt(hooks: Hooks) -> bytes:
    return json.dumps({"session_id": "h1", "cwd": str(hooks.place.root), **STARTED}).encode()


class TestHttp:
    def test_a_hook_is_answered(self, started: Hooks) -> None:
        status, body = post(started, "/hook/claude-code/SessionStart", prompt(started))
        assert status == 200
        assert "Memory" in json.loads(body)["hookSpecificOutput"]["additionalContext"]

    @pytest.mark.parametrize(
        ("path", "fields", "status"),
        [
            ("/hook/claude-code/SessionStart", {"Authorization": "Bearer wrong"}, 401),
            ("/hook/claude-code/SessionStart", {"Authorization": ""}, 401),
            ("/hook/claude-code/SessionStart", {"Host": "evil.example"}, 403),
            ("/hook/claude-code/SessionStart", {"Host": "evil.example:80"}, 403),
            ("/hook/nobody/SessionStart", {}, 404),
            ("/hook/claude-code", {}, 404),
            ("/", {}, 404),
            ("/stop", {}, 404),
            ("/status", {}, 404),
        ],
    )
    def test_strangers_are_not(
        self, started: Hooks, path: str, fields: dict[str, str], status: int
    ) -> None:
        assert post(started, path, prompt(started), **fields) == (status, b"")

    def test_too_much_is_refused_before_it_is_read(self, started: Hooks) -> None:
        body = b""
        status, _ = post(
            started, "/hook/codex/Stop", body, **{"Content-Length": str(9 * 1024 * 1024)}
        )
        assert status == 413

    @pytest.mark.parametrize(
        "body",
        [b"", b"{", b"[]", b"3", b"\xff\xfe", b"[" * 100_000, b'{"cwd": 3}', b'{"cwd": "here"}', b'{"cwd": "/gone/away"}'],
    )  # fmt: skip
    def test_what_cannot_be_read_is_counted_and_logged(self, started: Hooks, body: bytes) -> None:
        assert post(started, "/hook/claude-code/UserPromptSubmit", body) == (200, b"")
        status = control.status(started.place.home)
        assert status is not None
        assert status["errors"] == 1
        assert "claude-code/UserPromptSubmit: " in started.log
        assert "Traceback" not in started.log

    def test_port_and_token_stay(self, started: Hooks) -> None:
        before = started.address
        started.finish()
        assert started.address.pid == 0
        process(started.place, "daemon", "start")
        after = started.address
        assert (after.port, after.token) == (before.port, before.token)
        assert after.pid != before.pid
        assert (started.daemon.folder / "daemon.json").stat().st_mode & 0o777 == 0o600


class TestTheCommand:
    @pytest.mark.parametrize("stdin", [b"", b"{", b"not json at all", b'{"cwd": 7}'])
    def test_bad_input_prints_nothing(self, started: Hooks, stdin: bytes) -> None:
        assert started.raw("claude-code", "SessionStart", stdin) == b""

    @pytest.mark.parametrize("event", ["PermissionRequest", "Nonsense", "../../etc", "", "a b"])
    def test_events_nobody_knows_print_nothing(self, started: Hooks, event: str) -> None:
        assert started.raw("claude-code", event, prompt(started)) == b""

    def test_an_unknown_client_prints_nothing(self, started: Hooks) -> None:
        assert started.raw("emacs", "SessionStart", prompt(started)) == b""
        assert "SessionStart of emacs: the daemon answered" in started.errors

    def test_too_much_input_is_left(self, started: Hooks) -> None:
        huge = b'{"x": "' + b"x" * hook_client.LARGEST + b'"}'
        assert started.raw("claude-code", "PostToolUse", huge) == b""
        assert "PostToolUse of claude-code: the input has more than" in started.errors

    def test_a_closed_stdin(self, started: Hooks) -> None:
        command = f"{sys.executable} -m reverie hook Stop --client codex <&-"
        done = subprocess.run(["sh", "-c", command], env=started.env, cwd=started.place.root, capture_output=True, check=False)  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert "there is no input" in started.errors

    def test_a_daemon_that_was_killed_is_replaced(self, started: Hooks) -> None:
        before = started.address.pid
        started.kill()
        assert started.say("claude-code", "PermissionRequest") is None
        # What the hook started is there by now, or soon.
        assert control.start(started.place.home)["pid"] not in (0, before)
        assert started.log.count(" serves, pid ") == 2
        assert "Memory" in started.context("claude-code", "SessionStart", **STARTED)

    def test_a_session_waits_for_the_daemon(self, hooks: Hooks) -> None:
        hooks.context("claude-code", "SessionStart", **STARTED)
        assert control.start(hooks.place.home)["events"] or "is being started" in hooks.errors
        hooks.finish()
        assert hooks.log.count(" serves, pid ") == 1

    def test_many_at_once_start_one(self, hooks: Hooks) -> None:
        clients = [hooks.begin("claude-code", "Stop") for _ in range(3)]
        for client in clients:
            with client:
                client.communicate(prompt(hooks), timeout=60)
            assert client.returncode == 0
        control.start(hooks.place.home)
        hooks.finish()
        assert hooks.log.count(" serves, pid ") == 1

    @pytest.mark.parametrize(("age", "again"), [(0, False), (5, False), (60, True), (-60, True)])
    def test_while_one_is_being_started_no_other_is(
        self, place: Place, age: float, again: bool
    ) -> None:
        home = str(place.home)
        assert hook_client.may_start(home)
        mark = place.home / hook_client.FOLDER / hook_client.STARTING
        began = mark.stat().st_mtime - age
        os.utime(mark, (began, began))
        assert hook_client.may_start(home) is again

    def test_a_home_that_cannot_be_written(self, hooks: Hooks) -> None:
        """The daemon cannot begin, the log cannot be written: the client notices nothing."""
        blocked = hooks.place.base / "file"
        blocked.write_text("")
        found = hooks.raw(
            "claude-code", "SessionStart", prompt(hooks), REVERIE_HOME=str(blocked / "home")
        )
        assert found == b""

    def test_the_log_does_not_grow_without_end(self, place: Place) -> None:
        place.home.mkdir()
        log = place.home / hook_client.LOG
        log.write_text("x" * (hook_client.LONGEST_LOG + 1))
        hook_client.note(str(place.home), "one\nmore")
        assert log.read_text().endswith("Z one more\n")
        assert (place.home / "hooks.log.1").stat().st_size > hook_client.LONGEST_LOG

    def test_it_loads_next_to_nothing(self, place: Place) -> None:
        code = (
            "import sys; sys.argv = ['reverie', 'hook', 'Stop', '--client', 'codex']; before = set(sys.modules)\n"
            "from reverie.surfaces.cli import main; main()\n"
            "print(*sorted(set(sys.modules) - before))"
        )
        env = environment(place, REVERIE_HOME="/proc/none")
        done = subprocess.run([sys.executable, "-c", code], env=env, input="{}", capture_output=True, text=True, check=True)  # fmt: skip
        loaded = done.stdout.split()
        assert "reverie.surfaces.hook_client" in loaded
        assert not {"click", "asyncio", "typing", "pathlib", "reverie.surfaces.cli.group"} & set(
            loaded
        )


class TestTheCommandLine:
    def test_status(self, started: Hooks) -> None:
        started.context("claude-code", "SessionStart", **STARTED)
        told: dict[str, Any] = json.loads(process(started.place, "daemon", "--json").stdout)
        assert (told["running"], told["pid"], told["errors"]) == (True, started.address.pid, 0)
        event = told["events"]["claude-code/SessionStart"]
        assert event["count"] == 1
        assert event["median_ms"] > 0
        text = process(started.place, "daemon", "status").stdout
        assert "claude-code/SessionStart: 1×" in text
        assert started.address.token not in text

    def test_without_one(self, place: Place) -> None:
        assert process(place, "daemon").stdout == "No daemon is running.\n"
        assert process(place, "daemon", "stop").stdout == "No daemon was running.\n"
        assert not (place.home / "daemon").exists()

    def test_start_and_stop(self, started: Hooks) -> None:
        again = process(started.place, "daemon", "start")
        assert f"pid {started.address.pid}" in again.stdout
        assert process(started.place, "daemon", "stop").stdout == "It ended.\n"
        assert not started.daemon.socket.exists()

    def test_a_second_one_steps_back(self, started: Hooks) -> None:
        assert process(started.place, "daemon", "run").stdout == "It ended: busy.\n"

    def test_one_that_is_about_to_end_is_waited_for(self, hooks: Hooks) -> None:
        hooks.daemon.prepare()
        command = [sys.executable, "-m", "reverie", "daemon", "run"]
        with hooks.daemon.alone() as mine:
            assert mine
            assert hook_client.may_start(str(hooks.place.home))
            hooks.daemon.mark(ending=True)
            process = subprocess.Popen(command, env=hooks.env, stdout=subprocess.DEVNULL)
        with process:
            control.start(hooks.place.home)
            assert hooks.address.pid == process.pid
            hooks.finish()

    def test_a_hook_through_click(self, started: Hooks) -> None:
        command = [
            sys.executable,
            "-m",
            "reverie",
            "hook",
            "--client",
            "claude-code",
            "-q",
            "SessionStart",
        ]
        done = subprocess.run(command, env=started.env, cwd=started.place.root, input=prompt(started), capture_output=True, check=True)  # fmt: skip
        assert b"kept by Reverie" in done.stdout


@pytest.mark.anyio
async def test_it_ends_when_nobody_comes(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = DaemonPlace(place.home)
    daemon.prepare()
    monkeypatch.chdir(daemon.folder)
    async with asyncio.timeout(20):
        assert await serve(daemon, idle=0.0, tick=0.01) == "idle"
    found = daemon.address()
    assert found is not None
    assert found.pid == 0


@pytest.mark.parametrize(
    ("first", "before", "now", "expected"),
    [
        ((1, 1, 1), (1, 1, 1), (1, 1, 1), False),
        ((1, 1, 1), (1, 1, 1), (2, 1, 1), False),
        ((1, 1, 1), (2, 1, 1), (2, 1, 1), True),
        ((1, 1, 1), (2, 1, 1), (3, 1, 1), False),
        ((1, 1, 1), None, None, False),
    ],
)
def test_another_version(first: Any, before: Any, now: Any, expected: bool) -> None:
    assert _another_version(first, before, now) is expected


def test_another_persons_home_is_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.home.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: place.home.stat().st_uid + 1)
    with pytest.raises(Exception, match="belongs to another person"):
        DaemonPlace(place.home).prepare()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1, "port": []}'])
def test_an_address_that_makes_no_sense_is_none(place: Place, text: str) -> None:
    daemon = DaemonPlace(place.home)
    daemon.prepare()
    (daemon.folder / "daemon.json").write_text(text)
    assert daemon.address() is None
    assert len(daemon.token()) > 30


def test_an_address_is_read_back(place: Place) -> None:
    daemon = DaemonPlace(place.home)
    daemon.prepare()
    written = Address(1, 2, "t", "0.1.0", 3.5)
    daemon.write_address(written)
    assert daemon.address() == written


def test_the_folder_is_for_its_owner(place: Place) -> None:
    daemon = DaemonPlace(place.home)
    daemon.prepare()
    assert isinstance(daemon.folder, Path)
    assert daemon.folder.stat().st_mode & 0o777 == 0o700
