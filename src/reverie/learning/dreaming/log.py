"""The daily log: the tool that appends to it, the entries no dream has read yet, and the rules that make memories of them.

The assistant only appends to the log. A dream reads what was added since the last one, and every
memory it makes names its source by file and line.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING

from reverie.agent.tools import Access, Arguments, Tool, Workplace
from reverie.core.messages import Message, Text, new_message
from reverie.core.request import ToolSpec
from reverie.errors import InputError
from reverie.files.atomic import read_json, write_json
from reverie.learning import extraction
from reverie.learning.dreaming.changes import Files, Reason, Reasons, topics_of
from reverie.learning.dreaming.dream import Branch, Dreamer, Dreamt
from reverie.learning.extraction.candidates import (
    Add,
    Candidate,
    Delete,
    Known,
    Noop,
    Supersede,
    Update,
)
from reverie.learning.extraction.reading import Utterance
from reverie.memory.changes.daily_log import FOLDER, DailyLog, log_file
from reverie.memory.changes.draft import draft
from reverie.memory.format import topic as topics
from reverie.memory.format.manifest import entry as manifest_entry
from reverie.memory.format.paths import file_name
from reverie.memory.format.prompt import LOG_TOOL
from reverie.memory.format.revisions import Author
from reverie.memory.format.topic import Topic
from reverie.text.dates import absolute_dates

if TYPE_CHECKING:
    from pathlib import Path

    from reverie.learning.dreaming.review import Report
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace


# One dream reads at most this much of the log; the rest waits for the next one.
MOST_CHARACTERS = 40_000

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:_\d+)?\.md$")
_BULLET = re.compile(r"^[-*+] (?:\d{1,2}:\d{2} )?(?P<text>.*)$")
_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry of a day, with its file and line."""

    file: str
    line: int
    day: date
    text: str

    @property
    def source(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def said(self) -> Utterance:
        """The entry as an utterance of the person."""
        return Utterance(self.source, "user", self.text, self.day)


def entries_of(file: str, text: str, after: int = 0) -> tuple[LogEntry, ...]:
    """Parse the entries of one log file after a line; a file without a day in its name has none."""
    named = _DAY.search(file)
    if named is None:
        return ()
    day = date.fromisoformat(named[1])
    return tuple(
        LogEntry(file, line, day, said) for line, said in _notes(text.splitlines()) if line > after
    )


def _notes(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Each bullet with the indented lines below it; a line without a bullet is an entry, too."""
    begun, parts = 0, list[str]()
    for number, line in enumerate(lines, 1):
        if parts and line.strip() and line[:1].isspace():
            parts.append(line.strip())
            continue
        if parts:
            yield begun, "\n".join(parts)
        bullet = _BULLET.match(line)
        said = (bullet["text"] if bullet else line).strip()
        begun, parts = number, [said] if said and not line.startswith("#") else []
    if parts:
        yield begun, "\n".join(parts)


def portion(entries: Iterable[LogEntry]) -> tuple[tuple[LogEntry, ...], int]:
    """The oldest entries that fit into one dream, and how many wait for the next one."""
    everything = sorted(entries, key=lambda entry: (entry.day, entry.file, entry.line))
    room = MOST_CHARACTERS
    for number, entry in enumerate(everything):
        room -= len(entry.text)
        if room < 0 and number:
            return tuple(everything[:number]), len(everything) - number
    return tuple(everything), 0


# --- without a model ---


def distilled(
    entries: Sequence[LogEntry], files: Files, kept_out: Callable[[str], bool]
) -> tuple[dict[str, bytes], dict[str, Reason]]:
    """Apply the extraction rules to the log; returns the changed files and the reasons."""
    said = {message.id: (message, entry) for entry in entries for message in [_spoken(entry)]}
    messages = [message for message, _ in said.values()]
    known = [
        Known(manifest_entry(one.file, files[one.file], _EPOCH), one.body)
        for one in topics_of(files)
    ]
    found = [one for one in extraction.find(messages) if not kept_out(one.text)]
    made: dict[str, bytes] = {}
    reasons: dict[str, Reason] = {}
    for candidate in extraction.plan(found, messages, known).saves:
        entry = said[candidate.sources[0]][1]
        for fresh in _changed(candidate, entry, {**files, **made}):
            made[fresh.file] = topics.render(fresh)
            reasons[fresh.file] = Reason("the daily log says so", (entry.source,))
    return made, reasons


def _spoken(entry: LogEntry) -> Message:
    """An entry as a message of the person, sent at noon of its day."""
    at = datetime.combine(entry.day, time(12), UTC).timestamp()
    return new_message("user", Text(entry.text), at=at + entry.line / 1_000)


def _changed(candidate: Candidate, entry: LogEntry, files: Files) -> list[Topic]:
    text = absolute_dates(candidate.text, entry.day)[0]
    match candidate.operation:
        case Update(file):
            old = topics.parse(files[file], file)
            body = f"{old.body.rstrip()}\n{text}\n"
            return [old.with_(body=body, source=(*old.source, entry.source))]
        case Supersede(file):
            old = topics.parse(files[file], file)
            fresh = _new(candidate, text, entry, files, supersedes=(file,))
            until = entry.day.isoformat()
            return [fresh, old.with_(superseded_by=fresh.file, valid_until=until)]
        case Add():
            return [_new(candidate, text, entry, files)]
        case Delete() | Noop():
            # Only a person may ask to forget something; a log entry may not.
            return []


def _new(
    candidate: Candidate,
    text: str,
    entry: LogEntry,
    files: Files,
    supersedes: tuple[str, ...] = (),
) -> Topic:
    made = draft(text, type_=candidate.type)
    return topics.new(
        made.name,
        made.description,
        made.type,
        made.body,
        file=file_name(f"{made.type} {made.name}", files),
        created=entry.day.isoformat(),
        origin="assistant",
        source=(entry.source,),
        supersedes=supersedes,
    )


def log_dreamer(
    entries: Sequence[LogEntry], kept_out: Callable[[str], bool], rules: Dreamer
) -> Dreamer:
    """A dreamer that distils the log by rules, then runs the other rules."""

    async def dream(branch: Branch) -> Dreamt:
        made, reasons = await asyncio.to_thread(distilled, entries, branch.files, kept_out)
        for name, data in made.items():
            branch.write(name, data)
        done = await rules(replace(branch, files={**branch.files, **made}))
        return replace(done, reasons=joined(reasons, done.reasons))

    return dream


def joined(first: Reasons, second: Reasons) -> Mapping[str, Reason]:
    """Merge two results of one dream; a file that both changed gets both reasons."""
    made = dict(first)
    for file, reason in second.items():
        known = made.get(file, Reason())
        why = "; ".join(part for part in (known.why, reason.why) if part)
        made[file] = Reason(why, tuple(dict.fromkeys((*known.sources, *reason.sources))))
    return made


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

    Entries of a waiting change stay open. So do entries that the rules could not use, if the model
    failed.
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
