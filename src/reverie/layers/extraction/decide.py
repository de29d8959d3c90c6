"""What a new memory does to those there are: add, update, supersede, delete, or nothing. Pure.

Two values of one thing are never merged: "the port is 8443" does not extend "the port is 8080", it
replaces it, and both are kept. Where it is not clear that two texts speak of one thing, both stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from reverie.layers.extraction.values import (
    Add,
    Candidate,
    Delete,
    Known,
    Noop,
    Operation,
    Supersede,
    Update,
)
from reverie.layers.extraction.word_lists import IDLE
from reverie.memory.similar import compare, nearest

_TOKEN = re.compile(r"[^\W_]+(?:['’.:/-][^\W_]+)*")
_VALUE = re.compile(
    r"\d|^(?:mon|tues|wednes|thurs|fri|satur|sun)days?$"
    r"|^(?:january|february|march|april|may|june|july|august|september|october|november|december)$",
    re.I,
)
# What says that something has one value at a time: the value stands after it …
_HAS_VALUE = re.compile(
    r"\b(?:is|are|was|reports to|lives in|works (?:at|for|as)|called|named|due|until|starts|ends|happens?|moves? to|use|uses"
    r"|prefers?|ist|sind|heißt|est|sont|es|son)\b|=",
    re.I,
)
# … or, of what has one owner, before it.
_HAS_OWNER = re.compile(r"\b(?:owns|leads|maintains|is responsible for|is in charge of)\b", re.I)
_REPLACES = re.compile(
    r"\b(?:from now on|no longer|not any ?more|instead|moved to|changed to|switched to|replaced|now (?:is|uses?)|ab jetzt"
    r"|ab sofort|nicht mehr|désormais|ne .{1,20} plus|a partir de ahora|ya no)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class _Text:
    file: str
    words: str


def decide(candidate: Candidate, known: Sequence[Known]) -> Candidate:
    """The candidate with the operation that fits the memories there are."""
    current = [one for one in known if not one.entry.superseded and one.entry.problem is None]
    files = {one.entry.file for one in current}
    match candidate.operation:
        case Delete(""):
            return replace(candidate, operation=_deletion(candidate, current))
        case Delete(file) if file in files:
            return candidate
        case Supersede(file) if file in files and _speaks_of(candidate, file, current):
            return candidate
        case Update(file) if file in files:
            return replace(candidate, operation=_change(candidate, file, current))
        case Delete(file):
            return replace(candidate, operation=Noop(f"there is no memory {file}"))
        case _:
            return replace(candidate, operation=_operation(candidate, current))


def contradicts(new: str, old: str) -> bool:
    """Do two texts give one thing different values, or say yes and no to the same?"""
    ours, theirs = _words(new), _words(old)
    shared = set(ours) & set(theirs)
    mine = [word for word in ours if word not in shared]
    other = [word for word in theirs if word not in shared]
    if not mine and not other:
        return compare(new, old) == "differs"
    if not mine or not other or len(shared) < max(len(mine), len(other)):
        return False
    if all(map(_VALUE.search, (*mine, *other))):
        return True
    return len(mine) == len(other) == 1 and _same_slot((new, mine[0]), (old, other[0]))


def _operation(candidate: Candidate, current: Sequence[Known]) -> Operation:
    text = candidate.description or candidate.text
    match = nearest(text, _texts(current))
    if match is None or match.likeness == "unrelated":
        return _replacement(candidate, current) or Add()
    file = match.key.partition("\n")[0]
    if match.likeness == "same":
        return Noop(f"{file} already says so", file)
    if match.likeness == "extends":
        return Update(file)
    return _replacement(candidate, current) or Add()


def _speaks_of(candidate: Candidate, file: str, current: Sequence[Known]) -> bool:
    """Has it a word in common with the memory it is to replace?"""
    old = _pieces(one for one in current if one.entry.file == file)
    return any(_shared(candidate.text, one.words) for one in old)


def _change(candidate: Candidate, file: str, current: Sequence[Known]) -> Update | Supersede:
    """A change that was asked for; one that swaps a value is a replacement, whatever it is called."""
    old = _pieces(one for one in current if one.entry.file == file)
    swaps = any(contradicts(candidate.text, one.words) for one in old)
    return Supersede(file) if swaps else Update(file)


def _replacement(candidate: Candidate, current: Sequence[Known]) -> Supersede | None:
    """The memory whose value this one changes; of several the one most alike."""
    text = candidate.text
    rivals = [one for one in _pieces(current) if contradicts(text, one.words)]
    if not rivals and _REPLACES.search(text):
        rivals = [one for one in _pieces(current) if compare(text, one.words) == "differs"]
    best = max(rivals, key=lambda one: _shared(text, one.words), default=None)
    return Supersede(best.file) if best else None


def _deletion(candidate: Candidate, current: Sequence[Known]) -> Operation:
    """Only a memory that certainly speaks of it: all that was named is in it."""
    wanted = set(_words(candidate.text))
    found = {one.file for one in _pieces(current) if wanted and wanted <= set(_words(one.words))}
    if len(found) == 1:
        return Delete(found.pop())
    if found:
        return Noop(f"several memories speak of it: {', '.join(sorted(found))}")
    return Noop("no memory speaks of it")


def _texts(current: Iterable[Known]) -> list[tuple[str, str]]:
    return [(f"{one.file}\n{one.words}", one.words) for one in _pieces(current)]


def _pieces(current: Iterable[Known]) -> list[_Text]:
    """A memory may be met in its description or in the first paragraph of its body."""
    found = []
    for one in current:
        first = one.body.strip().partition("\n\n")[0]
        texts = dict.fromkeys((one.entry.description, one.entry.name, first))
        found += [_Text(one.entry.file, " ".join(text.split())) for text in texts if text.strip()]
    return found


def _words(text: str) -> list[str]:
    return [word for word in _TOKEN.findall(text.casefold()) if word not in IDLE]


def _shared(new: str, old: str) -> int:
    return len(set(_words(new)) & set(_words(old)))


def _same_slot(new: tuple[str, str], old: tuple[str, str]) -> bool:
    """Do the two words stand where the one value of a thing stands?"""
    return all(_owner(*one) for one in (new, old)) or all(_value(*one) for one in (new, old))


def _owner(text: str, word: str) -> bool:
    verb = _HAS_OWNER.search(text)
    return verb is not None and text.casefold().find(word) < verb.start()


def _value(text: str, word: str) -> bool:
    verb = _HAS_VALUE.search(text)
    return verb is not None and text.casefold().find(word) > verb.start()
