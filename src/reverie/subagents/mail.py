"""An agent's mail: letters to and from its team in other processes, and other sessions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.errors import ReverieError
from reverie.events import Announce, TroubleNoted
from reverie.subagents.identity import Mail
from reverie.subagents.letters import Letter, Refused, session_of
from reverie.subagents.mail_database import MailDatabase
from reverie.subagents.mail_store import Mailbox, Post, new_reader

if TYPE_CHECKING:
    from reverie.ports import Clock
    from reverie.workspace import Workspace


def mail_folder(app: Workspace) -> Path:
    """The folder of the mail database: the person's home, or the folder of a program's user."""
    return app.settings.home if app.user is None else app.project.folder


def team_name(app: Workspace, account: str) -> str:
    """The team that the letters of a session's agents are stored under."""
    return f"{os.path.relpath(app.project.folder, mail_folder(app))}/{account}"


def open_post(app: Workspace, team: str, announce: Announce) -> Post:
    return Post(
        mail_folder(app), team, app.clock, lambda what: announce(TroubleNoted("agents", what))
    )


def damaged_mail(app: Workspace) -> tuple[Path, ...]:
    """Mail databases that were damaged and replaced."""
    return MailDatabase(mail_folder(app)).damaged()


class TeamMail(Mail):
    """One agent's mail. It has a mailbox once the team has members in other processes."""

    polled = True

    def __init__(self, post: Post, name: str, clock: Clock, announce: Announce) -> None:
        self._announce = announce
        self._failed = False
        self._post = post
        self._name = name
        self._reader = new_reader(clock)
        self._box: Mailbox | None = None
        self._outside: Mailbox | None = None
        self._refusal: Callable[[Letter], str | None] = lambda _: None

    def open_box(self) -> None:
        """Let other processes write to this agent."""
        self._box = self._box or self._post.open(self._name)

    @contextmanager
    def accepting(self, session: str, refusal: Callable[[Letter], str | None]) -> Iterator[None]:
        """Let other sessions write to this one; letters that arrive can be taken afterwards, too."""
        self._refusal = refusal
        with self._post.listening(session) as self._outside:
            yield

    def names(self) -> tuple[str, ...]:
        return self._post.members()

    def send(self, letter: Letter) -> str | None:
        sent = self._post.send(letter)
        return sent.reason if isinstance(sent, Refused) else None

    def waiting(self) -> bool:
        unread = 0
        with self._falling_through():
            unread += sum(box.unread() for box in self._boxes)
        return unread > 0

    def take(self, room: int) -> Sequence[Letter]:
        taken: list[Letter] = []
        with self._falling_through():
            for box in self._boxes:
                while sum(len(letter.text) for letter in taken) < room:
                    letter = box.take(self._reader)
                    if letter is None:
                        break
                    if not self._is_refused(letter, box):
                        taken.append(letter)
        return taken

    def acknowledge(self, letters: Sequence[Letter]) -> None:
        with self._falling_through():
            for box in self._boxes:
                box.acknowledge_all(letters, self._reader)

    def close(self) -> None:
        """Return letters that were taken and not acknowledged."""
        with self._falling_through():
            for box in self._boxes:
                box.release(self._reader)

    @property
    def _boxes(self) -> tuple[Mailbox, ...]:
        return tuple(box for box in (self._box, self._outside) if box is not None)

    def _is_refused(self, letter: Letter, box: Mailbox) -> bool:
        """Refuse letters of other sessions that use the name of one of our own agents."""
        reason = self._refusal(letter) if box is self._outside else None
        if reason is not None:
            box.acknowledge(letter, self._reader)
            self._announce(TroubleNoted("agents", f"a letter from outside is refused: {reason}"))
        return reason is not None

    @contextmanager
    def _falling_through(self) -> Iterator[None]:
        """A mail error does not fail the turn; the first one is announced."""
        try:
            yield
        except (ReverieError, OSError) as error:
            if not self._failed:
                self._failed = True
                self._announce(TroubleNoted("agents", f"letters are not read: {error}"))


class SessionWire:
    """Writes to other sessions: `bridge:ID`, or `uds:PATH` with the id at its end."""

    def __init__(self, post: Post) -> None:
        self._post = post

    async def send(self, address: str, letter: Letter) -> str | None:
        try:
            sent = self._post.send_outside(session_of(address), letter)
        except (ReverieError, OSError) as error:
            return str(error)
        return sent.reason if isinstance(sent, Refused) else None
