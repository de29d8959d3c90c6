"""A new memory on its way to be saved: its draft and the outcome."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import TypeAlias

from reverie.memory.format.frontmatter import one_line
from reverie.memory.format.kinds import infer_type
from reverie.memory.format.revisions import Revision
from reverie.memory.format.taxonomy import MemoryType, OwnScope
from reverie.memory.format.topic import Scalar, Topic
from reverie.text.dates import DateChange
from reverie.text.likeness import Likeness
from reverie.text.validity import validity


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory to save; everything but the text can be inferred."""

    text: str
    type: MemoryType | None = None
    name: str | None = None
    description: str | None = None
    supersedes: str | None = None
    source: tuple[str, ...] = ()
    origin: str = "user"
    even_if_known: bool = False
    # Retire the memory of which this is a newer value.
    replace: bool = False
    allow_excluded: bool = False
    # An imported memory, whose other keys are kept.
    original: Topic | None = None
    # The day it was said; an import without one keeps "tomorrow" as it is.
    said: date | None = None
    # When it is valid; inferred from its words if not given.
    valid_from: str | None = None
    valid_until: str | None = None
    # The scope to save it in; inferred from its words if not given.
    scope: OwnScope | None = None
    # Other words people will ask by.
    cues: tuple[str, ...] = ()
    # Taken from an instruction file, so it may repeat what that file says.
    from_instructions: bool = False
    # What a program notes about it.
    metadata: Mapping[str, Scalar] | None = None


@dataclass(frozen=True, slots=True)
class Related:
    """A memory similar to the one being saved: the same in other words, another value, a sibling."""

    file: str
    text: str
    likeness: Likeness
    certain: bool = False
    # Set when the words differ too much to be certain; `odds` says how probable it is then.
    weighed: bool = False
    odds: float = 1.0

    @property
    def guessed(self) -> bool:
        """Whether it is less likely than not."""
        return self.odds < _LIKELY


@dataclass(frozen=True, slots=True)
class Prepared:
    """A memory ready to save, and what was changed in it."""

    topic: Topic
    dates: tuple[DateChange, ...] = ()
    secrets: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    # The memory it replaces: given by the caller, or inferred from its words.
    replaces: str | None = None
    # Relative dates that stay, since the day of writing is unknown.
    undated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Remembered:
    """A saved memory, with what was changed in it, so that the user can object."""

    topic: Topic
    revision: Revision
    dates: tuple[DateChange, ...] = ()
    secrets: tuple[str, ...] = ()
    superseded: str | None = None
    # Similar memories, which were not changed.
    related: tuple[Related, ...] = ()


@dataclass(frozen=True, slots=True)
class Declined:
    """Why nothing was saved; `existing` is the memory that already says it."""

    reason: str
    advice: str = ""
    existing: str | None = None


Outcome: TypeAlias = Remembered | Declined

_LIKELY = 0.5
LONGEST_TITLE = 70
LONGEST_DESCRIPTION = 180

