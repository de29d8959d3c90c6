"""Imports files: read them, judge them against existing memories, and only then save.

Data exports of Claude.ai and ChatGPT are read as conversations.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.core.messages import Message, Text, new_message
from reverie.errors import InputError
from reverie.learning.extraction import find
from reverie.memory.changes.draft import Declined, NewMemory, Prepared
from reverie.memory.changes.imports import (
    EXPORTS,
    LARGEST_IMPORT,
    Found,
    read_file,
    read_files,
    unpacked,
)

if TYPE_CHECKING:
    from reverie.memory.changes.keeper import Keeper
    from reverie.memory.format.revisions import Author, Revision
    from reverie.memory.format.taxonomy import MemoryScope, MemoryType
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

_PEOPLE = {"human": "user", "user": "user", "assistant": "assistant"}


def read_chats(name: str, data: bytes) -> list[Found] | None:
    """The person's statements worth keeping in exported conversations; None for other files."""
    conversations = _conversations(data)
    if conversations is None:
        return None
    return [found for chat in conversations for found in _learnt(name, chat)]


def _conversations(data: bytes) -> list[Mapping[str, Any]] | None:
    try:
        loaded = json.loads(data)
    except (ValueError, RecursionError):
        return None
    listed = loaded if isinstance(loaded, list) else [loaded]
    chats: list[Mapping[str, Any]] = [
        one for one in listed if isinstance(one, dict) and _is_chat(one)
    ]
    return chats or None


def _is_chat(one: Mapping[str, Any]) -> bool:
    return isinstance(one.get("chat_messages"), list) or isinstance(one.get("mapping"), dict)


def _learnt(name: str, chat: Mapping[str, Any]) -> Iterator[Found]:
    """Statements of the person, found by the rules that read a session; the model's words are not."""
    messages = list(_of_claude(chat) if "chat_messages" in chat else _of_chatgpt(chat))
    said = {message.id: message for message in messages}
    title = str(chat.get("name") or chat.get("title") or "a conversation")
    known = str(chat.get("uuid") or chat.get("conversation_id") or chat.get("id") or title)
    for candidate in find(messages, ()):
        if candidate.origin != "user":
            continue
        at = next((said[one].at for one in candidate.sources if one in said), 0.0)
        new = NewMemory(
            candidate.text,
            type=candidate.type,
            origin="import",
            source=(f"import:{name}#{known}",),
            said=datetime.fromtimestamp(at, UTC).date() if at else None,
        )
        yield Found(f"{name}, {title}", new)


def _of_claude(chat: Mapping[str, Any]) -> Iterator[Message]:
    for one in chat["chat_messages"]:
        if isinstance(one, dict):
            content = one.get("content")
            parts = content if isinstance(content, list) else []
            texts = [part.get("text") for part in parts if isinstance(part, dict)]
            text = one.get("text") or "\n".join(part for part in texts if isinstance(part, str))
            yield from _message(one.get("sender"), text, _seconds(one.get("created_at")))


def _of_chatgpt(chat: Mapping[str, Any]) -> Iterator[Message]:
    """The branch that the conversation ended on, oldest first."""
    nodes = {key: node for key, node in chat["mapping"].items() if isinstance(node, dict)}
    path: list[Mapping[str, Any]] = []
    key = chat.get("current_node") or next(reversed(nodes), None)
    seen: set[object] = set()
    while key in nodes and key not in seen:
        seen.add(key)
        path.append(nodes[key])
        key = nodes[key].get("parent")
    for node in reversed(path):
        message = node.get("message")
        if isinstance(message, dict):
            author, content = message.get("author"), message.get("content")
            role = author.get("role") if isinstance(author, dict) else None
            parts = content.get("parts") if isinstance(content, dict) else None
            texts = [part for part in parts or () if isinstance(part, str)]
            yield from _message(role, "\n".join(texts), message.get("create_time"))


def _message(role: object, text: object, at: object) -> Iterator[Message]:
    who = _PEOPLE.get(str(role))
    if who is None or not isinstance(text, str) or not text.strip():
        return
    seconds = float(at) if isinstance(at, int | float) else 0.0
    yield new_message("user" if who == "user" else "assistant", Text(text), at=seconds)


def _seconds(written: object) -> float | None:
    try:
        return datetime.fromisoformat(str(written)).timestamp()
    except ValueError:
        return None


_MARKDOWN = (".md",)
_ZIP = b"PK\x03\x04"
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Judged:
    """An item: where it was found, what would be saved or why not, and keys that are not taken over."""

    source: str
    what: Prepared | Declined
    dropped: tuple[str, ...] = ()


@dataclass(slots=True)
class ImportPlan:
    """What an import saves, in which memory, and what it leaves out; `save` performs it."""

    groups: tuple[tuple[OpenMemory, tuple[Judged, ...]], ...]
    revisions: list[tuple[OpenMemory, Revision]] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[OpenMemory, Judged]]:
        return ((memory, one) for memory, judged in self.groups for one in judged)

    @property
    def files(self) -> tuple[str, ...]:
        """The names under which memories are saved."""
        return tuple(
            memory.label(one.what.topic.file)
            for memory, one in self
            if isinstance(one.what, Prepared)
        )

    @property
    def declined(self) -> tuple[tuple[str, Declined], ...]:
        """What is left out: where it was found, and why."""
        return tuple((one.source, one.what) for _, one in self if isinstance(one.what, Declined))

    def save(self, author: Author, names: str) -> None:
        """Save everything, one change for each memory directory."""
        for memory, judged in self.groups:
            fresh = [one.what for one in judged if isinstance(one.what, Prepared)]
            number = f"{len(fresh)} {'memory' if len(fresh) == 1 else 'memories'}"
            revision = memory.keeper.save_all(fresh, author, f"import {number} from {names}")
            if revision is not None:
                self.revisions.append((memory, revision))


