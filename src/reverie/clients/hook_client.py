"""The `reverie hook` command: forwards a client's hook input to the daemon and prints the answer.

A client runs this before every prompt and after every tool, so it imports next to nothing. On any failure it
exits with 0 and prints nothing; one line in `<home>/hooks.log` says what happened.
"""

from __future__ import annotations

import os
import socket
import sys
import time

# Importing typing takes longer than the daemon takes to answer.
TYPE_CHECKING = False

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

LARGEST = 16 * 1024 * 1024
LONGEST_LOG = 1024 * 1024
LOG = "hooks.log"
FOLDER = "daemon"
SOCKET = "socket"
DAEMON_LOG = "log"
# Exists only while the daemon is starting, or holds `failed` if it did not start.
STARTING = "starting"
_FAILED = b"failed"
# Written when the daemon was silent, so that the next hooks wait only briefly.
SILENT = "silent"
# A folder with a file for each MCP server that has listed its tools, named by process id; it
# contains the project.
LISTED = "mcp"
PROJECT = "Reverie-Project"
# Asks the daemon to confirm at once that it has read the request.
EARLY = "Reverie-Early"
PROCESSING = b"HTTP/1.1 102 Processing\r\n\r\n"

# How long to wait for a daemon that must be started first: longest at the start of a session, which
# is rare; less before a prompt, which works without memories; briefly for other events.
START_SECONDS = 3.0
PROMPT_SECONDS = 1.5
OTHER_SECONDS = 0.3
AGAIN_SECONDS = 10.0
PATIENT_SECONDS = 20.0
ANSWER_SECONDS = 5.0
# A daemon that says nothing for this long is stopped or hangs; after that, hooks wait less for a while.
SILENT_SECONDS = 1.5
STILL_SILENT_SECONDS = 0.1
SILENT_AGAIN_SECONDS = 60.0

_PATIENT = ("sessionstart", "session.created", "precompact", "experimental.session.compacting")
_PROMPTS = ("userpromptsubmit", "beforeagent", "chat.message", "beforesubmitprompt")
_SETTINGS = "REVERIE_"
_LONGEST_ADDRESS = 100
_OFF = ("", "0", "false", "no", "off")


class Unanswered(Exception):
    """The daemon gave no usable answer."""


def run(arguments: Sequence[str]) -> bool:
    """Run `reverie hook`; False if the arguments need the full command line parser."""
    parsed = _parse(arguments)
    if parsed is None:
        return False
    event, client, home = parsed
    forward(event, client, home)
    return True


def forward(event: str, client: str, home: str) -> None:
    """Ask the daemon and print its answer; never fails."""
    try:
        if not _memory_is_off():
            answer = _ask_starting(home, event, client, _stdin())
            if answer:
                _print(answer)
    except Exception as error:  # noqa: BLE001 - a client must never fail because of memory
        note(home, f"{event} of {client}: {error or type(error).__name__}")


def default_home() -> str:
    chosen = os.environ.get("REVERIE_HOME")  # noqa: TID251 - reading settings would take too long
    return os.path.abspath(os.path.expanduser(chosen or "~/.reverie"))  # noqa: PTH100, PTH111


