"""Letters between agents in different processes, and between the sessions of one person.

All of them are rows of one table (see `mail_database`). Guarantees:
- Once `send` returns Sent, the whole letter is on disk. A writer killed before that has stored the
  whole letter or nothing.
- At most one living reader holds a letter, by a lease in its row. An acknowledged letter is deleted
  and never comes again. When the process of a reader has ended, its lease is void: the letter is unread
  again, in its old place, and the next reader gets it with the same id. So each letter is acknowledged
  once; only a reader that died can have seen it before.
- Letters of one sender are delivered in the order they were sent, independent of clocks: while a
  living reader holds one, the sender's later ones go to that reader or wait.
- Processes on another host cannot be checked. A reader there that took nothing for an hour counts as
  dead; if it is alive after all, its `acknowledge` returns False.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from reverie.errors import InputError, ReverieError
from reverie.files.locks import Holder, gone, started, this_host
from reverie.logs import logger
from reverie.ports import Clock
from reverie.subagents.letters import (
    LARGEST_LETTER,
    LEAD,
    Letter,
    Malformed,
    Refused,
    Sent,
    name_problem,
    no_such_agent,
    outside_problem,
    parse,
    problem,
    render,
    session_problem,
)
from reverie.subagents.mail_database import MailDatabase, Row, old_letters

log = logger(__name__)

MOST_UNREAD = 1_000
MOST_REFUSED = 100

# The team of all listening sessions; the name of any other team contains a slash.
_SESSIONS = "sessions"
_NAMED = 5

_IN_BOX = "team = ? AND recipient = ? AND refused IS NULL"
_HOLDER = "pid, host, started, since, token"
_NEXT = f"""\
SELECT number, sender, id, body FROM letters
WHERE {_IN_BOX} AND token IS NULL AND sender NOT IN (
    SELECT sender FROM letters
    WHERE team = ? AND recipient = ? AND token IS NOT NULL AND token != ?
)
ORDER BY number LIMIT 1"""
_LEASE = "UPDATE letters SET pid = ?, host = ?, started = ?, since = ?, token = ?"
_RELEASE = "UPDATE letters SET token = NULL, pid = NULL, host = NULL, started = NULL, since = NULL"


def new_reader(clock: Clock) -> Holder:
    """The identity of a new reader in this process."""
    pid = os.getpid()
    born = started(pid) or ""
    return Holder(pid, this_host(), born, round(clock.now(), 3), secrets.token_hex(8))


class Post:
    """The letters of one team, and those from and to other sessions of the person."""

    def __init__(
        self, folder: Path, team: str, clock: Clock, note: Callable[[str], None] = log.warning
    ) -> None:
        """`folder` holds the person's mail; `note` is called for damaged letters and files."""
        self.database = MailDatabase(folder, note)
        self.team = team
        self._clock = clock
        self._note = note

    def members(self) -> tuple[str, ...]:
        """Every agent of the team that has a mailbox."""
        if not self.database.exists:
            return ()
        asked = "SELECT name FROM boxes WHERE team = ? ORDER BY name"
        return self.database.read(
            lambda db: tuple(str(name) for (name,) in db.execute(asked, (self.team,)))
        )

    def open(self, name: str) -> Mailbox:
        """An agent's own mailbox, created if needed; letters in it stay unread."""
        if wrong := name_problem(name):
            raise InputError(wrong)
        self._enter((self.team, name, *[None] * 5))
        return self._box(self.team, name)

    def send(self, letter: Letter) -> Sent | Refused:
        """Append a letter; one that already waits is not added again."""
        if wrong := problem(letter):
            return Refused(wrong)
        members = self.members()
        if letter.to not in members:
            known = ", ".join(members) or "none"
            return Refused(f"{no_such_agent(letter.to)}; in this team: {known}")
        refused = self.database.write(lambda db: _put(db, self.team, letter.to, letter))
        return refused or Sent(letter)

    def adopt(self, old: Path) -> int:
        """Import unread letters from the mailbox files of an earlier version, and delete those."""
        found = old_letters(old)
        letters = {path: one for path, one in found.items() if isinstance(one, Letter)}
        for name in {letter.to for letter in letters.values()}:
            self.open(name)

        def put(db: sqlite3.Connection) -> None:
            for letter in letters.values():
                _insert(db, self.team, letter.to, letter)

        self.database.write(put)
        if len(letters) == len(found):
            shutil.rmtree(old)
        for path in letters:
            path.unlink(missing_ok=True)
        return len(letters)

    def close(self) -> None:
        self.database.close()

    # --- other sessions ---

    @contextmanager
    def listening(self, session: str) -> Iterator[Mailbox]:
        """Receive letters of other sessions; InputError when another process uses this id."""
        if wrong := session_problem(session):
            raise InputError(wrong)
        holder = new_reader(self._clock)
        row = (_SESSIONS, session, *_lease(holder))
        self._enter(row, lambda db: _require_free(db, session))
        try:
            yield self._box(_SESSIONS, session)
        finally:
            self._leave(row, holder)

    def send_outside(self, session: str, letter: Letter) -> Sent | Refused:
        """Write to the session with this id, or with the only id that starts with it."""
        if wrong := session_problem(session) or problem(letter) or outside_problem(letter):
            return Refused(wrong)
        if not self.database.exists:
            return Refused(_not_listening(session, []))

        def put(db: sqlite3.Connection) -> Refused | None:
            found = _find(db, session)
            return found if isinstance(found, Refused) else _put(db, _SESSIONS, found, letter)

        return self.database.write(put) or Sent(letter)

    def _enter(
        self, row: Row, check: Callable[[sqlite3.Connection], None] = lambda _: None
    ) -> None:
        def enter(db: sqlite3.Connection) -> None:
            check(db)
            db.execute("INSERT OR REPLACE INTO boxes VALUES (?, ?, ?, ?, ?, ?, ?)", row)

        self.database.write(enter)
        self.database.keep_box(row)

    def _leave(self, row: Row, holder: Holder) -> None:
        self.database.drop_box(row)
        with suppress(ReverieError):
            self.database.write(
                lambda db: db.execute("DELETE FROM boxes WHERE token = ?", (holder.token,))
            )

    def _box(self, team: str, name: str) -> Mailbox:
        return Mailbox(self.database, team, name, self._clock, self._note)


