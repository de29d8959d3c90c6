"""Recall for one session: from a message to the memories attached to it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from reverie.core.messages import Attachment, Message, Text, new_message
from reverie.core.request import Head, Options, Request
from reverie.errors import ReverieError
from reverie.events import Announce, TroubleNoted, no_listener
from reverie.memory.format import attachment, manifest
from reverie.memory.format import attachment as attach
from reverie.memory.format.attachment import Recalled
from reverie.memory.format.manifest import ManifestEntry
from reverie.memory.format.taxonomy import split
from reverie.ports import Clock, Model, TopicReader, complete
from reverie.recall import queries
from reverie.recall.attachment import (
    MOST_FILES,
    MOST_SESSION_BYTES,
    Skipped,
    Surfaced,
    due,
    recalled,
)
from reverie.recall.usage import CountUses, Use, uncounted, used
from reverie.text import timewords

MOST_OUTPUT = 256

SYSTEM = """\
You pick notes for an assistant that is about to answer a message. You see the message and a list \
of saved notes, one a line: its kind, file name, when it was last changed, and what it says in a \
sentence. You do not answer the message.

Pick a note only if the assistant would answer worse without it. A note on the same subject that \
changes nothing is left out. Most messages need none; an empty list is a good answer. Never more \
than five.

Some tools are in use right now. The assistant already knows how they work, so leave out notes that \
only describe them. Keep notes that warn of trouble with them: now is when a warning counts.

Answer with JSON and nothing else: {"selected_memories": ["file.md", …]}, with file names exactly as \
they stand in the list.
"""

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"selected_memories": {"type": "array", "items": {"type": "string"}}},
        "required": ["selected_memories"],
        "additionalProperties": False,
    }
)


def selection_request(
    model: Model, question: str, shortlist: Sequence[ManifestEntry], tools: Sequence[str]
) -> Request:
    """A small separate request that contains only the message, nothing else of the conversation."""
    used = f"\n\nTools in use: {', '.join(tools)}" if tools else ""
    text = f"Message:\n{question}{used}\n\nNotes:\n{manifest.render(shortlist)}"
    can = model.capabilities
    schema = SCHEMA if can.json_schema else None
    effort = "low" if can.effort else None
    options = Options(max_tokens=MOST_OUTPUT, output_schema=schema, effort=effort)
    head = Head(model.name, (Text(SYSTEM),), (), options)
    return Request(head, (new_message("user", Text(text)),))


def parse_selection(reply: str, shortlist: Sequence[ManifestEntry], most: int) -> tuple[str, ...]:
    """The chosen names that exist, each once, in the given order; ValueError for any other answer."""
    data = json.loads(reply)
    chosen = data.get("selected_memories") if isinstance(data, dict) else None
    if not isinstance(chosen, list):
        raise ValueError("the answer has no list of selected_memories")
    known = {entry.file for entry in shortlist}
    real = [name for name in chosen if isinstance(name, str) and name in known]
    return tuple(dict.fromkeys(real))[:most]


SHORTLIST = 200

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A memory and how well it fits; `sure` if the score alone would show it."""

    file: str
    score: float
    sure: bool


class Ranker(Protocol):
    """The part of the hybrid index that the pipeline needs."""

    def rank(self, question: str, entries: Sequence[ManifestEntry] | None) -> Sequence[Ranked]:
        """The memories that fit, best first, among these entries or all."""
        ...


@dataclass(frozen=True, slots=True)
class RecallOutcome:
    """What was found for one message, and how."""

    attachment: Attachment | None = None
    files: tuple[str, ...] = ()
    how: str = ""
    left_out: tuple[tuple[str, str], ...] = ()


NOTHING_NEW = RecallOutcome(how="there is nothing it was not given already")


class Work(Protocol):
    """Runs work that reads files, off the event loop."""

    async def __call__(self, work: Callable[[], T]) -> T: ...


async def in_thread(work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work)


