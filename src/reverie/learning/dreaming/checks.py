"""Checks that a dream's change must pass before it may reach the live memory.

A change that would lose something is refused. One that rewords, adds or drops a statement without a
provable loss is left to a person. Both are reported with the reason. Pure, except for the scrubber.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal, TypeAlias

from reverie.learning.dreaming.changes import Change, Files, FileStep, RuledCues
from reverie.learning.dreaming.facts import (
    ARCHIVED,
    archived,
    body,
    claim,
    content,
    day_of,
    heading,
    is_live,
    missing,
    new_statements,
    parsed,
    statements,
    summary,
    unkept,
)
from reverie.learning.extraction.reading import Utterance
from reverie.learning.extraction.support import Supported, support
from reverie.memory.format.topic import Topic
from reverie.ports import Scrubber

Fate = Literal["refused", "for a person"]

# Keys a dream may change; every other line of the frontmatter stays as it is.
_ITS_KEYS = frozenset(
    {"name", "description", "updated", "source", "supersedes", "superseded_by", "valid_until"}
    | {"cues", "entities", "links", ARCHIVED}
)


_GROWING = ("source", "supersedes", "cues", "entities", "links")


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a change is not made."""

    change: Change
    reason: str
    fate: Fate = "refused"


Said: TypeAlias = Callable[[str], Sequence[Utterance]]


def nothing_keeps_out(text: str) -> str | None:
    """The default for people without a learning.md: no text is kept out."""
    return None


@dataclass(frozen=True, slots=True)
class CheckContext:
    """The input of all checks."""

    before: Files
    after: Files
    today: date
    scrubber: Scrubber
    # Looks up what the person said at a source, () when that is impossible; None trusts all sources.
    said: Said | None = None
    # Returns the phrase in the person's learning.md that keeps a text out of memory.
    kept_out: Callable[[str], str | None] = nothing_keeps_out
    # The cues that earlier dreams gave each file by rules; only these may go.
    ruled: RuledCues = field(default_factory=dict)

    def lives(self, data: bytes, file: str) -> bool:
        return is_live(parsed(data, file), self.today)


# Returns a reason against a change, or None; a person can overrule the second kind.
Check: TypeAlias = Callable[[Change, CheckContext], str | None]


# --- what a dream may never do ---


def _pinned(change: Change, context: CheckContext) -> str | None:
    for step in change.steps:
        if step.before is not None and parsed(step.before, step.file).pinned:
            return f"{step.file} is pinned"
    return None


def _malformed(change: Change, context: CheckContext) -> str | None:
    for step in change.steps:
        if step.before is not None and (was := parsed(step.before, step.file).problem):
            return f"{step.file} has frontmatter that only a person may mend: {was}"
        if step.after is None:
            continue
        topic = parsed(step.after, step.file)
        if problem := topic.problem or _warning(topic, step):
            return f"{step.file}: {problem}"
        if _is_whole(topic) < (step.before is None or _is_whole(parsed(step.before, step.file))):
            return f"{step.file} lacks a name, a description or a type"
    return None


def _is_whole(topic: Topic) -> bool:
    named = topic.document.entry("name") is not None
    return named and bool(topic.description) and topic.type is not None


def _warning(topic: Topic, step: FileStep) -> str:
    was = () if step.before is None else parsed(step.before, step.file).warnings
    return next((warning for warning in topic.warnings if warning not in was), "")


def _secret(change: Change, context: CheckContext) -> str | None:
    for step in change.steps:
        if step.after is None:
            continue
        found = context.scrubber.scrub(step.after.decode("utf-8", "surrogateescape")).kinds
        if found:
            return f"{step.file} would hold a secret ({', '.join(found)})"
    return None


def _foreign_keys(change: Change, context: CheckContext) -> str | None:
    """Object to changes of keys that a dream may not touch, such as date, author and confidence."""
    for step in change.steps:
        if step.before is None or step.after is None:
            continue
        was, now = (_lines(parsed(data, step.file)) for data in (step.before, step.after))
        changed = sorted({key for key, _ in {*was} ^ {*now}} - _ITS_KEYS)
        if changed:
            return f"{step.file}: a dream may not change {', '.join(changed)}"
    return None


def _shrunk(change: Change, context: CheckContext) -> str | None:
    """Object to lost sources and links, and to an end date without a successor."""
    for step in change.steps:
        if step.before is None or step.after is None:
            continue
        was, now = (parsed(data, step.file) for data in (step.before, step.after))
        for key in _GROWING:
            lost = {*getattr(was, key)} - {*getattr(now, key)}
            lost -= context.ruled.get(step.file, frozenset()) if key == "cues" else frozenset()
            if lost:
                return f"{step.file} would lose {min(lost)!r} from its {key}"
        superseded = now.superseded_by is not None and was.superseded_by is None
        if was.valid_until != now.valid_until and not superseded:
            return f"{step.file} would hold until {now.valid_until}: to end it is not for a dream"
    return None


def _lines(topic: Topic) -> list[tuple[str, str]]:
    return [(entry.key or entry.text, entry.text) for entry in topic.document.entries]


def _lost(change: Change, context: CheckContext) -> str | None:
    """Object to lost numbers, names, dates and addresses, and to deleted or hidden memories."""
    for step in change.steps:
        reason = _hidden(step, change, context)
        if reason is None:
            kept = _kept(step, change, context)
            gone = [one for old_text, new_text in kept for one in missing(old_text, new_text)]
            reason = f"{step.file} would lose {', '.join(map(_shown, gone))}" if gone else None
        if reason is not None:
            return reason
    return None


