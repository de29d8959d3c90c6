"""claude-agent-sdk with memory: hooks that recall, store results and learn, and a session store.

reverie = ReverieHooks()
options = ClaudeAgentOptions(hooks=reverie.hooks, session_store=ReverieSessionStore())
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, cast
from urllib.parse import quote, unquote

from reverie.adapters.bridge import app_of, missing
from reverie.api.shared_loop import begin, close_at_exit
from reverie.clients.hooks import dialects
from reverie.clients.hooks.events import HookEvent, SessionStarted
from reverie.clients.hooks.service import HookService
from reverie.clients.hooks.session_context import opening
from reverie.conversation.redaction import without_secrets
from reverie.events import no_listener

try:
    from claude_agent_sdk import HookMatcher, SessionStore, fold_session_summary
except ImportError as error:
    raise missing("claude-agent-sdk", "ReverieHooks") from error

if TYPE_CHECKING:
    from os import PathLike

    from claude_agent_sdk.types import (
        HookCallback,
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
    )

    from reverie.api.location import Overrides
    from reverie.api.memory import Memory
    from reverie.events import Event

log = logging.getLogger(__name__)

T = TypeVar("T")

_MATCHERS = {
    "SessionStart": None,
    "UserPromptSubmit": None,
    "PostToolUse": "|".join((*dialects.OUTPUTS, f"{dialects.MCP}.*")),
    "PreCompact": None,
    "Stop": None,
}

_FOLDER = "claude-agent-sdk"
_LINES = ".jsonl"


class HookOptions(TypedDict, total=False):
    """Where memory is, as for `reverie.Memory`; the listener is called in one of Reverie's threads."""

    memory: Memory | None
    project: str | PathLike[str] | None
    home: str | PathLike[str] | None
    settings: Overrides | None
    user: str | None
    listener: Callable[[Event], None] | None


class ReverieHooks:
    """Callbacks for `ClaudeAgentOptions.hooks`; one object serves any number of sessions."""

    def __init__(self, **options: Unpack[HookOptions]) -> None:
        self._app = app_of(options)
        self._announce = options.get("listener") or no_listener
        self._service: HookService | None = None
        self._later: dict[str, asyncio.Task[None]] = {}
        close_at_exit(self)

    @property
    def hooks(self) -> dict[Any, list[HookMatcher]]:
        """Recall at each prompt, previews of long outputs, notes around a compaction, learning."""
        return {
            event: [HookMatcher(matcher=matcher, hooks=[self._callback(event)])]
            for event, matcher in _MATCHERS.items()
        }

    def instructions(self) -> str:
        """The memory section and the index, for `system_prompt`: the SDK calls no hook at the start."""
        event = HookEvent(
            dialects.CLAUDE_CODE, "", str(self._app.working_folder), SessionStarted("startup")
        )
        return opening(self._app, self._app.memory(), event)

    async def aclose(self) -> None:
        """Wait until learning is done, and close the index; the next hook opens it again."""
        await asyncio.wrap_future(self.closing())

    def closing(self) -> Future[None]:
        return begin(self._close())

    def _callback(self, event: str) -> HookCallback:
        async def callback(data: Any, tool_use_id: str | None, context: Any) -> Any:
            try:
                return await asyncio.wrap_future(begin(self._answer(event, data)))
            except Exception:  # the agent must go on without memory
                log.exception("memory: the hook %s failed", event)
                return {}

        return callback

    async def _answer(self, event: str, data: Any) -> dict[str, Any]:
        if self._service is None:
            # Dreams are left to `reverie dream` and the daemon: this process may end at any time.
            self._service = HookService(self._app, self._announce, self._schedule, _no_dream)
        outcome = await self._service.handle(dialects.parse_claude_code(event, data))
        # Instructions for a summary are plain text, which a callback cannot return.
        return dialects.claude_code_answer(event, outcome)

    def _schedule(self, key: str, work: Callable[[], None]) -> None:
        """Schedule background work on the shared loop; may be called from any thread."""
        begin(self._do_later(key, work))

    async def _do_later(self, key: str, work: Callable[[], None]) -> None:
        before = self._later.get(key)
        task = self._later[key] = asyncio.create_task(_after(before, work))
        await task
        if self._later.get(key) is task:
            del self._later[key]

    async def _close(self) -> None:
        await asyncio.gather(*self._later.values())
        service, self._service = self._service, None
        if service is not None:
            await service.aclose()