@dataclass(slots=True)
class Recall:
    """Recall for one session."""

    store: TopicReader
    ranker: Ranker
    clock: Clock
    # The path of a memory, by its name in the store.
    path_of: Callable[[str], Path]
    project: Path
    selector: Model | None = None
    timeout: float = 10.0
    announce: Announce = no_listener
    count: CountUses = uncounted
    surfaced: Surfaced = field(default_factory=Surfaced)
    # The most characters that the memories for one message may have, if a client sets a limit.
    room: int | None = None
    work: Work = in_thread
    # Notes on the memory as a whole, such as the age of a copy.
    caveats: Callable[[], tuple[str, ...]] = tuple
    # When a thread started on the last message; None while it is queued.
    started_at: float | None = None
    # Memories that were shown but not used yet.
    _shown: dict[str, str] = field(default_factory=dict)
    # The person's earlier words.
    _before: str = ""

    async def recollect(
        self,
        message: Message,
        *,
        enabled: bool = True,
        seen: frozenset[str] = frozenset(),
        tools: Sequence[str] = (),
    ) -> RecallOutcome:
        """Memories for a message. Run this as a task beside the model's stream; it can be cancelled at any time.

        `seen` are memories the agent has read with its own tools, `tools` the ones it used
        recently.
        """
        decision = due(message, self.surfaced, enabled=enabled)
        if isinstance(decision, Skipped):
            return RecallOutcome(how=decision.reason)
        question = decision.question
        if self._before and queries.follow_up(question):
            question = f"{self._before} {question}"
        self._before = decision.question
        given = self.surfaced.files | seen
        self.started_at = None
        if self.selector is None:
            # A single piece of work: several would each queue behind other conversations.
            return await self.work(partial(self._recollected, question, given))
        fresh, ranked = await self.work(partial(self._ranked, question, given))
        if not fresh:
            return NOTHING_NEW
        shortlist = shortlisted(fresh, ranked)
        chosen, how = await self._choose(self.selector, question, shortlist, ranked, tools)
        return await self.work(partial(self._shown_of, question, chosen, how, shortlist))

    def _recollected(self, question: str, given: Set[str]) -> RecallOutcome:
        """The memories chosen by score alone."""
        fresh, ranked = self._ranked(question, given)
        if not fresh:
            return NOTHING_NEW
        shortlist = shortlisted(fresh, ranked)
        chosen, how = self._chosen_by_score(question, shortlist, ranked)
        return self._shown_of(question, chosen, how, shortlist)

    def _shown_of(
        self, question: str, chosen: tuple[str, ...], how: str, shortlist: Sequence[ManifestEntry]
    ) -> RecallOutcome:
        chosen, over = self._holding(question, chosen, shortlist)
        found = replace(self._surface(self._read(chosen), how), left_out=over)
        self._count(found.files, "recalled")
        return found

    async def show(self, files: Sequence[str], how: str) -> RecallOutcome:
        """Show memories chosen by what they mention, within the same caps."""
        if self.surfaced.bytes >= MOST_SESSION_BYTES:
            return RecallOutcome(
                how=f"this session was given {self.surfaced.bytes:,} bytes already"
            )
        chosen = [file for file in files if file not in self.surfaced.files][:MOST_FILES]
        read = await asyncio.to_thread(self._read, chosen)
        found = self._surface(read, how)
        await asyncio.to_thread(self._count, found.files, "recalled")
        return found

    def _ranked(
        self, question: str, given: Set[str]
    ) -> tuple[list[ManifestEntry], Sequence[Ranked]]:
        """The memories not given yet, with their scores; in a large directory, only those that fit."""
        self.started_at = time.monotonic()
        none: Sequence[Ranked] = ()
        nothing: Sequence[ManifestEntry] = ()
        large = self._try("scan", lambda: self.store.large, otherwise=False)
        if large:
            ranked = self._try("rank", lambda: self.ranker.rank(question, None), none)
            files = [one.file for one in ranked]
            # The newest ones are for a selector to choose from; they have no score.
            newest = SHORTLIST if self.selector is not None else 0
            entries = self._try("scan", lambda: self.store.some(files, newest), nothing)
        else:
            entries = self._try("scan", self.store.entries, nothing)
        fresh = [e for e in entries if not e.archived and e.file not in given]
        if large:
            return fresh, [one for one in ranked if one.file not in given]
        if not fresh:
            return [], none
        return fresh, self._try("rank", lambda: self.ranker.rank(question, fresh), none)

    def replied(self, reply: str, said: str = "") -> tuple[str, ...]:
        """Count the shown memories that a reply used, each once.

        `said` is the conversation before the memories were shown: repeating it proves nothing.
        """
        helped = used(reply, self._shown, said)
        for file in helped:
            del self._shown[file]
        self._count(helped, "used")
        return helped

    def _count(self, files: tuple[str, ...], use: Use) -> None:
        if files:
            self._try("uses", partial(self.count, files, use), None)

    async def _choose(
        self,
        selector: Model,
        question: str,
        shortlist: Sequence[ManifestEntry],
        ranked: Sequence[Ranked],
        tools: Sequence[str],
    ) -> tuple[tuple[str, ...], str]:
        try:
            request = selection_request(selector, question, shortlist, tools)
            async with asyncio.timeout(self.timeout):
                reply = await complete(selector, request)
            return parse_selection(reply.text, shortlist, MOST_FILES), "chosen by the selector"
        except (ReverieError, ValueError, TimeoutError) as error:
            self.announce(TroubleNoted("recall.selector", f"{error!r}; the score decides"))
        return self._chosen_by_score(question, shortlist, ranked)

    def _chosen_by_score(
        self, question: str, shortlist: Sequence[ManifestEntry], ranked: Sequence[Ranked]
    ) -> tuple[tuple[str, ...], str]:
        known = {entry.file: entry for entry in shortlist}
        sure = [found.file for found in ranked if found.sure and found.file in known]
        # A score does not show that a memory was replaced: a question about the past gets both, any
        # other only the replacement.
        if timewords.about_former(question):
            sure = [one for file in sure for one in (*_former(file, known), file)]
        else:
            current = (_current(known[file], known) for file in sure)
            sure = [file for file in current if file is not None]
            # Valid memories take the places first.
            now = datetime.fromtimestamp(self.clock.now(), UTC)
            sure.sort(key=lambda file: attachment.expired(known[file].valid_until, now))
        sure = list(dict.fromkeys(sure))
        return tuple(sure[:MOST_FILES]), "chosen by score"

    def _holding(
        self, question: str, chosen: tuple[str, ...], shortlist: Sequence[ManifestEntry]
    ) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
        """Drop expired memories if a valid one was chosen; a question about the past gets all."""
        now = self.clock.now()
        moment = datetime.fromtimestamp(now, UTC)
        until = {entry.file: entry.valid_until for entry in shortlist}
        over = [file for file in chosen if attachment.expired(until[file], moment)]
        past = timewords.about_former(question) or timewords.spans(question, now)
        if len(over) in {0, len(chosen)} or past:
            return chosen, ()
        kept = tuple(file for file in chosen if file not in over)
        return kept, tuple((file, f"it held until {until[file]}") for file in over)

    def _read(self, files: Sequence[str]) -> list[Recalled]:
        found = (self._try("read", partial(self.store.read, file), None) for file in files)
        now = datetime.fromtimestamp(self.clock.now(), UTC)
        read = [
            recalled(stored.topic, self.path_of(stored.topic.file), self.project, now)
            for stored in found
            if stored is not None
        ]
        nothing: tuple[str, ...] = ()
        if read and (told := self._try("read", self.caveats, nothing)):
            read[0] = replace(read[0], notes=(*read[0].notes, *told))
        return read

    def _surface(self, read: Sequence[Recalled], how: str) -> RecallOutcome:
        now = datetime.fromtimestamp(self.clock.now(), UTC)
        if self.room is not None:
            read = attach.fitting(read, now, self.room)
        block = attach.attachment(read, now)
        if block is None:
            return RecallOutcome(how=how)
        files = tuple(memory.file for memory in read)
        self.surfaced.add(files, len(block.text.encode("utf-8", "surrogatepass")))
        self._shown |= {memory.file: memory.text for memory in read}
        return RecallOutcome(block, files, how)

    def _try(self, what: str, work: Callable[[], T], otherwise: T) -> T:
        """Announce a failure and use the fallback."""
        try:
            return work()
        except (ReverieError, OSError, ValueError) as error:
            told = str(error) if isinstance(error, ReverieError) else repr(error)
            self.announce(TroubleNoted(f"recall.{what}", told))
            return otherwise


