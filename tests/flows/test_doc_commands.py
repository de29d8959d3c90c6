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
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from tests.cli.run import data, done, environment, hears_signals
from tests.cli.terminal import on_terminal
from tests.flows.doc_world import build_world, learn_something
from tests.provider.provider import Provider

from reverie.cli.group import cli

if TYPE_CHECKING:
    from tests.place import Place
    from tests.provider.server import ProviderServer

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PLAYED = {"walk.md", "tour.md", "quickstart.md"}
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SHELL = ("sh", "bash", "console")
COMMENT = re.compile(r"(^|\s)# .*$")

# Patterns of whole commands, and why they are not run here.
_POSTGRES = "needs PostgreSQL; tests/postgres runs it"
_CLIENT = "starts a client; `make test-clients` does"
_INSTALLS = "installs from the network; `make release-check` and `scripts/walk.py --clone` do"
_NO_MEMORIES = "needs a project without memories; tests/cli/test_memory_adopt.py runs it"
NOT_RUN = {
    r"make .*": _INSTALLS,
    r"(pipx|pip) install .*|uv tool install .*|\. \.venv/bin/activate": _INSTALLS,
    r"(\w+=\S+ )*(claude|codex|opencode|gemini)( .*)?": _CLIENT,
    r"reverie (serve|worker|tenants|migrate)( .*)?|reverie worker &.*": _POSTGRES,
    r"reverie adopt .*|reverie install .*--memory adopt": _NO_MEMORIES,
    r"reverie extract --batch": "needs a model; tests/cli/test_extract_batches.py runs it",
    r"reverie demo( .*)?": "takes long; tests/cli/test_demo.py plays it",
    r'eval "\$\(reverie completion zsh\)"': "needs zsh; tests/cli/test_look.py tries each shell",
    r".* node examples/recall\.mjs .*": "needs Node, and the server of the page above it",
    r"curl http://127\.0\.0\.1:8790.*": "needs a key; tests/proxy sends the same request",
}

# Patterns of commands that ask, and what is typed when these words are on the screen.
ASKED = {
    r"reverie chat --resume": (("Which one", "\r"), ("❯", "exit\r")),
    r"reverie chat(?!.* -p)( .*)?": (("❯", "exit\r"),),
    r"reverie install claude-code": (("[beside]", "\r"), ("[y/N]", "y\r")),
    r"reverie (un)?install (?!.*--(yes|dry-run)).*": (("[y/N]", "y\r"),),
    r"reverie forget .*": (("[y/N]", "y\r"),),
    r"reverie trust --move": (("[y/N]", "y\r"),),
    r"reverie inbox review": (("q quit", "q"),),
    r"reverie keys set \w+": (("ANTHROPIC_API_KEY", "a-key\r"),),
}

# Patterns of commands that run until Ctrl-C.
SERVES = r"reverie (ui|mcp --http|proxy|proxy --shadow|watch)( --port.*)?"
# A command that runs longer than this waits for something.
SECONDS = 240


def commands(page: Path) -> list[str]:
    """The commands of a page, in order, without comments and output."""
    found: list[str] = []
    for language, block in FENCE.findall(page.read_text("utf-8")):
        if language not in SHELL or (language == "console" and page.name in PLAYED):
            continue
        lines = re.sub(
            r"(\\|\|)\n\s*", lambda end: "| " if end[1] == "|" else " ", block
        ).splitlines()
        if language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        found += [text for line in lines if (text := COMMENT.sub("", line).strip())]
    return found


def reason_not_to(command: str) -> str | None:
    return next((why for one, why in NOT_RUN.items() if re.fullmatch(one, command)), None)


# Pages that another test plays as a whole.
ELSEWHERE = {"fleet.md": "tests/flows/test_fleet_walk.py"}
# Pages with many commands that need a process of their own.
LONG = {"chat.md", "commands.md", "proxy.md"}
with_commands = [
    pytest.param(
        page,
        id=str(page.relative_to(ROOT)),
        marks=[pytest.mark.slow] if page.name in LONG else [],
    )
    for page in PAGES
    if commands(page) and page.name not in ELSEWHERE
]


