"""The daemon: one for each home, closed to unauthenticated requests, harmless to clients when it fails."""

import asyncio
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import environment, process
from tests.clients.hooks.running import Hooks
from tests.conversation.build import write_lines
from tests.conversation.test_codex import META, spoke
from tests.place import Place

from reverie import __version__
from reverie.cli.wiring import client_checks
from reverie.clients import hook_client
from reverie.clients.daemon import control
from reverie.clients.daemon.control import Address, DaemonPlace
from reverie.clients.daemon.running import (
    MOST_CONNECTIONS,
    Daemon,
    _another_version,
    response,
    serve,
)

STARTED = {"source": "startup"}


@pytest.fixture
def started(hooks: Hooks) -> Hooks:
    hooks.start()
    return hooks


def post(hooks: Hooks, path: str, body: bytes = b"{}", **fields: str) -> tuple[int, bytes]:
    """An HTTP hook with the right token, unless the fields say otherwise."""
    address = hooks.address
    headers = {"Authorization": f"Bearer {address.token}", "Host": f"127.0.0.1:{address.port}"}
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)
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
            ("/hook/unknown/SessionStart", {}, 404),
            ("/hook/claude-code", {}, 404),
            ("/", {}, 404),
            ("/stop", {}, 404),
            ("/status", {}, 404),
        ],
    )
    def test_requests_without_the_token_are_not(
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

    def test_strangers_are_refused_before_their_body_is_read(self, started: Hooks) -> None:
        head = (
            b"POST /hook/codex/Stop HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 999\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", started.address.port), 4) as connection:
            connection.sendall(head)
            assert connection.recv(100).startswith(b"HTTP/1.1 403 ")

    def test_expect_continue_is_answered(self, started: Hooks) -> None:
        address, body = started.address, prompt(started)
        head = (
            f"POST /hook/claude-code/SessionStart HTTP/1.1\r\nHost: 127.0.0.1:{address.port}\r\n"
            f"Authorization: Bearer {address.token}\r\nExpect: 100-continue\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", address.port), 10) as connection:
            connection.sendall(head.encode())
            assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
            connection.sendall(body)
            assert connection.recv(15) == b"HTTP/1.1 200 OK"

    def test_too_many_at_once_are_refused(self, started: Hooks) -> None:
        place = ("127.0.0.1", started.address.port)
        with ExitStack() as stack:
            for _ in range(MOST_CONNECTIONS):
                stack.enter_context(socket.create_connection(place, 4))
            with socket.create_connection(place, 4) as one_more:
                assert one_more.recv(100).startswith(b"HTTP/1.1 503 ")
            # The limit does not apply to the socket, which only its owner can use.
            assert "Memory" in started.context("claude-code", "SessionStart", **STARTED)


