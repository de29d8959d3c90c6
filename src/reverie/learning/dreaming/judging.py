"""Judges the changes of a dream: each by the checks, then all together by recall probes, which ask whether every memory is still found.

The probes of a memory are its description, its distinctive terms, a question made from it and its
first cues. A
probe that finds its memory before the dream but not after it is a loss, and the changes that caused
it are left out.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from reverie.learning.dreaming import facts
from reverie.learning.dreaming.changes import Change, Files, applied, topics_of
from reverie.learning.dreaming.checks import QUESTIONS, REFUSALS, CheckContext, Objection
from reverie.learning.dreaming.facts import claim, content, is_live, parsed, values, words
from reverie.memory.directory import Scratch
from reverie.memory.format.manifest import is_index
from reverie.memory.format.revisions import version
from reverie.recall import queries
from reverie.recall.documents import MemoryDoc, Signature
from reverie.recall.index import RecallIndex
from reverie.recall.service import EmbedderChoice


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of a memory a dream may delete or archive without a person."""

    share: float = 0.10

    def room(self, memories: int) -> int:
        return int(self.share * memories)


@dataclass(frozen=True, slots=True)
class Judged:
    """The accepted changes, and the objections to the others."""

    accepted: tuple[Change, ...]
    objections: tuple[Objection, ...] = ()


def judge(changes: Iterable[Change], context: CheckContext, budget: Budget) -> Judged:
    """Check each change on its own, then all of them together."""
    accepted: list[Change] = []
    objections: list[Objection] = []
    for change in changes:
        objection = _objection(change, context)
        if objection is None:
            accepted.append(change)
        else:
            objections.append(objection)
    within, over = _within(accepted, context.before, budget)
    return consistent(Judged(tuple(within), (*objections, *over)), context)


def consistent(judged: Judged, context: CheckContext) -> Judged:
    """Leave out changes that depend on others that were left out."""
    kept, dangling = _linked(judged.accepted, context)
    return Judged(tuple(kept), (*judged.objections, *dangling))


def _objection(change: Change, context: CheckContext) -> Objection | None:
    if change.kind == "re-index":
        return None
    for check in REFUSALS:
        if (reason := check(change, context)) is not None:
            return Objection(change, reason)
    for check in QUESTIONS:
        if (reason := check(change, context)) is not None:
            return Objection(change, reason, "for a person")
    return None


def _within(
    changes: Sequence[Change], before: Files, budget: Budget
) -> tuple[list[Change], list[Objection]]:
    """Accept deletions and archivings in order, up to the budget."""
    room = budget.room(sum(1 for _ in topics_of(before)))
    kept: list[Change] = []
    over: list[Objection] = []
    for change in changes:
        cost = len(change.steps) if change.kind in {"delete", "archive"} else 0
        if cost > room:
            reason = f"more than {budget.share:.0%} would be deleted or archived"
            over.append(Objection(change, reason, "for a person"))
        else:
            room -= cost
            kept.append(change)
    return kept, over


def _linked(
    changes: Sequence[Change], context: CheckContext
) -> tuple[list[Change], list[Objection]]:
    """Leave out changes that would break links; each one left out may require another."""
    kept = list(changes)
    objections: list[Objection] = []
    while (found := _dangling(kept, context)) is not None:
        kept.remove(found.change)
        objections.append(found)
    return kept, objections


def _dangling(changes: Sequence[Change], context: CheckContext) -> Objection | None:
    gone = {step.file: change for change in changes for step in change.steps if step.after is None}
    present = applied(context.before, (c for c in changes if c.kind != "re-index"))
    by_file = {step.file: change for change in changes for step in change.steps}
    if (broken := _broken_heir(changes, present)) is not None:
        return broken
    for topic in topics_of(present):
        for target in topic.linked:
            file = f"{target.removesuffix('.md')}.md"
            if file in gone:
                return Objection(gone[file], f"{topic.file} still points to {file}")
            was = context.before.get(topic.file)
            fresh = was is None or target not in parsed(was, topic.file).linked
            if fresh and topic.file in by_file and not _resolves(file, target, present):
                return Objection(by_file[topic.file], f"{topic.file} would point to nothing")
    return None