class Mailbox:
    """The letters to one agent, or to one session; any number of processes may read at once."""

    def __init__(
        self,
        database: MailDatabase,
        team: str,
        owner: str,
        clock: Clock,
        note: Callable[[str], None] = log.warning,
    ) -> None:
        self.owner = owner
        self._database = database
        self._box = (team, owner)
        # The recipient in the letters themselves: letters to a session are addressed to its lead.
        self._addressee = LEAD if team == _SESSIONS else owner
        self._clock = clock
        self._note = note

    def take(self, reader: Holder) -> Letter | None:
        """The next letter, leased to this reader until it acknowledges or returns it, or dies."""
        # Most calls find nothing: check without a write transaction first.
        while self.unread():
            taken = self._database.write(lambda db: self._take(db, reader), durable=False)
            if not isinstance(taken, Malformed):
                return taken
            self._note(f"a letter to {self.owner} is refused: {taken.reason}")
        return None

    def acknowledge(self, letter: Letter, reader: Holder) -> bool:
        """Delete a letter that was read; False when this reader does not hold it (any more)."""
        return self.acknowledge_all([letter], reader) == 1

    def acknowledge_all(self, letters: Sequence[Letter], reader: Holder) -> int:
        """Acknowledge several letters; the number that this reader held."""
        sql = f"DELETE FROM letters WHERE {_IN_BOX} AND sender = ? AND id = ? AND token = ?"

        def drop(db: sqlite3.Connection) -> int:
            rows = ((*self._box, letter.sender, letter.id, reader.token) for letter in letters)
            return sum(db.execute(sql, row).rowcount for row in rows)

        return self._database.write(drop) if letters else 0

    def release(self, reader: Holder) -> int:
        """Make a reader's unacknowledged letters unread again, when it ends before its process."""
        return self._database.write(lambda db: self._give_back(db, reader.token), durable=False)

    def recover(self) -> int:
        """Make letters held by dead readers unread again; the number of letters."""
        return self._database.write(self._reclaim, durable=False)

    def unread(self) -> int:
        """How many letters no living reader has taken."""
        return self._database.read(self._unread)

    def _unread(self, db: sqlite3.Connection) -> int:
        dead = {holder.token for holder in self._dead(db)}
        sql = f"SELECT token, count(*) FROM letters WHERE {_IN_BOX} GROUP BY token"
        rows = db.execute(sql, self._box).fetchall()
        return sum(count for token, count in rows if token is None or token in dead)

    def _take(self, db: sqlite3.Connection, reader: Holder) -> Letter | Malformed | None:
        self._reclaim(db)
        found = db.execute(_NEXT, (*self._box, *self._box, reader.token)).fetchone()
        if found is None:
            return None
        number, sender, id_, body = found
        letter = self._parsed(sender, id_, body)
        if isinstance(letter, Malformed):
            self._refuse(db, number, letter.reason)
            return letter
        lease = replace(reader, since=round(self._clock.now(), 3))
        row = (lease.pid, lease.host, lease.started, lease.since, lease.token, number)
        db.execute(f"{_LEASE} WHERE number = ?", row)
        return letter

    def _parsed(self, sender: object, id_: object, body: object) -> Letter | Malformed:
        if not isinstance(body, bytes) or len(body) > LARGEST_LETTER:
            return Malformed("it is not text, or too large")
        letter = parse(body)
        if isinstance(letter, Malformed):
            return letter
        if (letter.sender, letter.id, letter.to) != (sender, id_, self._addressee):
            return Malformed("its sender, id or recipient is not what its row says")
        return letter

    def _refuse(self, db: sqlite3.Connection, number: int, reason: str) -> None:
        """Keep the newest refused letters for a person to look at."""
        db.execute("UPDATE letters SET refused = ? WHERE number = ?", (reason, number))
        kept = "SELECT number FROM letters WHERE refused IS NOT NULL ORDER BY number DESC LIMIT ?"
        sql = f"DELETE FROM letters WHERE refused IS NOT NULL AND number NOT IN ({kept})"
        db.execute(sql, (MOST_REFUSED,))

    def _reclaim(self, db: sqlite3.Connection) -> int:
        return sum(self._give_back(db, holder.token) for holder in self._dead(db))

    def _dead(self, db: sqlite3.Connection) -> list[Holder]:
        newest = "pid, host, started, max(since), token"
        sql = f"SELECT {newest} FROM letters WHERE {_IN_BOX} AND token IS NOT NULL GROUP BY token"
        now = self._clock.now()
        holders = (Holder(*row) for row in db.execute(sql, self._box).fetchall())
        return [holder for holder in holders if _is_dead(holder, now)]

    def _give_back(self, db: sqlite3.Connection, token: str) -> int:
        return db.execute(f"{_RELEASE} WHERE {_IN_BOX} AND token = ?", (*self._box, token)).rowcount


