"""Merges a dream's changes into the live memory, three-way per file; the live file wins. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from reverie.learning.dreaming.changes import Change, Files, topics_of
from reverie.learning.dreaming.facts import archived, parsed
from reverie.memory.changes.pointers import refreshed, unpointed
from reverie.memory.format import index as indexes
from reverie.memory.format.index import MOST_LINES, Index, pointer_of, pointer_to, rebuilt
from reverie.memory.format.manifest import INDEX_FILE, entry
from reverie.memory.format.topic import Topic

Content: TypeAlias = bytes | None
Current: TypeAlias = Callable[[str], Content]


@dataclass(frozen=True, slots=True)
class Merge:
    """The new live files, the changes made, and those that wait because the live file changed."""

    files: dict[str, Content]
    made: tuple[Change, ...] = ()
    waiting: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Reindexed:
    """The index that a dream saw, and what it made of it."""

    before: bytes
    after: Index


def merged(changes: Sequence[Change], current: Current, reindexed: Reindexed | None) -> Merge:
    """Make all changes that the live files allow. A live index that changed is only updated by line."""
    moved = [change for change in changes if change.kind != "re-index"]
    waiting = [change for change in moved if not _untouched(change, current)]
    # A change waits if it relies on one that waits.
    while more := [c for c in moved if c not in waiting and _leans_on(c, waiting)]:
        waiting += more
    made = tuple(change for change in moved if change not in waiting)
    files = {step.file: step.after for change in made for step in change.steps}
    live = current(INDEX_FILE) or b""
    if reindexed is not None and live == reindexed.before and not waiting:
        made_index = indexes.render(reindexed.after)
    else:
        made_index = indexes.render(followed(indexes.parse(live), made))
    if made_index != live:
        files[INDEX_FILE] = made_index
    return Merge(files, made, tuple(waiting))


def _untouched(change: Change, current: Current) -> bool:
    """Whether the live files are as the dream saw them, or already as it wants them."""
    steps = all(current(step.file) in (step.before, step.after) for step in change.steps)
    return steps and all(current(heir) == data for heir, data in change.relies_on)


def _leans_on(change: Change, waiting: Sequence[Change]) -> bool:
    held = {file for other in waiting for file in other.files}
    return any(heir in held for heir, _ in change.relies_on)


LONGEST_POINTER = 200
_EPOCH = datetime.fromtimestamp(0, UTC)


def listed(topic: Topic) -> bool:
    """Whether a memory belongs in the index."""
    return topic.superseded_by is None and archived(topic) is None


def settled(
    before: Index, wanted: Index, files: Files, recalled: Mapping[str, int] | None = None
) -> tuple[Index, str | None]:
    """The index for these files, and why the dream's own index was rejected, if it was."""
    if wanted == before:
        return mended(before, files, recalled), None
    problem = problem_of(wanted, before, files)
    return (wanted, None) if problem is None else (mended(before, files, recalled), problem)


def problem_of(wanted: Index, before: Index, files: Files) -> str | None:
    """The problem of an index that a dream wrote, or None."""
    belonging = {topic.file for topic in topics_of(files) if listed(topic)}
    pointers = [pointer.file for pointer in wanted.pointers]
    if stray := next((file for file in pointers if file not in belonging), None):
        return f"it points to {stray}, which is not there or does not hold any more"
    if not wanted.fits:
        return f"it is over its limit of {indexes.capped(wanted).limit}"
    unlisted = belonging - set(pointers)
    if len(unlisted) != wanted.more:
        return f"it leaves out {len(unlisted) - wanted.more} memories without a word"
    prose = [line.strip() for line in before.lines if _prose(line)]
    kept = {line.strip() for line in wanted.lines}
    if lost := next((line for line in prose if line not in kept), None):
        return f"it drops a line that a person wrote: {lost[:80]!r}"
    return None


def _prose(line: str) -> bool:
    return bool(line.strip()) and pointer_of(line) is None and not Index((line,)).more


def mended(index: Index, files: Files, recalled: Mapping[str, int] | None = None) -> Index:
    """Remove dead pointers, add missing ones, shorten long ones; change as few lines as possible."""
    belonging = {topic.file: topic for topic in topics_of(files) if listed(topic)}
    made = Index(tuple(line for line in index.lines if not Index((line,)).more))
    for pointer in index.pointers:
        if pointer.file not in belonging:
            made = made.without(pointer.file)
        elif len(pointer.render()) > LONGEST_POINTER:
            made = made.with_pointer(_short(belonging[pointer.file], files))
    known = {pointer.file for pointer in made.pointers}
    missing = [file for file in sorted(belonging) if file not in known]
    if len(made.lines) + len(missing) < MOST_LINES:
        for file in missing:
            topic = belonging[file]
            made = made.with_pointer(pointer_to(topic.name, file, topic.description))
        if made.fits:
            return made
    entries = (entry(file, files[file], _moment(topic)) for file, topic in belonging.items())
    return rebuilt(index, entries, recalled)


def _short(topic: Topic, files: Files) -> indexes.Pointer:
    made = rebuilt(Index(), [entry(topic.file, files[topic.file], _EPOCH)])
    return made.pointers[0]


def _moment(topic: Topic) -> datetime:
    try:
        found = datetime.fromisoformat(topic.updated or topic.created or "")
    except ValueError:
        return _EPOCH
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def followed(index: Index, changes: Iterable[Change]) -> Index:
    """Apply the changes to an index that was edited meanwhile, line by line."""
    for change in changes:
        for step in change.steps:
            now = None if step.after is None else parsed(step.after, step.file)
            if now is None or not listed(now):
                index = unpointed(index, step.file)
            else:
                was = now if step.before is None else parsed(step.before, step.file)
                index = refreshed(index, was, now)
    return index
