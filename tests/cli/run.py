"""Run the command line in this process or in a separate one."""

import json
import os
import signal
import subprocess
import sys
from typing import Any

from click.testing import CliRunner, Result
from tests.place import Place

from reverie.cli.group import cli


def run(*arguments: object) -> Result:
    """Run in this process; an unexpected exception fails the test."""
    return CliRunner().invoke(
        cli, [str(a) for a in arguments], "", catch_exceptions=False, prog_name="reverie"
    )


def done(*arguments: object) -> str:
    """The output of a command that succeeds."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def data(*arguments: object) -> Any:
    return json.loads(done(*arguments, "--json"))


def failed(*arguments: object) -> str:
    """The message of a command that fails."""
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("reverie: ")
    return result.stderr


# A model server that happens to run on this machine is not part of a test.
NO_LOCAL_SERVERS = {
    "REVERIE_PROVIDERS_OLLAMA_BASE_URL": "http://127.0.0.1:9/v1",
    "REVERIE_PROVIDERS_LLAMACPP_BASE_URL": "http://127.0.0.1:9/v1",
}


def environment(place: Place, **more: str) -> dict[str, str]:
    kept = {
        key: os.environ[key] for key in ("PATH", "PYTHONPATH", "LANG", "TZ") if key in os.environ
    }
    return {**kept, "HOME": str(place.person), **NO_LOCAL_SERVERS, **more}


def process(
    place: Place, *arguments: object, typed: str | None = None, seconds: int = 240, **env: str
) -> subprocess.CompletedProcess[str]:
    """The same as a person runs it; `typed` comes on standard input."""
    return subprocess.run(
        [sys.executable, "-m", "reverie", *map(str, arguments)],
        cwd=place.root,
        env=environment(place, **env),
        input=typed,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=seconds,
    )


def hears_signals() -> None:
    """In a child before it begins: a job in the background is started with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
