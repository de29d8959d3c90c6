"""From a hook's bytes to the answer's: the client's dialect, the project's attendant, and what is counted."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from reverie.clients.daemon.wire import WorkQueue
from reverie.clients.hooks.dialects import DIALECTS
from reverie.clients.hooks.events import HookEvent, Ignored
from reverie.clients.hooks.service import HookService
from reverie.errors import InputError, ReverieError
from reverie.events import Event, MemoriesSaved, TroubleNoted
from reverie.workspace import Workspace

log = logging.getLogger(__name__)

MOST_PROJECTS = 16
MOST_SESSIONS = 512
LIMIT_SECONDS = 25.0
OTHER = "other"


@dataclass(slots=True)
class Tally:
    """How often an event came, how often it failed, and how long the last ones took."""

    count: int = 0
    errors: int = 0
    milliseconds: deque[float] = field(default_factory=lambda: deque(maxlen=200))

    def told(self) -> dict[str, Any]:
        taken = round(median(self.milliseconds), 2) if self.milliseconds else None
        return {"count": self.count, "errors": self.errors, "median_ms": taken}


class Service:
    """All projects of a home; an attendant is kept for each that was used of late."""

    def __init__(self, home: Path, afterwards: WorkQueue) -> None:
        self._home = home
        self._afterwards = afterwards
        self._attendants: OrderedDict[Path, HookService] = OrderedDict()
        self._roots: OrderedDict[str, Path] = OrderedDict()
        self._opening = asyncio.Lock()
        self._leaving: set[asyncio.Task[None]] = set()
        self.tallies: dict[str, Tally] = {}

    async def hook(self, client: str, event: str, body: bytes, project: str = "") -> bytes:
        """The answer to a hook; whatever fails is counted, logged and answered with nothing."""
        # What a stranger may name at will must not fill the memory.
        counted = event if event in DIALECTS[client].events else OTHER
        tally = self.tallies.setdefault(f"{client}/{counted}", Tally())
        tally.count += 1
        began = time.perf_counter()
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                return await self._answer(client, event, body, project)
        except Exception as error:
            # One bad hook must not end the service of the others.
            tally.errors += 1
            known = isinstance(error, ReverieError | OSError | ValueError | TimeoutError)
            log.warning("%s/%s: %s", client, event, error or "too slow", exc_info=not known)
            return b""
        finally:
            tally.milliseconds.append((time.perf_counter() - began) * 1_000)

    async def aclose(self) -> None:
        for attendant in self._attendants.values():
            await attendant.aclose()
        if self._leaving:
            await asyncio.wait(self._leaving)

    async def _answer(self, client: str, event: str, body: bytes, project: str) -> bytes:
        data = _object(body)
        dialect = DIALECTS[client]
        occasion = dialect.parse(event, data)
        if isinstance(occasion.moment, Ignored):
            return b""
        attendant = await self._attendant(occasion, project)
        return dialect.render(event, await attendant.attend(occasion))

    async def _attendant(self, occasion: HookEvent, project: str) -> HookService:
        """A session stays with the project it was first seen in, wherever its shell goes.

        One without a name could be anybody's: it belongs where it says it is.
        """
        key = f"{occasion.client}/{occasion.session}" if occasion.session else ""
        async with self._opening:
            root = self._roots.get(key)
            known = None if root is None else self._attendants.get(root)
            if known is None or not known.fresh:
                known = await self._open(root or _folder(project or occasion.cwd))
            root = known.app.project.root
            if key:
                _remember(self._roots, key, root, MOST_SESSIONS)
            for old in _remember(self._attendants, root, known, MOST_PROJECTS):
                self._let_go(old)
        return known

    async def _open(self, start: Path) -> HookService:
        app = await asyncio.to_thread(Workspace.open, start, home=self._home)
        known = self._attendants.get(app.project.root)
        if known is not None and known.fresh:
            return known
        for notice in app.notices:
            log.warning("%s", notice)
        if known is not None:
            self._let_go(known)
        return HookService(app, _heard, self._afterwards.add, self._afterwards.begin_dream)

    def _let_go(self, old: HookService) -> None:
        """It ends what it is at, and nobody else waits for that."""
        task = asyncio.create_task(old.aclose())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)


def _remember(kept: OrderedDict[Any, Any], key: object, value: object, most: int) -> list[Any]:
    """Put it at the end; gives what had to go."""
    kept[key] = value
    kept.move_to_end(key)
    return [kept.popitem(last=False)[1] for _ in range(len(kept) - most)]


def _object(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise InputError(f"a hook must send JSON, not {body[:40]!r}") from None
    if not isinstance(data, dict):
        raise InputError(f"a hook must send a JSON object, not {type(data).__name__}")
    return data


def _folder(told: str) -> Path:
    if not told.startswith("/"):
        raise InputError(f"a hook must say where it runs, not {told[:80]!r}")
    return Path(told)


def _heard(event: Event) -> None:
    match event:
        case TroubleNoted(where, what):
            log.warning("%s: %s", where, what)
        case MemoriesSaved(files, waiting) if files or waiting:
            log.info("saved %s; %d wait for you", ", ".join(files) or "nothing", waiting)
        case _:
            pass