@dataclass
class Reader:
    """Types the commands of a page, as its reader would."""

    place: Place
    meant: dict[str, str]
    env: dict[str, str]

    def type(self, command: str) -> None:
        for written, real in self.meant.items():
            command = command.replace(written, real)
        if command == "reverie mcp --http":
            # Its usual port may be taken.
            command += " --port 0"
        if "0442a060" in command:
            learn_something(self.place)
        if "reverie doctor" in command:
            # It tries the hooks, which on a busy machine would not wait for the daemon to start.
            done("daemon", "start")
        if "trust --move" in command:
            self.place.settings('notes.refine = "due"\n', "old local")
        if "1a2b3c4d5e" in command:
            command = command.replace("1a2b3c4d5e", data("log")[0]["revision"])
        answers = next((keys for one, keys in ASKED.items() if re.fullmatch(one, command)), None)
        if answers is not None:
            self._answer(command, answers)
        elif re.fullmatch(SERVES, command):
            self._serve(command)
        elif command.startswith("reverie ") and not re.search(r"[|<>&;$*]", command):
            self._here(command)
        else:
            self._shell(command)

    def _here(self, command: str) -> None:
        """In this process, which is faster."""
        words = [
            str(Path(word).expanduser()) if word.startswith("~") else word
            for word in shlex.split(command)[1:]
        ]
        signal.alarm(SECONDS)
        try:
            result = CliRunner().invoke(cli, words, "", prog_name="reverie", catch_exceptions=False)
        finally:
            signal.alarm(0)
        assert result.exit_code == 0, f"{command}\n{result.output}"

    def _answer(self, command: str, answers: tuple[tuple[str, str], ...]) -> None:
        with on_terminal(
            self.place, *shlex.split(command)[1:], columns=400, **self.env
        ) as terminal:
            for words, keys in answers:
                terminal.until(words)
                terminal.type(keys)
            assert terminal.ended() == 0, f"{command}\n{terminal.text}"

    def _serve(self, command: str) -> None:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.place.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=hears_signals,
        )
        assert process.stdout is not None
        # Its first line says that it runs.
        told = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=SECONDS)
        assert process.returncode in (0, 130), f"{command}\n{told}{rest}"
        assert "Traceback" not in rest

    def _shell(self, command: str) -> None:
        ended = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", command],
            cwd=self.place.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert ended.returncode == 0, f"{command}\n{ended.stdout}{ended.stderr}"


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def _too_long(number: int, frame: object) -> None:
    raise TimeoutError(f"it did not end in {SECONDS} s; if it serves or asks, say so in this file")


@pytest.fixture
def reader(
    place: Place, provider_server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Reader]:
    meant = build_world(place)
    # A page is no conversation: what its requests share is not checked.
    provider = provider_server.serve(Provider())
    more = {
        "PATH": f"{place.person / 'programs'}:{os.environ['PATH']}",
        "ANTHROPIC_API_KEY": "key",
        "ANTHROPIC_BASE_URL": provider.anthropic_url,
        "REVERIE_PROVIDERS_OLLAMA_BASE_URL": provider.openai_url,
        "REVERIE_PROXY_PORT": str(free_port()),
        # Loading the model of meaning takes longer than most commands.
        "REVERIE_RECALL_EMBEDDER": "none",
        "EDITOR": "nano",
    }
    env = environment(place) | more
    signal.signal(signal.SIGALRM, _too_long)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    yield Reader(place, meant, env)
    # A hook may have started it.
    done("daemon", "stop")
    provider.close()


@pytest.mark.parametrize("page", with_commands)
def test_the_commands_of_a_page_run(reader: Reader, page: Path) -> None:
    for command in commands(page):
        if reason_not_to(command) is None:
            reader.type(command)


def test_every_reason_still_has_a_command() -> None:
    found = [command for page in PAGES for command in commands(page)]
    for pattern in (*NOT_RUN, *ASKED, SERVES):
        assert any(re.fullmatch(pattern, command) for command in found), pattern


def test_no_command_hides_in_a_block_without_a_language() -> None:
    for page in PAGES:
        for language, block in FENCE.findall(page.read_text("utf-8")):
            hidden = re.search(r"^(\$ |reverie |make |pip )", block, re.MULTILINE)
            assert language != "" or not hidden, f"{page.name}: {hidden and hidden[0]}"
