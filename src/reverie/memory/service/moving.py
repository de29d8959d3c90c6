"""Move a memory between files and a service: every byte of every topic, every revision.

Revisions keep their ids on the way to a service. On the way back they become git commits; those that
came from files get their old ids again, the others new ones, and what mentions them is adjusted.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pygit2
from pygit2.enums import SortMode

from reverie.errors import InputError, StorageError
from reverie.memory.directory import Directory
from reverie.memory.format.revisions import parse_message, version
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
from reverie.memory.service.store import ServiceStore
from reverie.memory.store import FileStore

_BATCH = 50
_BATCH_BYTES = 2_000_000


@dataclass(frozen=True, slots=True)
class Moved:
    """What was moved; `renamed` revisions have another id now."""

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
    """Every file has the same bytes on both sides; otherwise the move is not called done."""
    for name, value in files.items():
        here, there = one.current(name), other.current(name)
        if here is None or here != there or version(here) != value["version"]:
            raise StorageError(f"{name} is not the same on both sides; the source was not changed")
