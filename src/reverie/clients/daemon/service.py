"""Answers hook requests: parses them by dialect, passes them to the project's HookService, counts them.

At the start of a session it waits until our MCP server has listed its tools: a client sends them
with every request, and tools that appear after the first request change the prefix, so that the
provider reads the whole prompt again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from reverie.clients.hook_client import FOLDER, LISTED
from reverie.clients.hooks.dialects import DIALECTS
from reverie.clients.hooks.events import TRIAL, HookEvent, Ignored, SessionStarted
from reverie.clients.hooks.service import HookService
from reverie.clients.install import files
from reverie.clients.install.entries import NAME
from reverie.clients.install.json_text import Malformed
from reverie.clients.install.plan import Clients
from reverie.clients.mcp.calls import read_only_tool
from reverie.errors import InputError, ReverieError
from reverie.events import Event, MemoriesSaved, TroubleNoted
from reverie.learning import ended_sessions
from reverie.workspace import Workspace

# The most a session's start waits, and how often it looks.
LONGEST_SECONDS = 5.0
_PAUSE = 0.01
# A server of this session listed its tools no longer than this many seconds before the hook.
_RECENT_SECONDS = 30.0
_TABLES = ("mcp_servers", "mcpServers")


async def listed(home: Path, client: str, project: Path) -> bool:
    """Has our server in this client listed its tools? Waits for it; False if not installed, or late."""
    if not await asyncio.to_thread(_installed, home, client, project):
        return False
    until = time.monotonic() + LONGEST_SECONDS
    while not _listed(home / FOLDER / LISTED, project):
        if time.monotonic() > until:
            return False
        await asyncio.sleep(_PAUSE)
    return True


def _installed(home: Path, client: str, project: Path) -> bool:
    """Does a file that Reverie wrote for this client, for the person or this project, hold our server?"""
    return any(
        _holds_server(Path(file["path"]))
        for row in Clients(home).installed()
        if row.get("client") == client and row.get("root") in ("", str(project))
        for file in row.get("files", ())
    )


def _holds_server(path: Path) -> bool:
    try:
        text = path.read_text("utf-8")
        value = files.parse_toml(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError, Malformed):
        return False
    for table in _TABLES:
        server = files.toml_table(value, (table, NAME))
        if isinstance(server, dict) and server.get("enabled", True):
            return True
    return False


def _listed(folder: Path, project: Path) -> bool:
    """Is there a mark of a live server of this project? Marks of ended servers are removed."""
    found = False
    with suppress(OSError):
        for mark in os.scandir(folder):
            if not _alive(mark.name):
                Path(mark.path).unlink(missing_ok=True)
            elif Path(mark.path).read_text("utf-8", "surrogateescape") == str(project):
                # Compared with a file's time.
                age = time.time() - mark.stat().st_mtime  # noqa: TID251
                found = found or age < _RECENT_SECONDS
    return found


def _alive(process: str) -> bool:
    if not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


log = logging.getLogger(__name__)

MOST_PROJECTS = 16
MOST_SESSIONS = 512
LIMIT_SECONDS = 25.0
# A process that looks after the batches of a project is started at most this often.
BATCH_SECONDS = 300.0
OTHER = "other"
# The client that takes the tools listed by the time the hook is answered. Claude Code has chosen
# its tools before; its newest release adds later ones after the conversation.
TAKES_TOOLS_LATE = "codex"


@dataclass(slots=True)
class Tally:
    """How often an event was handled, how often it failed, and how long the last ones took."""

    count: int = 0
    errors: int = 0
    milliseconds: deque[float] = field(default_factory=lambda: deque(maxlen=200))

    def as_json(self) -> dict[str, Any]:
        taken = round(median(self.milliseconds), 2) if self.milliseconds else None
        return {"count": self.count, "errors": self.errors, "median_ms": taken}


Work = Callable[[], None]


class WorkQueue:
    """A queue of background work; newer work under a key replaces work still waiting under it."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, Work] = {}
        self._task: asyncio.Task[None] | None = None
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def busy(self) -> bool:
        return self._task is not None

    def add(self, key: str, work: Work) -> None:
        """Queue work; may be called from any thread."""
        self._loop.call_soon_threadsafe(self._put, key, work)

    def begin_dream(self, root: Path) -> None:
        """Start a dream in a process that outlives the daemon."""
        self._begin(root, "dream")
        log.info("started a dream of %s", root)

    def begin_batches(self, root: Path) -> None:
        """Look after the batches of a project in a process that outlives the daemon."""
        self._begin(root, "extract", "--when-idle")

    def _begin(self, root: Path, *arguments: str) -> None:
        command = [sys.executable, "-P", "-m", "reverie", *arguments]
        command += ["--project", str(root), "--home", str(self._home), "--quiet"]
        null = subprocess.DEVNULL
        self._started.append(
            subprocess.Popen(command, stdin=null, stdout=null, stderr=null, start_new_session=True)
        )

    def reap(self) -> None:
        self._started = [one for one in self._started if one.poll() is None]

    async def drain(self, seconds: float) -> None:
        """Wait for the queued work to finish, for at most this long."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=seconds)

    def _put(self, key: str, work: Work) -> None:
        self._waiting[key] = work
        if self._task is None:
            self._task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._waiting:
                work = self._waiting.pop(next(iter(self._waiting)))
                await self._run(work)
        finally:
            self._task = None

    async def _run(self, work: Work) -> None:
        try:
            await asyncio.to_thread(work)
        except Exception:  # the next work in the queue must still run
            log.exception("work after a hook failed")


class Service:
    """Serves all projects of a home; keeps a HookService for each recently used one."""

    def __init__(self, home: Path, queue: WorkQueue) -> None:
        self._home = home
        self._queue = queue
        self._services: OrderedDict[Path, HookService] = OrderedDict()
        self._roots: OrderedDict[str, Path] = OrderedDict()
        self._opening = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()
        self._batches_begun: dict[Path, float] = {}
        self.tallies: dict[str, Tally] = {}

    async def hook(self, client: str, event: str, body: bytes, project: str = "") -> bytes:
        """The answer to a hook; a failure is counted and logged, and its answer is empty."""
        # Unknown event names share one tally, or arbitrary names would fill the memory.
        counted = event if event in DIALECTS[client].names else OTHER
        tally = self.tallies.setdefault(f"{client}/{counted}", Tally())
        tally.count += 1
        began = time.perf_counter()
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                return await self._answer(client, event, body, project)
        except Exception as error:
            # One bad hook must not stop the daemon for the others.
            tally.errors += 1
            known = isinstance(error, ReverieError | OSError | ValueError | TimeoutError)
            log.warning("%s/%s: %s", client, event, error or "too slow", exc_info=not known)
            return b""
        finally:
            tally.milliseconds.append((time.perf_counter() - began) * 1_000)

    async def tool(self, name: str, body: bytes, project: str) -> bytes:
        """The result of a tool that only reads, for an MCP server: this process's index is warm."""
        tally = self.tallies.setdefault("mcp/tool", Tally())
        tally.count += 1
        began = time.perf_counter()
        try:
            async with self._opening:
                service = await self._open(_folder(project))
                for old in _remember(
                    self._services, service.app.project.root, service, MOST_PROJECTS
                ):
                    self._close(old)
            async with asyncio.timeout(LIMIT_SECONDS):
                work = partial(read_only_tool, service.app, name, _object(body))
                return json.dumps(await asyncio.to_thread(work)).encode()
        finally:
            tally.milliseconds.append((time.perf_counter() - began) * 1_000)

    def look_after_batches(self) -> None:
        """Start a process for each project that has a batch to collect or ended sessions to submit."""
        for root, service in self._services.items():
            late = time.monotonic() - self._batches_begun.get(root, -BATCH_SECONDS) >= BATCH_SECONDS
            if late and ended_sessions.due(service.app):
                self._batches_begun[root] = time.monotonic()
                self._queue.begin_batches(root)

    async def aclose(self) -> None:
        for service in self._services.values():
            await service.aclose()
        if self._closing:
            await asyncio.wait(self._closing)

    async def _answer(self, client: str, event: str, body: bytes, project: str) -> bytes:
        data = _object(body)
        dialect = DIALECTS[client]
        hook_event = dialect.parse(event, data)
        if isinstance(hook_event.payload, Ignored):
            return b""
        service = await self._service_for(hook_event, project)
        outcome = await service.handle(hook_event)
        if _before_tools(hook_event):
            folder = _folder(project or hook_event.cwd).resolve()
            await listed(self._home, client, folder)
        return dialect.render(event, outcome)

    async def _service_for(self, hook_event: HookEvent, project: str) -> HookService:
        """The service of the project a session was first seen in, even if its shell changes folders.

        A session without an id cannot be tracked: its current folder decides.
        """
        key = f"{hook_event.client}/{hook_event.session}" if hook_event.session else ""
        async with self._opening:
            root = self._roots.get(key)
            known = None if root is None else self._services.get(root)
            if known is None or not known.fresh:
                known = await self._open(root or _folder(project or hook_event.cwd))
            root = known.app.project.root
            if key:
                _remember(self._roots, key, root, MOST_SESSIONS)
            for old in _remember(self._services, root, known, MOST_PROJECTS):
                self._close(old)
        return known

    async def _open(self, start: Path) -> HookService:
        app = await asyncio.to_thread(Workspace.open, start, home=self._home)
        known = self._services.get(app.project.root)
        if known is not None and known.fresh:
            return known
        for notice in app.notices:
            log.warning("%s", notice)
        if known is not None:
            self._close(known)
        return HookService(app, _log_event, self._queue.add, self._queue.begin_dream)

    def _close(self, old: HookService) -> None:
        """Close a service in the background, after its current work."""
        task = asyncio.create_task(old.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def _before_tools(event: HookEvent) -> bool:
    """Does the client choose the tools of its first request after the answer to this event?"""
    trial = event.session.startswith(TRIAL)
    started = isinstance(event.payload, SessionStarted) and event.payload.source != "compact"
    return started and event.client == TAKES_TOOLS_LATE and not trial


def _remember(kept: OrderedDict[Any, Any], key: object, value: object, most: int) -> list[Any]:
    """Add or refresh an entry; returns the values evicted beyond `most`."""
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


def _folder(text: str) -> Path:
    if not text.startswith("/"):
        raise InputError(f"a hook must send an absolute folder, not {text[:80]!r}")
    return Path(text)


def _log_event(event: Event) -> None:
    match event:
        case TroubleNoted(where, what):
            log.warning("%s: %s", where, what)
        case MemoriesSaved(files, waiting) if files or waiting:
            log.info("saved %s; %d wait for you", ", ".join(files) or "nothing", waiting)
        case _:
            pass
