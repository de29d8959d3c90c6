"""Examples of the documentation, run as their readers would run them: in a process of their own."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.place import Place
from tests.provider.provider import Provider

ROOT = Path(__file__).parents[2]

_EXAMPLE = re.compile(r"```python\n(?P<code>.*?)```(?:\n\n```\n(?P<output>.*?)```)?", re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A block of Python, and what the page says it prints."""

    page: str
    number: int
    code: str
    output: str | None

    def __str__(self) -> str:
        return f"{self.page}-{self.number}"


def examples(page: str) -> list[Example]:
    found = _EXAMPLE.finditer((ROOT / page).read_text("utf-8"))
    return [Example(page, i, match["code"], match["output"]) for i, match in enumerate(found, 1)]


def run(example: Example, place: Place, provider: Provider) -> str:
    """What it prints; it must print no warning and reach no model but the one on loopback."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example.code],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=place.root,
        env=os.environ
        | {
            "ANTHROPIC_API_KEY": "test",
            "ANTHROPIC_BASE_URL": provider.anthropic_url,
            "OPENAI_API_KEY": "test",
            "OPENAI_BASE_URL": provider.openai_url,
        },
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout
