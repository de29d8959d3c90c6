"""Which sessions, and other programs, can be reached under `bridge:<id>`, and at which socket.

    <home>/bridges/<id>.json    {"socket": "/path/of.sock", "pid": 123, "host": "…", "started": "…",
                                 "since": 1750000000.0, "token": "…"}

A session registers its own id. Another program that speaks the frames of `agent_socket` may write
such a file too: `socket` and `pid` are enough; the others tell its process from a later one of the
same number. The entry of a process that has ended is removed by whoever finds it.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from reverie.core.codec import dump
from reverie.errors import InputError, StorageError
from reverie.files.folders import make_private
from reverie.files.locks import Holder, gone, started, this_host
from reverie.ports import Clock
from reverie.subagents.letters import Malformed, Refused
from reverie.subagents.private_files import content, files, sole, write
from reverie.subagents.socket_files import id_problem, path_problem, socket_path, sweep

FOLDER = "bridges"
_SUFFIX = ".json"
_LARGEST = 16 * 1024
_NAMED = 5
# Others may look, but not write.
_CLOSED = 0o022


@dataclass(frozen=True, slots=True)
class Bridge:
    """Who is reached under an id, and where."""

    id: str
    socket: Path
    holder: Holder

    @property
    def is_here(self) -> bool:
        return self.holder.host in ("", this_host())

    @property
    def is_dead(self) -> bool:
        """Whether its process is known to have ended; however long ago it began."""
        return self.is_here and gone(replace(self.holder, since=0.0), 0.0)


@contextmanager
def register(home: Path, id: str, socket: Path, clock: Clock) -> Iterator[Bridge]:
    """Be reachable under an id; InputError when somebody living is already."""
    if wrong := id_problem(id) or path_problem(socket):
        raise InputError(wrong)
    pid = os.getpid()
    born = started(pid) or ""
    holder = Holder(pid, this_host(), born, round(clock.now(), 3), secrets.token_hex(8))
    bridge = Bridge(id, socket, holder)
    _enter(home, bridge)
    try:
        yield bridge
    finally:
        _leave(home, bridge)


def find(home: Path, id: str) -> Bridge | Refused:
    """The bridge of this id, or of the only id that begins so; or why there is none."""
    if wrong := id_problem(id):
        return Refused(wrong)
    living, dead = _known(home)
    fitting = _fitting(id, [*living, *dead])
    match [one for one in fitting if one in living], fitting:
        case [bridge], _ if bridge.is_here:
            return bridge
        case [bridge], _:
            host = bridge.holder.host
            return Refused(
                f"{bridge.id!r} runs on another computer ({host}): no socket leads there"
            )
        case [], [bridge, *_]:
            return Refused(f"{bridge.id!r} has ended: its process {bridge.holder.pid} is gone")
        case [], []:
            names = _names(living) or "none"
            return Refused(f"no bridge {id!r} is registered; registered are: {names}")
        case several, _:
            return Refused(f"{id!r} fits {_names(several)}: give more of the id")


def listed(home: Path) -> tuple[Bridge, ...]:
    """Everybody who can be reached from here, by id."""
    living, _ = _known(home)
    return tuple(bridge for bridge in living if bridge.is_here)


def _known(home: Path) -> tuple[list[Bridge], list[Bridge]]:
    """All entries that can be read, by id: of the living and, for the last time, of the dead."""
    living: list[Bridge] = []
    dead: list[Bridge] = []
    with (
        suppress(FileNotFoundError),
        _explained(home),
        sole(home / FOLDER, _CLOSED) as folder,
    ):
        for file in sorted(files(folder)):
            id, dot, rest = file.rpartition(_SUFFIX)
            if dot and not rest and (bridge := _read(id, folder)) is not None:
                (dead if bridge.is_dead else living).append(bridge)
        for bridge in dead:
            _bury(home, bridge, folder)
    return living, dead


def _fitting(id: str, bridges: list[Bridge]) -> list[Bridge]:
    exact = [bridge for bridge in bridges if bridge.id == id]
    return exact or [bridge for bridge in bridges if bridge.id.startswith(id)]


def _bury(home: Path, bridge: Bridge, folder: int) -> None:
    with suppress(OSError, InputError):
        os.unlink(f"{bridge.id}{_SUFFIX}", dir_fd=folder)
        # Any other place is its own business.
        if bridge.socket == socket_path(home, bridge.id):
            sweep(bridge.socket)


def _enter(home: Path, bridge: Bridge) -> None:
    with _explained(home):
        make_private(home / FOLDER)
        with sole(home / FOLDER, _CLOSED) as folder:
            present = _read(bridge.id, folder)
            # Nobody can see whether one on another computer lives, nor reach it from here.
            if present is not None and present.is_here and not present.is_dead:
                raise InputError(
                    f"the process {present.holder.pid} is registered as {bridge.id!r} already: "
                    "end it, or choose another id"
                )
            fresh = f".{bridge.id}.{bridge.holder.token}"
            write(fresh, _render(bridge), folder)
            os.replace(fresh, f"{bridge.id}{_SUFFIX}", src_dir_fd=folder, dst_dir_fd=folder)


def _leave(home: Path, bridge: Bridge) -> None:
    """Remove the entry, unless it is somebody else's by now."""
    with suppress(OSError, InputError), sole(home / FOLDER, _CLOSED) as folder:
        if _read(bridge.id, folder) == bridge:
            os.unlink(f"{bridge.id}{_SUFFIX}", dir_fd=folder)


def _read(id: str, folder: int) -> Bridge | None:
    """The entry of an id; None when there is none, or none that makes sense."""
    if id_problem(id):
        return None
    try:
        said = content(f"{id}{_SUFFIX}", folder, _LARGEST)
        return None if isinstance(said, Malformed) else _parse(id, json.loads(said))
    except (OSError, ValueError, RecursionError):
        return None


def _render(bridge: Bridge) -> bytes:
    return dump({"socket": str(bridge.socket), **asdict(bridge.holder)}) + b"\n"


def _parse(id: str, said: Any) -> Bridge | None:
    match said:
        case {"socket": str(socket), "pid": int(pid)} if 0 < pid < 2**31 and not path_problem(
            Path(socket)
        ):
            host, born, token = (_text(said.get(key)) for key in ("host", "started", "token"))
            since = said.get("since")
            moment = since if isinstance(since, float) else 0.0
            return Bridge(id, Path(socket), Holder(pid, host, born, moment, token))
    return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _names(bridges: list[Bridge]) -> str:
    more = ", …" if len(bridges) > _NAMED else ""
    return ", ".join(bridge.id for bridge in bridges[:_NAMED]) + more


@contextmanager
def _explained(home: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError(f"cannot use {home / FOLDER}: {error.strerror or error}") from error
