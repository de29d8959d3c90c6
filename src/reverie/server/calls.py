"""One call of the API: its request, key and transaction, and its answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from reverie.errors import ReverieError, WriteConflict
from reverie.memory.postgres.database import Away, Claims, Connection, Database, NotAllowed
from reverie.memory.postgres.rows import Indexing, ProjectRow
from reverie.memory.postgres.store import Meaning, PostgresStore
from reverie.ports import Clock, Scrubber

JSON = "application/json"
PROBLEM = "application/problem+json"
MARKDOWN = "text/markdown; charset=utf-8"
# Longer numbers do not fit into PostgreSQL's integers, and count nothing real.
_DIGITS = 18
LARGEST_BODY = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, headers and a body."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, data: object, status: int = 200, **headers: str) -> Answer:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        body = json.dumps(data, default=str, ensure_ascii=False).encode("utf-8", "replace")
        return cls(status, body, {"content-type": JSON, **named})


class Problem(ReverieError):
    """An error for the caller of the API, as RFC 9457 describes it."""

    def __init__(self, status: int, title: str, detail: str = "", **more: object) -> None:
        super().__init__(detail or title)
        self.status = status
        self.data = {
            "type": "about:blank",
            "title": title,
            "status": status,
            "detail": detail,
            **more,
        }

    @property
    def answer(self) -> Answer:
        body = json.dumps(self.data, default=str).encode()
        extra = {"retry-after": "1"} if self.status == 503 else {}
        return Answer(self.status, body, {"content-type": PROBLEM, **extra})


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the service."""

    database: Database
    clock: Clock
    scrubber: Scrubber
    indexing: Indexing
    meaning: Meaning
    recall: Callable[[Connection, ProjectRow, str, int], dict[str, Any]]
    search: Callable[[Connection, ProjectRow, str, int], list[dict[str, Any]]]


@dataclass(slots=True)
class Call:
    """One request, inside its transaction."""

    parts: Parts
    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    raw: bytes
    connection: Connection
    claims: Claims
    token: str

    def body(self) -> dict[str, Any]:
        try:
            data = json.loads(self.raw or b"{}")
        except (ValueError, RecursionError) as error:
            raise Problem(400, "the body is not JSON", str(error)) from error
        if not isinstance(data, dict):
            raise Problem(400, "the body is not a JSON object")
        return data

    def text(self, data: Mapping[str, Any], name: str, default: str | None = None) -> str:
        value = data.get(name, default)
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise Problem(422, f"{name} must be text", f"{name} is {value!r}")
        return value.encode("utf-8", "replace").decode().replace("\0", "")

    def some_text(self, data: Mapping[str, Any], name: str) -> str | None:
        """Text that may be missing."""
        return None if data.get(name) is None else self.text(data, name, "")

    def position(self, name: str) -> int:
        """The cursor of a list; without one, the beginning."""
        value = self.query.get(name, "")
        return int(value[:_DIGITS]) if value.isdecimal() else 0

    def number(self, name: str, default: int, most: int) -> int:
        value = self.query.get(name, "")
        if not value:
            return default
        if not value.isdecimal() or not 1 <= int(value[:_DIGITS]) <= most:
            raise Problem(422, f"{name} must be 1 to {most}")
        return int(value)

    def project(self) -> ProjectRow:
        """The project that the path names, if this key sees it."""
        found = self.connection.execute(
            "SELECT p.org, p.space, p.project, p.name, p.large, s.kind FROM reverie.projects p "
            "JOIN reverie.spaces s ON s.space = p.space WHERE p.project = %s",
            (_uuid(self.path["project"]),),
        ).fetchone()
        if found is None:
            raise Problem(404, "no such project", "this key sees no project of this id")
        org, space, project = (str(found[name]) for name in ("org", "space", "project"))
        shared = found["kind"] == "team"
        return ProjectRow(org, space, project, found["name"], large=found["large"], shared=shared)

    def store(self, project: ProjectRow | None = None) -> PostgresStore:
        row = project or self.project()
        parts = self.parts
        made = PostgresStore(
            parts.database, self.token, row, parts.clock, parts.indexing, parts.meaning
        )
        return made.within(self.connection)


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Problem(404, "no such project", "this key sees no project of this id") from None


def etag(value: object) -> str:
    return f'"{value}"'


def untagged(header: str) -> str:
    return header.strip().removeprefix("W/").strip('"')


Handler = Callable[[Call], Answer]


def answered(
    parts: Parts,
    handler: Handler,
    headers: Mapping[str, str],
    raw: bytes,
    request: str,
    names: tuple[Mapping[str, str], Mapping[str, str]],
) -> Answer:
    """Run a handler in one transaction; a repeated request gets the first one's answer."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        return Problem(401, "a key is needed", "send it as: Authorization: Bearer KEY").answer
    token = token.strip().replace("\0", "")
    try:
        with parts.database.entered(token) as (connection, claims):
            call = Call(parts, *names, headers, raw, connection, claims, token)
            key = headers.get("idempotency-key", "")
            return _once(call, handler, key, request) if key else handler(call)
    except (ReverieError, psycopg.DataError) as error:
        return _problem(error).answer


def _problem(error: Exception) -> Problem:
    """The problem that an error is reported as."""
    match error:
        case Problem():
            return error
        case WriteConflict():
            return Problem(409, "the memory changed", str(error), file=error.file)
        case Away():
            return Problem(503, "the database is away", str(error))
        case NotAllowed():
            status = 401 if "unknown, expired" in str(error) else 403
            return Problem(status, "not allowed", str(error))
        case _:
            return Problem(422, "this cannot be done", str(error))


def _once(call: Call, handler: Handler, key: str, request: str) -> Answer:
    """Run a handler once per request. The answer row is in the handler's own transaction: both, or none."""
    digest = hashlib.sha256(request.encode() + b"\0" + call.raw).hexdigest()
    me = (call.claims.org, call.claims.key, key[:200])
    inserted = call.connection.execute(
        "INSERT INTO reverie.answers (org, key, idempotency, request) VALUES (%s, %s, %s, %s) "
        "ON CONFLICT DO NOTHING",
        (*me, digest),
    ).rowcount
    if not inserted:
        return _repeated(call, me, digest)
    made = handler(call)
    call.connection.execute(
        "UPDATE reverie.answers SET status = %s, headers = %s, body = %s "
        "WHERE org = %s AND key = %s AND idempotency = %s",
        (made.status, Jsonb(dict(made.headers)), made.body, *me),
    )
    return made


def _repeated(call: Call, me: tuple[str, str, str], digest: str) -> Answer:
    found = call.connection.execute(
        "SELECT request, status, headers, body FROM reverie.answers "
        "WHERE org = %s AND key = %s AND idempotency = %s",
        me,
    ).fetchone()
    if found is None or found["status"] is None:
        raise Problem(409, "the same request is being worked on", "try again in a moment")
    if found["request"] != digest:
        raise Problem(422, "this Idempotency-Key was used for another request")
    return Answer(
        found["status"], bytes(found["body"]), {**found["headers"], "idempotent-replay": "true"}
    )