def _former(file: str, known: Mapping[str, ManifestEntry]) -> list[str]:
    """The memories that this one replaced."""
    return [entry.file for entry in known.values() if _successor(entry, known) == file]


def _successor(entry: ManifestEntry, known: Mapping[str, ManifestEntry]) -> str | None:
    """The memory that replaced this one, if it exists."""
    if not entry.superseded:
        return None
    # A file names its successor without the scope they share.
    scope = entry.file[: len(entry.file) - len(split(entry.file)[1])]
    names = (f"{scope}{entry.superseded_by}", entry.superseded_by)
    return next((name for name in names if name in known), None)


def _current(entry: ManifestEntry, known: Mapping[str, ManifestEntry]) -> str | None:
    """The current memory at the end of a chain of replacements; None if it does not exist."""
    seen: set[str] = set()
    while entry.superseded and entry.file not in seen:
        seen.add(entry.file)
        newer = _successor(entry, known)
        if newer is None:
            return None
        entry = known[newer]
    return None if entry.superseded else entry.file


def shortlisted(entries: Sequence[ManifestEntry], ranked: Sequence[Ranked]) -> list[ManifestEntry]:
    """All entries up to 200; beyond that, the best ranked, then the newest."""
    if len(entries) <= SHORTLIST:
        return list(entries)
    by_file = {entry.file: entry for entry in entries}
    best = [by_file[found.file] for found in ranked if found.file in by_file][:SHORTLIST]
    names = {entry.file for entry in best}
    rest = (entry for entry in entries if entry.file not in names)
    return [*best, *list(rest)[: SHORTLIST - len(best)]]