class ReverieSessionStore(SessionStore):
    """Transcripts of the SDK's sessions in the project's folder, as JSONL that `reverie` can read."""

    def __init__(
        self, folder: str | PathLike[str] | None = None, **options: Unpack[HookOptions]
    ) -> None:
        """`folder` defaults to one in the project's folder in Reverie's home."""
        app = app_of(options)
        self._folder = Path(folder) if folder else app.project.folder / _FOLDER
        self._scrubber = app.scrubber
        self._known: dict[Path, set[str]] = {}
        self._lock = threading.Lock()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        await self._do(lambda: self._append(self._path(key), entries))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        return await self._do(lambda: _read(self._path(key)))

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        return await self._do(lambda: list(_sessions(self._folder / _quoted(project_key))))

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        return await self._do(lambda: list(self._summaries(project_key)))

    async def delete(self, key: SessionKey) -> None:
        await self._do(lambda: self._delete(key))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        folder = self._folder / _quoted(key["project_key"]) / _quoted(key["session_id"])
        return await self._do(lambda: [_name(path) for path in sorted(_files(folder))])

    async def _do(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(self._locked, work)

    def _locked(self, work: Callable[[], T]) -> T:
        with self._lock:
            return work()

    def _append(self, path: Path, entries: list[SessionStoreEntry]) -> None:
        """Append the entries whose uuid is not in the file yet."""
        known = self._known.setdefault(path, _uuids(path))
        fresh = []
        for entry in entries:
            uuid = entry.get("uuid")
            if uuid is None or uuid not in known:
                fresh.append(entry)
                known |= {uuid} if uuid else set()
        if fresh:
            clean = (without_secrets({**entry}, self._scrubber) for entry in fresh)
            lines = (json.dumps(entry, ensure_ascii=False) for entry in clean)
            _write(path, "".join(f"{line}\n" for line in lines))

    def _summaries(self, project_key: str) -> Iterator[SessionSummaryEntry]:
        """Read from the transcripts each time, so that no second file can disagree with them."""
        for listed in _sessions(self._folder / _quoted(project_key)):
            key: SessionKey = {"project_key": project_key, "session_id": listed["session_id"]}
            summary = fold_session_summary(None, key, _read(self._path(key)) or [])
            summary["mtime"] = listed["mtime"]
            yield summary

    def _delete(self, key: SessionKey) -> None:
        path = self._path(key)
        path.unlink(missing_ok=True)
        if not key.get("subpath"):
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)
        self._known.clear()

    def _path(self, key: SessionKey) -> Path:
        project, subpath = self._folder / _quoted(key["project_key"]), key.get("subpath")
        if not subpath:
            return project / f"{_quoted(key['session_id'])}{_LINES}"
        return project / _quoted(key["session_id"]) / f"{_quoted(subpath)}{_LINES}"


def _no_dream(project: Path) -> None:
    """Dreams are not started here; see `_answer`."""


async def _after(before: asyncio.Task[None] | None, work: Callable[[], None]) -> None:
    if before is not None:
        await before
    try:
        await asyncio.to_thread(work)
    except Exception:  # the task is not awaited: the error would be lost
        log.exception("memory: learning failed")


# ── files ────────────────────────────────────────────────────────────────────


def _quoted(name: str) -> str:
    """Any text as a file name, reversibly."""
    return quote(name, safe="").replace(".", "%2E")


def _name(path: Path) -> str:
    return unquote(path.name.removesuffix(_LINES))


def _files(folder: Path) -> Iterator[Path]:
    with suppress(FileNotFoundError):
        yield from (path for path in folder.iterdir() if path.suffix == _LINES)


def _sessions(folder: Path) -> Iterator[SessionStoreListEntry]:
    for path in _files(folder):
        yield {"session_id": _name(path), "mtime": path.stat().st_mtime_ns // 1_000_000}


def _read(path: Path) -> list[SessionStoreEntry] | None:
    """The entries of all valid lines; a line cut off by a crash is skipped."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    return [entry for line in data.split(b"\n") if (entry := _entry(line)) is not None]


def _entry(line: bytes) -> SessionStoreEntry | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return cast("SessionStoreEntry", found) if isinstance(found, dict) else None


def _uuids(path: Path) -> set[str]:
    return {uuid for entry in _read(path) or () if (uuid := entry.get("uuid"))}


def _write(path: Path, text: str) -> None:
    """Append text, starting on a new line, and flush it to disk."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(file).st_size
        torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
        view = memoryview(("\n" + text if torn else text).encode("utf-8", "surrogatepass"))
        while view:
            view = view[os.write(file, view) :]
        os.fsync(file)
    finally:
        os.close(file)
