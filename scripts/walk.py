"""Play the first ten minutes of a new user, and compare them with docs/walk.md.

The page is the script: every line behind `$` in its console blocks is run, and every line behind
`>` is typed into the chat above it. Everything happens in a scratch home, with a model on loopback.

    python scripts/walk.py            compare with the page; exit code 1 and a diff if it differs
    python scripts/walk.py --write    write what was printed into the page
    python scripts/walk.py --clone    clone the repository and `make run` first, as the page says

`claude` is the one on PATH. Without it (or with WALK_WITHOUT_CLAUDE), a small program runs the hooks it finds in Claude Code's
settings at the same moments, and asks the same model.
"""

from __future__ import annotations

import argparse
import difflib
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.provider.provider import Provider  # noqa: E402
from tests.provider.server import ProviderServer  # noqa: E402

if TYPE_CHECKING:
    from tests.provider.record import RecordedRequest

PAGE = ROOT / "docs" / "walk.md"
CLIENT = ROOT / "tests" / "flows" / "claude_stand_in.py"
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
PROMPT = "> "
# The address of the model in the page; the real port is another one.
ADDRESS = "127.0.0.1:8900"
PATIENCE = 60.0

# What the model on loopback knows: only what stands in its request.
ANSWERS = (
    ("port", "8443", "Staging listens on port 8443."),
    ("database", "mercury", "It is called mercury."),
)

# What differs from run to run.
VARYING = (
    (re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{6}\b"), "SESSION"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{10}\b"), "REVISION"),
    (re.compile(r"\b\d{4}-\d\d-\d\d( \d\d:\d\d)?\b"), "DATE"),
    (re.compile(r"\$\d+\.\d+"), "MONEY"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"extract [0-9a-f]{8}"), "extract SESSION"),
    (re.compile(r"(?<!,)\b\d,\d{3}\b(?!,)"), "COUNT"),
    # How often a memory was used weighs a little.
    (re.compile(r"^ 0\.\d\d(?=  )", re.MULTILINE), " SCORE"),
    (re.compile(r"\b(today|yesterday)\b"), "DAY"),
    (re.compile(r"Python 3[\d.]+"), "PYTHON"),
    (re.compile(r"process \d+"), "PROCESS"),
)


def answer(request: RecordedRequest) -> str:
    """Reply from what the request holds, as a model would that knows nothing else."""
    said = _words(request.json["messages"][-1])
    everything = request.body.decode("utf-8", "replace")
    if "Remember that the staging database" in everything:
        return "I will."
    for topic, needle, reply in ANSWERS:
        if topic in said and needle in everything:
            return reply
    return "I do not know."


def _words(message: Mapping[str, object]) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    assert isinstance(content, list)
    return " ".join(str(block.get("text", "")) for block in content)