def _broken_heir(changes: Sequence[Change], present: Files) -> Objection | None:
    for change in changes:
        for heir, data in change.relies_on:
            if present.get(heir) != data:
                return Objection(change, f"it relies on a change to {heir} that is not made")
    return None


def _resolves(file: str, target: str, present: Files) -> bool:
    return file in present or any(topic.name == target for topic in topics_of(present))


if TYPE_CHECKING:
    from reverie.ports import Clock, Embedder


# A memory counts as found when it is among this many answers.
ANSWERS = 10
# Up to this many memories all are probed; beyond, only those that a change can affect.
ALL_UP_TO = 2_000

_TERMS = 8
# How many cues of a memory must still find it.
_CUES = 3
# A changed memory with this many of a probe's words could displace the expected answer.
_REACH = 0.75

Search: TypeAlias = Callable[[str, int], Sequence[str]]


class Prober(Protocol):
    """Recall over the memory before and after a dream."""

    def before(self) -> Search:
        """Search the memory as it was before the dream."""
        ...

    def after(self, files: Mapping[str, bytes | None]) -> Search:
        """Search it with these files changed (None: removed), starting from `before` each time."""
        ...


@dataclass(frozen=True, slots=True)
class Loss:
    """A probe that no longer finds its memory, and the changes that may be the cause."""

    file: str
    probe: str
    causes: tuple[str, ...]


@lru_cache(maxsize=16_384)
def probes_of(data: bytes, file: str) -> tuple[str, ...]:
    """Questions that should find a memory, without blanks and duplicates."""
    topic = parsed(data, file)
    text = claim(data, file)
    marks = sorted(one.partition(":")[2] or one for one in values(text))
    rare = sorted(words(text), key=lambda word: (-len(word), word))
    terms = " ".join([*marks[:_TERMS], *rare[: max(0, _TERMS - len(marks))]])
    subject = [word for word in topic.description.split() if word.casefold() not in values(text)]
    question = f"what do we know about {' '.join(subject[:14])}?" if subject else ""
    asked = (topic.description, terms, question, *topic.cues[:_CUES])
    return tuple(dict.fromkeys(one for one in asked if one.strip()))


def probed(
    judged: Judged, before: Files, today: date, prober: Prober, *, everything: bool | None = None
) -> Judged:
    """Leave out changes that lose a probe, in rounds, until no probe is lost."""
    accepted = list(judged.accepted)
    objections = list(judged.objections)
    while losses := _losses(accepted, before, today, prober, everything=everything):
        for loss in losses:
            for change in [change for change in accepted if change.id in loss.causes]:
                accepted.remove(change)
                reason = f"{loss.file} would no longer be found by “{loss.probe[:80]}”"
                objections.append(Objection(change, reason))
    return Judged(tuple(accepted), tuple(objections))


def _losses(
    changes: Sequence[Change],
    before: Files,
    today: date,
    prober: Prober,
    *,
    everything: bool | None,
) -> list[Loss]:
    moved = [change for change in changes if change.kind != "re-index"]
    if not moved:
        return []
    after = applied(before, moved)
    by_file = {file: change for change in moved for file in change.files}
    search = prober.after({file: after.get(file) for file in by_file})
    asked = _asked(before, after, by_file, everything=everything)
    round_ = _Round(before, after, by_file, search, prober.before(), today)
    found = (round_.loss(file) for file in asked)
    return [loss for loss in found if loss is not None]


def _asked(
    before: Files, after: Files, by_file: Mapping[str, Change], *, everything: bool | None
) -> Iterable[str]:
    names = [topic.file for topic in topics_of(before)]
    if everything or (everything is None and len(names) <= ALL_UP_TO):
        return names
    reach = [frozenset(content(claim(after[file], file))) for file in by_file if file in after]
    return [name for name in names if name in by_file or _reached(before[name], name, reach)]


