"""Mailboxes of a team's agents: a folder each, a file a letter, between processes that may die.

    <team>/<agent>/inbox/   drafts/    letters being written
                            unread/    NUMBER.SENDER.ID.json, in the order of their arrival
                            claimed/   a folder a reader: what it took and has not acknowledged
                            refused/   what lay in unread/ and was no letter

What is promised:
- A letter is in the box, whole and on the disk, once `send` says Sent. A writer killed before that
  has put in the whole letter or nothing.
- A letter is held by one living reader at most. It is over when acknowledged, and then never comes
  again. A reader that dies holding it has not read it: it is unread again, under its old number,
  and the next reader gets it with the same id. So each letter is acknowledged once; only a reader
  that died can have seen it before.
- Letters of one sender are handed out in the order they were sent, whatever clocks say: while a
  living reader holds one, the sender's later ones go to that reader or wait.
- Nobody can see whether a reader on another host lives. One that took nothing for an hour counts as
  dead; should it live after all, its `acknowledge` says False.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reverie.errors import InputError, StorageError
from reverie.files.folders import make_private
from reverie.files.locks import Holder
from reverie.logs import logger
from reverie.ports import Clock
from reverie.subagents.letters import (
    LARGEST_LETTER,
    Letter,
    Malformed,
    Refused,
    Sent,
    name_problem,
    parse,
    problem,
    render,
)
from reverie.subagents.mailbox_claims import (
    CLAIMED,
    DIGITS,
    UNREAD,
    claims,
    ending,
    give_back,
    held,
    held_by_others,
    is_dead,
    is_letter,
    letters,
    new_reader,
    readers,
    sender_of,
)
from reverie.subagents.private_files import (
    NOT_OURS,
    content,
    files,
    make,
    opened,
    require_ours,
    write,
)

__all__ = [
    "INBOX",
    "MOST_REFUSED",
    "MOST_UNREAD",
    "Mailbox",
    "Post",
    "Refused",
    "Sent",
    "new_reader",
]

log = logger(__name__)

MOST_UNREAD = 1_000
MOST_REFUSED = 100

INBOX = "inbox"
_DRAFTS, _REFUSED = "drafts", "refused"


class Post:
    """The mailboxes of one team."""

    def __init__(self, team: Path, clock: Clock) -> None:
        self.team = team
        self._clock = clock

    def members(self) -> tuple[str, ...]:
        """Everybody who has a mailbox."""
        try:
            found = sorted(entry.name for entry in self.team.iterdir())
        except FileNotFoundError:
            return ()
        return tuple(name for name in found if not name_problem(name) and self._has_box(name))

    def open(self, name: str) -> Mailbox:
        """An agent's own mailbox, made if it is not there; what was unread still is."""
        if wrong := name_problem(name):
            raise InputError(wrong)
        box = Mailbox(self.team / name, self._clock)
        box.make()
        box.recover()
        return box

    def send(self, letter: Letter) -> Sent | Refused:
        if wrong := problem(letter):
            return Refused(wrong)
        if not self._has_box(letter.to):
            known = ", ".join(self.members()) or "nobody"
            return Refused(f"nobody here is called {letter.to!r}; in this team: {known}")
        return Mailbox(self.team / letter.to, self._clock).send(letter)

    def _has_box(self, name: str) -> bool:
        with suppress(OSError):
            return all(
                stat.S_ISDIR(folder.lstat().st_mode)
                for folder in (self.team / name, self.team / name / INBOX)
            )
        return False


