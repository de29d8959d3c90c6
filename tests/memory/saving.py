"""A store in a scratch folder, and memories to put into it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.memory.format.index import Index, Pointer
from reverie.memory.format.revisions import Author, Put, Revision
from reverie.memory.history import GitHistory
from reverie.memory.store import FileStore

if TYPE_CHECKING:
    from tests.place import FixedClock

ME = Author("extract", session="s1", messages=("m1",), model="test-model")
LINES = "".join(f"line {n}\n" for n in range(9))


def store_at(folder: Path, clock: FixedClock) -> FileStore:
    return FileStore(folder / "memory", GitHistory(folder / "history.git", clock))


def memory(name: str, body: str = LINES) -> bytes:
    return f"---\nname: {name}\ndescription: about {name}\ntype: project\n---\n{body}".encode()


def pointing(file: str) -> Callable[[Index], Index]:
    return lambda index: index.with_pointer(Pointer(file.removesuffix(".md"), file, "a hook"))


def save(store: FileStore, file: str, data: bytes) -> Revision | None:
    stored = store.read(file)
    put = Put(file, data, stored.version if stored else None)
    return store.apply((put,), ME, f"save {file}", pointing(file))


def summaries(store: FileStore) -> list[tuple[str, str]]:
    return [(found.author.writer, found.summary) for found in store.history.log()]
