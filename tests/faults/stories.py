"""The transactions that are killed: what is there before, what is done, and what a person does next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tests.place import FixedClock

from reverie.files.atomic import TEMPORARY
from reverie.learning.dreaming.changes import Reindexed, merged, typed
from reverie.learning.dreaming.gates import FILE, ConsolidateLock, Held
from reverie.learning.dreaming.tidy import tidied
from reverie.memory import git_trees, packing
from reverie.memory.directory import Scratch
from reverie.memory.format import index as indexes
from reverie.memory.format.index import Index, Pointer
from reverie.memory.format.manifest import INDEX_FILE
from reverie.memory.format.revisions import Author, Drop, Put
from reverie.memory.history import GitHistory
from reverie.memory.store import FileStore

ME = Author("main", session="s1", messages=("m1",), model="test-model")
# Long enough that a torn write would show, and incompressible enough for git to store it whole.
FORGOTTEN = "the launch code is swordfish"
LONG = "".join(f"- point {n}: {n * 7919 % 104729}\n" for n in range(300))


def store_at(folder: Path) -> FileStore:
    return FileStore(folder / "memory", GitHistory(folder / "history.git", FixedClock()))


def memory(name: str, body: str) -> bytes:
    return f"---\nname: {name}\ndescription: about {name}\ntype: project\n---\n{body}\n".encode()


def put(store: FileStore, file: str, data: bytes) -> None:
    """Save a file with its pointer, based on what is there."""
    stored = store.read(file)
    change = Put(file, data, stored.version if stored else None)
    store.apply((change,), ME, f"save {file}", lambda index: pointing(index, file))


def pointing(index: Index, file: str) -> Index:
    return index.with_pointer(Pointer(file.removesuffix(".md"), file, "a hook"))


@dataclass(frozen=True)
class Story:
    """`before` makes the old state, `act` is the one transaction; both in a fresh process."""

    before: Callable[[FileStore], None]
    act: Callable[[FileStore], None]
    rewrites: bool = False
    # What must be possible afterwards, beside an ordinary command.
    then: Callable[[FileStore], None] = lambda store: None


def _three(store: FileStore) -> None:
    for name in ("one", "two", "three"):
        put(store, f"{name}.md", memory(name, LONG))


def _found(store: FileStore) -> None:
    """A directory somebody else made, with no history of ours."""
    store.root.mkdir(parents=True)
    (store.root / "one.md").write_bytes(memory("one", LONG))
    (store.root / "MEMORY.md").write_bytes(b"# Theirs\r\n- [one](one.md)\r\n")


def _edited(store: FileStore) -> None:
    _three(store)
    (store.root / "one.md").write_bytes(memory("one", "edited by hand"))


def _half_done(store: FileStore) -> None:
    """What a writer leaves that was killed between its two files, with a lock of git's and a draft."""
    _three(store)
    index = indexes.render(pointing(store.index(), "new.md"))
    files = {"new.md": memory("new", LONG), INDEX_FILE: index}
    store.history.begin(files, ME, "save new.md")
    (store.root / "new.md").write_bytes(files["new.md"])
    (store.root / f"{TEMPORARY}dead").write_bytes(index[:20])
    (store.history.git_dir / "refs/heads/main.lock").write_bytes(b"")


def _remember(store: FileStore) -> None:
    put(store, "new.md", memory("new", LONG))


def _nested(store: FileStore) -> None:
    put(store, "logs/2026/11/2026-11-15.md", memory("log", LONG))


def _update(store: FileStore) -> None:
    put(store, "one.md", memory("one", "changed " + LONG))


def _supersede(store: FileStore) -> None:
    old = store.read("one.md")
    assert old is not None
    closed = Put("one.md", memory("one", "closed " + LONG), old.version)
    fresh = Put("new.md", memory("new", LONG))
    store.apply((fresh, closed), ME, "supersede", lambda i: pointing(i.without("one.md"), "new.md"))