# Not after "Dr." and the like, nor after the day of a date ("4. August"), but after "2026-08-04.".
_SENTENCE = re.compile(
    r"(?<=[.!?。！？])(?<!\b\d\.)(?<!(?<!-)\b\d\d\.)(?<!\b[DMS]r\.)(?<!\bM[sme]\.)(?<!\bM\.)(?<!\bSt\.)"
    r"(?<!\bNr\.)(?<!\bMrs\.)(?<!\bMme\.)(?<!\bSra\.)(?<!\bProf\.)\s+|\n+"
)
_ENDS = ".!?。！？"
# A sign before a figure ("-5 degrees", "> 30 guests") is content, not a list marker.
_MARKERS = re.compile(r"^(?:[ \t]*(?:#{1,6}|[-*+]|>)[ \t]+)+(?![ \t]*[.,]?\d)")
_ITEM = re.compile(r"[ \t]*(?:#{1,6}|[-*+]|\d+[.)])[ \t]")
# A rule, or the fence of a block of code.
_RULE = re.compile(r"[ \t]*(?:(?:-{3,}|\*{3,}|_{3,}|={3,})[ \t]*|(?:```|~~~).*)")
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory that is not saved yet."""

    name: str
    description: str
    type: MemoryType
    body: str

    @property
    def claim(self) -> str:
        """The text to compare with other memories: the body, or else the description."""
        return self.body or self.description


def draft(
    text: str,
    *,
    type_: MemoryType | None = None,
    name: str | None = None,
    description: str | None = None,
) -> Draft:
    """Infer what is not given; the text is the body."""
    body = text.strip()
    whole, first = _on_one_line(body)
    return Draft(
        name=_cut(name or first.rstrip(_ENDS), LONGEST_TITLE),
        description=_cut(description or whole, LONGEST_DESCRIPTION),
        type=type_ or infer_type(body),
        body=body,
    )


def following(before: Topic, fresh: Topic, today: date) -> Topic:
    """Derive name, description and period again for a memory whose body was changed.

    Those written by hand, or changed together with the body, stay.
    """
    if fresh.body.strip() in ("", before.body.strip()) or before.problem or fresh.problem:
        return fresh
    made = draft(fresh.body)
    changed = fresh
    if fresh.name == before.name and _is_derived(before.name, before.body, LONGEST_TITLE):
        changed = changed.with_(name=made.name or fresh.name)
    # An import puts the heading in front of it.
    heading, colon, rest = before.description.partition(": ")
    if fresh.description == before.description:
        if _is_derived(before.description, before.body, LONGEST_DESCRIPTION):
            changed = changed.with_(description=made.description)
        elif colon and _is_derived(rest, before.body, LONGEST_DESCRIPTION):
            text = _cut(f"{heading}: {made.description}", LONGEST_DESCRIPTION)
            changed = changed.with_(description=text)
    period = (before.valid_from, before.valid_until)
    if period == (fresh.valid_from, fresh.valid_until) == _period(before.body, _day(before, today)):
        first, last = _period(fresh.body, today)
        changed = changed.with_(valid_from=first, valid_until=last)
    return changed


def headline(name: str, description: str) -> str:
    """The sentence that names a memory, where its description begins with it; else the description."""
    _, first = _on_one_line(description)
    named = _words(_cut(first.rstrip(_ENDS), LONGEST_TITLE)) == _words(name)
    return first if named and not first.endswith("?") else description


def _is_derived(shown: str, body: str, longest: int) -> bool:
    """Whether a name or description was derived from this body, in full or from its first sentence."""
    return any(_words(shown) == _words(_cut(form, longest)) for form in _on_one_line(body.strip()))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _period(body: str, said: date) -> tuple[str | None, str | None]:
    found = validity(body, said)
    first, last = (
        day.isoformat() if day else None for day in (found.valid_from, found.valid_until)
    )
    return first, last


def _day(memory: Topic, today: date) -> date:
    """The day a memory was last written; an end before that day does not count."""
    written = memory.updated or memory.created
    return datetime.fromisoformat(written).date() if written else today


def _on_one_line(body: str) -> tuple[str, str]:
    """A text on one line (the whole text if it fits a description), and its first sentence."""
    lines = list(_without_markup(body))
    first = one_line(_SENTENCE.split("\n".join(lines).strip(), maxsplit=1)[0])
    whole = ""
    for paragraph in map(one_line, "\n".join(lines).split("\n\n")):
        joint = " " if whole.endswith((*_ENDS, ",", ":", ";", "…")) else "; "
        whole = joint.join(filter(None, (whole, paragraph)))
    # A question alone describes nothing.
    fits = len(whole) <= LONGEST_DESCRIPTION or first.endswith(("?", "？"))
    return whole if fits else first, first


def _without_markup(body: str) -> Iterator[str]:
    """The lines without signs of markdown; an empty one goes before each item and heading."""
    lines = [line for line in body.splitlines() if not _RULE.fullmatch(line)]
    quoted = len(lines) > 1 and all(line.startswith(">") for line in lines if line.strip())
    for line in lines:
        if _ITEM.match(line):
            yield ""
        # A lone line that starts with ">" may mean "more than".
        marked = quoted or not line.lstrip().startswith(">")
        yield _BOLD.sub(r"\1", _MARKERS.sub("", line) if marked else line).strip()


def _cut(text: str, longest: int) -> str:
    """Cut at a word and end with an ellipsis."""
    if len(text) <= longest:
        return text
    kept = text[: longest - 1].rpartition(" ")[0] or text[: longest - 1]
    return f"{kept}…"