def _kept(step: FileStep, change: Change, context: CheckContext) -> list[tuple[str, str]]:
    """Pairs of what a file said and the text that must still say it."""
    heirs = _heirs(step, change, context)
    if step.before is None or not heirs:
        return []
    bodies = "\n".join(body(data, file) for file, data in heirs)
    whole = "\n".join(claim(data, file) for file, data in heirs)
    about = heading if step.after is not None else summary
    return [
        (body(step.before, step.file), bodies),
        (about(step.before, step.file), whole),
    ]


def _shown(value: str) -> str:
    return repr(value.partition(":")[2] if value.startswith(("url:", "code:")) else value)


def _heirs(step: FileStep, change: Change, context: CheckContext) -> list[tuple[str, bytes]]:
    """The files that must still say what a file said: itself, or those it was merged into."""
    if step.after is not None:
        return [(step.file, step.after)]
    own = ((other.file, other.after) for other in change.steps)
    kept = ((file, data) for file, data in (*own, *change.relies_on) if data is not None)
    return [(file, data) for file, data in kept if context.lives(data, file)]


def _hidden(step: FileStep, change: Change, context: CheckContext) -> str | None:
    """Object when a valid memory would be deleted, archived or ended."""
    if step.before is None or not context.lives(step.before, step.file):
        return None
    if step.after is None:
        return (
            None if _heirs(step, change, context) else f"{step.file} still holds: nothing says it"
        )
    if context.lives(step.after, step.file):
        return None
    now = parsed(step.after, step.file)
    if now.superseded_by is not None:
        return _unfounded(step, now.superseded_by, change, context)
    verb = "hide" if archived(now) else "end"
    return f"{step.file} still holds: to {verb} it is not for a dream"


def _unfounded(step: FileStep, successor: str, change: Change, context: CheckContext) -> str | None:
    """Object to a successor that is missing, not valid, or does not name what it replaces."""
    data = context.after.get(successor)
    if successor == step.file or data is None or not context.lives(data, successor):
        return f"{step.file} would be superseded by {successor}, which does not exist"
    if step.file not in parsed(data, successor).supersedes:
        return f"{successor} does not say that it supersedes {step.file}"
    return None


REFUSALS: tuple[Check, ...] = (_pinned, _malformed, _secret, _foreign_keys, _shrunk, _lost)


# --- what a person may allow ---


def _reworded(change: Change, context: CheckContext) -> str | None:
    for step in change.steps:
        for old_text, new_text in _kept(step, change, context):
            if (statement := unkept(old_text, new_text)) is not None:
                return f"{step.file} would no longer say “{statement[:120]}”"
    return None


def _doubtful(change: Change, context: CheckContext) -> str | None:
    """Object to a resolved contradiction, unless a source settles it between two known memories of one shape."""
    for step in change.steps:
        if step.before is None or step.after is None:
            continue
        successor = parsed(step.after, step.file).superseded_by
        if successor is None or successor == parsed(step.before, step.file).superseded_by:
            continue
        newer = context.before.get(successor)
        if newer is None:
            return f"{successor}, which would supersede {step.file}, is the dream's own"
        if not _replaces(parsed(newer, successor), parsed(step.before, step.file)):
            return f"{successor} is not plainly a newer version of {step.file}"
        if not _grounded(change, context):
            return f"{step.file} and {successor} differ, and no source says which one holds"
    return None


def _grounded(change: Change, context: CheckContext) -> bool:
    """Whether the change has a source outside the memories that can be looked up."""
    outside = (source for source in change.sources if source not in context.before)
    return any(context.said is None or context.said(source) for source in outside)


def _replaces(newer: Topic, older: Topic) -> bool:
    days = day_of(newer.created), day_of(older.created)
    if newer.type != older.type or days[0] is None or days[1] is None or days[0] <= days[1]:
        return False
    return differs_in_value(newer.description, older.description)


def differs_in_value(one: str, other: str) -> bool:
    """Whether two sentences of one shape differ only in a number or in their last word."""
    first, second = content(one), content(other)
    if len(first) != len(second) or len(first) < 3 or len(statements(one)) != 1:
        return False
    places = [n for n, pair in enumerate(zip(first, second, strict=True)) if pair[0] != pair[1]]
    if len(places) != 1:
        return False
    at = places[0]
    numeric = all(any(char.isdigit() for char in side[at]) for side in (first, second))
    return numeric or at == len(first) - 1


def _invented(change: Change, context: CheckContext) -> str | None:
    """Object to a new statement that no source outside these memories supports."""
    own = [(step.file, step.before) for step in change.steps if step.before is not None]
    known = "\n".join(claim(data, file) for file, data in (*own, *change.relies_on))
    for step in change.steps:
        fresh = () if step.after is None else new_statements(claim(step.after, step.file), known)
        if not fresh:
            continue
        if not _grounded(change, context):
            return _sourceless(step, fresh[0])
        if phrase := context.kept_out(" ".join(fresh)):
            return f"{step.file} would speak of “{phrase}”, and learning.md says never"
        if (reason := _unsaid(fresh, known, change, context)) is not None:
            return f"{step.file} would say what its sources do not say: {reason}"
    return None


def _sourceless(step: FileStep, statement: str) -> str:
    if step.before is None:
        return f"{step.file} is new and names no source"
    return f"{step.file} would say “{statement[:120]}”, and names no source for it"


def _unsaid(fresh: Sequence[str], known: str, change: Change, context: CheckContext) -> str | None:
    """Why neither sources nor memories support a statement; None when they do or are trusted."""
    if context.said is None:
        return None
    words = [one for source in change.sources for one in context.said(source)]
    words.append(Utterance("memory", "user", known))
    found = support("\n".join(fresh), words)
    return None if isinstance(found, Supported) else found.reason


QUESTIONS: tuple[Check, ...] = (_reworded, _doubtful, _invented)
