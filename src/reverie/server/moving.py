"""The endpoints of `reverie migrate`, which moves whole histories revision by revision."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from reverie.memory.postgres.rows import NewRevision, add_revision, set_topics
from reverie.memory.postgres.store import PostgresStore
from reverie.server.calls import Answer, Call, Problem

_ID = re.compile(r"[0-9a-f]{40}")


def import_revisions(call: Call) -> Answer:
    """Import revisions of another store, oldest first, with their ids; only into a new project."""
    store, seq = _importing(call)
    listed = call.body().get("revisions")
    if not isinstance(listed, list):
        raise Problem(422, "revisions must be a list")
    known = {found.id for found in store.history.log()}
    topics = call.connection.execute(
        "SELECT 1 FROM reverie.topics WHERE project = %s LIMIT 1", (store.project.project,)
    ).fetchone()
    if topics is not None:
        raise Problem(409, "this project has memories already", "move into a new project")
    for item in listed:
        revision, files = _read(item, seq + 1)
        if revision.id in known:
            continue
        if any(parent not in known for parent in revision.parents):
            raise Problem(422, f"a parent of {revision.id} is missing")
        add_revision(call.connection, store.project, revision, files)
        known.add(revision.id)
        seq += 1
    return Answer.of({"revisions": len(known)})


def finish_import(call: Call) -> Answer:
    """The files of the newest revision become the memory: {files: {name: {version, changed}}}."""
    store, seq = _importing(call)
    given = call.body().get("files")
    if not isinstance(given, dict) or not all(map(_is_version, given.values())):
        raise Problem(422, "files must be {name: {version, changed}}")
    head = next(store.history.log(), None)
    there = {} if head is None else store.history.files(head.id)
    wanted = {name: str(value["version"]) for name, value in given.items()}
    if there != wanted:
        odd = sorted(n for n in {*there, *wanted} if there.get(n) != wanted.get(n))
        raise Problem(409, "the newest revision has other files", ", ".join(odd[:5]))
    files: dict[str, bytes | None] = {}
    for name, id_ in wanted.items():
        files[name] = store.history.content(id_) or b""
        changed = float(given[name].get("changed") or 0)
        set_topics(call.connection, store.project, seq, changed, {name: files[name]})
    call.parts.indexing(call.connection, store.project, files, ())
    return Answer.of({"files": len(files)})


def _is_version(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("version"), str):
        return False
    return isinstance(value.get("changed", 0), int | float)


def _importing(call: Call) -> tuple[PostgresStore, int]:
    """The project's store, and the number of its newest revision. The project is locked."""
    project = call.project()
    if project.shared:
        raise Problem(422, "a team's memory grows by promotion, not by moving a history into it")
    locked = call.connection.execute(
        "SELECT seq FROM reverie.projects WHERE project = %s FOR UPDATE", (project.project,)
    ).fetchone()
    if locked is None:
        raise Problem(403, "this key may not write there")
    return call.store(project), locked["seq"]


def _read(item: object, seq: int) -> tuple[NewRevision, Mapping[str, bytes | None]]:
    try:
        data: dict[str, Any] = dict(item)  # type: ignore[call-overload]
        parents = tuple(map(str, data["parents"]))
        if not all(map(_ID.fullmatch, (str(data["id"]), *parents))):
            raise ValueError("an id has 40 hexadecimal digits")
        made = NewRevision(str(data["id"]), seq, parents, float(data["at"]), str(data["message"]))
        files = {
            str(name): None if text is None else base64.b64decode(text, validate=True)
            for name, text in data["files"].items()
        }
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise Problem(422, "a revision is {id, parents, at, message, files}", str(error)) from error
    return made, files


def export_revisions(call: Call) -> Answer:
    """Revisions as they can be imported elsewhere, oldest first, from a number on (?cursor=)."""
    store = call.store()
    row = call.connection.execute(
        "SELECT id, parents, at, message, array(SELECT c.file FROM reverie.changes c WHERE "
        "c.project = r.project AND c.seq = r.seq) AS files, array(SELECT coalesce(c.version, '') "
        "FROM reverie.changes c WHERE c.project = r.project AND c.seq = r.seq) AS versions "
        "FROM reverie.revisions r WHERE project = %s AND seq > %s ORDER BY seq LIMIT %s",
        (
            store.project.project,
            call.position("cursor"),
            call.number("limit", 200, 500),
        ),
    ).fetchall()
    told = [
        {
            "id": one["id"],
            "parents": one["parents"],
            "at": one["at"],
            "message": one["message"],
            "files": {n: v or None for n, v in zip(one["files"], one["versions"], strict=True)},
        }
        for one in row
    ]
    return Answer.of({"revisions": told})