def _reached(data: bytes, file: str, reach: Sequence[frozenset[str]]) -> bool:
    for probe in probes_of(data, file):
        asked = frozenset(content(probe))
        if any(len(asked & touched) >= _REACH * len(asked) for touched in reach):
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Round:
    before: Files
    after: Files
    by_file: Mapping[str, Change]
    search: Search
    search_before: Search
    today: date

    def loss(self, file: str) -> Loss | None:
        """The first lost probe of a memory; supersession and expiry are not losses."""
        if not is_live(parsed(self.before[file], file), self.today):
            return None
        expected = self._expected(file)
        if not expected:
            return None
        for probe in probes_of(self.before[file], file):
            if probe in self._taken_out(file):
                continue
            answers = self.search(probe, ANSWERS)
            if expected.isdisjoint(answers) and file in self.search_before(probe, ANSWERS):
                return Loss(file, probe, self._causes(file, answers))
        return None

    def _taken_out(self, file: str) -> set[str]:
        """Cues that a memory no longer has; it need not be found by them."""
        held = self.after.get(file)
        kept = self.before[file] if held is None else held
        return {*parsed(self.before[file], file).cues} - {*parsed(kept, file).cues}

    def _expected(self, file: str) -> set[str]:
        """Where the fact must be found: in its file, or in the files it was merged into."""
        change = self.by_file.get(file)
        held = self.after.get(file)
        if held is not None:
            return {file} if is_live(parsed(held, file), self.today) else set()
        if change is None:
            return {file}
        heirs = {*change.files, *(heir for heir, _ in change.relies_on)}
        return {heir for heir in heirs if heir in self.after}

    def _causes(self, file: str, answers: Sequence[str]) -> tuple[str, ...]:
        own = self.by_file.get(file)
        if own is not None:
            return (own.id,)
        above = dict.fromkeys(self.by_file[a].id for a in answers if a in self.by_file)
        # No change explains the loss, so no change of this dream is trusted.
        return tuple(above or dict.fromkeys(change.id for change in self.by_file.values()))


class RecallProber:
    """Searches temporary indexes of snapshots, independent of the live index."""

    def __init__(
        self, scratch: Scratch, clock: Clock, folder: Path, embedder: Embedder | None
    ) -> None:
        self._scratch = scratch
        self._now = clock.now()
        self._folder = folder
        self._embedder = embedder
        self._files: Mapping[str, bytes] = {}
        self._open: list[RecallIndex] = []
        self._first: Search | None = None

    def before(self) -> Search:
        if self._first is None:
            self._files = self._scratch.opened
            self._first = self._searching(self._indexed(self._path("before"), self._files))
        return self._first

    def after(self, files: Mapping[str, bytes | None]) -> Search:
        self.before()
        path = self._path(f"after-{len(self._open)}")
        with (
            closing(sqlite3.connect(self._path("before"))) as old,
            closing(sqlite3.connect(path)) as new,
        ):
            old.backup(new)
        changed = {**self._files, **files}
        present = {name: data for name, data in changed.items() if data is not None}
        return self._searching(self._indexed(path, present))

    def close(self) -> None:
        for index in self._open:
            index.close()

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.sqlite"

    def _indexed(self, path: Path, files: Mapping[str, bytes]) -> RecallIndex:
        index = RecallIndex.open(path, self._embedder)
        self._open.append(index)
        listing = {name: _signature(data) for name, data in files.items() if not is_index(name)}
        index.refresh(
            listing, lambda name: MemoryDoc.of(facts.parsed(files[name], name), listing[name])
        )
        return index

    def _searching(self, index: RecallIndex) -> Search:
        def search(question: str, limit: int) -> Sequence[str]:
            found = index.search(queries.plain(question), now=self._now, limit=limit)
            return [hit.key for hit in found.hits]

        return search


@lru_cache(maxsize=16_384)
def _signature(data: bytes) -> Signature:
    return (0, len(data), int(version(data)[:15], 16))


@contextmanager
def open_prober(
    scratch: Scratch, clock: Clock, embedder_choice: EmbedderChoice
) -> Iterator[RecallProber]:
    """Open the prober of one dream; its indexes are deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        prober = RecallProber(scratch, clock, Path(folder), embedder_choice.embedder)
        try:
            yield prober
        finally:
            prober.close()
            embedder_choice.close()