@dataclass
class Walk:
    """A scratch home, and where the person stands in it."""

    home: Path
    programs: Path
    port: int
    env: dict[str, str] = field(init=False)
    here: Path = field(init=False)

    def __post_init__(self) -> None:
        self.here = self.home
        shop = self.home / "shop"
        shop.mkdir()
        subprocess.run(["git", "init", "-q", shop], check=True)
        tools = self.home / ".tools"
        tools.mkdir()
        if "WALK_WITHOUT_CLAUDE" in os.environ or shutil.which("claude") is None:
            client = tools / "claude"
            client.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{CLIENT}" "$@"\n')
            client.chmod(0o755)
        self.env = {
            "HOME": str(self.home),
            "PATH": f"{self.programs}:{tools}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "COLUMNS": "100",
            "TZ": "UTC",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
            # A busy machine takes its time.
            "REVERIE_RECALL_DEADLINE": "60",
            # For Claude Code: nothing but the model on loopback is asked.
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self.port}",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "MCP_CONNECTION_NONBLOCKING": "0",
        }

    def play(self, block: str) -> str:
        """The block with what its commands print now."""
        told: list[str] = []
        lines = iter(block.splitlines())
        for command, typed in _steps(lines):
            told += [f"$ {command}", *self._printed(command, typed)]
        return "".join(f"{line}\n" for line in told)

    def _printed(self, command: str, typed: list[str]) -> list[str]:
        if command.startswith("cd "):
            self.here = Path(command[3:].replace("~", str(self.home)))
            return []
        if typed:
            text = self._talk(command, typed)
        else:
            before = self._memories()
            text = self._run(command)
            if command.startswith("reverie install") and "--yes" in command:
                # On a busy machine the first hook would not wait for the daemon.
                self._run("reverie daemon start")
            if command.startswith("claude") and "emember that" in command:
                self._until_learnt(before)
        text = self._as_told(text)
        return [line.rstrip() for line in text.rstrip("\n").split("\n")] if text.strip() else []

    def _as_told(self, text: str) -> str:
        """Without what differs from machine to machine."""
        text = re.sub(r"tmp-walk-[\w-]+?-ada-(\w+)-[0-9a-f]{8}", r"home-ada-\1-01221a02", text)
        text = text.replace(str(self.programs), "~/reverie/.venv/bin")
        text = text.replace(f"127.0.0.1:{self.port}", ADDRESS)
        return text.replace(str(self.home), "~")

    def _run(self, command: str) -> str:
        command = command.replace(ADDRESS, f"127.0.0.1:{self.port}")
        env = self.env | ({"ANTHROPIC_API_KEY": "key"} if command.startswith("claude") else {})
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.here,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        ending = f"(exit code {done.returncode})\n" if done.returncode else ""
        return done.stdout + ending

    def _talk(self, command: str, typed: list[str]) -> str:
        """Type these lines into a program on a terminal, each when it asks for one."""
        master, slave = pty.openpty()
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.here,
            env=self.env,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        written = ""
        for asked, line in enumerate(typed, start=1):
            written = _read(master, written, asked)
            os.write(master, f"{line}\n".encode())
        written = _read(master, written)
        os.close(master)
        process.wait(PATIENCE)
        return written.replace("\r\n", "\n")

    def _memories(self) -> set[Path]:
        return set((self.home / ".reverie").glob("**/memory/*.md"))

    def _until_learnt(self, before: set[Path]) -> None:
        """Wait for what is learnt when the client's turn has ended."""
        deadline = time.monotonic() + PATIENCE
        while self._memories() == before:
            if time.monotonic() > deadline:
                raise TimeoutError("nothing was learnt from the client's turn")
            time.sleep(0.1)


def _steps(lines: Iterator[str]) -> Iterator[tuple[str, list[str]]]:
    """Each command of a block, with the lines that are typed into it."""
    command = ""
    typed: list[str] = []
    for line in lines:
        if line.startswith("$ "):
            if command:
                yield command, typed
            command, typed = line[2:], []
        elif line.startswith(PROMPT):
            typed.append(line[len(PROMPT) :])
    if command:
        yield command, typed


def _read(master: int, written: str, asked: int | None = None) -> str:
    """Read from a terminal until it has asked so often for a line, or the program ends."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if asked is not None and written.count(f"\n{PROMPT}") >= asked:
            break
        if not select.select([master], [], [], 0.1)[0]:
            continue
        try:
            more = os.read(master, 65_536)
        except OSError:
            break
        if not more:
            break
        written += more.decode("utf-8", "replace")
    return written


def same(text: str) -> list[str]:
    """The lines without what differs from run to run."""
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return text.splitlines()


@contextmanager
def stage(*, clone: bool) -> Iterator[Walk]:
    """A scratch home, and the model on loopback."""
    with tempfile.TemporaryDirectory(prefix="walk-") as temporary:
        scratch = Path(temporary)
        home = scratch / "ada"
        home.mkdir()
        programs = cloned(scratch) if clone else Path(sys.executable).parent
        server = ProviderServer()
        server.start()
        provider = Provider()
        provider.respond(answer)
        server.serve(provider)
        walk = Walk(home, programs, int(server.url.rpartition(":")[2]))
        try:
            yield walk
        finally:
            with suppress(subprocess.SubprocessError):
                walk._run("reverie daemon stop")
            server.stop()


def cloned(scratch: Path) -> Path:
    """A clean clone after `make run`; return where its programs are."""
    place = scratch / "reverie"
    subprocess.run(["git", "clone", "-q", ROOT, place], check=True)
    began = time.monotonic()
    subprocess.run(["make", "run"], cwd=place, check=True, stdout=subprocess.DEVNULL)
    print(f"make run in a clean clone: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return place / ".venv" / "bin"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--clone", action="store_true", help="install from a clean clone first")
    options = parser.parse_args()
    page = PAGE.read_text("utf-8")
    with stage(clone=options.clone) as walk:
        played = BLOCK.sub(lambda found: walk.play(found[0]), page)
    if same(played) == same(page):
        return 0
    if options.write and "Traceback" not in played:
        PAGE.write_text(played, "utf-8")
        return 0
    diff = difflib.unified_diff(same(page), same(played), "docs/walk.md", "played", lineterm="")
    print("\n".join(diff))
    return 1


if __name__ == "__main__":
    sys.exit(main())
