"""Memories as entries with an id: add, get, list, update, delete, import and export."""

from __future__ import annotations

import asyncio
import builtins
import operator
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from reverie.api.history import read_history
from reverie.api.importing import ImportPlan, plan_import, read_path
from reverie.core.messages import iso_time, new_message
from reverie.core.usage import EXTRACT
from reverie.errors import InputError
from reverie.files import atomic
from reverie.memory.changes.draft import Declined, NewMemory, Remembered
from reverie.memory.changes.transfer import Exported, as_json, as_zip, exported
from reverie.memory.format import topic as topics
from reverie.memory.format.revisions import Author
from reverie.memory.format.taxonomy import MemoryScope, MemoryType, split
from reverie.memory.format.topic import Scalar, Topic
from reverie.workspace.handles import required

if TYPE_CHECKING:
    from os import PathLike

    from reverie.core.messages import Message
    from reverie.learning.service import Learnt
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

T = TypeVar("T")

# Changes made through the library count as the person's own.
PERSON = Author("user")

# Conditions on `type`, `scope` and metadata: {"team": "billing"}, {"year": {"gte": 2026}}.
Filters: TypeAlias = Mapping[str, Any]

_CHECKS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
    "in": lambda value, wanted: value in wanted,
    "nin": lambda value, wanted: value not in wanted,
    "contains": lambda value, wanted: str(wanted).casefold() in str(value).casefold(),
}


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """One memory as an entry; `id` is its file name, which every method takes."""

    id: str
    memory: str
    name: str
    description: str
    type: MemoryType | None
    scope: MemoryScope
    metadata: Mapping[str, Scalar]
    created_at: str | None = None
    updated_at: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list; `cursor` leads to the next one and is None at the end."""

    results: tuple[StoredMemory, ...]
    cursor: str | None = None

    def __iter__(self) -> Iterator[StoredMemory]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)


@dataclass(frozen=True, slots=True)
class Added:
    """What was learnt from messages; `waiting` proposals are in the inbox for a person to decide."""

    results: tuple[StoredMemory, ...] = ()
    declined: tuple[Declined, ...] = ()
    waiting: tuple[str, ...] = ()


class Entries:
    """The part of `Memory` that works with entries."""

    _app: Workspace
    _memory: OpenMemory

    def add(
        self,
        messages: str | Sequence[object],
        *,
        metadata: Mapping[str, Scalar] | None = None,
        infer: bool | Literal["rules"] = True,
    ) -> Added:
        """Learn from a conversation, or keep one text.

        `messages` are in your SDK's format. What the person says about themselves, decisions, dates and
        wishes is kept; what is doubtful waits in the inbox. The rules read first, then `models.side` or
        `models.main`, if one is set; `infer="rules"` asks no model, `infer=False` keeps what each user
        message says as it is. A text is kept as `remember` keeps it.
        """
        if isinstance(messages, str):
            return self._kept([messages], metadata)
        history = read_history(messages).messages
        if not infer:
            said = [message.text for message in history if message.origin == "user"]
            return self._kept([text for text in said if text.strip()], metadata)
        done = self._learnt(history, use_model=infer is True)
        found = [self._with_metadata(file, metadata) for file in done.saved]
        return Added(tuple(found), tuple(map(Declined, done.troubles)), done.waiting)

    def _learnt(self, history: Sequence[Message], *, use_model: bool) -> Learnt:
        from reverie.learning.past_sessions import learn_with_model
        from reverie.learning.service import learn
        from reverie.learning.side_models import choose_model

        now = self._app.clock.now()
        said: builtins.list[Message] = []
        for message in history:
            # A model names its sources by their ids.
            after = said[-1] if said else None
            at, origin = message.at or now, message.origin
            said.append(
                new_message(message.role, *message.blocks, after=after, at=at, origin=origin)
            )
        if not use_model or not choose_model(self._app, EXTRACT).model:
            return learn(self._app, "", said)
        return _waited_for(learn_with_model(self._app, said))

    def get(self, id: str) -> StoredMemory | None:
        """A memory by its file name, short id or title; None if there is none."""
        with suppress(InputError):
            memory, file = required(self._app, id)
            return _of(memory, memory.keeper.require(file).topic)
        return None

    def list(
        self, *, filters: Filters | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page:
        """Memories, newest first, a page at a time.

        `filters` compare `type`, `scope` and metadata: a value is equal, a list has it, and
        `{"gte": 2026}` compares (eq, ne, gt, gte, lt, lte, in, nin, contains).
        """
        if limit < 1:
            raise InputError(f"limit is {limit}; it must be 1 or more")
        entries = self._memory.topics.entries()
        start = 0 if cursor is None else _position(cursor, [entry.file for entry in entries])
        found: builtins.list[StoredMemory] = []
        for entry in entries[start:]:
            stored = self._memory.topics.read(entry.file)
            item = None if stored is None else stored_memory(stored.topic)
            if item is None or not fits(item, filters or {}):
                continue
            if len(found) == limit:
                return Page(tuple(found), cursor=item.id)
            found.append(item)
        return Page(tuple(found))

    def update(
        self,
        id: str,
        text: str | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        type: MemoryType | None = None,
        metadata: Mapping[str, Scalar] | None = None,
    ) -> StoredMemory:
        """Change a memory in place; what is left out stays, `metadata` is replaced as a whole.

        Dates in a new text become absolute; a name and description made from the old text follow it.
        The history keeps the old text. For a fact that changed, `remember(…, supersedes=id)` keeps
        both in memory.
        """
        memory, file = required(self._app, id)
        stored = memory.keeper.require(file)
        given = {"name": name, "description": description, "type": type}
        fresh = stored.topic.with_(**{key: value for key, value in given.items() if value})
        if text is not None:
            if not text.strip():
                raise InputError("the new text is empty; to remove a memory use delete(id)")
            fresh = memory.keeper.rewritten(stored.topic, fresh, text)
        if metadata is not None:
            fresh = fresh.with_metadata(metadata)
        if topics.render(fresh) != topics.render(stored.topic):
            fresh = fresh.with_(updated=iso_time(self._app.clock.now()))
            memory.keeper.change(stored, fresh, PERSON, f"update {fresh.name}")
        return _of(memory, memory.keeper.require(file).topic)

    def delete(self, id: str) -> None:
        """Remove a memory; the history keeps it, and `undo` brings it back."""
        memory, file = required(self._app, id)
        memory.keeper.forget(file, PERSON)

    def delete_all(self, *, filters: Filters | None = None) -> int:
        """Remove all memories of the project (or user), or those that pass the filters; how many.

        One `undo` brings them back. Memories about the person and the team's stay, unless the filters
        ask for their scope.
        """
        wanted = {"scope": "project", **(filters or {})}
        gone = 0
        for part in self._memory.parts:
            found = [
                entry.file
                for entry in part.store.entries()
                if (stored := part.store.read(entry.file)) and fits(_of(part, stored.topic), wanted)
            ]
            if found:
                part.keeper.forget_all(found, PERSON, f"forget {len(found)} memories")
            gone += len(found)
        return gone

    def import_(
        self, *paths: str | PathLike[str], dry_run: bool = False, even_if_known: bool = False
    ) -> ImportPlan:
        """Import files, folders and exports of other tools, as `reverie import` does.

        Returns what is (or with `dry_run` would be) saved, and what is not, with the reasons.
        """
        found = [one for path in paths for one in read_path(Path(path), self._app.project.root)]
        plan = plan_import(self._app, found, even_if_known=even_if_known)
        if not dry_run:
            plan.save(PERSON, ", ".join(Path(path).name for path in paths))
        return plan

    def export(self, path: str | PathLike[str] | None = None) -> str:
        """All memories as JSON, without secrets; with a path also written there, as .json or .zip.

        `import_` and `reverie import` read both.
        """
        suffix = "" if path is None else Path(path).suffix
        if suffix not in ("", ".json", ".zip"):
            raise InputError(f"nothing is exported as {suffix}; name a .json or a .zip")
        files: dict[str, bytes] = {}
        secrets: dict[str, tuple[str, ...]] = {}
        for part in self._memory.private:
            names = [entry.file for entry in part.store.entries()]
            data = {name: part.store.current(name) or b"" for name in names}
            made = exported(data, part.scrubber)
            files |= {part.label(name): content for name, content in made.files.items()}
            secrets |= {part.label(name): kinds for name, kinds in made.secrets.items()}
        export, now = Exported(files, secrets), self._app.clock.now()
        text = as_json(export, now)
        if path is not None:
            content = as_zip(export, now) if suffix == ".zip" else text.encode()
            atomic.replace(Path(path), content)
        return text

    def _kept(self, texts: Sequence[str], metadata: Mapping[str, Scalar] | None) -> Added:
        outcomes = [
            self._app.remember(NewMemory(text, metadata=metadata), PERSON)[1] for text in texts
        ]
        return Added(
            tuple(stored_memory(one.topic) for one in outcomes if isinstance(one, Remembered)),
            tuple(one for one in outcomes if isinstance(one, Declined)),
        )

    def _with_metadata(self, file: str, metadata: Mapping[str, Scalar] | None) -> StoredMemory:
        if metadata:
            return self.update(file, metadata=metadata)
        memory, name = required(self._app, file)
        return _of(memory, memory.keeper.require(name).topic)


def stored_memory(topic: Topic) -> StoredMemory:
    """A topic under its label, as an entry."""
    return StoredMemory(
        topic.file,
        topic.body.strip(),
        topic.name,
        topic.description,
        topic.type,
        split(topic.file)[0],
        topic.metadata,
        topic.created,
        topic.updated,
    )


def fits(item: StoredMemory, filters: Filters) -> bool:
    """Does a memory pass all of the filters?"""
    known = {**item.metadata, "type": item.type, "scope": item.scope}
    return all(_passes(key, known.get(key), wanted) for key, wanted in filters.items())


def _passes(key: str, value: object, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        return all(_compared(key, value, name, than) for name, than in wanted.items())
    if isinstance(wanted, list | tuple | set | frozenset):
        return value in wanted
    return value == wanted


def _compared(key: str, value: object, name: str, than: object) -> bool:
    check = _CHECKS.get(name)
    if check is None:
        raise InputError(f"filters[{key!r}]: there is no {name!r}; there are: {', '.join(_CHECKS)}")
    if value is None and name not in ("eq", "ne", "in", "nin"):
        return False
    try:
        return bool(check(value, than))
    except TypeError as error:
        raise InputError(f"filters[{key!r}]: {value!r} cannot be compared: {error}") from error


def _of(memory: OpenMemory, topic: Topic) -> StoredMemory:
    return stored_memory(replace(topic, file=memory.label(topic.file)))


def _position(cursor: str, files: Sequence[str]) -> int:
    try:
        return files.index(cursor)
    except ValueError:
        raise InputError(
            f"the cursor {cursor!r} leads nowhere any more; begin the list again"
        ) from None


def _waited_for(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, also where this thread has an event loop running, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
