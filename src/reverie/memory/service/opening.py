"""Open memories and inboxes that a service keeps, and move a memory there or back.

The inbox folder is a copy. A decision goes to the service first, so that each proposal is decided
once. Proposals made while the service is away are kept in the folder and sent later.

Revisions keep their ids on the way to a service. On the way back they become git commits; those that
came from files get their old ids again, the others new ones, and what mentions them is adjusted.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pygit2
from pygit2.enums import SortMode

from reverie.errors import InputError, StorageError
from reverie.files.atomic import read_json, slug, write_json
from reverie.memory.directory import Directory
from reverie.memory.format.proposals import Item, NotKept, Offered, Proposal, item_to_json
from reverie.memory.format.revisions import parse_message, version
from reverie.memory.format.taxonomy import MemoryScope
from reverie.memory.git_trees import (
    Folder,
    blob_of,
    changed_files,
    commit_of,
    in_bulk,
    open_repository,
    stored,
    write_commit,
)
from reverie.memory.history import MAIN, with_new_ids
from reverie.memory.inbox import Contents, Inbox
from reverie.memory.locations import MemoryLocation
from reverie.memory.service.connection import ServiceAway, ServiceConnection, ServiceRefused, quoted
from reverie.memory.service.store import FRESH, ServiceStore
from reverie.memory.store import FileStore
from reverie.ports import Clock, Scrubber

SERVICES = "services"
PERSON = "person"


@dataclass(frozen=True, slots=True)
class Service:
    """A service as one key sees it; `project` is the name of this project there."""

    connection: ServiceConnection
    project: str
    home: Path
    clock: Clock
    fresh: float = FRESH

    @property
    def folder(self) -> Path:
        """The folder of everything copied with this key; another key sees other things."""
        whose = self.connection.key.partition(".")[0]
        return self.home / SERVICES / slug(Path(f"{self.connection.url}/{whose}"))

    def store(self, scope: MemoryScope) -> tuple[MemoryLocation, ServiceStore]:
        """The memory of a scope: the person's and the project's are in a private space."""
        name = PERSON if scope == "person" else self.project
        space = self._space("team" if scope == "team" else "private")
        state = self.folder / slug(Path(f"{space}/{name}"))
        path = partial(self._path, state, space, name)
        place = MemoryLocation(state / "memory", state)
        made = ServiceStore(place.directory, state, self.connection, path, self.clock, self.fresh)
        return place, made

    def _space(self, kind: str) -> str:
        for space in self._known()["spaces"]:
            if space["kind"] == kind:
                return str(space["name"])
        raise InputError(f"this key sees no {kind} space of {self.connection.url}")

    def _known(self) -> dict[str, Any]:
        """What this key may see; the last known answer while the service is away."""
        record = self.folder / "whoami.json"
        known = read_json(record)
        try:
            told: dict[str, Any] = self.connection.get("/v1/whoami").data
        except ServiceAway:
            if isinstance(known, dict):
                return known
            raise
        if told != known:
            write_json(record, told)
        return told

    def _path(self, state: Path, space: str, name: str) -> str:
        record = state / "project.json"
        known = read_json(record)
        if isinstance(known, dict) and known.get("path"):
            return str(known["path"])
        asked = f"/v1/spaces/{quoted(space)}/projects/{quoted(name)}"
        path = f"/v1/projects/{self.connection.send('PUT', asked, {}).data['project']}"
        write_json(record, {"path": path, "name": name, "space": space})
        return path


UNSENT = "inbox-unsent.json"
_GONE = 404


class ServiceInbox(Inbox):
    """The proposals of one project at a service; `path` asks for the project's path in the API."""

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        scrubber: Scrubber,
        service: ServiceConnection,
        path: Callable[[], str],
    ) -> None:
        super().__init__(folder, clock, scrubber)
        self._service = service
        self._project = path
        self._unsent = folder.with_name(UNSENT)
        self._looked: float | None = None

    # --- the copy ---

    def follow(self, *, now: bool = False) -> None:
        """Bring the copy up to date; while the service is away it stays as it is."""
        if not now and self._looked is not None and time.monotonic() - self._looked < FRESH:
            return
        self._looked = time.monotonic()
        with suppress(ServiceAway):
            for id_ in self._waiting_to_be_sent():
                item = self._kept(id_)
                if item is not None:
                    self._offer(item)
                self._mark_sent(id_)
            self._copy()

    def _copy(self) -> None:
        listed = self._service.get(f"{self._project()}/proposals").data["proposals"]
        waiting = {str(one["id"]): one["item"] for one in listed}
        with self._alone():
            kept = {*waiting, *self._waiting_to_be_sent()}
            for name in self._names():
                if (id_ := name.removesuffix(".json")) not in kept:
                    self._unlink(id_)
            for id_, item in waiting.items():
                if self.is_id(id_) and read_json(self._path(id_)) != item:
                    write_json(self._path(id_), item)

    def contents(self) -> Contents:
        self.follow()
        return super().contents()

    def count(self) -> int:
        self.follow()
        return super().count()

    def get(self, id_: str) -> Item | None:
        self.follow()
        return self._kept(id_)

    # --- proposing ---

    def put(self, proposal: Proposal) -> Offered:
        self.follow()
        item = super().put(proposal)
        if isinstance(item, NotKept):
            return item
        try:
            offered = self._offer(item)
        except ServiceAway:
            write_json(self._unsent, [*self._waiting_to_be_sent(), item.id])
            return item
        return item if offered else NotKept("it was decided before", rejected=True)

    def _offer(self, item: Item) -> bool:
        """Send a proposal; one that was decided elsewhere no longer waits here."""
        reply = self._send("PUT", item.id, item_to_json(item))
        if not reply:
            super().remove(item.id)
        return reply

    def _send(self, method: str, id_: str, body: object) -> bool:
        told = self._service.send(method, f"{self._project()}/proposals/{id_}", body, tries=2)
        return bool((told.data or {}).get("offered", True))

    def _waiting_to_be_sent(self) -> list[str]:
        known = read_json(self._unsent)
        return [one for one in known if isinstance(one, str)] if isinstance(known, list) else []

    def _mark_sent(self, id_: str) -> None:
        write_json(self._unsent, [one for one in self._waiting_to_be_sent() if one != id_])

    # --- deciding ---

    def remove(self, id_: str) -> bool:
        return self._decide("DELETE", id_, {}) and super().remove(id_)

    def settle(self, id_: str) -> bool:
        return self._decide("POST", id_, {"state": "approved"}) and super().settle(id_)

    def reject(self, id_: str) -> bool:
        return self._decide("POST", id_, {"state": "rejected"}) and super().reject(id_)

    def bring_back(self, id_: str) -> bool:
        if not self._decide("POST", id_, {"state": "waiting"}):
            return False
        super().bring_back(id_)
        self.follow(now=True)
        return self.get(id_) is not None

    def _decide(self, method: str, id_: str, body: object) -> bool:
        """Send a decision to the service; False if the proposal is gone there."""
        self.follow()
        if not self.is_id(id_):
            return False
        try:
            self._send(method, id_, body)
        except ServiceRefused as error:
            if error.status != _GONE:
                raise
            return False
        except ServiceAway as error:
            raise InputError(f"{error}; decide when it is back") from error
        return True


