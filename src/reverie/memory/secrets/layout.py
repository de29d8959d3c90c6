"""Secrets that the layout of a text names: in a column, on the lines below a heading, as a phrase of words.

A table's column or a line that ends with a cue names what stands below it. Each line is read once.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.memory.secrets.cues import NAMES, Cue, Kind
from reverie.memory.secrets.library import Secret
from reverie.memory.secrets.plausibility import (
    is_dial_code,
    is_door_code,
    is_pin,
    is_plain_password,
    is_varied,
    is_word_list,
)
from reverie.memory.secrets.sentences import is_about_another, is_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LINE = re.compile(r"[^\n]*+\n?")
_SEPARATORS = ("|", "\t", ";", ",")
_AROUND = " \t\r\"'`*_"
_RULE = re.compile(r"[\s|:+=-]+")
_LONGEST_ROW = 2_000
_LONGEST_LINE = 200
_REACH = 140
_MOST_BELOW = 16
# What stands on a line below a heading: a value, or a name and its value.
_BELOW = re.compile(
    r"[\s>*•`\"'-]*+(?:\d{1,2}[.)]\s+)?(?:([^\s:=|→]{1,40}(?: [^\s:=|→]{1,20})?)\s*(?:[:=|→]|->|–|-)?\s+)?([^\s\"'`]{4,256})[\s\"'`.,;]*"
)
_FENCE = re.compile(r"\s*(?:```|~~~)\w*\s*")
_NAME_OF_OTHER = re.compile(
    r"(?:user|benutzer|utilis|usuario|login|account|konto|compte|cuenta|name|nom\b|nombre|e-?mail|host|server|url|port|id\b|ssid|db\b|database|region)",
    re.IGNORECASE,
)
_PHRASE_BELOW = re.compile(r"[\s>*\"'`-]*+([a-zà-ÿ]{2,12}(?: [a-zà-ÿ]{2,12}){3,23})[\"'`.\s]*+")
_ASKS_FOR_PHRASE = re.compile(
    r"(?:\b(?:with|is|mit|ist|lautet|avec|est|con|es)|[:=]|\bpassphrase|\bphrase|\bwords)\s*\Z",
    re.IGNORECASE,
)
_SEED_WORDS = re.compile(
    r"\b(?:seed|mnemonic|wallet|metamask|ledger|trezor|recovery|1?[258] words|24 words)\b",
    re.IGNORECASE,
)
_SEED_LENGTHS = (12, 15, 18, 21, 24)
# «The password of the wiki is swordfish, …»: a plain word, at the end of its clause.
_PLAIN = re.compile(
    r"(?:s\b|['’]s\b)?(?: (?:for|of|to|on|at|from|vom|von|f[üu]rs?|zum|zur|im|am|des?|du|del?|pour|para|d['’]\w+)(?: [^\s.,;:!?\"'«“„]{1,20}){1,3}?)?"
    r"(?:\s*+:|,? (?:(?:is|it['’]s|ist|lautet|est|c['’]est|es)(?: (?:now|jetzt|désormais|ahora))?|now|should be|soll))\s*+"
    r"[\"'«“„`]?\s?([^\W\d_]{5,24})(?=[\"'»”’`]?\s?(?:[.,;!)]|\n|\Z| -| –| —| and | und | et | y | but | aber | mais | pero ))",
    re.IGNORECASE,
)


# «The passphrase is copper violin drifts northward so you can …»
_PHRASE = re.compile(
    r"[^\n\"'`\ufffc.:=]{0,50}?((?<= )(?:is|are|was|it['’]s|with|ist|sind|lautet|lauten|mit|est|sont|avec|es|son|con)\b|\s?[:=])"
    r"[ \t]{1,3}[\"'«“„]?((?:[^\W_]{2,14}[ ,]{1,2}){2,23}[^\W_]{2,14})",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"[ ,]+(?:so|and|but|which|then|please|for|to|if|in|on|when|because|since|und|aber|damit|bitte|für|et|mais|pour|donc|y|pero|para|por)\b|,? +[-–—]|,(?= )"
)
_PARTICIPLE = re.compile(r"(?:ed|ing|able|ible)$")


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    text: str
    cues: Sequence[Cue]


def find_in_layout(text: str, cues: Sequence[Cue]) -> Iterator[Secret]:
    """Every value in a column or below a line that names a secret, and plain words called a password."""
    if not cues:
        return
    for cue in cues:
        yield from _said_in_words(text, cue)
    lines = _lines(text, cues)
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not line.cues or len(line.text) > _LONGEST_ROW:
            continue
        rows, found_in_table = _table(lines, at)
        yield from found_in_table
        if rows:
            at += rows
        elif heading := _heading(line):
            yield from _below(heading, line, lines[at : at + _MOST_BELOW])


# --- plain words ---


def _said_in_words(text: str, cue: Cue) -> Iterator[Secret]:
    """The plain word or words that a sentence calls a password."""
    if cue.kind not in ("password", "unlock", "key"):
        return
    name, limit = text[cue.start : cue.end].lower(), cue.end + _REACH
    if found := _PHRASE.match(text, cue.end, limit + _LONGEST_LINE):
        start, end = found.span(2)
        end = start + _phrase_length(found[2])
        if _is_phrase(cue.kind, name, found[1], text[start:end]):
            yield Secret("passphrase", start, end)
            return
    word = _PLAIN.match(text, cue.end, limit) if cue.kind == "password" else None
    if word and is_plain_password(word[1], name):
        yield Secret(NAMES["password"], *word.span(1))


def _phrase_length(run: str) -> int:
    """How much of a run of words comes before one that goes on with the sentence."""
    found = _GOES_ON.search(run)
    return found.start() if found else len(run)


def _is_phrase(kind: Kind, name: str, lead: str, phrase: str) -> bool:
    words = phrase.split()
    called = "phrase" in name or "frase" in name
    said_of_it = not called and any(_PARTICIPLE.search(word) for word in words)
    told = called and ":" in lead
    most = 2 if called and len(words) >= 5 else 1 if told else 0
    if not is_word_list(phrase, most=most) or said_of_it or is_about_another(phrase):
        return False
    if kind == "key":
        return name == "seed" and len(words) in _SEED_LENGTHS
    opened = kind == "unlock" and not name.endswith("ed")
    given = called or opened or kind == "password" or lead.strip() in (":", "=")
    return len(words) >= (3 if called else 4) and given


def _lines(text: str, cues: Sequence[Cue]) -> list[_Line]:
    starts = [cue.start for cue in cues]
    found = []
    for match in _LINE.finditer(text):
        first, last = bisect_left(starts, match.start()), bisect_left(starts, match.end())
        found.append(_Line(match.start(), match[0].rstrip("\r\n"), cues[first:last]))
    return found


# --- tables ---


def _table(lines: Sequence[_Line], at: int) -> tuple[int, list[Secret]]:
    """How many lines below a header are rows of its table, and the secrets in them."""
    header = lines[at - 1]
    for separator in _SEPARATORS:
        cells = _cells(header, separator)
        columns = _named_columns(header, cells) if len(cells) > 1 else {}
        if not columns:
            continue
        rows, found = 0, list[Secret]()
        for place in range(at, len(lines)):
            line = lines[place]
            if len(line.text) > _LONGEST_ROW or line.text.count(separator) != header.text.count(
                separator
            ):
                break
            rows += 1
            if not _RULE.fullmatch(line.text):
                row = _cells(line, separator)
                found += [
                    Secret(NAMES[kind], *row[column])
                    for column, kind in columns.items()
                    if _is_in_cell(kind, *row[column], line)
                ]
        if rows:
            return rows, found
    return 0, []


def _cells(line: _Line, separator: str) -> list[tuple[int, int]]:
    found, at = [], line.start
    for part in line.text.split(separator):
        start = len(part) - len(part.lstrip(_AROUND))
        end = max(start, len(part.rstrip(_AROUND)))
        found.append((at + start, at + end))
        at += len(part) + 1
    return found


def _named_columns(header: _Line, cells: Sequence[tuple[int, int]]) -> dict[int, Kind]:
    """The columns whose title ends with a cue, in a line of short titles."""
    if any(len(header.text[a - header.start : b - header.start].split()) > 4 for a, b in cells):
        return {}
    named: dict[int, Kind] = {}
    for column, (start, end) in enumerate(cells):
        title = header.text[start - header.start : end - header.start]
        cue = next(
            (cue for cue in header.cues if start <= cue.start and end - cue.end in (0, 1)), None
        )
        if cue and cue.kind not in ("login", "network", "unlock") and not is_about_another(title):
            named[column] = cue.kind
    return named


def _is_in_cell(kind: Kind, start: int, end: int, line: _Line) -> bool:
    value = line.text[start - line.start : end - line.start]
    return " " not in value and _is_written(kind, value)


def _is_written(kind: Kind, value: str) -> bool:
    """Whether a value on its own, in a cell or on a line, is a secret of this kind."""
    value = value.rstrip("#*")
    if value.startswith(("/", "~", ".")) or value.count("/") > 1 or set("(){}<>[]") & set(value):
        return False
    if kind in ("password", "login", "unlock"):
        slashed = is_varied(value) and value.count("/") == 1
        return is_value("password", value.replace("/", "-") if slashed else value)
    if kind == "pin":
        return is_pin(value) or is_door_code(value) or is_dial_code(value)
    # `name=value` in code is no key.
    return is_value(kind, value.rstrip("=").rpartition("=")[2])


# --- below a heading ---


def _heading(line: _Line) -> Cue | None:
    """The last cue of a line, if the line ends soon after it."""
    text = line.text.rstrip()
    cue = line.cues[-1]
    rest = text[cue.end - line.start :]
    if rest[:1] == "." and rest[1:2].isalnum():
        return None
    if (
        len(rest) > 40
        or len(text) > _LONGEST_LINE
        or (cue.kind != "unlock" and is_about_another(rest))
        or re.search(r"[.!?]\s|\d{3}|\ufffc", rest)
    ):
        return None
    return cue if rest.rstrip().endswith((":", ">-", "|")) or len(text.split()) <= 8 else None


def _below(cue: Cue, heading: _Line, lines: Sequence[_Line]) -> Iterator[Secret]:
    read = 0
    for line in lines:
        text = line.text
        if not text.strip() or _FENCE.fullmatch(text):
            if read and not text.strip():
                return
            continue
        if len(text) > _LONGEST_LINE:
            return
        if not read and (phrase := _phrase_below(cue, heading, text)):
            yield Secret("passphrase", line.start + phrase[0], line.start + phrase[1])
            return
        found = _BELOW.fullmatch(text)
        if found is None:
            return
        read += 1
        other = found[1] and _NAME_OF_OTHER.search(found[1])
        value = found[2].rstrip(".,;:")
        # A single pin belongs to the first line only; a list of them needs names.
        if (
            not other
            and not (cue.kind == "pin" and read > 1 and not found[1])
            and _is_written(cue.kind, value)
        ):
            yield Secret(
                NAMES[cue.kind],
                line.start + found.start(2),
                line.start + found.start(2) + len(value),
            )


def _phrase_below(cue: Cue, heading: _Line, text: str) -> tuple[int, int] | None:
    """Where a line of words is a passphrase or a wallet's seed, by the line above it."""
    found = _PHRASE_BELOW.fullmatch(text)
    if not found:
        return None
    words = found[1].split()
    seed = len(words) in _SEED_LENGTHS and _SEED_WORDS.search(heading.text)
    asked = cue.kind in ("password", "unlock") and _ASKS_FOR_PHRASE.search(heading.text)
    if (seed and is_word_list(found[1])) or (
        asked and len(words) <= 10 and is_word_list(found[1], most=1)
    ):
        return found.span(1)
    return None
