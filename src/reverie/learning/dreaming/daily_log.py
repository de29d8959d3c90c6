"""The daily log: a tool that appends to it, and the entries that no dream has read yet."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.agent.tools import Access, Arguments, Tool, Workplace
from reverie.core.request import ToolSpec
from reverie.errors import InputError
from reverie.files.json_files import read_json, write_json
from reverie.learning.dreaming.log import LogEntry, entries_of, portion
from reverie.memory.changes.daily_log import FOLDER, DailyLog, log_file
from reverie.memory.format.prompt import LOG_TOOL
from reverie.memory.format.revisions import Author

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from reverie.learning.dreaming.review import Report
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

_DISTILLED = "distilled.json"

_SPEC = ToolSpec.of(
    LOG_TOOL,
    "Append one entry to the daily log of memory: a thing worth knowing in a later conversation, in a "
    "sentence or two, in the person's words where they said it. The time of day is added. The log only "
    "grows; a nightly dream turns it into memories.",
    {
        "type": "object",
        "properties": {
            "entry": {"type": "string", "minLength": 1, "description": "What to keep."},
        },
        "required": ["entry"],
        "additionalProperties": False,
    },
)


def open_log(app: Workspace, memory: OpenMemory) -> DailyLog:
    return DailyLog(memory.store, app.clock, memory.scrubber)


def log_tool(app: Workspace, memory: OpenMemory, session: str) -> Tool:
    """Build the tool by which the agent appends to the log of the day; existing entries cannot change."""
    log = open_log(app, memory)
    author = Author("main", session)

    async def run(arguments: Arguments, workplace: Workplace) -> str:
        done = await asyncio.to_thread(log.append, str(arguments["entry"]), author)
        secrets = f"; without a secret ({', '.join(done.secrets)})" if done.secrets else ""
        return f"Logged in {done.file}{secrets}"

    def paths(arguments: Arguments, workplace: Workplace) -> tuple[Path, ...]:
        return (memory.place.directory / log_file(log.today()),)

    return Tool(_SPEC, run, _edits, lambda arguments: f"Log {arguments['entry']}", paths=paths)


def _edits(arguments: Arguments, workplace: Workplace) -> Access:
    return "edit"


# --- what dreams have read ---


@dataclass(frozen=True, slots=True)
class Undistilled:
    """The entries for the next dream, and how many more wait for later ones."""

    entries: tuple[LogEntry, ...] = ()
    waiting: int = 0


def undistilled(app: Workspace, memory: OpenMemory) -> Undistilled:
    """The entries not distilled yet, oldest first; none while the daily log is off."""
    if memory.team or not app.switches.on("daily_log"):
        return Undistilled()
    known = _marks(memory)
    fresh = (
        entry
        for file in _files(memory)
        for entry in entries_of(file, _text(memory, file))
        if entry.line not in known.get(file, ())
    )
    return Undistilled(*portion(fresh))


def mark_distilled(
    memory: OpenMemory, report: Report, entries: Iterable[LogEntry], *, read_all: bool
) -> None:
    """Mark entries as read by a dream.

    Entries of a change that waits stay open, and so do, after a model failed, entries that the rules
    could not use.
    """
    waiting = {source for change in report.with_standing("waiting") for source in change.sources}
    used = {source for entry in report.entries for source in entry.change.sources}
    marks = _marks(memory)
    for entry in entries:
        if entry.source not in waiting and (read_all or entry.source in used):
            marks.setdefault(entry.file, set()).add(entry.line)
    write_json(
        memory.place.state / _DISTILLED,
        {file: sorted(lines) for file, lines in sorted(marks.items())},
    )


def _marks(memory: OpenMemory) -> dict[str, set[int]]:
    data = read_json(memory.place.state / _DISTILLED)
    if not isinstance(data, dict):
        return {}
    return {file: {int(line) for line in lines} for file, lines in data.items()}


def _files(memory: OpenMemory) -> list[str]:
    root = memory.place.directory
    found = (root / FOLDER).glob("[0-9]*/[0-9]*/[0-9]*.md")
    return sorted(path.relative_to(root).as_posix() for path in found)


def _text(memory: OpenMemory, file: str) -> str:
    """A log's text; empty when the file is gone or cannot be opened safely."""
    try:
        return (memory.store.current(file) or b"").decode("utf-8", "replace")
    except InputError:
        return ""