def ask(
    home: str, path: str, body: bytes, seconds: float, project: str = "", *, hurry: bool = False
) -> bytes:
    """Send one request to the daemon. Raises OSError if none runs, Unanswered if it refuses or is silent.

    In a `hurry`, a daemon that was recently silent is waited for only briefly.
    """
    head = (
        f"POST {path} HTTP/1.1\r\nHost: reverie\r\nContent-Length: {len(body)}\r\n"
        f"{EARLY}: 1\r\n{PROJECT}: {project.encode().hex()}\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_first_word_seconds(home) if hurry else SILENT_SECONDS)
        _connect(connection, home)
        try:
            connection.sendall(head.encode() + body)
            parts = [connection.recv(65_536)]
        except TimeoutError:
            _mark_silent(home)
            raise Unanswered("the daemon runs but is silent; `reverie doctor` says more") from None
        _unmark_silent(home)
        connection.settimeout(seconds)
        while part := connection.recv(65_536):
            parts.append(part)
    header, _, answer = b"".join(parts).removeprefix(PROCESSING).partition(b"\r\n\r\n")
    status = header[:12]
    if status != b"HTTP/1.1 200":
        raise Unanswered(f"the daemon answered {status.decode('ascii', 'replace')!r}")
    return answer


def _first_word_seconds(home: str) -> float:
    try:
        mark = os.path.getmtime(os.path.join(home, FOLDER, SILENT))  # noqa: PTH118, PTH204
    except OSError:
        return SILENT_SECONDS
    recent = 0 <= time.time() - mark < SILENT_AGAIN_SECONDS  # noqa: TID251 - compared with a file's time
    return STILL_SILENT_SECONDS if recent else SILENT_SECONDS


def _mark_silent(home: str) -> None:
    mark = os.path.join(home, FOLDER, SILENT)  # noqa: PTH118
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        if _first_word_seconds(home) == SILENT_SECONDS:
            os.utime(mark)
    except OSError:
        pass


def _unmark_silent(home: str) -> None:
    try:  # noqa: SIM105 - contextlib would take too long to import
        os.unlink(os.path.join(home, FOLDER, SILENT))  # noqa: PTH108, PTH118
    except OSError:
        pass


def worth_waiting(event: str) -> float:
    """How many seconds an event may wait for a daemon that is being started."""
    name = event.lower()
    if name in _PATIENT:
        return START_SECONDS
    return PROMPT_SECONDS if name in _PROMPTS else OTHER_SECONDS


def may_start(home: str) -> bool:
    """May this process start the daemon? Not while another hook is starting it."""
    folder = os.path.join(home, FOLDER)  # noqa: PTH118
    mark = os.path.join(folder, STARTING)  # noqa: PTH118
    os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        age = time.time() - os.path.getmtime(mark)  # noqa: TID251, PTH204 - compared with a file's time
        if 0 <= age < AGAIN_SECONDS:
            return False
        os.utime(mark)
    return True


def has_failed(home: str) -> bool:
    """Did the last start fail recently? Then waiting for it is pointless."""
    mark = os.path.join(home, FOLDER, STARTING)  # noqa: PTH118
    try:
        with open(mark, "rb") as file:  # noqa: PTH123
            content = file.read()
        age = time.time() - os.path.getmtime(mark)  # noqa: TID251, PTH204 - compared with a file's time
    except OSError:
        return False
    # The hook that started it may have exited before it failed: a start that takes longer has
    # failed.
    return age < AGAIN_SECONDS and (content == _FAILED or age > START_SECONDS)


def mark_failed(home: str) -> None:
    with open(os.path.join(home, FOLDER, STARTING), "wb") as file:  # noqa: PTH118, PTH123
        file.write(_FAILED)


def start(home: str) -> subprocess.Popen[bytes]:
    """Start a daemon in a session of its own, so that it outlives this process.

    A second daemon finds the first one and exits. It serves all clients of this home, so it does not inherit
    the REVERIE_ variables of one of them.
    """
    import subprocess

    command = [sys.executable, "-P", "-m", "reverie", "daemon", "run", "--home", home]
    environ = os.environ.items()  # noqa: TID251 - only passed on
    environment = {name: value for name, value in environ if not name.startswith(_SETTINGS)}
    log = os.open(
        os.path.join(home, FOLDER, DAEMON_LOG),  # noqa: PTH118
        os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC,
        0o600,
    )
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    finally:
        os.close(log)


def mark_listed(home: str, project: str) -> None:
    """Tell the daemon that this process, an MCP server, has listed its tools; failure is ignored."""
    try:
        folder = os.path.join(home, FOLDER, LISTED)  # noqa: PTH118
        os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        file = os.open(os.path.join(folder, str(os.getpid())), flags, 0o600)  # noqa: PTH118
        os.write(file, os.fsencode(project))
        os.close(file)
    except OSError:
        pass


def note(home: str, what: str) -> None:
    """Append one line to the hooks' log; on a full or read-only disk it goes to standard error."""
    path = os.path.join(home, LOG)  # noqa: PTH118
    try:
        if os.path.exists(path) and os.path.getsize(path) > LONGEST_LOG:  # noqa: PTH110, PTH202
            os.replace(path, f"{path}.1")  # noqa: PTH105
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {what}"
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(file, "w", encoding="utf-8", errors="replace") as log:
            log.write(" ".join(line.split())[:500] + "\n")
    except OSError as error:
        message = f"reverie: {what}; {path} cannot be written: {error.strerror}"
        try:  # noqa: SIM105 - contextlib would take too long to import
            os.write(2, (" ".join(message.split())[:500] + "\n").encode("utf-8", "replace"))
        except OSError:
            pass


def _parse(arguments: Sequence[str]) -> tuple[str, str, str] | None:
    """The event, the client and the home; None if anything else was given."""
    words, options = [], {"--client": "", "--home": ""}
    rest = iter(arguments)
    for word in rest:
        name, equals, value = word.partition("=")
        if name in options:
            options[name] = value if equals else next(rest, "")
            if not options[name]:
                return None
        elif word.startswith("-"):
            return None
        else:
            words.append(word)
    if len(words) != 1 or not options["--client"]:
        return None
    chosen = options["--home"]
    home = os.path.abspath(os.path.expanduser(chosen)) if chosen else default_home()  # noqa: PTH100, PTH111
    return words[0], options["--client"], home


def _ask_starting(home: str, event: str, client: str, body: bytes) -> bytes:
    """Ask the daemon; start it first if none runs."""
    seconds = PATIENT_SECONDS if event.lower() in _PATIENT else ANSWER_SECONDS
    project = os.environ.get("CLAUDE_PROJECT_DIR", "")  # noqa: TID251 - set by the client
    path = f"/hook/{_plain(client)}/{_plain(event)}"
    try:
        return ask(home, path, body, seconds, project, hurry=True)
    except (FileNotFoundError, ConnectionRefusedError, ConnectionResetError):
        process = start(home) if may_start(home) else None
    until = time.monotonic() + worth_waiting(event)
    while True:
        try:
            return ask(home, path, body, seconds, project, hurry=True)
        except (FileNotFoundError, ConnectionRefusedError, ConnectionResetError):
            _check_start(home, process)
            if time.monotonic() > until:
                raise Unanswered("the daemon was not running, and is still starting") from None
            time.sleep(0.02)


def _check_start(home: str, process: subprocess.Popen[bytes] | None) -> None:
    """Raise Unanswered if the daemon failed to start."""
    if process is not None and process.poll():
        mark_failed(home)
    if has_failed(home):
        raise Unanswered(f"the daemon did not start; see {os.path.join(home, FOLDER, DAEMON_LOG)}")  # noqa: PTH118


def _plain(name: str) -> str:
    if not name.replace(".", "").replace("-", "").replace("_", "").isalnum():
        raise Unanswered("not a valid name of an event or a client")
    return name


def _connect(connection: socket.socket, home: str) -> None:
    """Connect by path, or from within the folder if the path is too long for a socket address."""
    folder = os.path.join(home, FOLDER)  # noqa: PTH118
    path = os.path.join(folder, SOCKET)  # noqa: PTH118
    if len(os.fsencode(path)) < _LONGEST_ADDRESS:
        connection.connect(path)
        return
    here = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.chdir(folder)
        connection.connect(SOCKET)
    finally:
        os.fchdir(here)
        os.close(here)


def _stdin() -> bytes:
    if sys.stdin is None:
        raise Unanswered("there is no standard input")
    data = sys.stdin.buffer.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise Unanswered(f"the input has more than {LARGEST:,} bytes")
    return data


def _print(answer: bytes) -> None:
    """Bypass `sys.stdout`, which would fail again at exit if the reader is gone."""
    while answer:
        answer = answer[os.write(1, answer) :]


def _memory_is_off() -> bool:
    """Checked here because the daemon does not see this process's environment."""
    value = os.environ.get("REVERIE_DISABLE_MEMORY", "")  # noqa: TID251 - settings would take too long
    return value.strip().lower() not in _OFF
