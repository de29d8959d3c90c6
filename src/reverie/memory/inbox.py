"""The inbox: proposed memories, one file each, beside the memory directory.

Of a rejected proposal only the hash is kept, so that it is not proposed again.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reverie.errors import StorageError
from reverie.files.atomic import make_private, write_json
from reverie.memory.directory import Directory
from reverie.memory.format.proposals import (
    MOST_SOURCES,
    Item,
    NotKept,
    Offered,
    Proposal,
    item_from_json,
    item_to_json,
    lacking,
    repeated,
)
from reverie.memory.format.topic import LARGEST_FILE
from reverie.ports import Clock, Scrubber

FOLDER = "inbox"
REJECTED = "inbox-rejected.json"
# Approved proposals, which return to the inbox if the approval is undone.
SETTLED = "approved"

MOST_ITEMS = 500
MOST_REJECTED = 2_000
# The largest memory with all other fields, escaped as JSON.
LARGEST_ITEM = 16 * LARGEST_FILE

_LONGEST_REMARK = 500
_LONGEST_EVIDENCE = 1_000
_ID = re.compile(r"[0-9a-f]{16}")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Broken:
    """A file in the inbox that is not a valid proposal, and why."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Contents:
    """All waiting proposals, oldest first, and files that could not be read."""

    items: tuple[Item, ...] = ()
    broken: tuple[Broken, ...] = ()


