"""The endpoints of one memory: topics, changes, revisions, recall, and the inbox."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from itertools import islice
from typing import Any, get_args

from psycopg.types.json import Jsonb

from reverie.memory.changes.draft import Declined, NewMemory
from reverie.memory.changes.keeper import Keeper
from reverie.memory.format.index import Index
from reverie.memory.format.manifest import INDEX_FILE, ManifestEntry, is_index
from reverie.memory.format.paths import Refused, check_name
from reverie.memory.format.revisions import (
    WRITERS,
    Author,
    Change,
    Drop,
    Put,
    Revision,
    Writer,
    version,
)
from reverie.memory.format.taxonomy import MemoryType
from reverie.memory.postgres.sharing import holds_lease, objection
from reverie.memory.postgres.store import PostgresStore
from reverie.server.calls import MARKDOWN, Answer, Call, Problem, etag, untagged

MOST_ROWS = 500


def list_memories(call: Call) -> Answer:
    """Memories by file name, a page at a time."""
    limit, after = call.number("limit", 100, MOST_ROWS), call.query.get("cursor", "")
    project = call.project()
    rows = call.connection.execute(
        "SELECT file, version, size, changed, seq FROM reverie.topics "
        "WHERE project = %s AND file > %s ORDER BY file LIMIT %s",
        (project.project, after, limit + 1),
    ).fetchall()
    store = call.store(project)
    known = {e.file: e for e in store.some([row["file"] for row in rows[:limit]])}
    data = [
        {**row, **_entry_json(known[row["file"]])}
        for row in rows[:limit]
        if not is_index(row["file"])
    ]
    cursor = rows[limit - 1]["file"] if len(rows) > limit else None
    return Answer.of({"memories": data, "cursor": cursor})


def _entry_json(entry: ManifestEntry) -> dict[str, Any]:
    return {"name": entry.name, "description": entry.description, "type": entry.type}


def read_memory(call: Call) -> Answer:
    """A memory's bytes; its version is the ETag."""
    data = call.store().current(call.path["file"])
    if data is None:
        raise _missing(call.path["file"])
    tag = etag(version(data))
    if tag in call.headers.get("if-none-match", "").split(", "):
        return Answer(304, b"", {"etag": tag})
    return Answer(200, data, {"content-type": MARKDOWN, "etag": tag})


def _missing(file: str) -> Problem:
    return Problem(404, "no such memory", f"there is no {file} in this project")


def write_memory(call: Call) -> Answer:
    """Write a memory: If-Match names the version it is based on, If-None-Match: * makes a new one."""
    base = untagged(call.headers.get("if-match", "")) or None
    if base is None and call.headers.get("if-none-match", "").strip() != "*":
        raise Problem(428, "a version is needed", "send If-Match: VERSION or If-None-Match: *")
    file = _checked(call.path["file"])
    store = call.store()
    made = store.apply(
        [_shareable(call, store, Put(file, call.raw, base))], _writer(call), f"write {file}"
    )
    tag = etag(version(store.current(file) or b""))
    return Answer.of({"revision": None if made is None else made.id}, etag=tag)


def delete_memory(call: Call) -> Answer:
    """Remove a memory of the version that If-Match names; the history keeps it."""
    base = untagged(call.headers.get("if-match", ""))
    if not base:
        raise Problem(428, "a version is needed", "send If-Match: VERSION")
    file = call.path["file"]
    made = call.store().apply([Drop(file, base)], _writer(call), f"forget {file}")
    if made is None:
        raise _missing(file)
    return Answer.of({"revision": made.id})


def _checked(file: str) -> str:
    verdict = check_name(file)
    if isinstance(verdict, Refused) and file != INDEX_FILE:
        raise Problem(422, "this cannot be the name of a memory", verdict.reason)
    return file


def _writer(call: Call) -> Author:
    return Author("user", session=f"key:{call.claims.key}")


def _shareable(call: Call, store: PostgresStore, put: Put) -> Put:
    if store.project.shared and (reason := objection(put.file, put.data, call.parts.scrubber)):
        raise Problem(422, "a team's memory cannot hold this", reason)
    return put


def post_changes(call: Call) -> Answer:
    """Make several changes in one transaction, each based on a version: all or none."""
    data = call.body()
    listed = data.get("changes")
    if not isinstance(listed, list) or not listed:
        raise Problem(422, "changes must be a list of {file, data, base}")
    store = call.store()
    changes = [_change(call, store, item) for item in listed]
    with store.exclusively():
        _require_lease(call, store, data.get("lease"))
        made = store.apply(changes, _author(data), call.text(data, "summary", ""))
    versions = {c.file: store.history.version(c.file) for c in changes}
    found = None if made is None else _revision(made)
    return Answer.of({"revision": found, "versions": versions})


