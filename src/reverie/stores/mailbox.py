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
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from reverie.core.agent_mail import (
    LARGEST_LETTER,
    LONGEST_ID,
    LONGEST_NAME,
    Letter,
    Malformed,
    name_problem,
    parse,
    problem,
    render,
)
from reverie.errors import InputError, StorageError
from reverie.logs import logger
from reverie.ports import Clock
from reverie.stores.holders import Holder, gone, started, this_host

log = logger(__name__)

MOST_UNREAD = 1_000
MOST_REFUSED = 100

INBOX = "inbox"
_DRAFTS, _UNREAD, _CLAIMED, _REFUSED = "drafts", "unread", "claimed", "refused"
_READER = "reader"

# All numbers are as long, so that names sort like them.
_DIGITS = 12
_LETTER = re.compile(
    rf"[0-9]{{{_DIGITS}}}\.[a-z0-9_-]{{1,{LONGEST_NAME}}}\.[A-Za-z0-9_-]{{1,{LONGEST_ID}}}\.json"
)
_TOKEN = re.compile(r"[0-9a-f]{16}")

_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | _NO_LINK
# A pipe among the letters must not make us wait for somebody to write into it.
_READ = os.O_RDONLY | os.O_NONBLOCK | _NO_LINK
# What opening something else than a letter of ours says. Any other error is trouble of our own (no
# descriptor left, a failing disk) and no reason to refuse a letter or to bury a reader.
_NOT_OURS = {
    errno.ELOOP: "it is a link",
    errno.ENXIO: "it is a socket",
    errno.ENOTDIR: "it is not a folder",
    errno.EACCES: "it may not be read",
    errno.ENOENT: "it is gone",
}
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK


@dataclass(frozen=True, slots=True)
class Sent:
    """The letter is in the box, and survives whatever happens to its sender."""

    letter: Letter


@dataclass(frozen=True, slots=True)
class Refused:
    """The letter is not in the box, and why, in words for its sender."""

    reason: str


def new_reader(clock: Clock) -> Holder:
    """An identity to read with: this process, and one reader in it."""
    pid = os.getpid()
    host, born = this_host(), started(pid) or ""
    return Holder(pid, host, born, round(clock.now(), 3), secrets.token_hex(8))


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
            self._agent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _opened(self._agent) as agent:
                _make(INBOX, agent)
                with self._inbox() as box:
                    for part in (_DRAFTS, _UNREAD, _CLAIMED, _REFUSED):
                        _make(part, box)

    def send(self, letter: Letter) -> Sent | Refused:
        """Put it last; a letter that is in the box already is not put in again."""
        if wrong := problem(letter):
            return Refused(wrong)
        if letter.to != self.owner:
            return Refused(f"this is the mailbox of {self.owner!r}, not of {letter.to!r}")
        with self._explained("write to"):
            try:
                with self._inbox() as box, _opened(_UNREAD, box) as unread:
                    refused = _posted(letter, box, unread)
                    # Only now is the name as safe as what it names.
                    os.fsync(unread)
            except FileNotFoundError:
                return Refused(f"{letter.to!r} has no mailbox any more")
        return refused or Sent(letter)

    def take(self, reader: Holder) -> Letter | None:
        """The next letter, this reader's until it acknowledges it, gives it back or dies."""
        with self._alone("read") as box, _opened(_UNREAD, box) as unread:
            self._reclaim(box)
            with _claims(reader, box, self._clock.now()) as mine:
                held = _held_by_others(reader, box)
                for file in sorted(_files(unread)):
                    if not _LETTER.fullmatch(file):
                        self._note_once(file, "it is not named like a letter; it is ignored")
                    elif _sender(file) not in held:
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
            _opened(_CLAIMED, box) as claimed,
            _opened(reader.token, claimed) as mine,
        ):
            for file in _letters(mine):
                if file.endswith(_ending(letter)):
                    os.unlink(file, dir_fd=mine)
                    os.fsync(mine)
                    return True
        return False

    def release(self, reader: Holder) -> int:
        """A reader ends while its process lives on: what it did not acknowledge is unread again."""
        with self._alone("change") as box:
            return _give_back(reader.token, box)

    def recover(self) -> int:
        """Return what the dead held, drop what they were writing; the number of letters returned."""
        with self._alone("change") as box:
            _sweep(box)
            return self._reclaim(box)

    def unread(self) -> int:
        """How many letters nobody living has taken."""
        with self._alone("read") as box:
            self._reclaim(box)
            with _opened(_UNREAD, box) as unread:
                return len(_letters(unread))

    def _reclaim(self, box: int) -> int:
        now = self._clock.now()
        dead = [token for token in _readers(box) if _dead(token, box, now)]
        return sum(_give_back(token, box) for token in dead)

    def _read(self, file: str, unread: int) -> Letter | Malformed:
        try:
            data = _content(file, unread)
        except OSError as error:
            if error.errno not in _NOT_OURS:
                raise
            return Malformed(_NOT_OURS[error.errno])
        if isinstance(data, Malformed):
            return data
        letter = parse(data)
        if isinstance(letter, Malformed):
            return letter
        if letter.to != self.owner or not file.endswith(_ending(letter)):
            return Malformed("its sender, id or recipient is not what its place says")
        return letter

    def _set_aside(self, file: str, reason: str, box: int, unread: int) -> None:
        try:
            with _opened(_REFUSED, box) as refused:
                if len(_files(refused)) >= MOST_REFUSED:
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
        with _opened(self._agent) as agent, _opened(INBOX, agent) as box:
            seen = os.fstat(box)
            if seen.st_uid != os.geteuid() or stat.S_IMODE(seen.st_mode) & 0o077:
                raise InputError(
                    f"{self._agent / INBOX} is not yours alone: own it and give it mode 0700"
                )
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


