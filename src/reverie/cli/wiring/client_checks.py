"""What `reverie doctor` checks of clients, of the daemon behind their hooks, and of the proxy."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import reverie
from reverie.cli.invocation import Finding
from reverie.cli.memories import shown_path
from reverie.cli.wiring import client_plans
from reverie.cli.wiring.client_plans import home_of, installations, places_of
from reverie.clients.hook_client import LOG
from reverie.clients.hooks.events import TRIAL
from reverie.clients.install.base_urls import base_url_files
from reverie.clients.install.clients import CLIENTS, hindrance, untrusted_events
from reverie.clients.install.entries import value_of
from reverie.clients.install.json_text import Malformed
from reverie.clients.install.plan import open_proxied
from reverie.clients.install.wiring import WAYS, InstallOptions
from reverie.clients.mcp import INSTALL_PACKAGE, package_installed
from reverie.errors import ReverieError
from reverie.files.atomic import read_json
from reverie.settings.sources import environment

if TYPE_CHECKING:
    from reverie.clients.install.files import ClientFile
    from reverie.clients.install.plan import Clients, Installation
    from reverie.workspace import Workspace

# Clients cancel a hook that takes longer.
_TIMEOUT = 10.0
# A noticeable delay before every prompt.
_SLOW = 0.5

# Too short to recall anything for, or to learn from.
_PROMPT = "hello"

_TRUST = "start `codex`, type /hooks, and trust Reverie's"

_MANAGED = (
    Path("/etc/claude-code/managed-settings.json"),
    Path("/Library/Application Support/ClaudeCode/managed-settings.json"),
)


def examine_clients(app: Workspace) -> Iterator[Finding]:
    """Check every client Reverie is installed in, for the person and for this project."""
    from reverie.clients.install.plan import open_clients

    clients = open_clients(app)
    for one in installations(clients):
        if one.scope == "user" or one.root == str(app.project.root):
            yield from _one(app, clients, one)


def _one(app: Workspace, clients: Clients, one: Installation) -> Iterator[Finding]:
    name = f"{CLIENTS[one.client].title} ({one.scope})"
    reinstall = f"reverie install {one.client} --scope {one.scope}"
    for problem in _file_problems(app, clients, one):
        yield Finding("wrong", f"{name}: {problem}", f"restore it: {reinstall}")
    if not (Path(one.program).is_file() and os.access(one.program, os.X_OK)):
        yield Finding("wrong", f"{name}: {one.program} no longer exists", f"reinstall: {reinstall}")
        return
    if one.client == "claude-code":
        yield from _blocked(app, clients, name)
    if not package_installed():
        yield _without_package(name, reinstall, wired=_has_server(app, clients, one))
    # Codex runs no hook that the person has not trusted, and says nothing about it.
    asked = one.client == "codex"
    untrusted = untrusted_events(app.project.root, environment()) if asked else ()
    if untrusted:
        what = f"{name}: Codex does not run these hooks, as you have not trusted them: "
        yield Finding("wrong", what + ", ".join(untrusted), _TRUST)
    elif one.way == "mcp":
        yield Finding("ok", f"{name}: the MCP server alone, without hooks")
    else:
        doubt = "" if untrusted is not None else f"whether Codex trusts them is not known: {_TRUST}"
        yield from _fire_hooks(app, one, name, doubt)


def _without_package(name: str, reinstall: str, *, wired: bool) -> Finding:
    if wired:
        what = f"{name}: its MCP server does not start, since the package mcp is not installed"
        return Finding("wrong", what, INSTALL_PACKAGE)
    what = f"{name}: without the MCP server, since the package mcp is not installed"
    return Finding("note", what, f"to add it: {INSTALL_PACKAGE}, then {reinstall}")


def _has_server(app: Workspace, clients: Clients, one: Installation) -> bool:
    """Do the client's files contain the MCP server?"""
    with_server, without = (_expected_files(app, one, mcp=mcp) for mcp in (True, False))
    for file, other in zip(with_server, without, strict=True):
        filed = next((filed for filed in one.files if filed.role == file.role), None)
        if filed is not None and file != other:
            with suppress(Malformed, ReverieError):
                return file.holds(clients.files.read(filed.path))
    return False


def _expected_files(app: Workspace, one: Installation, *, mcp: bool) -> tuple[ClientFile, ...]:
    return CLIENTS[one.client].files(_install_options(app, one, mcp=mcp))


def _install_options(app: Workspace, one: Installation, *, mcp: bool = True) -> InstallOptions:
    way = next((way for way in WAYS if way == one.way), WAYS[0])
    return InstallOptions(places_of(app), one.scope, one.program, mcp, home_of(app), way)