_BATCH = 50
_BATCH_BYTES = 2_000_000


@dataclass(frozen=True, slots=True)
class Moved:
    """What was moved; `renamed` revisions have new ids."""

    memories: int
    revisions: int
    renamed: int = 0


def to_service(source: FileStore, target: ServiceStore) -> Moved:
    """Copy a memory in files, with its history, into a new project of a service."""
    source.notice_hand_edits()
    if source.history.is_empty:
        raise InputError("there is nothing to move: this memory has no history yet")
    service, path = target.service, target.path
    batch: list[dict[str, Any]] = []
    size = count = 0
    for item in _commits(source):
        batch.append(item)
        count += 1
        size += sum(len(data or "") for data in item["files"].values())
        if len(batch) >= _BATCH or size >= _BATCH_BYTES:
            service.send("POST", f"{path}/import", {"revisions": batch})
            batch, size = [], 0
    service.send("POST", f"{path}/import", {"revisions": batch})
    listing = source.listing()
    files = {
        name: {"version": id_, "changed": listing[name][0] / 1e9 if name in listing else 0}
        for name, id_ in source.history.files().items()
    }
    service.send("PUT", f"{path}/import", {"files": files})
    target.follow(now=True)
    _compare(source, target, files)
    return Moved(len(listing), count)