# --- sending ---


def _posted(letter: Letter, box: int, unread: int) -> Refused | None:
    """Write aside, then number and rename under the lock, so that numbers are an order."""
    with _opened(_DRAFTS, box) as drafts:
        # Shared by all who write: who can have it alone knows that every draft is of the dead.
        fcntl.flock(drafts, fcntl.LOCK_SH)
        draft = secrets.token_hex(8)
        _write(draft, render(letter), drafts)
        try:
            fcntl.flock(box, fcntl.LOCK_EX)
            number = _next(letter, box, unread)
            if isinstance(number, int):
                file = f"{number:0{_DIGITS}d}{_ending(letter)}"
                os.rename(draft, file, src_dir_fd=drafts, dst_dir_fd=unread)
                return None
            return number
        finally:
            fcntl.flock(box, fcntl.LOCK_UN)
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=drafts)


def _next(letter: Letter, box: int, unread: int) -> int | Refused | None:
    """The number it gets; None when it is in the box already."""
    waiting = _letters(unread)
    present = waiting + [file for token in _readers(box) for file in _claimed(token, box)]
    if any(file.endswith(_ending(letter)) for file in present):
        return None
    if len(waiting) >= MOST_UNREAD:
        return Refused(
            f"the mailbox of {letter.to!r} is full ({MOST_UNREAD:,} unread letters): "
            "send again when it has read some"
        )
    number = 1 + int(max(present, default="0" * _DIGITS)[:_DIGITS])
    if number >= 10**_DIGITS:
        return Refused(f"the mailbox of {letter.to!r} has no number left until it is read")
    return number