def _file_problems(app: Workspace, clients: Clients, one: Installation) -> Iterator[str]:
    """What is wrong with the files Reverie wrote to."""
    # It may have been installed without the server.
    expected = (file for mcp in (True, False) for file in _expected_files(app, one, mcp=mcp))
    files = [file for file in expected if file.wanted]
    for filed in one.files:
        path = shown_path(app, filed.path)
        try:
            text = clients.files.read(filed.path)
            if text is None:
                yield f"{path} is gone"
            elif not any(file.holds(text) for file in files if file.role == filed.role):
                yield f"{path} no longer holds what Reverie wrote"
        except Malformed as bad:
            yield f"{path}, line {bad.line}: {bad.reason}"
        except ReverieError as error:
            yield str(error)


def _blocked(app: Workspace, clients: Clients, name: str) -> Iterator[Finding]:
    own = places_of(app).claude
    for path in (own / "settings.json", own / "settings.local.json", *_MANAGED):
        try:
            problem = hindrance(value_of(clients.files.read(path) or "{}", comments=False))
        except (ReverieError, Malformed):
            continue
        if problem:
            yield Finding("wrong", f"{name}: {problem}", f"see {shown_path(app, path)}")


def _fire_hooks(app: Workspace, one: Installation, name: str, doubt: str) -> Iterator[Finding]:
    """Run every hook as the client would; rerun a slow one, which may have started the daemon."""
    client = CLIENTS[one.client]
    durations: dict[str, float] = {}
    for event in client.events:
        answer = event == client.answered and app.settings.memory_enabled
        try:
            durations[event] = _duration(app, one, event, answer=answer)
        except subprocess.TimeoutExpired:
            yield Finding("wrong", f"{name}: its {event} hook took more than {_TIMEOUT:.0f} s")
            return
        except OSError as error:
            yield Finding("wrong", f"{name}: {one.program} does not start: {error.strerror}")
            return
        except ValueError as failed:
            where = f"see {shown_path(app, app.settings.home / LOG)}, or run it by hand"
            yield Finding("wrong", f"{name}: its {event} hook failed: {failed}", where)
            return
    slowest = max(durations, key=durations.__getitem__)
    fires = f"{name}: hooks fire, {slowest} took {durations[slowest] * 1000:.0f} ms"
    if durations[slowest] > _SLOW:
        yield Finding("note", fires, "check the process behind the hooks: reverie daemon")
    elif doubt:
        yield Finding("note", fires, doubt)
    else:
        yield Finding("ok", fires)


def _duration(app: Workspace, one: Installation, event: str, *, answer: bool) -> float:
    with suppress(ValueError):
        took = _timed(app, one, event, answer=answer)
        if took <= _SLOW:
            return took
    return _timed(app, one, event, answer=answer)


def _timed(app: Workspace, one: Installation, event: str, *, answer: bool) -> float:
    """Run a hook and return its duration. Raise ValueError with its output if it fails."""
    root = app.project.root
    started = time.perf_counter()
    ran = subprocess.run(
        _install_options(app, one).hook_words(event, one.client),
        input=json.dumps(_hook_input(event, root)),
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT,
    )
    took = time.perf_counter() - started
    if ran.returncode or not _is_answer(ran.stdout):
        raise ValueError((ran.stderr or ran.stdout).strip().partition("\n")[0])
    if answer and not ran.stdout.strip():
        raise ValueError("it answered nothing")
    return took


def _hook_input(event: str, root: Path) -> dict[str, object]:
    """A hook's input with the fields of every client; the doctor has its own session per project."""
    session = f"{TRIAL}{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}"
    return {
        "session_id": session,
        "conversation_id": session,
        "sessionID": session,
        "hook_event_name": event,
        "source": "startup",
        "cwd": str(root),
        "directory": str(root),
        "workspace_roots": [str(root)],
        "transcript_path": None,
        "prompt": _PROMPT,
        "text": _PROMPT,
        "tool_name": "Bash",
        "tool_input": {},
        "tool_response": {"stdout": _PROMPT, "stderr": ""},
        "tool": "bash",
        "args": {},
        "output": _PROMPT,
    }


def _is_answer(stdout: str) -> bool:
    """Is the output empty, or the JSON object a client expects?"""
    if not stdout.strip():
        return True
    try:
        return isinstance(json.loads(stdout), dict)
    except ValueError:
        return False


# Below this, notes, indexes and stored results may fail to be written.
_FULL = 20 * 1024 * 1024
_NEARLY_FULL = 500 * 1024 * 1024
_MEGABYTE = 1024 * 1024


