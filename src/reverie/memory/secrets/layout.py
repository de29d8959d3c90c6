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
    is_chosen,
    is_dial_code,
    is_door_code,
    is_hash,
    is_joined_words,
    is_licence,
    is_numbered_words,
    is_of_both_cases,
    is_opaque,
    is_pin,
    is_placeholder,
    is_spoken_key,
    is_spoken_password,
    is_varied,
    is_word_list,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LINE = re.compile(r"[^\n]*+\n?")
_SEPARATORS = ("|", "\t", ";", ",")
_AROUND = " \t\r\"'`*_"
_RULE = re.compile(r"[\s|:+=-]+")
_LONGEST_ROW = 2_000
_LONGEST_LINE = 200
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
# What else a text says about a secret, besides its value.
_NOT_ITS_VALUE = frozenset(
    ["hash", "hashes", "digest", "checksum", "fingerprint", "id", "ids", "uuid", "count", "limit", "limits", "budget", "policy", "length", "size", "ttl", "expiry", "expires", "field", "column", "variable", "env", "file", "files", "path", "page", "link", "url", "type", "kind", "format", "prefix", "header", "bucket", "manager", "rotation", "reset", "version", "endpoint", "issuer", "audience", "scope", "class", "function", "method", "expire", "after", "before", "since", "every", "until", "characters", "zeichen", "caractères", "caracteres", "days", "hours", "minutes", "seconds", "stunden", "tage", "jours", "heures", "días", "horas", "länge", "longueur", "longitud", "named", "called", "kostet", "costs", "cost", "price", "table", "spalte", "counted", "commit", "request", "message", "see", "siehe"]
)  # fmt: skip
# Recovery codes such as `4f8a-9c2e` or `12345678`.
_CODE = re.compile(
    r"(?=[A-Za-z-]*\d)[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){1,5}|\d{6,10}|(?=[a-z]*\d)[a-z0-9]{8,16}"
)
_UNIT = re.compile(
    r"\s*%|\s+(?:digits?|char|letters?|attempts?|tries|times|second|minute|hour|day|week|month|year|users?|people|items?"
    r"|entries|euros?|dollars?|stellen|ziffern|zeichen|versuche|sekunden|minuten|stunden|tage|chiffres|caract|essais|jours"
    r"|heures|cifras|dígitos|intentos|días|horas|veces)"
)
_LONGEST_PASSCODE = 10
_SHORTEST_NETWORK_KEY = 8
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    text: str
    cues: Sequence[Cue]


def find_in_layout(text: str, cues: Sequence[Cue]) -> Iterator[Secret]:
    """Every value in a column or below a line that names a secret."""
    if not cues:
        return
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


# --- what a value may look like ---


def is_about_another(between: str) -> bool:
    """Whether words name something of a secret that is not the secret, such as its length."""
    return bool(_NOT_ITS_VALUE.intersection(word.lower() for word in _WORD.findall(between)))


def is_value(kind: Kind, value: str, after: str = "") -> bool:
    """Whether a value that is plainly named has a form that its kind of secret has."""
    pin = is_pin(value) and not _UNIT.match(after)
    match kind:
        case "pin":
            typed = is_varied(value) and len(value) <= _LONGEST_PASSCODE
            return (
                pin or typed or is_door_code(value) or is_dial_code(value) or is_spoken_key(value)
            )
        case "password":
            numbered = (
                is_spoken_password(value) or is_numbered_words(value) or is_joined_words(value)
            )
            return (pin and len(value) >= 6) or numbered
        case "network" | "unlock":
            made_up = is_chosen(value) or is_varied(value) or kind == "network"
            chosen = made_up and len(value) >= _SHORTEST_NETWORK_KEY and is_spoken_password(value)
            return chosen or (kind == "unlock" and pin and len(value) >= 6)
        case "key":
            return is_spoken_key(value) or is_licence(value)
        case "codes":
            return bool(_CODE.fullmatch(value)) or is_licence(value)
        case _:
            hashed = kind == "generic" and is_hash(value) and len(value) >= 32
            least = 16 if kind == "generic" and not is_of_both_cases(value) else 10
            pair = kind == "login" and _is_name_and_password(value)
            return is_opaque(value, least) or pair or (hashed and not is_placeholder(value))


def _is_name_and_password(value: str) -> bool:
    name, _, password = value.partition(":")
    return name.isalnum() and is_chosen(password) and is_spoken_password(password)
