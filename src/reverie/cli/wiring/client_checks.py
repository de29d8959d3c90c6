"""Doctor checks of coding agents: do their files still hold our entries, and do the hooks fire?"""

from __future__ import annotations

import hashlib
import json
import os
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
from reverie.clients.install.codex_trust import untrusted_events
from reverie.clients.install.entries import value_of
from reverie.clients.install.json_text import Malformed
from reverie.clients.install.wiring import WAYS, InstallOptions
from reverie.clients.mcp import package
from reverie.errors import ReverieError
from reverie.settings.sources import environment

if TYPE_CHECKING:
    from reverie.clients.files import Clients
    from reverie.clients.install.files import ClientFile
    from reverie.clients.install.plan import Installation
    from reverie.workspace import Workspace

# Clients cancel a hook that takes longer.
_TIMEOUT = 10.0
# A noticeable delay before every prompt.
_SLOW = 0.5

# Too short to look anything up for or to learn from.
_PROMPT = "hello"

_TRUST = "start `codex`, type /hooks, and trust Reverie's"

_MANAGED = (
    Path("/etc/claude-code/managed-settings.json"),
    Path("/Library/Application Support/ClaudeCode/managed-settings.json"),
)


def examine_clients(app: Workspace) -> Iterator[Finding]:
    """Check every client Reverie is installed in, for the person and for this project."""
    from reverie.clients.files import open_clients

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
    if not package.installed():
        yield _without_package(name, reinstall, wired=_has_server(app, clients, one))
    untrusted = _untrusted(app) if one.client == "codex" else ()
    if untrusted:
        what = f"{name}: Codex does not run these hooks, as you have not trusted them: "
        yield Finding("wrong", what + ", ".join(untrusted), _TRUST)
    elif one.way == "mcp":
        yield Finding("ok", f"{name}: the MCP server alone, without hooks")
    else:
        doubt = "" if untrusted is not None else f"whether Codex trusts them is not known: {_TRUST}"
        yield from _fire_hooks(app, one, name, doubt)


def _untrusted(app: Workspace) -> tuple[str, ...] | None:
    """Codex runs no hook that the person has not trusted, and says nothing about it."""
    return untrusted_events(app.project.root, environment())


def _without_package(name: str, reinstall: str, *, wired: bool) -> Finding:
    if wired:
        what = f"{name}: its MCP server does not start, since the package mcp is not installed"
        return Finding("wrong", what, package.ADVICE)
    what = f"{name}: without the MCP server, since the package mcp is not installed"
    return Finding("note", what, f"to add it: {package.ADVICE}, then {reinstall}")


def _has_server(app: Workspace, clients: Clients, one: Installation) -> bool:
    """Is the MCP server among what the client's files hold?"""
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
            yield Finding("wrong", f"{name}: its {event} hook failed: {failed}", _where(app))
            return
    slowest = max(durations, key=durations.__getitem__)
    fires = f"{name}: hooks fire, {slowest} took {durations[slowest] * 1000:.0f} ms"
    if durations[slowest] > _SLOW:
        yield Finding("note", fires, "check the process behind the hooks: reverie daemon")
    elif doubt:
        yield Finding("note", fires, doubt)
    else:
        yield Finding("ok", fires)


def _where(app: Workspace) -> str:
    return f"see {shown_path(app, app.settings.home / LOG)}, or run it by hand"


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
