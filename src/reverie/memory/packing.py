"""Packs for a history: thousands of loose objects become one file, in a process nobody waits for.

Each write leaves four or five objects, each a file of its own; git would pack them, but git may not
be installed. Only objects that were read back from a pack on disk, whole, are removed. Killed at any
moment, every object is loose, in a pack, or both, and the next run goes on.

Writers need not wait: an object that a writer believes to be there stays there, in a pack, and the
library looks for new packs when it misses one. Replacing a history (`GitHistory.rewrite`) takes the
same lock as packing does, so that nothing of the old one can get into the new one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType, Option

from reverie.errors import StorageError
from reverie.files.atomic import flush
from reverie.files.locks import is_held
from reverie.logs import logger

log = logger(__name__)

# Beyond so many loose objects they are packed; beyond so many packs these become one.
MOST_LOOSE = 2_000
MOST_PACKS = 16

# Objects are spread evenly over 256 folders: a few of them tell how many there are.
_SAMPLE = ("17", "5b", "a2", "e9")
_HEX = frozenset("0123456789abcdef")
_NAMES = {
    ObjectType.COMMIT: b"commit",
    ObjectType.TREE: b"tree",
    ObjectType.BLOB: b"blob",
    ObjectType.TAG: b"tag",
}
_MAKING = "reverie-packing"
# How much a run may be in the way of others that want the processor.
_NICENESS = 10


def due(git_dir: Path) -> bool:
    """Whether there are so many loose objects, by a sample, that it pays to pack them."""
    found = sum(_count(git_dir / "objects" / part) for part in _SAMPLE)
    return found * 256 > MOST_LOOSE * len(_SAMPLE)


def begin(git_dir: Path) -> bool:
    """Pack in a process of its own, if it is due and none does; the caller goes on at once."""
    _begun[:] = [one for one in _begun if one.poll() is None]
    if _begun or not sys.executable or not due(git_dir) or is_held(git_dir):
        return False
    nowhere = subprocess.DEVNULL
    command = [sys.executable, "-P", "-m", "reverie.memory.packing", str(git_dir)]
    try:
        made = subprocess.Popen(
            command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
        )
    except OSError as error:
        log.warning("the history %s was not packed: %s", git_dir, error)
        return False
    _begun.append(made)
    return True


# Kept until they are over: a child that is never asked about stays in the table of processes.
_begun: list[subprocess.Popen[bytes]] = []


@contextmanager
def alone(git_dir: Path, *, wait: bool = True) -> Iterator[bool]:
    """Held while a history is packed or replaced; False: another holds it, or it was replaced."""
    opened = os.open(git_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        # The lock is on the folder itself, which may have got another name while we waited.
        yield _is_at(git_dir, opened)
    finally:
        os.close(opened)


def _is_at(git_dir: Path, opened: int) -> bool:
    try:
        return os.path.samestat(git_dir.stat(), os.fstat(opened))
    except OSError:
        return False


def pack(git_dir: Path, *, wait: bool = True) -> int:
    """Put loose objects into a pack and remove those that it holds; returns how many went.

    `wait`: when another process packs already, wait for it; otherwise leave it to that one.
    """
    try:
        with alone(git_dir, wait=wait) as ours:
            return _pack(git_dir) if ours else 0
    except (pygit2.GitError, OSError, KeyError) as error:
        raise StorageError(
            f"cannot pack the history {git_dir}: {error}; nothing was lost"
        ) from error


def _pack(git_dir: Path) -> int:
    making = git_dir / _MAKING
    # A run that was killed left it; only one runs at a time.
    shutil.rmtree(making, ignore_errors=True)
    objects = git_dir / "objects"
    packs = objects / "pack"
    loose = list(loose_objects(git_dir))
    old = sorted(packs.glob("*.idx"))
    merged = old if len(old) > MOST_PACKS else []
    packed = pygit2.OdbBackendPack(str(objects))
    # What a run before us packed, and was killed before it removed it, need not be packed again.
    here = {id_ for id_ in loose if not merged and _is_whole(packed, id_)}
    wanted = {id_ for id_ in loose if id_ not in here} | {i for one in merged for i in _ids(one)}
    if wanted:
        name = _made(git_dir, making / "pack", wanted)
        _verify(making, wanted)
        _put_in_place(making / "pack", packs, name)
        shutil.rmtree(making, ignore_errors=True)
        merged = [index for index in merged if index.stem != name]
    for id_ in loose:
        (objects / id_[:2] / id_[2:]).unlink(missing_ok=True)
    for index in merged:
        for ending in (".idx", ".pack", ".rev"):
            index.with_suffix(ending).unlink(missing_ok=True)
    return len(loose)


def _made(git_dir: Path, into: Path, ids: Iterable[str]) -> str:
    """A pack with these objects in a folder of its own, on disk; returns its name."""
    into.mkdir(parents=True, mode=0o700)
    repo = pygit2.Repository(str(git_dir))
    builder = pygit2.PackBuilder(repo)
    # One core is left to those who wait for an answer.
    builder.set_threads(1)
    for id_ in sorted(ids):
        builder.add(pygit2.Oid(hex=id_))
    builder.write(str(into))
    repo.free()
    (index,) = into.glob("*.idx")
    for ending in (".pack", ".idx"):
        flush(index.with_suffix(ending))
    return index.stem


def _verify(objects: Path, ids: Iterable[str]) -> None:
    """Every object, read from the new pack and hashed: from here on the others may go."""
    packed = pygit2.OdbBackendPack(str(objects))
    broken = next((id_ for id_ in ids if not _is_whole(packed, id_)), None)
    if broken is not None:
        raise OSError(f"object {broken} cannot be read from the new pack")


def _put_in_place(made: Path, packs: Path, name: str) -> None:
    """The pack first: readers look for indexes, and open what belongs to them."""
    packs.mkdir(exist_ok=True)
    for ending in (".pack", ".idx"):
        (made / f"{name}{ending}").rename(packs / f"{name}{ending}")
    flush(packs)


def _is_whole(packed: pygit2.OdbBackendPack, id_: str) -> bool:
    """Whether an object can be read from a pack and is the one its id is the hash of."""
    try:
        kind, data = packed.read(pygit2.Oid(hex=id_))
    except (KeyError, ValueError, pygit2.GitError):
        return False
    head = b"%s %d\0" % (_NAMES[ObjectType(kind)], len(data))
    return hashlib.sha1(head + data, usedforsecurity=False).hexdigest() == id_


def loose_objects(git_dir: Path) -> Iterator[str]:
    """The ids of the objects that are files of their own."""
    for folder in sorted((git_dir / "objects").iterdir()):
        if len(folder.name) == 2 and _HEX.issuperset(folder.name):
            names = (item.name for item in folder.iterdir())
            # Others are drafts of a writer at work.
            yield from (
                folder.name + name for name in names if len(name) == 38 and _HEX.issuperset(name)
            )


def _ids(index: Path) -> list[str]:
    """The ids of the objects in a pack, from its index (version 2)."""
    data = index.read_bytes()
    if data[:8] != b"\xfftOc\0\0\0\x02":
        raise OSError(f"{index} is no index of a pack that is known here")
    count = int.from_bytes(data[8 + 255 * 4 : 8 + 256 * 4], "big")
    start = 8 + 256 * 4
    return [data[start + n * 20 : start + n * 20 + 20].hex() for n in range(count)]


def _count(folder: Path) -> int:
    try:
        return sum(1 for _ in folder.iterdir())
    except OSError:
        return 0


def main(git_dir: Path) -> None:
    pygit2.option(Option.ENABLE_FSYNC_GITDIR, 1)
    with suppress(OSError):
        os.nice(_NICENESS)
    if due(git_dir):
        pack(git_dir, wait=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
