"""A memory that a service keeps, with a copy of its files on this machine.

Reading is reading the copy, which is brought up to date first: recall, prompts and tools work on it as
on any memory directory, also while the service is away. A write goes to the service, based on the
versions in the copy; it fails while the service is away. Edits made by hand in the copy are sent.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from reverie.errors import StorageError, WriteConflict
from reverie.files.atomic import read_json, write_json
from reverie.files.locks import exclusive
from reverie.logs import logger
from reverie.memory.cleaning import Cleaned
from reverie.memory.directory import Directory
from reverie.memory.format import index as indexes
from reverie.memory.format.index import Index
from reverie.memory.format.manifest import INDEX_FILE, Changes, ManifestEntry
from reverie.memory.format.revisions import Author, Change, Drop, Put, Revision, version
from reverie.memory.format.taxonomy import APART
from reverie.memory.history import GitHistory
from reverie.memory.reading import Stored
from reverie.memory.service.connection import (
    LeasedLock,
    ServiceAway,
    ServiceConnection,
    ServiceHistory,
    revision_of,
)
from reverie.memory.store import BY_HAND, DreamLock, FileStore, check_size, unchanged
from reverie.memory.sync.merge import name_beside
from reverie.ports import Clock

log = logger(__name__)

MIRROR = "mirror.json"
# Minimum seconds between two comparisons of the copy with the service.
FRESH = 1.0
_ATTEMPTS = 20
# Copies whose service did not answer the last request of this process.
_AWAY: set[Path] = set()


class ServiceStore(FileStore):
    """The copy of one project's memory, and the way to the service."""

    def __init__(
        self,
        root: Path,
        state: Path,
        service: ServiceConnection,
        path: Callable[[], str],
        clock: Clock,
        fresh: float = FRESH,
    ) -> None:
        """`path` asks for the project's path in the API, once."""
        unused = GitHistory(state / "unused.git", clock)
        super().__init__(root, unused, apart=APART)
        self.history = ServiceHistory(service, path, clock, state / "unused.git")
        self.service = service
        self._path = path
        self._clock = clock
        self._state = state / MIRROR
        self._copy = Directory(root)
        self._fresh = fresh
        self._looked: float | None = None
        # The lease under which a dream writes, while one runs here.
        self.lease: LeasedLock | None = None

    @property
    def path(self) -> str:
        """The project's path in the API."""
        return self._path()

    # --- the copy ---

    def follow(self, *, now: bool = False) -> None:
        """Bring the copy up to date; while the service is away it stays as it is."""
        if not now and self._looked is not None and time.monotonic() - self._looked < self._fresh:
            return
        try:
            with exclusive(self._state.with_suffix(".lock")):
                self._pull()
        except ServiceAway as error:
            if self._known() is None:
                raise
            if self._state not in _AWAY:
                log.warning("%s; memory is as of %s", error, self._age())
            _AWAY.add(self._state)
        else:
            _AWAY.discard(self._state)
        self._looked = time.monotonic()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user: how old the copy is while the service is away."""
        self.follow()
        if self._state not in _AWAY:
            return ()
        return (f"the service is away; memory is as of {self._age()}",)

    def _age(self) -> str:
        known = self._known() or {}
        seconds = max(0.0, self._clock.now() - float(known.get("checked") or 0))
        for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
            if seconds >= size:
                count = int(seconds // size)
                return f"{count} {word}{'' if count == 1 else 's'} ago"
        return "less than a minute ago"

    def _known(self) -> dict[str, Any] | None:
        data = read_json(self._state)
        return data if isinstance(data, dict) else None

    def _pull(self) -> None:
        known = self._known() or {"seq": 0, "files": {}}
        seq, after, more = int(known["seq"]), "", True
        while more:
            asked = urlencode({"since": seq, **({"after": after} if after else {})})
            known_tag = "" if after or not seq else f'"{seq}"'
            reply = self.service.get(f"{self.path}/mirror?{asked}", tag=known_tag)
            if reply.status == 304:
                break
            found = reply.data
            gone = found["gone"]
            if found.get("files") is not None:
                # The service no longer lists names that were forgotten everywhere.
                gone = [*gone, *(known["files"].keys() - found["files"])]
            self._write(known["files"], found["changed"], gone)
            seq, after, more = found["seq"], found["after"] or "", found["more"]
        write_json(self._state, {"seq": seq, "checked": self._clock.now(), "files": known["files"]})

    def _write(
        self, files: dict[str, str], changed: Sequence[Mapping[str, Any]], gone: Sequence[str]
    ) -> None:
        for item in changed:
            file, data = item["file"], base64.b64decode(item["data"])
            # An edit keeps the version it is based on, until it was sent.
            if not self._edited(file, files):
                self._copy.replace(file, data)
                os.utime(self.root / file, (item["changed"], item["changed"]))
                files[file] = item["version"]
        for file in gone:
            if file in files and not self._edited(file, files):
                self._copy.remove(file)
                del files[file]

    def _edited(self, file: str, files: Mapping[str, str]) -> bool:
        """Whether a file was edited by hand since it was copied; such an edit is kept, and sent."""
        current = self._copy.read(file)
        return current is not None and files.get(file, version(current)) != version(current)

    # --- reading ---

    def entries(self) -> tuple[ManifestEntry, ...]:
        self.follow()
        return super().entries()

    def listing(self) -> dict[str, tuple[int, int, int]]:
        self.follow()
        return super().listing()

    def alike(self, text: str) -> Sequence[ManifestEntry]:
        self.follow()
        return super().alike(text)

    def has(self, file: str) -> bool:
        self.follow()
        return super().has(file)

    def changes(self, since: str, most: int) -> Changes | None:
        self.follow()
        return super().changes(since, most)

    def read(self, file: str) -> Stored | None:
        self.follow()
        return super().read(file)

    def current(self, file: str) -> bytes | None:
        self.follow()
        return super().current(file)

    def index(self) -> Index:
        self.follow()
        return super().index()

    def read_on(self) -> bool:
        return False

    def record_on(self) -> bool:
        return False

    # --- writing ---

    def apply(
        self,
        changes: Sequence[Change],
        author: Author,
        summary: str,
        edit_index: Callable[[Index], Index] = unchanged,
    ) -> Revision | None:
        for change in changes:
            check_size(change)
        self.notice_hand_edits()
        for _ in range(_ATTEMPTS):
            before = super().current(INDEX_FILE)
            index = indexes.render(edit_index(indexes.parse(before or b"")))
            sent = list(changes)
            if index != (before or b""):
                sent.append(Put(INDEX_FILE, index, None if before is None else version(before)))
            if not sent:
                return None
            try:
                return self._send(sent, author, summary)
            except WriteConflict as conflict:
                self.follow(now=True)
                if conflict.file != INDEX_FILE:
                    wanted = next((c for c in changes if c.file == conflict.file), None)
                    proposed = wanted.data if isinstance(wanted, Put) else None
                    current = super().current(conflict.file)
                    raise WriteConflict(conflict.file, current, proposed) from conflict
        raise _too_busy()

    def restore(
        self, plan: Callable[[], Mapping[str, bytes | None]], author: Author, summary: str
    ) -> Revision | None:
        self.notice_hand_edits()
        for _ in range(_ATTEMPTS):
            changes: list[Change] = []
            for file, data in plan().items():
                current = super().current(file)
                base = None if current is None else version(current)
                if data is not None:
                    changes.append(Put(file, data, base))
                elif base is not None:
                    changes.append(Drop(file, base))
            if not changes:
                return None
            try:
                return self._send(changes, author, summary)
            except WriteConflict:
                self.follow(now=True)
        raise _too_busy()

    def _send(self, changes: Sequence[Change], author: Author, summary: str) -> Revision | None:
        made = self._post(changes, author, summary)
        self.follow(now=True)
        return made

    def _post(self, changes: Sequence[Change], author: Author, summary: str) -> Revision | None:
        body = {
            "changes": [_change_json(change) for change in changes],
            "author": asdict(author),
            "summary": summary,
            "lease": self.lease.told if self.lease and author.writer == "dream" else None,
        }
        reply = self.service.send("POST", f"{self.path}/changes", body).data
        return None if reply["revision"] is None else revision_of(reply["revision"])

    def notice_hand_edits(self) -> Revision | None:
        """Send what was edited by hand in the copy; on a conflict both versions are kept."""
        self.follow(now=True)
        known = dict((self._known() or {}).get("files", {}))
        there = {*FileStore.listing(self)}
        there |= {INDEX_FILE} if self._copy.read(INDEX_FILE) is not None else set()
        edits: list[Change] = [Drop(file, known[file]) for file in known if file not in there]
        for file in sorted(there):
            data = self._copy.read(file)
            if data is not None and known.get(file) != version(data):
                edits.append(Put(file, data, known.get(file)))
        made = None
        for edit in edits:
            made = self._send_edit(edit)
        return made

    def _send_edit(self, edit: Change) -> Revision | None:
        summary = f"edited by hand: {edit.file}"
        made = None
        try:
            made = self._post([edit], BY_HAND, summary)
        except WriteConflict:
            if isinstance(edit, Put):
                beside = name_beside(edit.file, edit.data, {})
                log.warning("%s was changed elsewhere, too: yours is %s", edit.file, beside)
                made = self._post([Put(beside, edit.data)], BY_HAND, f"{summary}, kept beside")
        self._settle(edit)
        self.follow(now=True)
        return made

    def _settle(self, edit: Change) -> None:
        """Count an edit as copied, so that the service's answer replaces it."""
        with exclusive(self._state.with_suffix(".lock")):
            known = self._known() or {"seq": 0, "files": {}, "checked": 0}
            if isinstance(edit, Put):
                known["files"][edit.file] = version(edit.data)
            else:
                known["files"].pop(edit.file, None)
            # Ask for everything again, because the edit's base may be old.
            known["seq"] = 0
            write_json(self._state, known)

    def forget_everywhere(self, file: str, sentences: Sequence[str]) -> list[Cleaned]:
        """Let the service remove every trace of a memory; returns what it did in each place."""
        self.notice_hand_edits()
        asked = {"file": file, "sentences": list(sentences)}
        reply = self.service.send("POST", f"{self.path}/forget", asked).data
        if isinstance(self.history, ServiceHistory):
            self.history.forget_copies()
        self.follow(now=True)
        return [
            Cleaned(f"service: {one['place']}", one["done"], one["removed"], one["remains"])
            for one in reply["places"]
        ]

    def leased(self, held: DreamLock) -> DreamLock | None:
        lock = LeasedLock(self.service, self.path, held)
        if not lock.take():
            return None
        self.lease = lock
        return lock

    @contextmanager
    def exclusively(self) -> Iterator[None]:
        self.notice_hand_edits()
        yield


def _change_json(change: Change) -> dict[str, Any]:
    if isinstance(change, Drop):
        return {"file": change.file, "data": None, "base": change.base}
    return {
        "file": change.file,
        "data": base64.b64encode(change.data).decode(),
        "base": change.base,
    }


def _too_busy() -> StorageError:
    return StorageError(
        f"other programs wrote {_ATTEMPTS} times in between; nothing was lost: try again"
    )
