"""Typed changes of a dream, from the memory before and after it, and their three-way merge into the live memory. Pure.

Files that depend on each other (a memory and the one it was merged into) form one change, which is
accepted or left out as a whole, so that no half of it can be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, TypeAlias, get_args

from reverie.learning.dreaming.facts import (
    archived,
    body,
    claim,
    missing,
    parsed,
    share_kept,
    unkept,
)
from reverie.memory.format import index as indexes
from reverie.memory.format.index import (
    MOST_LINES,
    Index,
    pointer_of,
    pointer_to,
    rebuilt,
    refreshed,
    unpointed,
)
from reverie.memory.format.manifest import INDEX_FILE, entry, is_index
from reverie.memory.format.topic import Topic

Kind = Literal["merge", "supersede", "edit", "archive", "delete", "new", "re-index"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Files: TypeAlias = Mapping[str, bytes]

# The share of a memory's words that another must have to be the one it was merged into.
_HEIR_SHARE = 0.6
_NO_REASON = "no reason was given"
# Why rules gave a memory cues; reports of dreams know by it which cues are theirs.
CUES_GIVEN = "it was given words people may ask by"

# By file, the cues that rules gave it.
RuledCues: TypeAlias = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a dream changed a file, and its sources (messages, logs, other memories)."""

    why: str = ""
    sources: tuple[str, ...] = ()


Reasons: TypeAlias = Mapping[str, Reason]