def _is_dead(holder: Holder, now: float) -> bool:
    """On this host by its process; on another host by when it last took a letter."""
    return _has_ended(holder) if _is_here(holder) else gone(holder, now)


def _is_here(holder: Holder) -> bool:
    return holder.host == this_host()


def _has_ended(holder: Holder) -> bool:
    """Whether its process is known to have ended, however old the lease is."""
    return _is_here(holder) and gone(replace(holder, since=0.0), 0.0)


def _put(db: sqlite3.Connection, team: str, recipient: str, letter: Letter) -> Refused | None:
    sql = f"SELECT count(*) FROM letters WHERE {_IN_BOX} AND token IS NULL"
    [waiting] = db.execute(sql, (team, recipient)).fetchone()
    if waiting >= MOST_UNREAD and not _waits(db, team, recipient, letter):
        return Refused(
            f"the mailbox of {recipient!r} is full ({MOST_UNREAD:,} unread letters): "
            "send again when it has read some"
        )
    _insert(db, team, recipient, letter)
    return None


def _waits(db: sqlite3.Connection, team: str, recipient: str, letter: Letter) -> bool:
    sql = f"SELECT 1 FROM letters WHERE {_IN_BOX} AND sender = ? AND id = ?"
    return db.execute(sql, (team, recipient, letter.sender, letter.id)).fetchone() is not None


def _insert(db: sqlite3.Connection, team: str, recipient: str, letter: Letter) -> None:
    """Insert a letter; one that waits or is held stays as it is, a refused one is replaced."""
    sql = """\
INSERT INTO letters (team, recipient, sender, id, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET body = excluded.body, refused = NULL WHERE refused IS NOT NULL"""
    db.execute(sql, (team, recipient, letter.sender, letter.id, render(letter)))


# --- boxes ---


def _lease(holder: Holder) -> Row:
    return (holder.token, holder.pid, holder.host, holder.started, holder.since)


def _listeners(db: sqlite3.Connection) -> dict[str, Holder]:
    sql = f"SELECT name, {_HOLDER} FROM boxes WHERE team = ? ORDER BY name"
    return {name: Holder(*holder) for name, *holder in db.execute(sql, (_SESSIONS,)).fetchall()}


def _require_free(db: sqlite3.Connection, session: str) -> None:
    holder = _listeners(db).get(session)
    # A process on another computer cannot be checked, and does not read this mailbox.
    if holder is not None and _is_here(holder) and not _has_ended(holder):
        raise InputError(
            f"the process {holder.pid} listens as {session!r} already: end it, or choose another id"
        )


def _find(db: sqlite3.Connection, session: str) -> str | Refused:
    """The full id of the listening session with this id, or with the only id that starts with it."""
    known = _listeners(db)
    ended = {name for name, holder in known.items() if _has_ended(holder)}
    db.executemany(
        "DELETE FROM boxes WHERE team = ? AND name = ?", [(_SESSIONS, name) for name in ended]
    )
    exact = [name for name in known if name == session]
    fitting = exact or [name for name in known if name.startswith(session)]
    living = [name for name in known if name not in ended]
    match [name for name in fitting if name in living], fitting:
        case [name], _ if _is_here(known[name]):
            return name
        case [name], _:
            return Refused(f"{name!r} runs on another computer ({known[name].host})")
        case [], [name, *_]:
            return Refused(f"{name!r} has ended: its process {known[name].pid} is gone")
        case [], []:
            return Refused(_not_listening(session, living))
        case several, _:
            return Refused(f"{session!r} fits {_names(several)}: give more of the id")


def _not_listening(session: str, others: Sequence[str]) -> str:
    return f"no session {session!r} listens; listening are: {_names(others) or 'none'}"


def _names(sessions: Sequence[str]) -> str:
    more = ", …" if len(sessions) > _NAMED else ""
    return ", ".join(sessions[:_NAMED]) + more
