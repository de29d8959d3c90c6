"""Letters that leave the process: mailboxes of a team, sockets and bridges of other sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.errors import ReverieError
from reverie.events import Announce, TroubleNoted
from reverie.subagents import agent_socket, bridges
from reverie.subagents.letters import Letter, Refused
from reverie.subagents.mailbox import Mailbox, Post, new_reader

if TYPE_CHECKING:
    from reverie.ports import Clock


class TeamMail:
    """One agent's mail; its box is there once the team has members in other processes."""

    def __init__(self, post: Post, name: str, clock: Clock, announce: Announce) -> None:
        self._announce = announce
        self._told = False
        self._post = post
        self._name = name
        self._reader = new_reader(clock)
        self._box: Mailbox | None = None

    def open_box(self) -> None:
        """From now on other processes can write to it."""
        self._box = self._box or self._post.open(self._name)

    def names(self) -> tuple[str, ...]:
        return self._post.members()

    def send(self, letter: Letter) -> str | None:
        sent = self._post.send(letter)
        return sent.reason if isinstance(sent, Refused) else None

    def waiting(self) -> bool:
        unread = 0
        with self._falling_through():
            unread = 0 if self._box is None else self._box.unread()
        return unread > 0

    def take(self, room: int) -> Sequence[Letter]:
        taken: list[Letter] = []
        with self._falling_through():
            while self._box is not None and sum(len(letter.text) for letter in taken) < room:
                letter = self._box.take(self._reader)
                if letter is None:
                    break
                taken.append(letter)
        return taken

    def acknowledge(self, letters: Sequence[Letter]) -> None:
        with self._falling_through():
            for letter in letters:
                if self._box is not None:
                    self._box.acknowledge(letter, self._reader)

    def close(self) -> None:
        """What was taken and not told is unread again."""
        with self._falling_through():
            if self._box is not None:
                self._box.release(self._reader)

    @contextmanager
    def _falling_through(self) -> Iterator[None]:
        """A mailbox that cannot be read stops nobody's turn; it is told once."""
        try:
            yield
        except (ReverieError, OSError) as error:
            if not self._told:
                self._told = True
                self._announce(TroubleNoted("agents", f"letters are not read: {error}"))


class SessionWire:
    """`uds:PATH` is a socket; `bridge:ID` is whoever registered under that id, such as a session."""

    def __init__(self, home: Path) -> None:
        self._home = home

    async def send(self, address: str, letter: Letter) -> str | None:
        way, _, where = address.partition(":")
        try:
            path = Path(where) if way == "uds" else self._bridge(where)
            if isinstance(path, str):
                return path
            sent = await agent_socket.send(path, letter)
        except (ReverieError, OSError, ValueError) as error:
            return str(error)
        return sent.reason if isinstance(sent, Refused) else None

    def _bridge(self, id_: str) -> Path | str:
        found = bridges.find(self._home, id_)
        return found.reason if isinstance(found, Refused) else found.socket