class Inbox:
    """The proposals of one project."""

    def __init__(self, folder: Path, clock: Clock, scrubber: Scrubber) -> None:
        self.folder = folder
        self._rejected = folder.with_name(REJECTED)
        self._settled = folder / SETTLED
        self._clock = clock
        self._scrubber = scrubber

    def put(self, proposal: Proposal) -> Offered:
        """Add a proposal; a repeated one is counted, and one rejected before is refused."""
        clean = self._clean(proposal)
        if wrong := lacking(clean):
            return NotKept(wrong)
        if len(clean.text.encode("utf-8", "surrogatepass")) > LARGEST_FILE:
            return NotKept(f"it is too long; a memory holds at most {LARGEST_FILE:,} bytes")
        with self._alone():
            if clean.id in self._known_rejections():
                return NotKept("you rejected the same proposal before", rejected=True)
            old = self._kept(clean.id)
            if old is None and len(self._names()) >= MOST_ITEMS:
                return NotKept(
                    f"the inbox is full ({MOST_ITEMS} proposals wait); decide with `reverie inbox`"
                )
            item = repeated(old, clean) if old else Item(clean.id, clean, self._clock.now())
            write_json(self._path(item.id), item_to_json(item))
        return item

    def contents(self) -> Contents:
        items: list[Item] = []
        broken: list[Broken] = []
        for name in self._names():
            try:
                items.append(self._read(name))
            except FileNotFoundError:
                continue
            except (OSError, ValueError, RecursionError) as error:
                broken.append(Broken(f"{FOLDER}/{name}", _explained(error)))
        return Contents(tuple(sorted(items, key=lambda item: (item.at, item.id))), tuple(broken))

    def items(self) -> tuple[Item, ...]:
        """All waiting proposals, oldest first."""
        return self.contents().items

    def count(self) -> int:
        """How many proposals wait; opens none of them."""
        return len(self._names())

    def get(self, id_: str) -> Item | None:
        """A proposal by its full id; None if it does not exist or cannot be read."""
        return self._kept(id_)

    def _kept(self, id_: str) -> Item | None:
        if not self.is_id(id_):
            return None
        try:
            return self._read(f"{id_}.json")
        except (OSError, ValueError, RecursionError):
            return None

    def remove(self, id_: str) -> bool:
        """Remove a proposal; False if it does not exist."""
        if not self.is_id(id_):
            return False
        with self._alone():
            return self._unlink(id_)

    def settle(self, id_: str) -> bool:
        """Move an approved proposal out of the inbox; it is kept in case that is undone."""
        return self._moved(id_, self.folder, self._settled)

    def bring_back(self, id_: str) -> bool:
        """Return a proposal to the inbox whose approval was undone; False if it is gone."""
        return self._moved(id_, self._settled, self.folder)

    def _moved(self, id_: str, source: Path, target: Path) -> bool:
        if not self.is_id(id_) or not (source / f"{id_}.json").is_file():
            return False
        with self._alone():
            make_private(target)
            (source / f"{id_}.json").replace(target / f"{id_}.json")
            kept = sorted(self._settled.glob("*.json"), key=lambda path: path.stat().st_mtime)
            for path in kept[:-MOST_ITEMS]:
                path.unlink()
        return True

    def reject(self, id_: str) -> bool:
        """Remove a proposal and refuse it from now on; False if it does not exist."""
        if not self.is_id(id_):
            return False
        with self._alone():
            known = [one for one in self._known_rejections() if one != id_]
            write_json(self._rejected, [*known, id_][-MOST_REJECTED:])
            return self._unlink(id_)

    @staticmethod
    def is_id(text: str) -> bool:
        """Whether a text can be the id of a proposal."""
        return _ID.fullmatch(text) is not None

    def _clean(self, proposal: Proposal) -> Proposal:
        """Scrub the texts before they are cut: scanners do not recognise half a secret."""
        return replace(
            proposal,
            text=self._scrubbed(proposal.text),
            name=self._scrubbed(proposal.name, _LONGEST_REMARK),
            description=self._scrubbed(proposal.description, _LONGEST_REMARK),
            reason=self._scrubbed(proposal.reason, _LONGEST_REMARK),
            warning=self._scrubbed(proposal.warning, _LONGEST_REMARK),
            evidence=self._scrubbed(proposal.evidence, _LONGEST_EVIDENCE),
            sources=tuple(one[:_LONGEST_REMARK] for one in proposal.sources[:MOST_SOURCES]),
        )

    def _scrubbed(self, text: str, longest: int | None = None) -> str:
        clean = self._scrubber.scrub(text).text if text else ""
        return clean if longest is None or len(clean) <= longest else f"{clean[: longest - 1]}…"

    def _path(self, id_: str) -> Path:
        return self.folder / f"{id_}.json"

    def _names(self) -> list[str]:
        try:
            return sorted(path.name for path in self.folder.iterdir() if is_item(path.name))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageError(f"cannot read {self.folder}: {error.strerror}") from error

    def _read(self, name: str) -> Item:
        id_ = name.removesuffix(".json")
        if not self.is_id(id_):
            raise ValueError("its name is not the id of a proposal")
        return item_from_json(id_, _read_json(self.folder / name))

    def _known_rejections(self) -> list[str]:
        try:
            known = _read_json(self._rejected)
        except (OSError, ValueError, RecursionError):
            return []
        return [one for one in known if isinstance(one, str)] if isinstance(known, list) else []

    def _unlink(self, id_: str) -> bool:
        with suppress(FileNotFoundError):
            self._path(id_).unlink()
            return True
        return False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock, and turn disk errors into StorageError."""
        with Directory(self.folder).locked():
            try:
                yield
            except OSError as error:
                raise StorageError(f"cannot write in {self.folder}: {error.strerror}") from error


def is_item(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")


def _read_json(path: Path) -> Any:
    """Read a regular file of limited size, never through a link."""
    with os.fdopen(os.open(path, _READ), "rb") as file:
        seen = os.fstat(file.fileno())
        if not stat.S_ISREG(seen.st_mode):
            raise ValueError("it is not a plain file")
        if seen.st_size > LARGEST_ITEM:
            raise ValueError(
                f"it has {seen.st_size:,} bytes; a proposal has at most {LARGEST_ITEM:,}"
            )
        return json.loads(file.read(LARGEST_ITEM))


def _explained(error: Exception) -> str:
    match error:
        case json.JSONDecodeError() | UnicodeDecodeError() | RecursionError():
            return "it is not JSON"
        case OSError():
            return error.strerror or str(error)
        case _:
            return str(error)