def _commits(source: FileStore) -> Iterator[dict[str, Any]]:
    """Every commit, oldest first, with the files that differ from its first parent."""
    repo = open_repository(source.history.git_dir)
    head = repo.references[MAIN].peel(pygit2.Commit).id
    for commit in repo.walk(head, SortMode.TOPOLOGICAL | SortMode.REVERSE):
        folder = Folder.read(repo, commit.tree_id)
        files: dict[str, str | None] = {}
        for name in changed_files(repo, commit):
            id_ = folder.find(repo, name)
            data = None if id_ is None else blob_of(repo, id_)
            files[name] = None if data is None else base64.b64encode(data).decode()
        yield {
            "id": str(commit.id),
            "parents": [str(parent) for parent in commit.parent_ids],
            "at": float(commit.commit_time),
            "message": commit.message,
            "files": files,
        }


def to_files(source: ServiceStore, target: FileStore) -> Moved:
    """Copy a service's memory, with its history, into an empty memory directory."""
    if not target.history.is_empty or target.listing():
        raise InputError(f"{target.root} has a memory already; move into an empty one")
    source.follow(now=True)
    exported = _exported(source)
    if not exported:
        raise InputError("there is nothing to move: the service has no history of this project")
    repo = open_repository(target.history.git_dir)
    new_ids: dict[str, str] = {}
    with in_bulk(len(exported)):
        for item in exported:
            new_ids[item["id"]] = _written(repo, item, source, new_ids)
    head = new_ids[exported[-1]["id"]]
    repo.references.create(MAIN, head, force=True)
    repo.free()
    _check_out(source, target)
    files = {name: {"version": id_} for name, id_ in target.history.files().items()}
    _compare(target, source, files)
    renamed = sum(old != new for old, new in new_ids.items())
    return Moved(len(target.listing()), len(exported), renamed)


def _exported(source: ServiceStore) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        page = source.service.get(f"{source.path}/export?cursor={len(found)}", tries=4).data
        found += page["revisions"]
        if not page["revisions"]:
            return found


def _written(
    repo: pygit2.Repository,
    item: Mapping[str, Any],
    source: ServiceStore,
    new_ids: Mapping[str, str],
) -> str:
    parents = [pygit2.Oid(hex=new_ids[parent]) for parent in item["parents"]]
    first = commit_of(repo, parents[0]).tree_id if parents else None
    old = Folder([]) if first is None else Folder.read(repo, first)
    contents = {
        name: None if id_ is None else source.history.content(id_)
        for name, id_ in item["files"].items()
    }
    folder = old.with_files(repo, stored(repo, contents))
    if folder.crowded:
        folder = folder.spread_out(repo)
    message = with_new_ids(item["message"], new_ids)
    writer = parse_message(item["message"])[1].writer
    who = f"{writer} <reverie@localhost> {int(item['at'])} +0000"
    return str(write_commit(repo, folder.write(repo), parents, who, message))


def _check_out(source: ServiceStore, target: FileStore) -> None:
    directory = Directory(target.root)
    listing = source.listing()
    for name in target.history.files():
        directory.replace(name, target.history.read(name) or b"")
        if name in listing:
            os.utime(target.root / name, ns=(listing[name][0], listing[name][0]))


def _compare(one: FileStore, other: FileStore, files: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise StorageError unless every file is the same on both sides."""
    for name, value in files.items():
        here, there = one.current(name), other.current(name)
        if here is None or here != there or version(here) != value["version"]:
            raise StorageError(f"{name} is not the same on both sides; the source was not changed")
