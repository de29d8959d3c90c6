"""The history of a memory that a service keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlencode

from reverie.errors import InputError
from reverie.memory.derived_history import DerivedHistory
from reverie.memory.format.revisions import WRITERS, Author, Revision, Writer
from reverie.memory.history import GitHistory
from reverie.memory.service.connection import ServiceConnection
from reverie.ports import Clock

_PAGE = 200
# Reading a history is worth waiting for a service that restarts.
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
    """A revision as the service tells it."""
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
