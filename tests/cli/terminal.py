"""Run a program on a pseudo-terminal: send keys, read the screen."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.cells import cell_len
from tests.cli.run import environment, hears_signals
from tests.place import Place

# Everything waits for what it wants to see; this only ends a test that waits in vain.
PATIENCE = 120.0

# A way to steer the cursor, or one character.
_PIECE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b[()][A-Z0-9]|\x1b[=>78]|(.)", re.DOTALL)


class Picture:
    """The terminal's screen, with the lines that scrolled out of it."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._rows: list[list[str]] = [[]]
        self._row = self._column = 0

    @property
    def text(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self._rows)

    def draw(self, written: str) -> None:
        for piece in _PIECE.finditer(written):
            if piece[3]:
                self._character(piece[3])
            elif piece[2]:
                self._steer(piece[2], int(piece[1]) if piece[1].isdecimal() else 0)

    def _character(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._down()
        elif character >= " ":
            size = max(1, cell_len(character))
            if self._column + size > self._columns:
                self._down()
                self._column = 0
            row = self._rows[self._row]
            row += [" "] * (self._column + size - len(row))
            # A wide character takes two cells; the second one is empty.
            row[self._column : self._column + size] = [character, *[""] * (size - 1)]
            self._column += size

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self._rows):
            self._rows.append([])

    def _steer(self, what: str, count: int) -> None:
        match what:
            case "A":
                self._row = max(0, self._row - (count or 1))
            case "C":
                self._column += count or 1
            case "D":
                self._column = max(0, self._column - (count or 1))
            case "J":
                del self._rows[self._row + 1 :], self._rows[self._row][self._column :]
            case "K":
                del self._rows[self._row][self._column :]
            case _:
                # Colours and modes change nothing that can be read.
                pass


class Terminal:
    """A process and the terminal it runs on."""

    def __init__(
        self, master: int, slave: int, process: subprocess.Popen[bytes], columns: int
    ) -> None:
        self._master = master
        self._slave = slave
        self._process = process
        self._modes = termios.tcgetattr(slave)
        self._picture = Picture(columns)
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self.raw = ""

    @property
    def text(self) -> str:
        return self._picture.text

    def until(self, *wanted: str) -> None:
        """Read until all of these can be seen, one behind the other."""
        deadline = time.monotonic() + PATIENCE
        while not self._shows(wanted):
            more = self._more(deadline)
            assert more, f"{wanted} cannot be seen in:\n{self.text}"

    def _shows(self, wanted: tuple[str, ...]) -> bool:
        text, at = self.text, 0
        for want in wanted:
            at = text.find(want, at)
            if at < 0:
                return False
            at += len(want)
        return True

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def enter(self, text: str) -> None:
        self.type(f"{text}\r")

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def hang_up(self) -> None:
        """Close the terminal window."""
        os.close(self._slave)
        os.close(self._master)
        self._master = self._slave = -1

    def ended(self) -> int:
        """Wait for the program to end and return its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self._master >= 0 and self._process.poll() is None and self._more(deadline):
            pass
        return self._process.wait(PATIENCE)

    @property
    def as_found(self) -> bool:
        """Is the terminal as it was before?"""
        return termios.tcgetattr(self._slave) == self._modes

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(PATIENCE)
        if self._master >= 0:
            os.close(self._slave)
            os.close(self._master)

    def _more(self, deadline: float) -> bool:
        """Wait for more; False when nothing comes any more."""
        while time.monotonic() < deadline:
            if select.select([self._master], [], [], 0.1)[0]:
                written = self._decoder.decode(os.read(self._master, 65_536))
                self.raw += written
                self._picture.draw(written)
                return True
            if self._process.poll() is not None:
                return False
        return False


def _owns_terminal() -> None:
    hears_signals()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def on_terminal(
    place: Place,
    *arguments: str,
    program: Sequence[str] = (sys.executable, "-m", "reverie"),
    rows: int = 40,
    columns: int = 100,
    **env: str,
) -> Iterator[Terminal]:
    """Run `reverie`, or another program, on a terminal of this size."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(
        [*program, *arguments],
        cwd=place.root,
        env=environment(place, **{"TERM": "xterm-256color", **env}),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        # It is the first of its session: the terminal is its own, and its signals come from there.
        start_new_session=True,
        preexec_fn=_owns_terminal,
    )
    terminal = Terminal(master, slave, process, columns)
    try:
        yield terminal
    finally:
        terminal.close()