def _require_lease(call: Call, store: PostgresStore, lease: object) -> None:
    """Refuse a change made under a lease that another holder has taken."""
    if lease is None:
        return
    if not isinstance(lease, dict):
        raise Problem(422, "lease must be {name, holder}")
    name, holder = call.text(lease, "name"), call.text(lease, "holder")
    if not holds_lease(call.connection, store.project, name, holder):
        raise Problem(409, "another holder has this lease by now")


def _change(call: Call, store: PostgresStore, item: object) -> Change:
    if not isinstance(item, dict) or not isinstance(item.get("file"), str):
        raise Problem(422, "a change is {file, data, base}")
    file, base, data = _checked(item["file"]), item.get("base"), item.get("data")
    if base is not None and not isinstance(base, str):
        raise Problem(422, "base must be a version")
    if data is None:
        return Drop(file, base or "")
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise Problem(422, "data must be base64", str(error)) from error
    return _shareable(call, store, Put(file, content, base))


def _author(data: Mapping[str, Any]) -> Author:
    given = data.get("author")
    said = given if isinstance(given, dict) else {}
    writer: Writer = next((known for known in WRITERS if known == said.get("writer")), "user")

    def words(name: str) -> tuple[str, ...]:
        value = said.get(name)
        return tuple(str(one) for one in value) if isinstance(value, list) else ()

    return Author(
        writer=writer,
        session=str(said.get("session") or ""),
        messages=words("messages"),
        model=str(said.get("model") or ""),
        dream=str(said.get("dream") or ""),
        undoes=words("undoes"),
        proposal=str(said.get("proposal") or ""),
    )


def _revision(made: Revision) -> dict[str, Any]:
    author = made.author
    told = {name: getattr(author, name) for name in Author.__dataclass_fields__}
    return {
        "id": made.id,
        "at": made.at,
        "summary": made.summary,
        "files": list(made.files),
        "author": {name: list(v) if isinstance(v, tuple) else v for name, v in told.items()},
    }


def mirror(call: Call) -> Answer:
    """Everything that changed after a revision number, with its bytes: for a local copy."""
    project = call.project()
    since = call.position("since")
    newest = call.connection.execute(
        "SELECT seq, rewritten FROM reverie.projects WHERE project = %s", (project.project,)
    ).fetchone()
    tag = etag(0 if newest is None else newest["seq"])
    if tag == call.headers.get("if-none-match", ""):
        return Answer(304, b"", {"etag": tag})
    limit = call.number("limit", 200, MOST_ROWS)
    rows = call.connection.execute(
        "SELECT t.file, t.version, t.changed, t.seq, c.data FROM reverie.topics t "
        "JOIN reverie.contents c USING (project, version) "
        "WHERE t.project = %s AND (t.seq, t.file) > (%s, %s) ORDER BY t.seq, t.file LIMIT %s",
        (project.project, since, call.query.get("after", "\U0010ffff" if since else ""), limit + 1),
    ).fetchall()
    gone = call.connection.execute(
        "SELECT DISTINCT c.file FROM reverie.changes c WHERE c.project = %s AND c.seq > %s AND NOT "
        "EXISTS (SELECT FROM reverie.topics t WHERE t.project = c.project AND t.file = c.file)",
        (project.project, since),
    ).fetchall()
    page = rows[:limit]
    changed = [
        {
            "file": row["file"],
            "version": row["version"],
            "changed": row["changed"],
            "data": base64.b64encode(row["data"]).decode(),
        }
        for row in page
    ]
    more = len(rows) > limit
    told: dict[str, Any] = {"changed": changed, "gone": [row["file"] for row in gone], "more": more}
    told["seq"] = page[-1]["seq"] if more else (newest or {}).get("seq", 0)
    told["after"] = page[-1]["file"] if more else None
    if newest is not None and since < newest["rewritten"]:
        told["files"] = list(call.store(project).history.files())
    return Answer.of(told, etag=tag)


def list_revisions(call: Call) -> Answer:
    """Revisions, newest first, a page at a time; with ?file= those that changed it."""
    limit = call.number("limit", 100, MOST_ROWS)
    skipped = call.position("cursor")
    history = call.store().history
    found = list(islice(history.log(call.query.get("file")), skipped, skipped + limit + 1))
    cursor = str(skipped + limit) if len(found) > limit else None
    return Answer.of({"revisions": [_revision(one) for one in found[:limit]], "cursor": cursor})


