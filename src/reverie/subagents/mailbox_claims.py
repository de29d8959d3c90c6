"""Who holds which letters of a mailbox: a folder a reader, until it acknowledges, returns them or dies.

All of it happens under the lock of the box, whose open folder every function is given.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from reverie.files.locks import Holder, gone, started, this_host
from reverie.ports import Clock
from reverie.subagents.letters import LARGEST_LETTER, LONGEST_ID, LONGEST_NAME, Letter, Malformed
from reverie.subagents.private_files import NOT_OURS, content, files, make, opened, write

UNREAD, CLAIMED = "unread", "claimed"
_READER = "reader"

# All numbers are as long, so that names sort like them.
DIGITS = 12
_LETTER = re.compile(
    rf"[0-9]{{{DIGITS}}}\.[a-z0-9_-]{{1,{LONGEST_NAME}}}\.[A-Za-z0-9_-]{{1,{LONGEST_ID}}}\.json"
)
_TOKEN = re.compile(r"[0-9a-f]{16}")


def new_reader(clock: Clock) -> Holder:
    """An identity to read with: this process, and one reader in it."""
    pid = os.getpid()
    host, born = this_host(), started(pid) or ""
    return Holder(pid, host, born, round(clock.now(), 3), secrets.token_hex(8))


@contextmanager
def claims(reader: Holder, box: int, now: float) -> Iterator[int]:
    """The open folder of what a reader holds, which says who that is and when it last took."""
    with opened(CLAIMED, box) as claimed:
        make(reader.token, claimed)
        with opened(reader.token, claimed) as mine:
            with suppress(FileExistsError):
                write(_READER, reader.render(), mine)
            os.utime(_READER, (now, now), dir_fd=mine, follow_symlinks=False)
            yield mine


def readers(box: int) -> list[str]:
    with opened(CLAIMED, box) as claimed:
        return [token for token in files(claimed) if _TOKEN.fullmatch(token)]


def held(token: str, box: int) -> list[str]:
    try:
        with opened(CLAIMED, box) as claimed, opened(token, claimed) as theirs:
            return letters(theirs)
    except OSError as error:
        if error.errno not in NOT_OURS:
            raise
        return []


def held_by_others(reader: Holder, box: int) -> set[str]:
    """Senders whose next letter must wait, or it could be read before an earlier one."""
    others = (token for token in readers(box) if token != reader.token)
    return {sender_of(file) for token in others for file in held(token, box)}


def is_dead(token: str, box: int, now: float) -> bool:
    """Whether nobody reads here any more; a folder that does not say whose it is, is nobody's."""
    try:
        with opened(CLAIMED, box) as claimed, opened(token, claimed) as theirs:
            body = content(_READER, theirs, LARGEST_LETTER)
            took = os.stat(_READER, dir_fd=theirs, follow_symlinks=False).st_mtime
    except OSError as error:
        if error.errno not in NOT_OURS:
            raise
        return True
    reader = None if isinstance(body, Malformed) else Holder.parse(body)
    if reader is None:
        return True
    # A living reader may take its time; one on another host is judged by when it last took.
    here = reader.host == this_host()
    return gone(replace(reader, since=now if here else took), now)


def give_back(token: str, box: int) -> int:
    """Everything in a reader's folder is unread again, under its old number; the folder goes."""
    returned = 0
    with (
        suppress(OSError),
        opened(CLAIMED, box) as claimed,
        opened(UNREAD, box) as unread,
        opened(token, claimed) as theirs,
    ):
        for file in letters(theirs):
            os.rename(file, file, src_dir_fd=theirs, dst_dir_fd=unread)
            returned += 1
        with suppress(FileNotFoundError):
            os.unlink(_READER, dir_fd=theirs)
        os.rmdir(token, dir_fd=claimed)
    return returned


def letters(folder: int) -> list[str]:
    return [file for file in files(folder) if is_letter(file)]


def ending(letter: Letter) -> str:
    """A letter's file name behind its number."""
    return f".{letter.sender}.{letter.id}.json"


def sender_of(file: str) -> str:
    return file.split(".")[1]


def is_letter(file: str) -> bool:
    return _LETTER.fullmatch(file) is not None
