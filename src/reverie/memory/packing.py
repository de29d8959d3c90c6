"""Pack a history's loose objects into one file, in a background process.

Each write leaves four or five objects, each in its own file; git would pack them, but git may not be
installed. An object is removed only after it was read back from a pack on disk. If the process is
killed, every object is loose, in a pack, or both, and the next run continues.

Writers need not wait: an object that a writer relies on stays available in a pack, and the library
looks for new packs when it misses an object. Replacing a history (`GitHistory.rewrite`) takes the
same lock as packing, so that no old object gets into the new history.
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

# More loose objects than this are packed; more packs than this are merged into one.
MOST_LOOSE = 2_000
MOST_PACKS = 16

# Objects are spread evenly over 256 folders: a few folders suffice to estimate their number.
_SAMPLE = ("17", "5b", "a2", "e9")
_HEX = frozenset("0123456789abcdef")
_NAMES = {
    ObjectType.COMMIT: b"commit",
    ObjectType.TREE: b"tree",
    ObjectType.BLOB: b"blob",
    ObjectType.TAG: b"tag",
}
_MAKING = "reverie-packing"
# Lowers the priority of the packing process.
_NICENESS = 10


def due(git_dir: Path) -> bool:
    """Whether there are enough loose objects to pack, estimated from a sample."""
    found = sum(_count(git_dir / "objects" / part) for part in _SAMPLE)
    return found * 256 > MOST_LOOSE * len(_SAMPLE)


def begin(git_dir: Path) -> bool:
    """Start packing in another process, if it is due and none is running."""
    _processes[:] = [one for one in _processes if one.poll() is None]
    if _processes or not sys.executable or not due(git_dir) or is_held(git_dir):
        return False
    devnull = subprocess.DEVNULL
    command = [sys.executable, "-P", "-m", "reverie.memory.packing", str(git_dir)]
    try:
        process = subprocess.Popen(
            command, stdin=devnull, stdout=devnull, stderr=devnull, start_new_session=True
        )
    except OSError as error:
        log.warning("the history %s was not packed: %s", git_dir, error)
        return False
    _processes.append(process)
    return True


# Kept and polled, so that ended children do not stay zombies.
_processes: list[subprocess.Popen[bytes]] = []


@contextmanager
def locked(git_dir: Path, *, wait: bool = True) -> Iterator[bool]:
    """Lock a history to pack or replace it; False: another process holds it, or it was replaced."""
    opened = os.open(git_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        # The lock is on the folder, which may have been renamed during the wait.
        yield _is_at(git_dir, opened)
    finally:
        os.close(opened)


def _is_at(git_dir: Path, opened: int) -> bool:
    try:
        return os.path.samestat(git_dir.stat(), os.fstat(opened))
    except OSError:
        return False


def pack(git_dir: Path, *, wait: bool = True) -> int:
    """Pack loose objects, remove them, and return how many were removed.

    `wait`: wait if another process is packing; otherwise return at once.
    """
    try:
        with locked(git_dir, wait=wait) as acquired:
            return _pack(git_dir) if acquired else 0
    except (pygit2.GitError, OSError, KeyError) as error:
        raise StorageError(
            f"cannot pack the history {git_dir}: {error}; nothing was lost"
        ) from error


def _pack(git_dir: Path) -> int:
    making = git_dir / _MAKING
    # Left by a killed run; only one runs at a time.
    shutil.rmtree(making, ignore_errors=True)
    objects = git_dir / "objects"
    packs = objects / "pack"
    loose = list(loose_objects(git_dir))
    old = sorted(packs.glob("*.idx"))
    merged = old if len(old) > MOST_PACKS else []
    packed = pygit2.OdbBackendPack(str(objects))
    # An earlier run may have packed objects and been killed before it removed them.
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
    """Write a pack with these objects to a folder, flush it, and return its name."""
    into.mkdir(parents=True, mode=0o700)
    repo = pygit2.Repository(str(git_dir))
    builder = pygit2.PackBuilder(repo)
    # Leave the other cores to interactive work.
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
    """Read every object from the new pack and check its hash; raise OSError if one is broken."""
    packed = pygit2.OdbBackendPack(str(objects))
    broken = next((id_ for id_ in ids if not _is_whole(packed, id_)), None)
    if broken is not None:
        raise OSError(f"object {broken} cannot be read from the new pack")


def _put_in_place(made: Path, packs: Path, name: str) -> None:
    """Rename the pack before its index: readers find packs by their indexes."""
    packs.mkdir(exist_ok=True)
    for ending in (".pack", ".idx"):
        (made / f"{name}{ending}").rename(packs / f"{name}{ending}")
    flush(packs)


def _is_whole(packed: pygit2.OdbBackendPack, id_: str) -> bool:
    """Whether an object can be read from a pack and has the right hash."""
    try:
        kind, data = packed.read(pygit2.Oid(hex=id_))
    except (KeyError, ValueError, pygit2.GitError):
        return False
    head = b"%s %d\0" % (_NAMES[ObjectType(kind)], len(data))
    return hashlib.sha1(head + data, usedforsecurity=False).hexdigest() == id_


def loose_objects(git_dir: Path) -> Iterator[str]:
    """The ids of the loose objects."""
    for folder in sorted((git_dir / "objects").iterdir()):
        if len(folder.name) == 2 and _HEX.issuperset(folder.name):
            names = (item.name for item in folder.iterdir())
            # Other names are temporary files of a writer.
            yield from (
                folder.name + name for name in names if len(name) == 38 and _HEX.issuperset(name)
            )


def _ids(index: Path) -> list[str]:
    """The ids of the objects in a pack, from its index (version 2)."""
    data = index.read_bytes()
    if data[:8] != b"\xfftOc\0\0\0\x02":
        raise OSError(f"{index} is not a pack index of version 2")
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