def revision_files(call: Call) -> Answer:
    """Every file of a revision with its version, and the revisions it follows."""
    history = call.store().history
    found = history.revision(call.path["revision"])
    data = {"files": history.files(found.id), "parents": history.parents(found.id)}
    return Answer.of(
        {**data, **_revision(found), "changed": list(found.files), "files": data["files"]}
    )


def read_content(call: Call) -> Answer:
    """The bytes of a version, from anywhere in the history."""
    data = call.store().history.content(call.path["version"])
    if data is None:
        raise Problem(404, "no such version")
    headers = {"content-type": "application/octet-stream", "cache-control": "private, immutable"}
    return Answer(200, data, headers)


def remember(call: Call) -> Answer:
    """Save a fact as a memory: dates become absolute, secrets are removed, duplicates are found."""
    data = call.body()
    kind = data.get("type")
    if kind is not None and kind not in get_args(MemoryType):
        raise Problem(422, f"type must be one of {', '.join(get_args(MemoryType))}")
    new = NewMemory(
        call.text(data, "text"),
        kind,
        call.some_text(data, "name"),
        call.some_text(data, "description"),
        call.some_text(data, "supersedes"),
        even_if_known=data.get("even_if_known") is True,
        replace=data.get("replace") is True,
    )
    store = call.store()
    shared = store.project.shared
    keeper = Keeper(store, call.parts.clock, call.parts.scrubber, shared=shared)
    outcome = keeper.remember(new, _author(data))
    if isinstance(outcome, Declined):
        told = {"reason": outcome.reason, "advice": outcome.advice, "existing": outcome.existing}
        return Answer.of({"saved": False, **told})
    related = [{"file": one.file, "text": one.text} for one in outcome.related]
    return Answer.of(
        {
            "saved": True,
            "file": outcome.topic.file,
            "revision": outcome.revision.id,
            "superseded": outcome.superseded,
            "secrets": outcome.secrets,
            "related": related,
        },
        201,
    )


def recall(call: Call) -> Answer:
    """The memories that fit a question, best first."""
    data = call.body()
    limit = data.get("limit", 5)
    if type(limit) is not int or not 1 <= limit <= 50:
        raise Problem(422, "limit must be 1 to 50")
    found = call.parts.recall(call.connection, call.project(), call.text(data, "question"), limit)
    return Answer.of(found)


def read_index(call: Call) -> Answer:
    """MEMORY.md: the list that goes into every prompt."""
    index: Index = call.store().index()
    return Answer(200, "".join(index.lines).encode(), {"content-type": MARKDOWN})


# --- the inbox ---


def list_proposals(call: Call) -> Answer:
    """Proposals that wait for a decision."""
    rows = call.connection.execute(
        "SELECT id, item, state, at FROM reverie.proposals WHERE project = %s AND state = %s "
        "ORDER BY at, id",
        (call.project().project, call.query.get("state", "waiting")),
    ).fetchall()
    return Answer.of({"proposals": rows})


def put_proposal(call: Call) -> Answer:
    """Add a proposal, unless it was decided before."""
    project, item = call.project(), call.body()
    done = call.connection.execute(
        "INSERT INTO reverie.proposals (org, space, project, id, item) VALUES (%s, %s, %s, %s, %s) "
        "ON CONFLICT (project, id) DO UPDATE SET item = EXCLUDED.item "
        "WHERE reverie.proposals.state = 'waiting'",
        (project.org, project.space, project.project, call.path["id"], Jsonb(item)),
    )
    return Answer.of({"offered": done.rowcount > 0}, 201 if done.rowcount else 200)


def decide_proposal(call: Call) -> Answer:
    """Mark a proposal as approved or rejected."""
    state = call.text(call.body(), "state")
    if state not in ("approved", "rejected", "waiting"):
        raise Problem(422, "state must be approved, rejected or waiting")
    done = call.connection.execute(
        "UPDATE reverie.proposals SET state = %s WHERE project = %s AND id = %s",
        (state, call.project().project, call.path["id"]),
    )
    if not done.rowcount:
        raise Problem(404, "no such proposal")
    return Answer.of({"state": state})


def delete_proposal(call: Call) -> Answer:
    """Remove a proposal without a decision; it may be proposed again."""
    done = call.connection.execute(
        "DELETE FROM reverie.proposals WHERE project = %s AND id = %s",
        (call.project().project, call.path["id"]),
    )
    if not done.rowcount:
        raise Problem(404, "no such proposal")
    return Answer(204)