class TestTheCommand:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ([], "Missing"),
            (["UserPromptSubmit"], "Missing"),
            (["--client", "claude-code"], "Missing"),
            (["Stop", "--client"], "requires an argument"),
            (["Stop", "--client", "codex", "--bogus"], "No such option"),
            (["Stop", "again", "--client", "codex"], "extra argument"),
            (["Stop", "--client", "emacs", "-q"], "emacs"),
            (["Stop", "--client", "codex", "--home"], "requires an argument"),
        ],
    )
    def test_wrong_usage_ends_well_too(
        self, hooks: Hooks, arguments: list[str], message: str
    ) -> None:
        """Exit code 2 would stop the client."""
        hooks.place.home.mkdir()
        done = process(hooks.place, "hook", *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert message in hooks.errors

    def test_help_is_given(self, place: Place) -> None:
        assert "Answer a hook" in process(place, "hook", "--help").stdout

    @pytest.mark.parametrize("where", [">&-", "| true", "> /dev/full"])
    def test_a_closed_stdout_ends_well_too(self, started: Hooks, where: str) -> None:
        hook = f"{sys.executable} -m reverie hook SessionStart --client codex; echo $? >&2"
        command = f"({hook}) {where}"
        done = subprocess.run(["sh", "-c", command], env=started.env, cwd=started.place.root, input=prompt(started), capture_output=True, check=False)  # fmt: skip
        assert done.stderr == b"0\n"

    def test_another_home_is_asked(self, started: Hooks) -> None:
        arguments = ("hook", "SessionStart", "--client", "codex", "--home", started.place.home)
        command = [sys.executable, "-m", "reverie", *map(str, arguments)]
        env = {**started.env, "REVERIE_HOME": str(started.place.base / "elsewhere")}
        done = subprocess.run(command, env=env, input=prompt(started), capture_output=True, check=True)  # fmt: skip
        assert b"kept by Reverie" in done.stdout

    @pytest.mark.parametrize("stdin", [b"", b"{", b"not json at all", b'{"cwd": 7}'])
    def test_bad_input_prints_nothing(self, started: Hooks, stdin: bytes) -> None:
        assert started.raw("claude-code", "SessionStart", stdin) == b""

    @pytest.mark.parametrize("event", ["PermissionRequest", "Nonsense", "../../etc", "", "a b"])
    def test_unknown_events_print_nothing(self, started: Hooks, event: str) -> None:
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
        assert "there is no standard input" in started.errors

    def test_a_daemon_that_was_killed_is_replaced(self, started: Hooks) -> None:
        before = started.address.pid
        started.kill()
        assert started.say("claude-code", "PermissionRequest") is None
        # The daemon that the hook started is running by now, or soon.
        assert control.start(started.place.home)["pid"] not in (0, before)
        assert started.log.count(" serves, pid ") == 2
        assert "Memory" in started.context("claude-code", "SessionStart", **STARTED)

    def test_a_prompt_waits_for_the_daemon(self, hooks: Hooks) -> None:
        assert process(hooks.place, "remember", "Deploys freeze on 2026-12-20.").returncode == 0
        found = hooks.context("claude-code", "UserPromptSubmit", prompt="when do deploys freeze?")
        assert "Deploys freeze" in found or "is still starting" in hooks.errors

    def test_a_session_waits_for_the_daemon(self, hooks: Hooks) -> None:
        hooks.context("claude-code", "SessionStart", **STARTED)
        assert control.start(hooks.place.home)["events"] or "is still starting" in hooks.errors
        hooks.finish()
        assert hooks.log.count(" serves, pid ") == 1

    def test_many_at_once_start_one(self, hooks: Hooks) -> None:
        clients = [hooks.begin("claude-code", "Stop") for _ in range(3)]
        for client in clients:
            with client:
                client.communicate(prompt(hooks), timeout=240)
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

    @pytest.mark.parametrize(
        ("event", "seconds"),
        [
            ("SessionStart", hook_client.START_SECONDS),
            ("session.created", hook_client.START_SECONDS),
            ("UserPromptSubmit", hook_client.PROMPT_SECONDS),
            ("BeforeAgent", hook_client.PROMPT_SECONDS),
            ("chat.message", hook_client.PROMPT_SECONDS),
            ("beforeSubmitPrompt", hook_client.PROMPT_SECONDS),
            ("PostToolUse", hook_client.OTHER_SECONDS),
            ("Stop", hook_client.OTHER_SECONDS),
        ],
    )
    def test_how_long_an_event_waits_for_the_daemon(self, event: str, seconds: float) -> None:
        assert hook_client.worth_waiting(event) == seconds

    @pytest.mark.parametrize(
        ("content", "age", "failed"),
        [(b"", 0, False), (b"failed", 1, True), (b"", 5, True), (b"failed", 60, False), (None, 0, False)],
    )  # fmt: skip
    def test_a_start_that_failed_is_not_waited_for_again(
        self, place: Place, content: bytes | None, age: float, failed: bool
    ) -> None:
        mark = place.home / hook_client.FOLDER / hook_client.STARTING
        if content is not None:
            assert hook_client.may_start(str(place.home))
            mark.write_bytes(content)
            began = mark.stat().st_mtime - age
            os.utime(mark, (began, began))
        assert hook_client.has_failed(str(place.home)) is failed

    def test_a_daemon_that_cannot_start_is_logged(self, hooks: Hooks) -> None:
        hooks.place.settings("nonsense = [")
        # A busy machine is no reason for the hook to stop waiting, or to start the daemon again.
        code = (
            "import sys; from reverie.clients import hook_client\n"
            "hook_client.START_SECONDS = hook_client.AGAIN_SECONDS = 600.0\n"
            "sys.argv = ['reverie', 'hook', 'SessionStart', '--client', 'claude-code']\n"
            "from reverie.cli import main; main()"
        )
        command = [sys.executable, "-c", code]
        for times in (1, 2):
            done = subprocess.run(
                command,
                cwd=hooks.place.root,
                env=hooks.env,
                input=prompt(hooks),
                capture_output=True,
                check=True,
            )
            assert (done.stdout, done.stderr) == (b"", b"")
            assert hooks.errors.count("the daemon did not start; see ") == times
            assert (hooks.daemon.folder / hook_client.STARTING).read_bytes() == b"failed"
        assert hooks.log.count("settings.toml") == 1

    def test_a_home_that_cannot_be_written(self, hooks: Hooks) -> None:
        """The daemon cannot start and the log cannot be written: one line, and the turn goes on."""
        blocked = hooks.place.base / "file"
        blocked.write_text("")
        begun = hooks.begin("claude-code", "SessionStart", REVERIE_HOME=str(blocked / "home"))
        with begun as process:
            out, error = process.communicate(prompt(hooks), timeout=240)
        assert (process.returncode, out) == (0, b"")
        assert error.count(b"\n") == 1
        assert error.endswith(b"hooks.log cannot be written: Not a directory\n")

    def test_a_log_that_cannot_be_written_goes_to_standard_error(
        self, place: Place, capfd: pytest.CaptureFixture[str]
    ) -> None:
        (place.home / hook_client.LOG).mkdir(parents=True)
        hook_client.note(str(place.home), "one\nmore")
        out, error = capfd.readouterr()
        assert out == ""
        assert error.startswith("reverie: one more; ")
        assert error.endswith("hooks.log cannot be written: Is a directory\n")

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
            "from reverie.cli import main; main()\n"
            "print(*sorted(set(sys.modules) - before))"
        )
        env = environment(place, REVERIE_HOME="/proc/none")
        done = subprocess.run([sys.executable, "-c", code], env=env, input="{}", capture_output=True, text=True, check=True)  # fmt: skip
        loaded = done.stdout.split()
        assert "reverie.clients.hook_client" in loaded
        assert not {"click", "asyncio", "typing", "pathlib", "reverie.cli.group"} & set(loaded)


