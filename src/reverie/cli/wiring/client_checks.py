"""The doctor's look at coding agents: do their files still hold our entries, and does a hook fire?"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.cli.formatting import Finding
from reverie.cli.memories import shown_path
from reverie.cli.wiring.client_plans import home_of, installations, places_of
from reverie.clients.hook_client import LOG
from reverie.clients.hooks.events import TRIAL
from reverie.clients.install.clients import CLIENTS, hindrance
from reverie.clients.install.entries import value_of
from reverie.clients.install.json_text import Malformed
from reverie.clients.install.wiring import InstallOptions
from reverie.clients.mcp import package
from reverie.errors import ReverieError

if TYPE_CHECKING:
    from reverie.clients.files import Clients
    from reverie.clients.install.files import ClientFile
    from reverie.clients.install.plan import Installation
    from reverie.workspace import Workspace

# What a client waits for; a hook that takes longer is cut off.
_PATIENCE = 10.0
# A person notices half a second before every prompt.
_SLOW = 0.5

# Too little to look anything up for, and nothing to learn.
_WORD = "hello"

_MANAGED = (
    Path("/etc/claude-code/managed-settings.json"),
    Path("/Library/Application Support/ClaudeCode/managed-settings.json"),
)


def examine_clients(app: Workspace) -> Iterator[Finding]:
    """Every client Reverie was installed into, for the person and for this project."""
    from reverie.clients.files import open_clients

    clients = open_clients(app)
    for one in installations(clients):
        if one.scope == "user" or one.root == str(app.project.root):
            yield from _one(app, clients, one)


def _one(app: Workspace, clients: Clients, one: Installation) -> Iterator[Finding]:
    name = f"{CLIENTS[one.client].title} ({one.scope})"
    again = f"reverie install {one.client} --scope {one.scope}"
    for said in _files(app, clients, one):
        yield Finding("wrong", f"{name}: {said}", f"bring it back: {again}")
    if not (Path(one.program).is_file() and os.access(one.program, os.X_OK)):
        yield Finding("wrong", f"{name}: {one.program} is not there any more", f"renew it: {again}")
        return
    if one.client == "claude-code":
        yield from _hindered(app, clients, name)
    if not package.installed():
        yield _without_package(name, again, wired=_has_server(app, clients, one))
    yield from _fired(app, one, name)


def _without_package(name: str, again: str, *, wired: bool) -> Finding:
    if wired:
        said = f"{name}: its MCP server does not start, since the package mcp is not installed"
        return Finding("wrong", said, package.ADVICE)
    said = f"{name}: without the MCP server, since the package mcp is not installed"
    return Finding("note", said, f"to add it: {package.ADVICE}, then {again}")


def _has_server(app: Workspace, clients: Clients, one: Installation) -> bool:
    """Is the MCP server among what the client's files hold?"""
    with_server, without = (_wished(app, one, mcp=mcp) for mcp in (True, False))
    for file, other in zip(with_server, without, strict=True):
        filed = next((filed for filed in one.files if filed.role == file.role), None)
        if filed is not None and file != other:
            with suppress(Malformed, ReverieError):
                return file.holds(clients.files.read(filed.path))
    return False


def _wished(app: Workspace, one: Installation, *, mcp: bool) -> tuple[ClientFile, ...]:
    return CLIENTS[one.client].files(_wish(app, one, mcp=mcp))


def _wish(app: Workspace, one: Installation, *, mcp: bool = True) -> InstallOptions:
    return InstallOptions(places_of(app), one.scope, one.program, mcp, home_of(app))


def _files(app: Workspace, clients: Clients, one: Installation) -> Iterator[str]:
    """What is wrong with the files that were written into."""
    # It may have been installed without the server.
    wished = (file for mcp in (True, False) for file in _wished(app, one, mcp=mcp))
    files = [file for file in wished if file.wanted]
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


def _hindered(app: Workspace, clients: Clients, name: str) -> Iterator[Finding]:
    own = places_of(app).claude
    for path in (own / "settings.json", own / "settings.local.json", *_MANAGED):
        try:
            said = hindrance(value_of(clients.files.read(path) or "{}", comments=False))
        except (ReverieError, Malformed):
            continue
        if said:
            yield Finding("wrong", f"{name}: {said}", f"see {shown_path(app, path)}")


def _fired(app: Workspace, one: Installation, name: str) -> Iterator[Finding]:
    """Run every hook as the client would; a slow one may have started the daemon, and runs again."""
    client = CLIENTS[one.client]
    taken: dict[str, float] = {}
    for event in client.events:
        answer = event == client.answered and app.settings.memory_enabled
        try:
            taken[event] = _took(app, one, event, answer=answer)
        except subprocess.TimeoutExpired:
            yield Finding("wrong", f"{name}: its {event} hook took more than {_PATIENCE:.0f} s")
            return
        except OSError as error:
            yield Finding("wrong", f"{name}: {one.program} does not start: {error.strerror}")
            return
        except ValueError as failed:
            yield Finding("wrong", f"{name}: its {event} hook failed: {failed}", _where(app))
            return
    slowest = max(taken, key=taken.__getitem__)
    fires = f"{name}: hooks fire, {slowest} took {taken[slowest] * 1000:.0f} ms"
    if taken[slowest] > _SLOW:
        yield Finding("note", fires, "is the process behind the hooks there? reverie daemon")
    else:
        yield Finding("ok", fires)


def _where(app: Workspace) -> str:
    return f"see {shown_path(app, app.settings.home / LOG)}, or run it by hand"


def _took(app: Workspace, one: Installation, event: str, *, answer: bool) -> float:
    with suppress(ValueError):
        took = _timed(app, one, event, answer=answer)
        if took <= _SLOW:
            return took
    return _timed(app, one, event, answer=answer)


def _timed(app: Workspace, one: Installation, event: str, *, answer: bool) -> float:
    """How long the hook takes. Raises ValueError with what it said if that will not do."""
    root = app.project.root
    started = time.perf_counter()
    ran = subprocess.run(
        shlex.split(_wish(app, one).hook(event, one.client)),
        input=json.dumps(_told(event, root)),
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE,
    )
    took = time.perf_counter() - started
    plain = event in CLIENTS[one.client].plain
    if ran.returncode or not (plain or _is_answer(ran.stdout)):
        raise ValueError((ran.stderr or ran.stdout).strip().partition("\n")[0])
    if answer and not ran.stdout.strip():
        raise ValueError("it answered nothing")
    return took


def _told(event: str, root: Path) -> dict[str, object]:
    """What any client would tell; the session is the doctor's own, and this project's."""
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
        "prompt": _WORD,
        "text": _WORD,
        "tool_name": "Bash",
        "tool_input": {},
        "tool_response": {"stdout": _WORD, "stderr": ""},
        "tool": "bash",
        "args": {},
        "output": _WORD,
    }


def _is_answer(stdout: str) -> bool:
    """Nothing, or the JSON a client expects."""
    if not stdout.strip():
        return True
    try:
        return isinstance(json.loads(stdout), dict)
    except ValueError:
        return False