@dataclass(frozen=True, slots=True)
class FileStep:
    """One file of a change; None means that the file does not exist."""

    file: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class Change:
    """One change by a dream. `relies_on` names untouched files that must stay for it to lose nothing."""

    id: str
    kind: Kind
    steps: tuple[FileStep, ...]
    reason: str
    sources: tuple[str, ...] = ()
    relies_on: tuple[tuple[str, bytes], ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(step.file for step in self.steps)

    @property
    def title(self) -> str:
        return f"{self.kind} {', '.join(self.files)}"


def ruled_cues(changes: Iterable[Change]) -> RuledCues:
    """The cues that rules wrote in accepted changes: the reason says so, and there were none before."""
    found: dict[str, frozenset[str]] = {}
    for change in changes:
        for step in change.steps if CUES_GIVEN in change.reason else ():
            was = () if step.before is None else parsed(step.before, step.file).cues
            if step.after is not None and not was:
                cues = frozenset(parsed(step.after, step.file).cues)
                found[step.file] = found.get(step.file, frozenset()) | cues
    return found


@dataclass(slots=True)
class _Family:
    """Files that must change together, and why."""

    files: set[str] = field(default_factory=set)
    heirs: set[str] = field(default_factory=set)
    merged: bool = False
    superseded: bool = False


def typed(before: Files, after: Files, reasons: Reasons | None = None) -> tuple[Change, ...]:
    """Return every difference between two states of a memory as changes with deterministic ids."""
    given = reasons or {}
    touched = sorted(
        name for name in {*before, *after} if before.get(name) != after.get(name) and _memory(name)
    )
    families = _families(touched, before, after)
    made = [_change(family, before, after, given) for family in families]
    if before.get(INDEX_FILE, b"") != after.get(INDEX_FILE, b""):
        step = FileStep(INDEX_FILE, before.get(INDEX_FILE), after.get(INDEX_FILE))
        why = given.get(INDEX_FILE, Reason("the index follows the memories"))
        made.append(Change("", "re-index", (step,), why.why, why.sources))
    made.sort(key=lambda change: (KINDS.index(change.kind), change.files))
    return tuple(
        Change(f"c{n}", c.kind, c.steps, c.reason, c.sources, c.relies_on)
        for n, c in enumerate(made, 1)
    )


def _memory(name: str) -> bool:
    return not is_index(name)


def _families(touched: Iterable[str], before: Files, after: Files) -> list[_Family]:
    families: dict[str, _Family] = {name: _Family({name}) for name in touched}
    inherits = _inheritance(after)
    for name in list(families):
        heir, merged = _heir(name, before, after, inherits)
        if heir is None:
            continue
        family = families[name]
        family.heirs.add(heir)
        family.merged |= merged
        family.superseded |= not merged
        other = families.get(heir)
        if other is not None and other is not family:
            _join(families, family, other)
    distinct = {id(family): family for family in families.values()}
    return list(distinct.values())


def _join(families: dict[str, _Family], one: _Family, other: _Family) -> None:
    one.files |= other.files
    one.heirs |= other.heirs
    one.merged |= other.merged
    one.superseded |= other.superseded
    for name in other.files:
        families[name] = one


def _inheritance(after: Files) -> dict[str, str]:
    """Maps each superseded memory to the one that names it in `supersedes`."""
    return {
        old: name
        for name, data in after.items()
        if _memory(name)
        for old in parsed(data, name).supersedes
    }


def _heir(
    name: str, before: Files, after: Files, inherits: Mapping[str, str]
) -> tuple[str | None, bool]:
    """The memory that took over a fact, and whether the old file was merged into it."""
    if name not in before:
        return None, False
    if name not in after:
        return inherits.get(name) or _covering(name, before[name], after), True
    successor = parsed(after[name], name).superseded_by
    if successor is None or successor == parsed(before[name], name).superseded_by:
        return None, False
    return successor, False


def _covering(name: str, data: bytes, after: Files) -> str | None:
    """A valid memory that has every value and most words of a deleted one."""
    old_text = claim(data, name)
    until = parsed(data, name).valid_until
    best: tuple[tuple[bool, bool, float], str] | None = None
    for topic in topics_of(after):
        if topic.superseded_by is not None or archived(topic) is not None:
            continue
        text = claim(after[topic.file], topic.file)
        share = share_kept(old_text, text)
        if share < _HEIR_SHARE or missing(old_text, text):
            continue
        rank = (unkept(body(data, name), text) is None, topic.valid_until == until, share)
        if best is None or rank > best[0]:
            best = (rank, topic.file)
    return best[1] if best else None


def _change(family: _Family, before: Files, after: Files, reasons: Reasons) -> Change:
    names = sorted(family.files)
    steps = tuple(FileStep(name, before.get(name), after.get(name)) for name in names)
    given = [reasons[name] for name in names if name in reasons]
    why = "; ".join(dict.fromkeys(one.why for one in given if one.why)) or _NO_REASON
    sources = tuple(dict.fromkeys(source for one in given for source in one.sources))
    quiet = sorted(heir for heir in family.heirs if heir not in family.files and heir in after)
    relies_on = tuple((heir, after[heir]) for heir in quiet)
    return Change("", _kind(family, steps), steps, why, sources, relies_on)


def _kind(family: _Family, steps: tuple[FileStep, ...]) -> Kind:
    if family.merged and family.heirs:
        return "merge"
    if family.superseded:
        return "supersede"
    step = steps[0]
    if step.after is None:
        return "delete"
    if step.before is None:
        return "new"
    was, now = parsed(step.before, step.file), parsed(step.after, step.file)
    return "archive" if archived(now) and not archived(was) else "edit"


def applied(before: Files, changes: Iterable[Change]) -> dict[str, bytes]:
    """The files of a memory with these changes applied."""
    files = dict(before)
    for change in changes:
        for step in change.steps:
            if step.after is None:
                files.pop(step.file, None)
            else:
                files[step.file] = step.after
    return files


def topics_of(files: Files) -> Iterator[Topic]:
    """Every memory of a state, by name."""
    for name in sorted(files):
        if _memory(name):
            yield parsed(files[name], name)


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
    """The index before a dream, and the one it wrote."""

    before: bytes
    after: Index


def merged(changes: Sequence[Change], current: Current, reindexed: Reindexed | None) -> Merge:
    """Make all changes that the live files allow. A live index that changed is only updated by line."""
    moved = [change for change in changes if change.kind != "re-index"]
    waiting = [change for change in moved if not _untouched(change, current)]
    # A change waits if it relies on one that waits.
    while more := [c for c in moved if c not in waiting and _relies_on(c, waiting)]:
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
    """Whether the live files are as the dream saw them, or already as it would make them."""
    steps = all(current(step.file) in (step.before, step.after) for step in change.steps)
    return steps and all(current(heir) == data for heir, data in change.relies_on)


def _relies_on(change: Change, waiting: Sequence[Change]) -> bool:
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
        return f"it points to {stray}, which does not exist or is no longer valid"
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