def plan_import(
    app: Workspace,
    found: Sequence[Found],
    scope: MemoryScope | None = None,
    type_: MemoryType | None = None,
    *,
    even_if_known: bool = False,
) -> ImportPlan:
    """Judge what was found; nothing is written."""
    groups = (
        (memory, tuple(_judged(memory.keeper, items, type_, even_if_known=even_if_known)))
        for memory, items in _grouped(app, found, scope)
    )
    return ImportPlan(tuple(groups))


def _grouped(
    app: Workspace, found: Sequence[Found], scope: MemoryScope | None
) -> list[tuple[OpenMemory, list[Found]]]:
    """Group items by target memory; if there is no person memory, all go to the project."""
    if scope is not None or "person" not in app.scopes:
        return [(app.memory(scope or "project"), list(found))]
    groups: dict[MemoryScope, list[Found]] = {}
    for one in found:
        wanted = one.wish.scope if isinstance(one.wish, NewMemory) else None
        groups.setdefault(wanted or "project", []).append(one)
    return [(app.memory(wanted), items) for wanted, items in groups.items()]


def _judged(
    keeper: Keeper, found: list[Found], type_: MemoryType | None, *, even_if_known: bool
) -> Iterator[Judged]:
    new = [one.wish for one in found if isinstance(one.wish, NewMemory)]
    judged = iter(
        keeper.prepare_all(
            replace(item, type=item.type or type_, even_if_known=even_if_known) for item in new
        )
    )
    for one in found:
        what = one.wish if isinstance(one.wish, Declined) else next(judged)
        yield Judged(one.source, what, one.dropped)


def read_path(path: Path, project: Path) -> list[Found]:
    """The memories in a file or folder.

    An instruction file of the project itself may be imported although the project says it already.
    """
    found = _read_path(path)
    if path.resolve().is_relative_to(project.resolve()):
        return found
    return [
        replace(one, wish=replace(one.wish, from_instructions=False))
        if isinstance(one.wish, NewMemory)
        else one
        for one in found
    ]


def _read_path(path: Path) -> list[Found]:
    try:
        if not path.is_dir():
            content = _content(path, LARGEST_IMPORT)
            if isinstance(content, Declined):
                return [Found(path.name, content)]
            return _read_file(path.name, *content)
        return _read_folder(path)
    except OSError as error:
        raise InputError(f"cannot read {error.filename or path} ({error.strerror})") from error


def _read_file(name: str, data: bytes, written: date) -> list[Found]:
    if data.startswith(_ZIP):
        return _read_files(unpacked(name, data))
    chats = read_chats(name, data)
    return read_file(name, data, written) if chats is None else chats


def _read_files(files: dict[str, bytes], written: Mapping[str, date] | None = None) -> list[Found]:
    """Conversations where there are any; the other JSON files of such an export are no memories."""
    exports = [name for name in sorted(files) if name.endswith(".json")]
    chats = [chat for name in exports if (chat := read_chats(name, files[name])) is not None]
    if chats:
        files = {name: data for name, data in files.items() if name.endswith(_MARKDOWN)}
    return [*(one for chat in chats for one in chat), *read_files(files, written)]


def _read_folder(path: Path) -> list[Found]:
    files: dict[str, bytes] = {}
    written: dict[str, date] = {}
    refused: list[Found] = []
    room = LARGEST_IMPORT
    for name in map(str, _inside(path, _MARKDOWN) or _inside(path, EXPORTS)):
        content = _content(path / name, room)
        if isinstance(content, Declined):
            refused.append(Found(name, content))
        else:
            files[name], written[name] = content
            room -= len(files[name])
    return [*_read_files(files, written), *refused]


def _content(path: Path, room: int) -> tuple[bytes, date] | Declined:
    """A regular file within the limit, and the day it was last changed; links, pipes and devices are never read."""
    try:
        opened = os.open(path, _READ)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return Declined("it is a link", "import the file it leads to")
        if error.errno == errno.ENXIO:
            return Declined("it is not a plain file")
        raise
    with os.fdopen(opened, "rb") as file:
        seen = os.fstat(file.fileno())
        if not stat.S_ISREG(seen.st_mode):
            return Declined("it is not a plain file")
        # A file may grow while it is read, and some report size 0.
        data = file.read(room + 1) if seen.st_size <= room else b""
        if seen.st_size > room or len(data) > room:
            return Declined(f"it is too large: {room:,} bytes may still be imported", "split it")
        return data, datetime.fromtimestamp(seen.st_mtime).astimezone().date()


def _inside(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """Files below a folder, without hidden ones; links to folders are not followed."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        here = Path(place).relative_to(folder)
        found += [here / name for name in sorted(files) if _is_wanted(name, endings)]
    return found


def _is_wanted(name: str, endings: tuple[str, ...]) -> bool:
    return name.endswith(endings) and not name.startswith(".")