def examine_disk(home: Path) -> Iterator[Finding]:
    """Is there room for what Reverie writes?"""
    nearest = next(folder for folder in (home, *home.parents) if folder.exists())
    try:
        free = shutil.disk_usage(nearest).free
    except OSError:
        return
    if free >= _NEARLY_FULL:
        return
    left = f"{free // _MEGABYTE:,} MB"
    if free < _FULL:
        what = f"the disk of {home} is full ({left} left): nothing new can be kept"
        yield Finding("wrong", what, "free some space; memories that are saved already can be read")
    else:
        yield Finding("note", f"the disk of {home} is nearly full: {left} left")


def examine_daemon(app: Workspace) -> Iterator[Finding]:
    """Does the daemon answer, and does it run the code that is installed?"""
    from reverie.clients.daemon import control

    home = app.settings.home
    status = control.status(home)
    if status is not None:
        yield from _running_daemon(status)
    elif (pid := control.silent(home)) is not None:
        what = f"the daemon (process {pid}) does not answer: hooks run without memory"
        yield Finding("wrong", what, control.wake(pid))


def _running_daemon(status: dict[str, Any]) -> Iterator[Finding]:
    version, python = str(status.get("version", "")), str(status.get("python", ""))
    again = "end it, the next hook starts a new one: reverie daemon stop"
    if python and not Path(python).exists():
        yield Finding("wrong", f"the daemon's Python is gone: {python}", again)
    elif version != reverie.__version__:
        what = f"the daemon runs version {version or 'unknown'}, installed is {reverie.__version__}"
        yield Finding("wrong", what, again)
    else:
        yield Finding("ok", f"the daemon runs version {version}, process {status['pid']}")


# Written by `reverie.proxy.running`, which is not imported: it needs packages that may be missing.
STATE = "proxy.json"
STATUS_PATH = "/_reverie/status"
_SECONDS = 2.0
# Troubles after which a request is sent with earlier decisions only, or unchanged.
_UNDECIDED = frozenset({"failed", "late", "not read"})


def examine_proxy(app: Workspace) -> Iterator[Finding]:
    """Check the proxy, if one runs or a client should use one."""
    state = read_json(app.settings.home / STATE)
    status = ask_status(state) if isinstance(state, dict) and "url" in state else None
    installed = client_plans.installations(open_proxied(app))
    for one in installed:
        reached = status is not None and isinstance(state, dict) and state["url"] == one.program
        yield _reaches(one.client, one.program, reached=reached)
        yield from _still_set(app, one.client, one.program, project=one.scope == "project")
    if isinstance(state, dict) and status is None:
        advice = "it ended without cleaning up; start it again with `reverie proxy`"
        yield Finding("note", f"proxy: nothing answers at {state.get('url')}", advice)
    if status is not None and isinstance(state, dict):
        yield from _troubles(app, str(state["url"]), status)


def _reaches(client: str, url: str, *, reached: bool) -> Finding:
    if reached:
        return Finding("ok", f"proxy: {client} goes through {url}")
    advice = f"start it with `reverie proxy`, or: reverie uninstall {client} --proxy"
    return Finding("wrong", f"proxy: {client} is set to {url}, where no proxy answers", advice)


def _still_set(app: Workspace, client: str, url: str, *, project: bool) -> Iterator[Finding]:
    """Whether the client's file still holds the address."""
    files = open_proxied(app).files
    try:
        for file in base_url_files(client, client_plans.places_of(app), url, project=project):
            if not file.holds(files.read(file.path)):
                advice = f"set it again: reverie install {client} --proxy"
                yield Finding("note", f"proxy: {file.path} has another base URL now", advice)
    except ReverieError as error:
        yield Finding("note", f"proxy: {error}")


def _troubles(app: Workspace, url: str, status: Mapping[str, Any]) -> Iterator[Finding]:
    counts: Mapping[str, int] = status.get("counts") or {}
    handled = ", ".join(f"{count} {name}" for name, count in counts.items())
    yield Finding("ok", f"proxy: runs at {url} ({handled or 'no requests yet'})")
    for kind, count in (status.get("troubles") or {}).items():
        latest = [line for line in status.get("latest") or () if line.startswith(f"{kind}: ")]
        sent = ", so that nothing new was decided for the request" if kind in _UNDECIDED else ""
        what = f"proxy: {count} × {kind}{sent}"
        log = shown_path(app, app.settings.home / "proxy.log")
        yield Finding("note", what, f"{latest[-1] if latest else kind} (all of them: {log})")


def ask_status(state: Mapping[str, Any]) -> dict[str, Any] | None:
    """The status of a running proxy; None if it does not answer."""
    address = urlsplit(str(state["url"]))
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=_SECONDS)
    try:
        connection.request("GET", STATUS_PATH)
        answer = connection.getresponse()
        status = json.loads(answer.read())
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    if answer.status == 401:
        # It requires a token that only its clients have.
        return {"counts": {}, "troubles": {}, "latest": []}
    return status if isinstance(status, dict) and "counts" in status else None
