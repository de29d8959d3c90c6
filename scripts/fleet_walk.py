"""Play docs/fleet.md: two machines that sync, and a service from nothing to a restored backup.

    python scripts/fleet_walk.py

Every `sh` block of the page is run in order, by one shell for each section, in scratch homes; only
addresses and ports are replaced. Exit code 1, and what was printed, if a command fails or does not
print what it should.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from reverie.memory.postgres.database import EmbeddedPostgres  # noqa: E402

PAGE = ROOT / "docs" / "fleet.md"
SECTION = re.compile(r"^## (.+?)$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"(?<=^```sh\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
REMOTE = "git@example.com:me/memory.git"
PATIENCE = 300
# What a command of the service's section prints, by how it begins.
EXPECTED = (
    ("reverie recall", "make ship", 2),
    ("curl -sf -H", "staging is rebuilt", 1),
    ("curl -s -H", "no such project", 1),
    ("reverie migrate", "all bytes are the same", 3),
)


class Differs(Exception):
    """A command failed, or printed something else."""


@dataclass
class Machine:
    """A scratch home with a clone of one repository, and a shell in it."""

    home: Path
    replaced: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.project = self.home / "shop"
        (self.home / ".reverie").mkdir(parents=True)
        self.project.mkdir()
        for command in ("git init -q", "git remote add origin https://example.com/acme/shop"):
            subprocess.run(command.split(), cwd=self.project, check=True)

    def start(self, script: str) -> subprocess.Popen[str]:
        for written, real in self.replaced.items():
            script = script.replace(written, real)
        return subprocess.Popen(
            ["bash", "-euxo", "pipefail", "-c", script],
            cwd=self.project,
            env={
                "HOME": str(self.home),
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "LANG": "C.UTF-8",
                "COLUMNS": "200",
                "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "protocol.file.allow",
                "GIT_CONFIG_VALUE_0": "always",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, script: str) -> str:
        """What a script prints; Differs if it fails."""
        process = self.start(script)
        try:
            told, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            told, _ = process.communicate()
            raise Differs(f"{told}\n(not finished after {PATIENCE} s)") from None
        if process.returncode:
            raise Differs(f"{told}\n(exit code {process.returncode})")
        return told


def blocks() -> dict[str, list[str]]:
    """The commands of the page, by section."""
    page = PAGE.read_text("utf-8")
    return {title: BLOCK.findall(text) for title, text in SECTION.findall(page)}


def require(told: str, *wanted: str) -> None:
    for text in wanted:
        if text not in told:
            raise Differs(f"{told}\n({text!r} is missing)")


# --- one person, two machines ---


def play_sync(scratch: Path, plain: str, sealed: str) -> None:
    remote = scratch / "memory.git"
    subprocess.run(["git", "init", "-q", "--bare", remote], check=True)
    desktop, laptop = (Machine(scratch / name, {REMOTE: str(remote)}) for name in ("a", "b"))
    desktop.run(f'reverie remember "We deploy with make ship every Friday."\n{plain}')
    laptop.run(f'{plain}\nreverie remember "Staging listens on port 8443."\nreverie sync')
    require(laptop.run('reverie recall "when do we deploy?"'), "make ship")
    desktop.run("reverie sync")
    require(desktop.run('reverie recall "the port of staging"'), "8443")

    desktop.run(sealed)
    key = desktop.home / ".reverie" / "sync.key"
    shutil.copy(key, laptop.home / ".reverie" / "sync.key")
    laptop.run(sealed.partition("\n")[2])
    desktop.run('reverie remember "The office cat is called Minka."\nreverie sync')
    laptop.run("reverie sync")
    require(laptop.run('reverie recall "the name of the cat"'), "Minka")
    for packed in remote.rglob("*"):
        if packed.is_file() and b"Minka" in packed.read_bytes():
            raise Differs(f"{packed} can be read")
    _conflict(desktop, laptop)
    _killed(desktop, laptop)


def _conflict(desktop: Machine, laptop: Machine) -> None:
    """One line is changed on both: the one that synced first keeps the name, no text is lost."""
    find = 'grep -l "make ship" ~/.reverie/projects/*/memory/*_*.md | head -1'
    for machine, day in ((desktop, "Monday"), (laptop, "Tuesday")):
        machine.run(f'sed -i "s/Friday/{day}/" "$({find})"\nreverie sync')
    desktop.run("reverie sync")
    for machine in (desktop, laptop):
        require(machine.run("cat ~/.reverie/projects/*/memory/*.md"), "Monday", "Tuesday")


def _killed(desktop: Machine, laptop: Machine) -> None:
    """A sync that is killed at any moment is continued by the next one."""
    for number in range(6):
        desktop.run(f'reverie remember "Room {number} is painted in colour {number * 37}."')
        process = desktop.start("exec reverie sync")
        time.sleep(0.3 + 0.25 * number)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    desktop.run("reverie sync")
    laptop.run("reverie sync")
    told = laptop.run("cat ~/.reverie/projects/*/memory/*.md")
    require(told, *(f"Room {number} is painted" for number in range(6)))


# --- a service for many ---


def play_service(scratch: Path, commands: list[str]) -> None:
    ports = {f"127.0.0.1:{port}": f"127.0.0.1:{free_port()}" for port in (8642, 8643)}
    flags = {f"--port {p[-4:]}": f"--port {r.rpartition(':')[2]}" for p, r in ports.items()}
    first = ports["127.0.0.1:8642"].rpartition(":")[2]
    machine = Machine(
        scratch / "operator",
        {"reverie serve --workers 0 &": f"reverie serve --workers 0 --port {first} &", **flags},
    )
    machine.replaced |= ports
    # The first command stays in the foreground; the next block starts the same service behind.
    *others, moving = [block for block in commands if not block.startswith("make serve")]
    # What is moved is the memory of another project, which is in files.
    ready = (
        "cd && mkdir notes && cd notes && rm ~/.reverie/settings.toml",
        'reverie remember "Prices are stored as integer cents."',
        'reverie remember "I prefer short answers without bullet points."',
    )
    ending = "trap 'kill $(jobs -p)' EXIT"
    try:
        told = machine.run("\n".join([ending, *others, *ready, moving]))
        for begins, wanted, times in EXPECTED:
            # The shell tells each command before it runs it; what curl prints has no last newline.
            parts = re.split(r"\+ (?=reverie |curl )", told)
            found = [part for part in parts if part.startswith(begins)]
            right = [part for part in found if wanted in part]
            if len(right) < times:
                raise Differs(f"{told}\n({begins} … printed {wanted!r} {len(right)} times)")
    finally:
        EmbeddedPostgres.default(machine.home / ".reverie").delete()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def main() -> int:
    found = blocks()
    plain, sealed = found["Your own machines"]
    # Not in a folder that is closed to the user PostgreSQL runs as for root.
    with tempfile.TemporaryDirectory(prefix="fleet-walk-") as folder:
        Path(folder).chmod(0o755)
        try:
            play_sync(Path(folder), plain, sealed)
            play_service(Path(folder), found["A service for many"])
        except Differs as error:
            print(error)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
