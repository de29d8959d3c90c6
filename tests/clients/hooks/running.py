"""A client's hooks as processes, against a real daemon in a scratch home."""

import json
import os
import signal
import subprocess
import sys
from typing import Any

from tests.cli.run import environment, process
from tests.place import Place

from reverie.clients.daemon import control
from reverie.clients.daemon.control import Address, DaemonPlace


class Hooks:
    """Runs hooks the way a client does, and stops everything it started."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.env = environment(place)

    def start(self) -> None:
        assert process(self.place, "daemon", "start").returncode == 0

    def begin(self, client: str, event: str, **env: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "reverie", "hook", event, "--client", client],
            cwd=self.place.root,
            env={**self.env, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def raw(self, client: str, event: str, stdin: bytes, **env: str) -> bytes:
        """What a hook prints; it must always exit with 0 and an empty stderr."""
        with self.begin(client, event, **env) as process:
            out, err = process.communicate(stdin, timeout=240)
        assert (process.returncode, err) == (0, b"")
        return out

    def say(self, client: str, event: str, session: str = "s1", **fields: Any) -> Any:
        data = {"session_id": session, "cwd": str(self.place.root), "hook_event_name": event}
        out = self.raw(client, event, json.dumps(data | fields).encode())
        return json.loads(out) if out else None

    def context(self, client: str, event: str, **fields: Any) -> str:
        answer = self.say(client, event, **fields)
        return "" if answer is None else answer["hookSpecificOutput"]["additionalContext"]

    @property
    def daemon(self) -> DaemonPlace:
        return DaemonPlace(self.place.home)

    @property
    def address(self) -> Address:
        found = self.daemon.address()
        assert found is not None
        return found

    @property
    def log(self) -> str:
        return self.daemon.log.read_text()

    @property
    def errors(self) -> str:
        path = self.place.home / "hooks.log"
        return path.read_text() if path.exists() else ""

    def kill(self) -> None:
        os.kill(self.address.pid, signal.SIGKILL)

    def finish(self) -> None:
        """Stop the daemon after its current work."""
        control.stop(self.place.home)
        if self.daemon.folder.is_dir():
            with self.daemon.alone() as free:
                assert free
