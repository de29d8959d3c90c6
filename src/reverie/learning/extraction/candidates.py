"""Candidates for memory: what they are, and what they do to existing memories (add, update, supersede, delete, nothing). Pure.

Two values of one thing are never merged, and likeness alone never retires a memory: a supersession
needs the person's own words for it ("from now on", "no longer", "instead of …"), or a claim that
`text.likeness` confirms. In doubt both memories stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from reverie.learning.extraction.questions import IDLE
from reverie.memory.format.manifest import ManifestEntry
from reverie.memory.format.taxonomy import MemoryType
from reverie.text.likeness import Likeness, Match, related
from reverie.text.statements import sentences

# The author, for trust: everything that is by neither of the two speakers counts as a tool's.
Voice: TypeAlias = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Add:
    """A new memory."""


@dataclass(frozen=True, slots=True)
class Update:
    """The same fact with more detail: change the file."""

    file: str


@dataclass(frozen=True, slots=True)
class Supersede:
    """Another value of the same thing: keep both, and mark the old one as replaced."""

    file: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Forget a memory. Without a file, `decide` finds the memory that is meant."""

    file: str = ""


@dataclass(frozen=True, slots=True)
class Noop:
    """Nothing to do, and why; `file` is the memory that already says so."""

    reason: str = ""
    file: str = ""


Operation: TypeAlias = Add | Update | Supersede | Delete | Noop


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible memory: its text, author, source messages and the words that support it."""

    text: str
    type: MemoryType
    sources: tuple[str, ...]
    origin: Voice
    operation: Operation = field(default_factory=Add)
    name: str = ""
    description: str = ""
    evidence: str = ""
    # Why the words may be another author's, although they are in the person's message.
    doubt: str = ""
    # Other words people will ask by.
    cues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """An existing memory."""

    entry: ManifestEntry
    body: str = ""


# A question in the inbox costs a person more than a line printed by `remember`, and a duplicate
# does less harm than an outdated fact.
_WORTH_ASKING: Mapping[Likeness, float] = {"update": 0.3, "restates": 0.65}
_LIKELY = 0.6
_MOST_SENTENCES = 2
_TOKEN = re.compile(r"[^\W_]+(?:['’.:/-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class _Text:
    file: str
    words: str


def decide(candidate: Candidate, known: Sequence[Known]) -> Candidate:
    """The candidate with the operation that fits the existing memories."""
    current = _current(known)
    files = {one.entry.file for one in current}
    match candidate.operation:
        case Delete(""):
            return replace(candidate, operation=_deletion(candidate, current))
        case Delete(file) if file in files:
            return candidate
        case Supersede(file) if file in files:
            return replace(candidate, operation=_claimed(candidate, file, current))
        case Update(file) if file in files:
            return replace(candidate, operation=_change(candidate, file, current))
        case Delete(file):
            return replace(candidate, operation=Noop(f"there is no memory {file}"))
        case _:
            return replace(candidate, operation=_operation(candidate, current))


def _operation(candidate: Candidate, current: Sequence[Known]) -> Operation:
    """The operation by likeness; a memory is retired only where the words themselves say so."""
    found = related(candidate.text, _texts(current))
    best = found[0] if found else None
    if best is None:
        return Add()
    file = _file(best)
    if best.likeness == "duplicate":
        return Noop(f"{file} already says so", file)
    said = {_file(match) for match in found if match.verdict.said}
    if len(said) == 1:
        return Supersede(said.pop())
    return Update(file) if best.likeness == "extends" else Add()


def rivals(candidate: Candidate, known: Sequence[Known]) -> tuple[tuple[str, Likeness], ...]:
    """Memories that the candidate may update or reword, each with which of the two."""
    found = related(candidate.text, _texts(_current(known)))
    titles = {
        f"{one.entry.file}\n{' '.join(one.entry.name.split())}"
        for one in known
        if one.entry.name != one.entry.description
    }
    near = [
        match
        for match in found
        if match.likeness in ("update", "restates")
        and (not match.verdict.weighed or _worth_asking(match, titles))
    ]
    return tuple({_file(match): match.likeness for match in reversed(near)}.items())[::-1]


def _worth_asking(match: Match, titles: set[str]) -> bool:
    """Whether odds justify a question. Titles state no fact to compare with, and long texts state too many."""
    if match.key in titles or len(sentences(match.key.partition("\n")[2])) > _MOST_SENTENCES:
        return False
    # Words of change always justify one.
    return bool(match.verdict.cue) or match.verdict.score >= _WORTH_ASKING[match.likeness]


def _claimed(candidate: Candidate, file: str, current: Sequence[Known]) -> Operation:
    """A replacement claimed by a model is accepted if likeness sees another value of one thing."""
    old = _texts(one for one in current if one.entry.file == file)
    if any(_confirms(match) for match in related(candidate.text, old)):
        return Supersede(file)
    return _operation(candidate, current)


def _confirms(match: Match) -> bool:
    """Whether likeness sees another value of one thing; odds alone must be clearly more likely than not."""
    verdict = match.verdict
    return verdict.likeness == "update" and (not verdict.weighed or verdict.score >= _LIKELY)


def _change(candidate: Candidate, file: str, current: Sequence[Known]) -> Update | Supersede:
    """A requested update; one that swaps a value becomes a replacement."""
    old = _texts(one for one in current if one.entry.file == file)
    swaps = any(_confirms(match) for match in related(candidate.text, old))
    return Supersede(file) if swaps else Update(file)


def _deletion(candidate: Candidate, current: Sequence[Known]) -> Operation:
    """Delete only a memory that contains everything that was named."""
    wanted = set(_words(candidate.text))
    found = {one.file for one in _pieces(current) if wanted and wanted <= set(_words(one.words))}
    if len(found) == 1:
        return Delete(found.pop())
    if found:
        return Noop(f"several memories speak of it: {', '.join(sorted(found))}")
    return Noop("no memory speaks of it")


def _current(known: Sequence[Known]) -> list[Known]:
    return [one for one in known if not one.entry.superseded and one.entry.problem is None]


def _file(match: Match) -> str:
    return match.key.partition("\n")[0]


def _texts(current: Iterable[Known]) -> list[tuple[str, str]]:
    return [(f"{one.file}\n{one.words}", one.words) for one in _pieces(current)]


def _pieces(current: Iterable[Known]) -> list[_Text]:
    """The texts of a memory to compare with: its description and its first paragraph."""
    found = []
    for one in current:
        first = one.body.strip().partition("\n\n")[0]
        texts = dict.fromkeys((one.entry.description, one.entry.name, first))
        found += [_Text(one.entry.file, " ".join(text.split())) for text in texts if text.strip()]
    return found


def _words(text: str) -> list[str]:
    return [word for word in _TOKEN.findall(text.casefold()) if word not in IDLE]