def _sweep(box: int) -> None:
    """Drafts of writers that died; left for another time while somebody writes."""
    with _opened(_DRAFTS, box) as drafts, suppress(BlockingIOError):
        fcntl.flock(drafts, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for draft in _files(drafts):
            with suppress(OSError):
                os.unlink(draft, dir_fd=drafts)


# --- claims: under the lock ---


@contextmanager
def _claims(reader: Holder, box: int, now: float) -> Iterator[int]:
    """The open folder of what a reader holds, which says who that is and when it last took."""
    with _opened(_CLAIMED, box) as claimed:
        _make(reader.token, claimed)
        with _opened(reader.token, claimed) as mine:
            with suppress(FileExistsError):
                _write(_READER, reader.render(), mine)
            os.utime(_READER, (now, now), dir_fd=mine, follow_symlinks=False)
            yield mine


def _readers(box: int) -> list[str]:
    with _opened(_CLAIMED, box) as claimed:
        return [token for token in _files(claimed) if _TOKEN.fullmatch(token)]


def _claimed(token: str, box: int) -> list[str]:
    try:
        with _opened(_CLAIMED, box) as claimed, _opened(token, claimed) as theirs:
            return _letters(theirs)
    except OSError as error:
        if error.errno not in _NOT_OURS:
            raise
        return []


def _held_by_others(reader: Holder, box: int) -> set[str]:
    """Senders whose next letter must wait, or it could be read before an earlier one."""
    others = (token for token in _readers(box) if token != reader.token)
    return {_sender(file) for token in others for file in _claimed(token, box)}


def _dead(token: str, box: int, now: float) -> bool:
    """Whether nobody reads here any more; a folder that does not say whose it is, is nobody's."""
    try:
        with _opened(_CLAIMED, box) as claimed, _opened(token, claimed) as theirs:
            body = _content(_READER, theirs)
            took = os.stat(_READER, dir_fd=theirs, follow_symlinks=False).st_mtime
    except OSError as error:
        if error.errno not in _NOT_OURS:
            raise
        return True
    reader = None if isinstance(body, Malformed) else Holder.parse(body)
    if reader is None:
        return True
    # A living reader may take its time; one on another host is judged by when it last took.
    here = reader.host == this_host()
    return gone(replace(reader, since=now if here else took), now)


def _give_back(token: str, box: int) -> int:
    """Everything in a reader's folder is unread again, under its old number; the folder goes."""
    returned = 0
    with (
        suppress(OSError),
        _opened(_CLAIMED, box) as claimed,
        _opened(_UNREAD, box) as unread,
        _opened(token, claimed) as theirs,
    ):
        for file in _letters(theirs):
            os.rename(file, file, src_dir_fd=theirs, dst_dir_fd=unread)
            returned += 1
        with suppress(FileNotFoundError):
            os.unlink(_READER, dir_fd=theirs)
        os.rmdir(token, dir_fd=claimed)
    return returned


# --- files ---


@contextmanager
def _opened(folder: str | Path, within: int | None = None) -> Iterator[int]:
    file = os.open(folder, _FOLDER, dir_fd=within)
    try:
        yield file
    finally:
        os.close(file)


def _make(name: str, within: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=within)
        # A letter is not safe before the folder that leads to it is.
        os.fsync(within)


def _write(name: str, data: bytes, folder: int) -> None:
    file = os.open(name, _NEW, 0o600, dir_fd=folder)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        os.fsync(file)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(file)


def _files(folder: int) -> list[str]:
    return os.listdir(folder)


def _letters(folder: int) -> list[str]:
    return [file for file in _files(folder) if _LETTER.fullmatch(file)]


def _ending(letter: Letter) -> str:
    """A letter's file name behind its number."""
    return f".{letter.sender}.{letter.id}.json"


def _sender(file: str) -> str:
    return file.split(".")[1]


def _content(name: str, folder: int) -> bytes | Malformed:
    """A file's bytes, if it is ours, plain and small enough."""
    file = os.open(name, _READ, dir_fd=folder)
    try:
        seen = os.fstat(file)
        if not stat.S_ISREG(seen.st_mode):
            return Malformed("it is not a plain file")
        if seen.st_uid != os.geteuid():
            return Malformed(f"it belongs to another user ({seen.st_uid})")
        if seen.st_mode & 0o022:
            return Malformed("others may write to it")
        if seen.st_size > LARGEST_LETTER:
            return Malformed(f"it is too large ({seen.st_size:,} bytes)")
        with os.fdopen(os.dup(file), "rb") as opened:
            return opened.read(LARGEST_LETTER)
    finally:
        os.close(file)
