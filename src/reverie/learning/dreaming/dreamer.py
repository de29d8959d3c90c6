"""A model that dreams: its prompt, the account it gives, and when a session starts it after a turn."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from reverie.agent.fork import SideAgents, Task, calls_of
from reverie.agent.permissions import fenced
from reverie.agent.processes import Background
from reverie.agent.tools import FolderCopy
from reverie.context import NotDue
from reverie.context.facts.calls import action_of, shortened
from reverie.core.foreign_text import quoted
from reverie.core.request import Reply
from reverie.core.usage import DREAM
from reverie.errors import ReverieError
from reverie.events import Announce, DreamBegan, DreamEnded, Event, Replied
from reverie.learning.dreaming.changes import Reason
from reverie.learning.dreaming.dream import Branch, Dreamer, Dreamt
from reverie.learning.dreaming.gates import Due
from reverie.learning.dreaming.log import LogEntry, joined
from reverie.learning.dreaming.review import Report, Turn
from reverie.learning.dreaming.tidy import Flag
from reverie.memory.format import topic as topics
from reverie.memory.format.index import MOST_BYTES, MOST_LINES, POINTER_AIM
from reverie.memory.format.manifest import INDEX_FILE, is_index

MOST_TURNS = 40

_DIRECTIVE = """\
This is not a message from the person. While they are away, go through the project's memory and put
it in order, as somebody would who sleeps on what they learnt. You work in a copy of the memory:
{folder}
Nothing you do there counts before it was checked, and nothing outside it can be changed. You may
read, search and list anywhere; edit and write only in that folder. Commands may only read.

1. Look around. List the folder, read MEMORY.md, skim the memories it leads to.
2. Gather. {logs}Find memories that contradict each other or the present state of the
   project. Past conversations are in {transcripts}: look for single terms in them, never read one
   as a whole.
3. Consolidate. Put what says the same into one file, the one that exists longer, with every
   number, name, date and address both had. Turn "yesterday" or "next week" into dates, counted
   from the day the memory was written. Where a newer memory replaces an older one, keep both
   files: `superseded_by` and `valid_until` in the old one, `supersedes` in the new one.
4. Add cues. A memory is found by words it does not have if its `cues:` have them. Where a memory has
   none, give it three to six: other names of the thing, what it is a kind of, the trouble that leads
   to it, a question it answers. Change nothing else for that.
5. Prune and index. One line a memory in MEMORY.md: `- [Title](file.md) — hook`, about
   {aim} characters; no line that leads nowhere, none missing; at most {lines} lines
   and {bytes:,} bytes. Detail belongs in the memory, not in its line.

These changes are thrown away again, so do not try them: deleting or archiving a memory that still
holds, changing a number, a name or who said something, touching a pinned memory, merging memories
whose values differ. A new statement is compared with what the person said at the source you name for
it; without one, or in other words, it waits for them. What you doubt, leave as it is.
"""

_ACCOUNT = """\
End with one line for every file you changed, and nothing else:
file.md | why | what it rests on (files, log entries, or session#message), separated by commas
"""

_FIRST_THE_LOG = "Begin with the log entries below: what is worth keeping becomes a memory. "
_LOG = """\
The daily log since the last dream, each entry with its place. Keep what a later conversation should
know, in the entry's own words, as a file with `name`, `description`, `type` (user, feedback, project
or reference) and `source: [{example}]`; where a memory covers it already, change that one. Dates count
from the day of the entry. What you pass over is not shown again.

{entries}
"""
_FLAGS = """\
Rules noticed these; settle what the sources settle, leave the rest:

{flags}
"""
_LINE = re.compile(r"^[-*\s]*`?(?P<file>[\w./-]+\.md)`?\s*\|\s*(?P<why>[^|\n]*)(?:\|(?P<on>.*))?$")
_MOST_FLAGS = 20


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a dream may read besides its copy; `named` is the folder that was copied.

    `log` holds the entries to distil, `instructions` the person's own rules on what to keep.
    """

    transcripts: Path
    named: Path | None = None
    log: tuple[LogEntry, ...] = ()
    instructions: str = ""


# Runs one agent on the branch with the directive; returns its final text.
Ask: TypeAlias = Callable[[str, Branch], Awaitable[str]]


def directive(folder: Path, around: Surroundings, flags: Sequence[Flag] = ()) -> str:
    parts = (
        _DIRECTIVE.format(
            folder=folder,
            logs=_FIRST_THE_LOG if around.log else "",
            transcripts=around.transcripts,
            aim=POINTER_AIM,
            lines=MOST_LINES,
            bytes=MOST_BYTES,
        ),
        _log(around.log),
        _noticed(flags),
        around.instructions,
        _ACCOUNT,
    )
    return "\n".join(f"{part.strip()}\n" for part in parts if part)


def _log(entries: Sequence[LogEntry]) -> str:
    if not entries:
        return ""
    lines = "\n".join(f"- {entry.source} {quoted(entry.text)}" for entry in entries)
    return _LOG.format(example=entries[0].source, entries=lines)


def _noticed(flags: Sequence[Flag]) -> str:
    if not flags:
        return ""
    lines = (f"- {flag.kind}, {', '.join(flag.files)}: {flag.about}" for flag in flags)
    return _FLAGS.format(flags=quoted("\n".join(list(lines)[:_MOST_FLAGS])))


