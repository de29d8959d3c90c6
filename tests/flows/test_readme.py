"""The README's example runs, and prints what the README says it prints."""

import re
import subprocess
import sys
from pathlib import Path

from tests.place import Place

README = Path(__file__).parents[2] / "README.md"


def test_the_ten_lines_run(place: Place):
    code, output = re.search(
        r"```python\n(.*?)```\n\n```\n(.*?)```", README.read_text("utf-8"), re.DOTALL
    ).groups()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=place.root,
    )
    assert done.stderr == ""
    assert done.stdout == output


def test_every_command_it_names_exists():
    from reverie.surfaces.cli.group import COMMANDS

    named = set(re.findall(r"`reverie ([a-z]+)", README.read_text("utf-8")))
    table = re.findall(r"^\| (`[a-z].*?) \|", README.read_text("utf-8"), re.MULTILINE)
    named |= {word for row in table for word in re.findall(r"`([a-z]+)[ `\[]", row)}
    named -= {"models", "providers"}
    assert named <= set(COMMANDS) | {"make"}
