"""Who changed memory, why, and what a change is: the words of history, without the storage."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Writer: TypeAlias = Literal["user", "main", "extract", "dream", "team"]

WRITERS: tuple[Writer, ...] = ("user", "main", "extract", "dream", "team")

# How the first revision begins when files were there before it.
FOUND = "found "

_TRAILER = re.compile(r"^Reverie-(?P<key>[A-Za-z]+): (?P<value>.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote, in which session, because of which messages, with which model or dream.

    `undoes` are the revisions a change takes back; `proposal` is the one in the inbox it came from.
    """

    writer: Writer = "user"
    session: str = ""
    messages: tuple[str, ...] = ()
    model: str = ""
    dream: str = ""
    undoes: tuple[str, ...] = ()
    proposal: str = ""


@dataclass(frozen=True, slots=True)
class Revision:
    """One step of history: an id, when, who, one line on what, and the files it touched."""

    id: str
    at: float
    author: Author
    summary: str
    files: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        return self.id[:10]


@dataclass(frozen=True, slots=True)
class Put:
    """Make a file hold these bytes. `base` is the version they are based on; None: it is new."""

    file: str
    data: bytes
    base: str | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """Remove a file, if it still is the version somebody looked at."""

    file: str
    base: str


Change: TypeAlias = Put | Drop


def version(data: bytes) -> str:
    """The name of some content: the id git gives a blob, so that history can find it."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def render_message(summary: str, author: Author) -> str:
    """A commit message: the summary, then who and why as trailers."""
    trailers = {
        "Writer": author.writer,
        "Session": author.session,
        "Messages": " ".join(author.messages),
        "Model": author.model,
        "Dream": author.dream,
        "Undoes": " ".join(author.undoes),
        "Proposal": author.proposal,
    }
    lines = [f"Reverie-{key}: {_flat(value)}" for key, value in trailers.items() if value]
    return f"{_flat(summary)}\n\n" + "\n".join(lines) + "\n"


def parse_message(message: str) -> tuple[str, Author]:
    """The summary and the author of a commit; a foreign commit was written by the user."""
    summary, _, rest = message.partition("\n")
    found = {match["key"]: match["value"] for match in _TRAILER.finditer(rest)}
    named = found.get("Writer", "user")
    writer: Writer = next((known for known in WRITERS if known == named), "user")
    author = Author(
        writer=writer,
        session=found.get("Session", ""),
        messages=tuple(found.get("Messages", "").split()),
        model=found.get("Model", ""),
        dream=found.get("Dream", ""),
        undoes=tuple(found.get("Undoes", "").split()),
        proposal=found.get("Proposal", ""),
    )
    return summary, author


def _flat(text: str) -> str:
    return " ".join(text.split())
