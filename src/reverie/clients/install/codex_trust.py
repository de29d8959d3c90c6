"""Which hooks Codex runs: asked of Codex itself, since only it knows how it hashes a trusted command.

`codex app-server` speaks JSON-RPC over stdio. Observed with 0.166.0: `hooks/list` names every hook with its
command and `trustStatus` (untrusted, modified, trusted or managed).
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

from reverie.clients.install.entries import is_ours

SECONDS = 8.0
_TRUSTED = ("trusted", "managed")
_REQUESTS = (
    {
        "id": 1,
        "method": "initialize",
        "params": {"clientInfo": {"name": "reverie", "version": "1"}},
    },
    {"method": "initialized"},
)


def untrusted_events(root: Path, environment: Mapping[str, str]) -> tuple[str, ...] | None:
    """The events of our hooks that Codex does not run; None if it cannot be asked."""
    program = shutil.which("codex", path=environment.get("PATH"))
    listed = None if program is None else _hooks(program, root, environment)
    if listed is None:
        return None
    ours = [hook for hook in listed if is_ours(hook.get("command"), "codex")]
    return tuple(
        str(hook.get("eventName"))
        for hook in ours
        if hook.get("trustStatus") not in _TRUSTED or hook.get("enabled") is False
    )


def _hooks(program: str, root: Path, environment: Mapping[str, str]) -> list[dict[str, Any]] | None:
    asked = {"id": 2, "method": "hooks/list", "params": {"cwds": [str(root)]}}
    lines = (json.dumps({"jsonrpc": "2.0", **one}) for one in (*_REQUESTS, asked))
    try:
        process = subprocess.Popen(
            [program, "app-server"],
            cwd=root,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    with process:
        try:
            stdin = cast("IO[bytes]", process.stdin)
            stdin.write("".join(f"{line}\n" for line in lines).encode())
            stdin.flush()
            found = next((one for one in _answers(process) if one.get("id") == 2), {})
        except OSError:
            found = {}
        finally:
            process.terminate()
    try:
        return [hook for folder in found["result"]["data"] for hook in folder["hooks"]]
    except (KeyError, TypeError):
        return None


def _answers(process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    """The messages a process writes, for at most SECONDS."""
    stdout = cast("IO[bytes]", process.stdout)
    until, rest = time.monotonic() + SECONDS, b""
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0 and selector.select(left):
            data = os.read(stdout.fileno(), 65_536)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                try:
                    message = json.loads(line)
                except ValueError:
                    continue
                if isinstance(message, dict):
                    yield message
