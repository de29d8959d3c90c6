"""The query language for people: `type:feedback after:2026-01 is:archived "exact phrase" -word`.

Nothing a person types is an error: what does not read as an option is just words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reverie.text.timewords import Span, date_span

_TOKEN = re.compile(
    r"(?P<minus>(?<!\S)-(?=[\w\"]))?(?:"
    r"(?P<key>(?<![^\s-])(?:type|after|before|session|role|is)):(?P<value>\"[^\"]*\"|\S+)"
    r"|\"(?P<phrase>[^\"]*)\""
    r"|(?P<word>[^\s\"]+))"
)
TYPES = frozenset({"user", "feedback", "project", "reference"})


@dataclass(frozen=True, slots=True)
class Query:
    """A question with its options taken out."""

    text: str
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    after: float | None = None
    before: float | None = None
    session: str | None = None
    role: str | None = None
    archived: bool = False

    @property
    def filtered(self) -> bool:
        options = (self.after, self.before, self.session, self.role)
        return bool(self.types) or self.archived or any(option is not None for option in options)


def plain(text: str) -> Query:
    """What somebody said, as a question: quotes and dashes in it are no options."""
    return Query(text)


def parse(text: str) -> Query:
    """Options, phrases and excluded words, in any order; the rest is what is asked."""
    words: list[str] = []
    phrases: list[str] = []
    excluded: list[str] = []
    options: dict[str, str] = {}
    types: list[str] = []
    for match in _TOKEN.finditer(text):
        value = (match["value"] or "").strip('"')
        if match["key"] and not match["minus"] and _reads(match["key"], value):
            if match["key"] == "type":
                types.append(value.lower())
            else:
                options[match["key"]] = value
        elif match["minus"] and (match["phrase"] or match["word"]):
            excluded.append(match["phrase"] or match["word"])
        elif match["phrase"] is None:
            words.append(match[0])
        elif match["phrase"].strip():
            phrases.append(match["phrase"])
    after, before = _day(options.get("after")), _day(options.get("before"))
    return Query(
        text=" ".join((*words, *phrases)),
        phrases=tuple(phrases),
        excluded=tuple(excluded),
        types=tuple(types),
        after=after.start if after else None,
        before=before.start if before else None,
        session=options.get("session"),
        role=options.get("role"),
        archived="is" in options,
    )


def _reads(key: str, value: str) -> bool:
    if key == "type":
        return value.lower() in TYPES
    if key == "is":
        return value.lower() == "archived"
    return _day(value) is not None if key in {"after", "before"} else bool(value)


def _day(value: str | None) -> Span | None:
    return date_span(value) if value else None
