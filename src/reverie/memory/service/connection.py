"""HTTP to a Reverie service, with retries that cannot double a write and our own errors; the history and the dream lease of a memory there."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import ssl
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn
from urllib.parse import quote, urlencode, urlsplit

from reverie.errors import InputError, ReverieError, StorageError, WriteConflict
from reverie.files.locks import this_host
from reverie.memory.derived_history import DerivedHistory
from reverie.memory.format.revisions import WRITERS, Author, Revision, Writer
from reverie.memory.history import GitHistory
from reverie.memory.store import DreamLock
from reverie.ports import Clock

_SECONDS = 10.0
# Pauses before a write is tried again, such as while the service or its database restarts.
_PAUSES = (0.1, 0.3, 0.6, 1.0, 2.0, 4.0)
_AWAY = frozenset({502, 503, 504})


class ServiceAway(StorageError):
    """The service does not answer."""


class ServiceRefused(InputError):
    """The service refused a request; `status` is HTTP's, `left` the money that a cap leaves."""

    def __init__(self, message: str, status: int, left: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.left = left


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of the service."""

    status: int
    raw: bytes
    headers: Mapping[str, str]

    @property
    def data(self) -> Any:
        return json.loads(self.raw) if self.raw else None


class ServiceConnection:
    """One service and one key; connections are kept open for the next call, of any thread."""

    def __init__(self, url: str, key: str, seconds: float = _SECONDS) -> None:
        self.url = url
        self.key = key
        self.seconds = seconds
        self._idle: list[http.client.HTTPConnection] = []
        self.close = weakref.finalize(self, _close_all, self._idle)

    def get(self, path: str, *, tries: int = 1, tag: str = "") -> Reply:
        """Read something; with a tag, the answer may be that it is still the same (304)."""
        return self._tried("GET", path, None, {"If-None-Match": tag} if tag else {}, tries)

    def send(
        self,
        method: str,
        path: str,
        body: object,
        *,
        tries: int = len(_PAUSES) + 1,
        once: str = "",
    ) -> Reply:
        """Send a change that takes effect once, even if it is sent again because the answer was lost.

        `once` names the change, where another process may send it again.
        """
        key = once or secrets.token_hex(16)
        headers = {"Idempotency-Key": key, "Content-Type": "application/json"}
        return self._tried(method, path, json.dumps(body).encode(), headers, tries)

    def _tried(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], tries: int
    ) -> Reply:
        for pause in (*_PAUSES[: tries - 1], None):
            try:
                reply = self._answered(method, path, body, headers)
            except (OSError, http.client.HTTPException) as error:
                # Open connections may belong to a service that has since restarted.
                _close_all(self._idle)
                problem = ServiceAway(
                    f"{self.url} does not answer ({error or type(error).__name__})"
                )
            else:
                if reply.status not in _AWAY:
                    return _checked(reply, self.url)
                problem = ServiceAway(f"{self.url} is not ready ({_detail(reply)})")
            if pause is None:
                raise problem
            time.sleep(pause)
        raise ServiceAway(f"{self.url} does not answer")

    def _answered(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Reply:
        """The answer, by a connection that was kept open if there is one.

        A service closes those that were idle for some seconds; that does not mean that it is away.
        """
        if self._idle:
            with suppress(ConnectionError, http.client.BadStatusLine, IndexError):
                return self._once(self._idle.pop(), method, path, body, headers)
            _close_all(self._idle)
        return self._once(self._connection(), method, path, body, headers)

    def _once(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> Reply:
        try:
            connection.request(
                method,
                urlsplit(self.url).path.rstrip("/") + path,
                body,
                {"Authorization": f"Bearer {self.key}", **headers},
            )
            answer = connection.getresponse()
            raw = answer.read()
        except BaseException:
            connection.close()
            raise
        told = {key.lower(): value for key, value in answer.getheaders()}
        if answer.will_close or not self.close.alive:
            connection.close()
        else:
            self._idle.append(connection)
        return Reply(answer.status, raw, told)

    def _connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        if parts.scheme != "https":
            return http.client.HTTPConnection(host, parts.port, timeout=self.seconds)
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, parts.port, timeout=self.seconds, context=context)


def _close_all(idle: list[http.client.HTTPConnection]) -> None:
    while idle:
        idle.pop().close()


def quoted(name: str) -> str:
    """A name, escaped for a URL path; slashes stay."""
    return quote(name, safe="/")


def _checked(reply: Reply, url: str) -> Reply:
    if reply.status < 400:
        return reply
    detail = _detail(reply)
    if reply.status == 401:
        raise InputError(f"{url} does not accept this key: {detail}; ask its admin for another")
    if reply.status == 409 and (file := _field(reply, "file")):
        raise WriteConflict(file, None, None)
    left = float(_field(reply, "left") or 0)
    raise ServiceRefused(f"{url} refused this: {detail}", reply.status, left)


def _detail(reply: Reply) -> str:
    told = [part for part in (_field(reply, "title"), _field(reply, "detail")) if part]
    return ": ".join(told) or f"status {reply.status}"


def _field(reply: Reply, name: str) -> str:
    try:
        data = json.loads(reply.raw)
    except ValueError:
        return ""
    return str(data.get(name) or "") if isinstance(data, dict) else ""


DREAM = "dream"
# As long as the lock file of a local dream holds.
_LEASE_SECONDS = 3_600


class LeasedLock:
    """The lease for dreams of a service's memory, beside the lock of this machine.

    Every write of a dream names its lease; the service refuses the write once another holder has
    it.
    """

    def __init__(self, service: ServiceConnection, project: str, held: DreamLock) -> None:
        self._service = service
        self._path = f"{project}/leases/{DREAM}"
        self._held = held
        self._holder = f"{this_host()}/{os.getpid()}/{secrets.token_hex(4)}"
        self.told: dict[str, str] | None = None

    def take(self) -> bool:
        """Take or renew the lease; False while another holder has it."""
        try:
            self._service.send(
                "PUT", self._path, {"holder": self._holder, "seconds": _LEASE_SECONDS}
            )
        except ServiceRefused as error:
            if error.status == 409:
                return False
            raise
        self.told = {"name": DREAM, "holder": self._holder}
        return True

    @property
    def is_ours(self) -> bool:
        return self._held.is_ours and self.take()

    def release(self, end: Literal["completed", "failed", "killed"]) -> object:
        """Release both; a service that is away lets its lease lapse."""
        if self.told is not None:
            self.told = None
            with suppress(ReverieError):
                self._service.send("DELETE", f"{self._path}?holder={quote(self._holder)}", {})
        return self._held.release(end)


_PAGE = 200
# A history is read seldom, so wait for a restarting service.
_TRIES = 4


class ServiceHistory(DerivedHistory, GitHistory):
    """Asks the service for revisions and contents; it has no git directory of its own."""

    def __init__(
        self,
        service: ServiceConnection,
        path: Callable[[], str],
        clock: Clock,
        nowhere: Path,
    ) -> None:
        GitHistory.__init__(self, nowhere, clock)
        self._service = service
        self._path = path
        self._contents: dict[str, bytes] = {}
        self._files: dict[str, dict[str, Any]] = {}

    def log(self, file: str | None = None) -> Iterator[Revision]:
        cursor: str | None = "0"
        while cursor is not None:
            asked = {"limit": _PAGE, "cursor": cursor, **({} if file is None else {"file": file})}
            found = self._asked(f"/revisions?{urlencode(asked)}")
            yield from map(revision_of, found["revisions"])
            cursor = found["cursor"]

    def files(self, revision: str | None = None) -> dict[str, str]:
        if revision is None:
            newest = next(self.log(), None)
            return {} if newest is None else self.files(newest.id)
        return dict(self._at(revision)["files"])

    def parents(self, revision: str) -> tuple[str, ...]:
        return tuple(self._at(revision)["parents"])

    def content(self, wanted: str) -> bytes | None:
        if wanted not in self._contents:
            try:
                reply = self._service.get(f"{self._path()}/contents/{wanted}", tries=_TRIES)
            except InputError:
                return None
            self._contents[wanted] = reply.raw
        return self._contents[wanted]

    def _at(self, revision: str) -> dict[str, Any]:
        if revision not in self._files:
            self._files[revision] = self._asked(f"/revisions/{revision}")
        return self._files[revision]

    def _asked(self, what: str) -> Any:
        return self._service.get(f"{self._path()}{what}", tries=_TRIES).data

    @property
    def is_empty(self) -> bool:
        return DerivedHistory.is_empty.fget(self)  # type: ignore[attr-defined,no-any-return]

    def record(self, files: Mapping[str, bytes | None], author: Author, summary: str) -> NoReturn:
        raise InputError("the service keeps this history; `reverie migrate` copies it to files")

    def rewrite(self, *arguments: object, **options: object) -> NoReturn:
        raise InputError("the service rewrites this history, by `forget --everywhere`")

    def forget_copies(self) -> None:
        """Read everything again: the history was rewritten."""
        self._contents.clear()
        self._files.clear()


def revision_of(data: Mapping[str, Any]) -> Revision:
    """A revision from the service's JSON."""
    told = data["author"]
    writer: Writer = next((known for known in WRITERS if known == told.get("writer")), "user")
    author = Author(
        writer,
        told.get("session", ""),
        tuple(told.get("messages", ())),
        told.get("model", ""),
        told.get("dream", ""),
        tuple(told.get("undoes", ())),
        told.get("proposal", ""),
    )
    files = data.get("changed") or data["files"]
    return Revision(data["id"], data["at"], author, data["summary"], tuple(files))
