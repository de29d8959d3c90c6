"""Steps of the memory commands, shared by their tests."""

import json
import os
import pty
import select
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from tests.cli.run import done, environment
from tests.place import Place

from reverie.cli.group import cli

AUDIT = "Deploys freeze on 2026-12-20 because of the audit"
TESTS = "Never mock the database in integration tests, a mock hid a broken migration"
PERSON = "I am a data engineer and new to Rust"
TRACKER = "Complaints are tracked in Linear, board HARBOR"


def remembered(text: str, *options: object) -> dict[str, Any]:
    """Save a memory and return the command's JSON."""
    made: dict[str, Any] = json.loads(done("remember", *options, "--json", "--", text))
    return made


def typed(text: str | bytes, *arguments: object) -> Result:
    """Run a command with something on its standard input."""
    words = [str(argument) for argument in arguments]
    return CliRunner().invoke(cli, words, text, catch_exceptions=False, prog_name="reverie")


def directory(place: Place) -> Path:
    return place.app().memory_location.directory


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, whatever its name."""
    found = (Path(root) / name for root, _, names in os.walk(folder) for name in names)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def editor(place: Place, script: str) -> str:
    """An editor that is a script; `$1` is the file."""
    path = place.base / "editor.sh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def asked(place: Place, answer: str, *arguments: str, **env: str) -> tuple[int, str]:
    """Run on a separate terminal and answer the question it asks."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "reverie", *arguments],
        stdin=slave, stdout=slave, stderr=slave, cwd=place.root, env=environment(place, **env),
    )  # fmt: skip
    os.close(slave)
    output = b""
    while select.select([master], [], [], 20)[0]:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        output += piece
        if piece and output.lower().rstrip().endswith(b"y/n]:") and answer:
            os.write(master, f"{answer}\n".encode())
            answer = ""
        if not piece:
            break
    os.close(master)
    return process.wait(20), output.decode()
