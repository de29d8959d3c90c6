"""Every command in README.md, CONTRIBUTING.md and docs/ is run, or listed with the reason why it is not.

A page is run from top to bottom in a home of its own, with the memories, sessions and files that the
pages speak of. A new command is run without any change here; one that cannot be run needs an entry
in NOT_RUN. Console blocks of the pages in PLAYED are compared with what they print elsewhere.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from tests.cli.run import environment, hears_signals
from tests.cli.terminal import on_terminal
from tests.flows.doc_world import build_world

from reverie.cli.group import cli

if TYPE_CHECKING:
    from tests.place import Place
    from tests.provider.provider import Provider

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PLAYED = {"walk.md", "tour.md", "quickstart.md"}
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SHELL = ("sh", "bash", "console")
COMMENT = re.compile(r"(^|\s)# .*$")

# Patterns of whole commands, and why they are not run here.
NOT_RUN = {
    r"make .*": "is the way to the tests themselves",
    r"(\w+=\S+ )*(claude|codex|opencode|gemini)( .*)?": "starts a client; `make test-clients` does",
}

# Commands that ask: what is typed, each when its words are on the screen.
ASKED: dict[str, tuple[tuple[str, str], ...]] = {}

# Commands that run until Ctrl-C.
SERVES: dict[str, str] = {}


def commands(page: Path) -> list[str]:
    """The commands of a page, in order, without comments and output."""
    found: list[str] = []
    for language, block in FENCE.findall(page.read_text("utf-8")):
        if language not in SHELL or (language == "console" and page.name in PLAYED):
            continue
        lines = re.sub(r"(\\|\|)\n\s*", lambda end: "| " if end[1] == "|" else " ", block).splitlines()
        if language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        found += [text for line in lines if (text := COMMENT.sub("", line).strip())]
    return found


def reason_not_to(command: str) -> str | None:
    return next((why for one, why in NOT_RUN.items() if re.fullmatch(one, command)), None)


with_commands = [page for page in PAGES if commands(page)]


@dataclass
class Reader:
    """Someone who types the commands of a page into a shell."""

    place: Place
    meant: dict[str, str]
    env: dict[str, str]

    def type(self, command: str) -> None:
        for written, real in self.meant.items():
            command = command.replace(written, real)
        if command in ASKED:
            self._answer(command)
        elif command in SERVES:
            self._serve(command, SERVES[command])
        elif command.startswith("reverie ") and not re.search(r"[|<>&;$*]", command):
            self._here(command)
        else:
            self._shell(command)

    def _here(self, command: str) -> None:
        """In this process, which is faster."""
        words = [os.path.expanduser(word) for word in shlex.split(command)[1:]]
        result = CliRunner().invoke(cli, words, "", prog_name="reverie", catch_exceptions=False)
        assert result.exit_code == 0, f"{command}\n{result.output}"

    def _shell(self, command: str) -> None:
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", command],
            cwd=self.place.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


@pytest.fixture
def reader(place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Reader:
    meant = build_world(place)
    more = {
        "PATH": f"{place.person / 'programs'}:{os.environ['PATH']}",
        "ANTHROPIC_API_KEY": "key",
        "ANTHROPIC_BASE_URL": provider.anthropic_url,
        "REVERIE_PROVIDERS_OLLAMA_BASE_URL": provider.openai_url,
        "EDITOR": "nano",
    }
    env = environment(place, **more)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    return Reader(place, meant, env)


@pytest.mark.parametrize("page", with_commands, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_run(reader: Reader, page: Path) -> None:
    wrong = []
    for command in commands(page):
        if reason_not_to(command) is None:
            try:
                reader.type(command)
            except AssertionError as e:
                wrong.append(str(e))
            except Exception as e:
                wrong.append(f"{command}: {e!r}")
    assert not wrong, "\n=====\n".join(wrong)