class Mailbox:
    """The letters to one agent; any number of processes may write and read at once."""

    def __init__(
        self, folder: Path, clock: Clock, note: Callable[[str], None] = log.warning
    ) -> None:
        """`folder` is the agent's, and named like it; `note` is told what was refused in the box."""
        self.owner = folder.name
        self._agent = folder
        self._clock = clock
        self._note = note
        # What could not be moved away is told of once.
        self._noted: set[str] = set()

    def make(self) -> None:
        with self._explained("make"):
            make_private(self._agent)
            with opened(self._agent) as agent:
                make(INBOX, agent)
                with self._inbox() as box:
                    for part in (_DRAFTS, UNREAD, CLAIMED, _REFUSED):
                        make(part, box)

    def send(self, letter: Letter) -> Sent | Refused:
        """Put it last; a letter that is in the box already is not put in again."""
        if wrong := problem(letter):
            return Refused(wrong)
        if letter.to != self.owner:
            return Refused(f"this is the mailbox of {self.owner!r}, not of {letter.to!r}")
        with self._explained("write to"):
            try:
                with self._inbox() as box, opened(UNREAD, box) as unread:
                    refused = _posted(letter, box, unread)
                    # Only now is the name as safe as what it names.
                    os.fsync(unread)
            except FileNotFoundError:
                return Refused(f"{letter.to!r} has no mailbox any more")
        return refused or Sent(letter)

    def take(self, reader: Holder) -> Letter | None:
        """The next letter, this reader's until it acknowledges it, gives it back or dies."""
        with self._alone("read") as box, opened(UNREAD, box) as unread:
            self._reclaim(box)
            with claims(reader, box, self._clock.now()) as mine:
                waiting = held_by_others(reader, box)
                for file in sorted(files(unread)):
                    if not is_letter(file):
                        self._note_once(file, "it is not named like a letter; it is ignored")
                    elif sender_of(file) not in waiting:
                        letter = self._read(file, unread)
                        if isinstance(letter, Letter):
                            os.rename(file, file, src_dir_fd=unread, dst_dir_fd=mine)
                            return letter
                        self._set_aside(file, letter.reason, box, unread)
        return None

    def acknowledge(self, letter: Letter, reader: Holder) -> bool:
        """It was read, for good; False when this reader does not hold it (any more)."""
        with (
            self._explained("change"),
            self._inbox() as box,
            suppress(FileNotFoundError),
            opened(CLAIMED, box) as claimed,
            opened(reader.token, claimed) as mine,
        ):
            for file in letters(mine):
                if file.endswith(ending(letter)):
                    os.unlink(file, dir_fd=mine)
                    os.fsync(mine)
                    return True
        return False

    def release(self, reader: Holder) -> int:
        """A reader ends while its process lives on: what it did not acknowledge is unread again."""
        with self._alone("change") as box:
            return give_back(reader.token, box)

    def recover(self) -> int:
        """Return what the dead held, drop what they were writing; the number of letters returned."""
        with self._alone("change") as box:
            _sweep(box)
            return self._reclaim(box)

    def unread(self) -> int:
        """How many letters nobody living has taken."""
        with self._alone("read") as box:
            self._reclaim(box)
            with opened(UNREAD, box) as unread:
                return len(letters(unread))

    def _reclaim(self, box: int) -> int:
        now = self._clock.now()
        dead = [token for token in readers(box) if is_dead(token, box, now)]
        return sum(give_back(token, box) for token in dead)

    def _read(self, file: str, unread: int) -> Letter | Malformed:
        try:
            data = content(file, unread, LARGEST_LETTER)
        except OSError as error:
            if error.errno not in NOT_OURS:
                raise
            return Malformed(NOT_OURS[error.errno])
        if isinstance(data, Malformed):
            return data
        letter = parse(data)
        if isinstance(letter, Malformed):
            return letter
        if letter.to != self.owner or not file.endswith(ending(letter)):
            return Malformed("its sender, id or recipient is not what its place says")
        return letter

    def _set_aside(self, file: str, reason: str, box: int, unread: int) -> None:
        try:
            with opened(_REFUSED, box) as refused:
                if len(files(refused)) >= MOST_REFUSED:
                    raise OSError(errno.ENOSPC, f"{_REFUSED}/ is full")
                aside = f"{file}.{secrets.token_hex(4)}"
                os.rename(file, aside, src_dir_fd=unread, dst_dir_fd=refused)
        except OSError as error:
            self._note_once(file, f"{reason}; it is ignored where it is ({error.strerror})")
        else:
            self._note(f"refused {file} for {self.owner}: {reason}; moved to {_REFUSED}/{aside}")

    def _note_once(self, file: str, reason: str) -> None:
        if file not in self._noted:
            self._noted.add(file)
            self._note(f"refused {file!r} for {self.owner}: {reason}")

    @contextmanager
    def _alone(self, verb: str) -> Iterator[int]:
        """The box, while nobody else numbers, claims or returns letters: for milliseconds."""
        with self._explained(verb), self._inbox() as box:
            fcntl.flock(box, fcntl.LOCK_EX)
            yield box

    @contextmanager
    def _inbox(self) -> Iterator[int]:
        """The open box; refused unless it is ours alone, and no link leads to it."""
        with opened(self._agent) as agent, opened(INBOX, agent) as box:
            require_ours(box, self._agent / INBOX)
            yield box

    @contextmanager
    def _explained(self, verb: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            advice = {
                errno.ENOSPC: "the disk is full; free some space and try again",
                errno.ENOENT: "it is not there, or a part of it is missing; make it first",
                errno.ELOOP: "a link is in its place; replace it with a folder",
                errno.ENOTDIR: "something else is in a folder's place; remove it",
            }.get(error.errno or 0, error.strerror or str(error))
            where = self._agent / INBOX
            raise StorageError(f"cannot {verb} the mailbox {where}: {advice}") from error


def _posted(letter: Letter, box: int, unread: int) -> Refused | None:
    """Write aside, then number and rename under the lock, so that numbers are an order."""
    with opened(_DRAFTS, box) as drafts:
        # Shared by all who write: who can have it alone knows that every draft is of the dead.
        fcntl.flock(drafts, fcntl.LOCK_SH)
        draft = secrets.token_hex(8)
        write(draft, render(letter), drafts)
        try:
            fcntl.flock(box, fcntl.LOCK_EX)
            number = _next(letter, box, unread)
            if isinstance(number, int):
                file = f"{number:0{DIGITS}d}{ending(letter)}"
                os.rename(draft, file, src_dir_fd=drafts, dst_dir_fd=unread)
                return None
            return number
        finally:
            fcntl.flock(box, fcntl.LOCK_UN)
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=drafts)


def _next(letter: Letter, box: int, unread: int) -> int | Refused | None:
    """The number it gets; None when it is in the box already."""
    waiting = letters(unread)
    present = waiting + [file for token in readers(box) for file in held(token, box)]
    if any(file.endswith(ending(letter)) for file in present):
        return None
    if len(waiting) >= MOST_UNREAD:
        return Refused(
            f"the mailbox of {letter.to!r} is full ({MOST_UNREAD:,} unread letters): "
            "send again when it has read some"
        )
    number = 1 + int(max(present, default="0" * DIGITS)[:DIGITS])
    if number >= 10**DIGITS:
        return Refused(f"the mailbox of {letter.to!r} has no number left until it is read")
    return number


def _sweep(box: int) -> None:
    """Drafts of writers that died; left for another time while somebody writes."""
    with opened(_DRAFTS, box) as drafts, suppress(BlockingIOError):
        fcntl.flock(drafts, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for draft in files(drafts):
            with suppress(OSError):
                os.unlink(draft, dir_fd=drafts)