class TestTheCommandLine:
    def test_status(self, started: Hooks) -> None:
        started.context("claude-code", "SessionStart", **STARTED)
        status: dict[str, Any] = json.loads(process(started.place, "daemon", "--json").stdout)
        assert (status["running"], status["pid"], status["errors"]) == (
            True,
            started.address.pid,
            0,
        )
        event = status["events"]["claude-code/SessionStart"]
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

    def test_it_does_not_inherit_settings_from_the_environment(self, hooks: Hooks) -> None:
        done = process(hooks.place, "daemon", "start", "--json", REVERIE_DAEMON_IDLE_MINUTES="7")
        assert json.loads(done.stdout)["idle_seconds"] == 30 * 60

    def test_one_that_cannot_start_says_why_at_once(self, place: Place) -> None:
        place.settings("nonsense = [")
        # An earlier failed start by a hook must not matter.
        assert hook_client.may_start(str(place.home))
        done = process(place, "daemon", "start")
        assert done.returncode == 1
        assert "the daemon did not start: reverie: " in done.stderr
        assert "settings.toml" in done.stderr

    def test_broken_settings_do_not_hide_it(self, started: Hooks) -> None:
        started.place.settings("nonsense = [")
        assert f"pid {started.address.pid}" in process(started.place, "daemon").stdout
        assert process(started.place, "daemon", "stop").stdout == "It ended.\n"

    def test_a_second_one_steps_back(self, started: Hooks) -> None:
        assert process(started.place, "daemon", "run").stdout == "It ended: busy.\n"

    def test_one_that_is_about_to_end_is_waited_for(self, hooks: Hooks) -> None:
        hooks.daemon.prepare()
        command = [sys.executable, "-m", "reverie", "daemon", "run"]
        with hooks.daemon.alone() as mine:
            assert mine
            hooks.daemon.mark(ending=True)
            process = subprocess.Popen(command, env=hooks.env, stdout=subprocess.DEVNULL)
        with process:
            control.wait_until_running(hooks.place.home, process)
            assert hooks.address.pid == process.pid
            hooks.finish()

    def test_one_that_took_its_place_is_asked_to_stop_too(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The lock may pass from a daemon that ends to one that was waiting for it."""
        daemon = DaemonPlace(place.home)
        daemon.prepare()
        monkeypatch.chdir(daemon.folder)
        with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as pool:
            listener.settimeout(20)
            listener.bind(hook_client.SOCKET)
            listener.listen()
            with daemon.alone():
                stopping = pool.submit(control.stop, place.home)
                for _ in ("the first", "the second"):
                    connection, _ = listener.accept()
                    with connection:
                        assert connection.recv(1024).startswith(b"POST /stop ")
                        connection.sendall(response(HTTPStatus.OK))
            listener.close()
            assert stopping.result(20) is True

    def test_work_that_never_ends_does_not_keep_it(self, hooks: Hooks) -> None:
        """Reading a FIFO blocks until another process writes to it."""
        folder = hooks.place.app().project.folder / "hooks" / "codex-s1"
        folder.mkdir(parents=True)
        os.mkfifo(folder / "learnt.json")
        transcript = write_lines(hooks.place.base / "r.jsonl", [META, spoke("user", "hello")])
        hooks.daemon.prepare()
        script = (
            "import sys; from pathlib import Path; from reverie.clients.daemon import running\n"
            "running.DRAIN_SECONDS = running.LET_GO_SECONDS = 0.1\n"
            "running.run(Path(sys.argv[1]))"
        )
        command = [sys.executable, "-c", script, str(hooks.place.home)]
        with subprocess.Popen(command, env=hooks.env) as daemon:
            control.wait_until_running(hooks.place.home, daemon)
            hooks.say("codex", "Stop", transcript_path=str(transcript))
            assert control.stop(hooks.place.home)
            assert daemon.wait(20) == 0

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
async def test_it_ends_when_idle(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = DaemonPlace(place.home)
    daemon.prepare()
    monkeypatch.chdir(daemon.folder)
    async with asyncio.timeout(20):
        assert await serve(daemon, idle=0.0, tick=0.01) == "idle"
    found = daemon.address()
    assert found is not None
    assert found.pid == 0


@pytest.mark.anyio
async def test_it_does_not_end_while_there_is_work(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = DaemonPlace(place.home)
    found.prepare()
    daemon = Daemon(found, idle=0.0)
    begun, release, done = threading.Event(), threading.Event(), threading.Event()
    looks: list[bool] = []

    def work() -> None:
        begun.set()
        release.wait(20)
        done.set()

    def look() -> None:
        looks.append(daemon._queue.busy)
        if len(looks) == 3:
            release.set()

    monkeypatch.setattr(daemon._queue, "reap", look)
    daemon._queue.add("key", work)
    try:
        assert await asyncio.to_thread(begun.wait, 20)
        async with asyncio.timeout(20):
            assert await daemon.run_until_idle(tick=0.001) == "idle"
        assert done.is_set()
        assert looks[:3] == [True, True, True]
    finally:
        release.set()
        await daemon._queue.drain(20)


def test_a_person_says_how_long_it_waits(hooks: Hooks) -> None:
    hooks.place.settings("[daemon]\nidle_minutes = 7\n")
    hooks.start()
    status = control.status(hooks.place.home)
    assert status is not None
    assert status["idle_seconds"] == 7 * 60


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
def test_an_invalid_address_is_ignored(place: Place, text: str) -> None:
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


class TestSilence:
    """A daemon that was stopped (SIGSTOP) or hangs."""

    def test_hooks_give_up_soon_and_then_sooner(
        self, started: Hooks, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        home = str(started.place.home)
        os.kill(started.address.pid, signal.SIGSTOP)
        try:
            assert started.say("claude-code", "SessionStart", **STARTED) is None
            assert "is silent" in started.errors
            mark = started.daemon.folder / hook_client.SILENT
            assert mark.exists()
            assert hook_client._first_word_seconds(home) == hook_client.STILL_SILENT_SECONDS
            assert control.silent(started.place.home) == started.address.pid
            doctor = process(started.place, "doctor")
            assert f"kill -CONT {started.address.pid}" in doctor.stdout
            for action in ("start", "status"):
                assert process(started.place, "daemon", action).returncode == 1
        finally:
            os.kill(started.address.pid, signal.SIGCONT)
        monkeypatch.setattr(hook_client, "SILENT_SECONDS", 60.0)
        assert hook_client.ask(home, "/status", b"", 60.0)
        assert not mark.exists()

    def test_silence_long_ago_is_forgotten(self, hooks: Hooks) -> None:
        home = hooks.place.home
        hooks.daemon.prepare()
        mark = home / hook_client.FOLDER / hook_client.SILENT
        mark.touch()
        os.utime(mark, (1, 1))
        assert hook_client._first_word_seconds(str(home)) == hook_client.SILENT_SECONDS


class TestDoctor:
    def test_the_daemon_runs_what_is_installed(self, started: Hooks) -> None:
        assert "the daemon runs version" in process(started.place, "doctor").stdout

    @pytest.mark.parametrize(
        ("status", "told"),
        [
            ({"version": "0.0.1", "python": sys.executable, "pid": 1}, "runs version 0.0.1"),
            ({"version": __version__, "python": "/gone/python", "pid": 1}, "Python is gone"),
        ],
    )
    def test_another_version_and_a_python_that_is_gone_are_wrong(
        self, status: dict[str, Any], told: str
    ) -> None:
        (finding,) = client_checks._running_daemon(status)
        assert finding.state == "wrong"
        assert told in finding.what
        assert "reverie daemon stop" in (finding.advice or "")

    @pytest.mark.parametrize(("free", "state"), [(1, "wrong"), (100 * 1024**2, "note")])
    def test_a_full_disk_is_told(
        self, free: int, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        usage = shutil.disk_usage(tmp_path)._replace(free=free)
        monkeypatch.setattr(client_checks.shutil, "disk_usage", lambda path: usage)
        assert [one.state for one in client_checks.examine_disk(tmp_path / "none")] == [state]