def parse_account(reply: str) -> dict[str, Reason]:
    """Parse why each file was changed from the last lines of a dream; skips unreadable lines."""
    found: dict[str, Reason] = {}
    for line in reply.splitlines():
        match = _LINE.match(line.strip())
        if match:
            sources = (one.strip(" `") for one in (match["on"] or "").split(","))
            found[match["file"]] = Reason(match["why"].strip(), tuple(filter(None, sources)))
    return found


def model_dreamer(
    ask: Ask, around: Surroundings, model: str, *, after: Dreamer, instead: Dreamer
) -> Dreamer:
    """A dreamer that asks a model; `after` then applies the rules.

    When the model fails, the branch is reset and the rules dream `instead`.
    """

    async def dream(branch: Branch) -> Dreamt:
        unseen = replace(branch, write=_nowhere, progress=_nowhere)
        flags = (await after(unseen)).flags
        try:
            reply = await ask(directive(around.named or branch.folder, around, flags), branch)
        except (ReverieError, TimeoutError) as error:
            branch.reset()
            done = await instead(branch)
            why = str(error) or "it took too long"
            note = f"{model} could not dream, so the rules did alone: {why}"
            return replace(done, notes=(note, *done.notes))
        account = _stamped(branch, parse_account(reply))
        done = await after(_as_it_is(branch))
        return replace(done, reasons=joined(account, done.reasons), model=model)

    return dream


def _stamped(branch: Branch, account: dict[str, Reason]) -> dict[str, Reason]:
    """Add source and date to new memories, whether or not the model did."""
    reasons = dict(account)
    for name, data in branch.read().items():
        topic = topics.parse(data, name)
        if name in branch.files or is_index(name) or topic.problem is not None:
            continue
        reason = account.get(name, Reason())
        reasons[name] = Reason(reason.why, reason.sources or topic.source)
        stamped = topic.with_(
            created=topic.created or branch.today.isoformat(),
            source=reasons[name].sources,
            origin="assistant",
            # Only a person may pin a memory.
            pinned=None,
        )
        branch.write(name, topics.render(stamped))
    return reasons


def _as_it_is(branch: Branch) -> Branch:
    """The branch as the model left it. An untouched index is repaired later."""
    files = branch.read()
    if files.get(INDEX_FILE) != branch.files.get(INDEX_FILE):
        return replace(branch, files=files)

    def write(name: str, data: bytes | None) -> None:
        if name != INDEX_FILE:
            branch.write(name, data)

    return replace(branch, files=files, write=write)


def _nowhere(*ignored: object) -> None:
    """Discard writes and progress, for a trial run of the rules."""


NAME = DREAM

# The lock may be taken over after an hour; a model that takes longer than this is replaced by rules.
MOST_SECONDS = 45 * 60.0
_LONGEST_TURN = 300


@dataclass(slots=True)
class Dreaming:
    """Starts dreams in the background. `gates` cost one stat on an ordinary turn."""

    gates: Callable[[], Due | NotDue]
    dream: Callable[[], Awaitable[Report | NotDue]]
    background: Background
    announce: Announce
    on: Callable[[str], bool]

    def after_turn(self) -> None:
        """Start a dream if it is due; on an ordinary turn this costs one stat."""
        if self.on("dream") and isinstance(self.gates(), Due):
            self.begin()

    def begin(self) -> bool:
        """Start a dream in the background; False when one is running."""
        return self.background.start(NAME, self._dream())

    async def _dream(self) -> None:
        self.announce(DreamBegan())
        try:
            report = await self.dream()
        except asyncio.CancelledError:
            self.announce(DreamEnded("", "killed", (), "it was stopped; memory is as it was"))
            raise
        if isinstance(report, NotDue):
            self.announce(DreamEnded("", "not begun", (), report.reason))
            return
        files = (file for change in report.with_standing("made") for file in change.files)
        self.announce(
            DreamEnded(
                report.id,
                report.state,
                tuple(dict.fromkeys(files)),
                report.why,
                len(report.open),
                report.cost,
                report.notes,
            )
        )


def dreamer_of(
    agents: SideAgents, around: Surroundings, model: str, *, after: Dreamer, instead: Dreamer
) -> Dreamer:
    """A dreamer that lets a side agent edit the copy of memory and nothing else.

    The rules run `after` the agent, or `instead` of it when it fails.
    """

    async def ask(directive: str, branch: Branch) -> str:
        workshop = FolderCopy(around.named, branch.folder) if around.named else None
        may = fenced(branch.folder)
        task = Task(NAME, directive, may, MOST_TURNS, workshop=workshop)

        def on_event(event: Event) -> None:
            if isinstance(event, Replied):
                branch.progress(_turn(event.reply))

        async with asyncio.timeout(MOST_SECONDS):
            return (await agents.run(task, on_event)).reply.text

    return model_dreamer(ask, around, model, after=after, instead=instead)


def _turn(reply: Reply) -> Turn:
    """One reply as a turn for the status that people watch."""
    actions = [action_of(use) for use in calls_of(reply)]
    files = (Path(action.target).name for action in actions if action.kind in ("edit", "write"))
    return Turn(shortened(reply.text, _LONGEST_TURN), len(actions), tuple(dict.fromkeys(files)))
