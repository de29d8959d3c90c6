"""Letters that leave the process: mailboxes of a team, sockets and bridges of other sessions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.core.agent_mail import Letter, Refused
from reverie.errors import ReverieError
from reverie.stores import agent_socket, bridges
from reverie.stores.mailbox import Mailbox, Post, new_reader

if TYPE_CHECKING:
    from reverie.ports import Clock


class TeamMail:
    """One agent's mail; its box is there once the team has members in other processes."""

    def __init__(self, post: Post, name: str, clock: Clock) -> None:
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
        return self._box is not None and self._box.unread() > 0

    def take(self) -> Sequence[Letter]:
        if self._box is None:
            return ()
        taken = []
        while (letter := self._box.take(self._reader)) is not None:
            taken.append(letter)
        return taken

    def acknowledge(self, letters: Sequence[Letter]) -> None:
        if self._box is None:
            return
        for letter in letters:
            self._box.acknowledge(letter, self._reader)

    def close(self) -> None:
        """What was taken and not told is unread again."""
        if self._box is not None:
            self._box.release(self._reader)


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