def _delete(store: FileStore) -> None:
    old = store.read("one.md")
    assert old is not None
    drop = Drop("one.md", old.version)
    store.apply((drop,), ME, "forget", lambda index: index.without("one.md"))


def _with_one_deleted(store: FileStore) -> None:
    put(store, "one.md", memory("one", FORGOTTEN))
    for name in ("two", "three"):
        put(store, f"{name}.md", memory(name, LONG))
    _delete(store)


def _rewrite(store: FileStore) -> None:
    """As if `one.md` had never been."""

    def change(name: str, data: bytes) -> bytes | None:
        if name == INDEX_FILE:
            return indexes.render(indexes.parse(data).without("one.md"))
        return None if name == "one.md" else data

    with store.exclusively():
        store.history.rewrite(change, lambda said: said.replace("one.md", "(forgotten)"))


def _duplicates(store: FileStore) -> None:
    """Two that say the same, one with a date to make absolute, and a pointer that leads nowhere."""
    for name in ("one", "two"):
        put(store, f"{name}.md", memory("one", "The port of the harbour is 8080."))
    dated = memory("three", "The audit is tomorrow.").replace(
        b"type:", b"created: 2025-06-01\ntype:"
    )
    put(store, "three.md", dated)
    store.apply((), ME, "stray", lambda index: pointing(index, "nothing.md"))


def _dream(store: FileStore) -> None:
    """The last part of a dream: the lock, the merge in one commit, the lock again."""
    held = ConsolidateLock(store.root.parent / FILE, FixedClock()).acquire()
    assert isinstance(held, Held)
    before = Scratch(store.root.parent / "branch", store).snapshot()
    after = tidied(before, date(2025, 6, 15))
    changes = typed(before, after.files, after.reasons)
    reindexed = Reindexed(before[INDEX_FILE], indexes.parse(after.files[INDEX_FILE]))
    store.restore(
        lambda: merged(changes, store.current, reindexed).files,
        Author("dream", dream="d1"),
        "dream",
    )
    assert held.release("completed")


def _pack(store: FileStore) -> None:
    packing.pack(store.history.git_dir)


def _all_packed(store: FileStore) -> None:
    packing.pack(store.history.git_dir)
    assert not list(packing.loose_objects(store.history.git_dir))


def _packed_twice(store: FileStore) -> None:
    """Two packs, and loose objects beside them."""
    for name in ("one", "two"):
        put(store, f"{name}.md", memory(name, LONG))
        _pack(store)
    put(store, "three.md", memory("three", LONG))


def _merge_packs(store: FileStore) -> None:
    packing.MOST_PACKS = 1
    _pack(store)


def _spread(store: FileStore) -> None:
    """From this write on, files are spread over subfolders of the tree."""
    git_trees.SPREAD_FROM = 3
    _remember(store)


STORIES = {
    "dream": Story(_duplicates, _dream, then=_dream),
    "remember": Story(_three, _remember),
    "first use": Story(lambda store: None, _remember),
    "found directory": Story(_found, _remember),
    "after a hand edit": Story(_edited, _update),
    "nested": Story(_three, _nested),
    "update": Story(_three, _update),
    "supersede": Story(_three, _supersede),
    "delete": Story(_three, _delete),
    "recovery": Story(_half_done, _update),
    "rewrite": Story(_with_one_deleted, _rewrite, rewrites=True),
    "packing": Story(_three, _pack, then=_all_packed),
    "merging packs": Story(_packed_twice, _merge_packs, then=_all_packed),
    "spreading": Story(_three, _spread),
}


def go_on(store: FileStore) -> None:
    """What an ordinary next command does: look, read, and save a little."""
    for entry in store.entries():
        assert store.read(entry.file) is not None
    store.index()
    put(store, "next.md", memory("next", "a little"))
    store.notice_hand_edits()
