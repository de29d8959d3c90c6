"""Secrets in sentences: «the token of the staging server is …», «nimm … als Passwort».

A *cue* is a word for a secret, in English, German, French or Spanish. Every token near a cue is
judged by the words between them: a value that is clearly named may look like a chosen password; one
that is only in the same sentence must look generated. Without a cue, only long tokens with three
character classes count, and only inside a sentence.

Each token is compared with the nearest cues within a fixed distance, so the time is linear.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from reverie.memory.secrets.cues import DOOR, NAMES, Cue, Kind
from reverie.memory.secrets.library import Secret
from reverie.memory.secrets.plausibility import (
    is_chosen,
    is_dial_code,
    is_door_code,
    is_hash,
    is_joined_words,
    is_licence,
    is_made_up,
    is_mixed,
    is_numbered_words,
    is_of_both_cases,
    is_opaque,
    is_pin,
    is_placeholder,
    is_spoken_key,
    is_spoken_password,
    is_varied,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_REACH = 110
_BESIDE = 5
_NEAR = 30
# What follows speaks of something else.
_NEXT_CLAUSE = re.compile(r"[.;:!?()]\s|\b(?:and|or|then|und|oder|et|ou|y|o)\b")
# The shortest key of WPA.
_SHORTEST_NETWORK_KEY = 8
_QUOTES = ('"', "'", "`", "“", "„", "«")
_LONGEST_TOKEN = 512
_LONGEST_PASSCODE = 10

_IN_TOKEN = r"[^\s\"'`<>(){}\[\],;|=「」，。；、«»“”„‘’\ufffc\\]"
# Anchored at the first character, so that a long run of letters is tried once; requires a digit, a
# sign, three separators, a hump as in `BlueOtter`, or three words as in `blue-otter-lamp`.
_TOKEN = re.compile(
    rf"(?<!{_IN_TOKEN})(?={_IN_TOKEN}*?(?:[\d!@#$%^&*?~]|[-_.][a-z]++[-_.][a-z]++[-_.][a-z]|[a-zA-Z]={{1,2}}(?!\S)"
    rf"|[a-z]{{2}}[A-Z][a-z]{{2}}|[a-z]{{2}}-[a-z]{{3,}}+-[a-z]{{3}}|[A-Z]-[A-Z]{{4,}}+-[A-Z]{{4}}))"
    rf"{_IN_TOKEN}{{4,}}+={{0,2}}"
)
_TRAILING = ".:!?*#…"
_CALLED = ("(", "[")
_SENTENCE_END = re.compile(r"[.!?]['\")]?\s+[A-ZÄÖÜÉÈÀ¿¡]|\n")
_WORD = re.compile(r"[^\W_]+")

# Between a cue and its value, none of these may occur …
_NOT_ITS_VALUE = frozenset(
    ["hash", "hashes", "digest", "checksum", "fingerprint", "id", "ids", "uuid", "count", "limit", "limits", "budget", "policy", "length", "size", "ttl", "expiry", "expires", "field", "column", "variable", "env", "file", "files", "path", "page", "link", "url", "type", "kind", "format", "prefix", "header", "bucket", "manager", "rotation", "reset", "version", "endpoint", "issuer", "audience", "scope", "class", "function", "method", "expire", "after", "before", "since", "every", "until", "characters", "zeichen", "caractères", "caracteres", "days", "hours", "minutes", "seconds", "stunden", "tage", "jours", "heures", "días", "horas", "länge", "longueur", "longitud", "named", "called", "kostet", "costs", "cost", "price", "table", "spalte", "counted", "commit", "request", "message", "see", "siehe"]
)  # fmt: skip
# … and the last word must be one of these, or a sign, or there is no word at all.
_LEADS = frozenset(
    ["s", "is", "are", "was", "were", "be", "being", "now", "still", "currently", "actually", "simply", "just", "to", "into", "as", "by", "with", "reads", "equals", "ist", "sind", "war", "lautet", "lauten", "heißt", "heisst", "jetzt", "nun", "auf", "durch", "als", "bitte", "mit", "sei", "est", "sont", "était", "devient", "désormais", "maintenant", "par", "comme", "avec", "suivant", "es", "son", "era", "será", "ahora", "por", "como", "con", "al", "sea", "ahora", "el", "la", "le", "das", "der", "a", "à", "zu"]
)  # fmt: skip
_AFTER_PASS = frozenset(["is", "was", "now", "phrase", ":", "=", "-", "->", '"', "is:", "'s"])
# «For the wifi use …», «tape …».
_USE = frozenset(
    ["use", "using", "type", "enter", "take", "nimm", "nehmt", "nutze", "tippe", "utilise", "utilisez", "tape", "tapez", "saisis", "usa", "usad", "pon", "teclea", "try", "versuch", "probier", "essaie", "essayez", "prueba", "probad"]
)  # fmt: skip
_NETWORK = re.compile(r"\b(?:wi-?fi|wlan|ssid)\b", re.IGNORECASE)
# «User ada, key …»: beside the name of an account any key is a password.
_ACCOUNT = re.compile(
    r"\b(?:user(?:name)?|account|login|benutzer(?:name)?|konto|utilisateur|compte|identifiant|usuario|cuenta)\b[\s:]+\S+[\s,;/&+]+(?:\w{1,4}\s+)?$",
    re.IGNORECASE,
)
# The key of a network as people make it up, at the end of what is said of it: «clé wifi du bureau orgue074668».
_WORD_AND_NUMBER = re.compile(r"[^\W\d_]{3,}\d{4,}|[^\W\d_]{6,}\d{2,}")
_CLAUSE_ENDS = re.compile(r"[#*\"'`»”’)\]]*+\s*+(?:[.,;:!?(]|[-–—]\s|\n|$)")
# Words before a number that is no code: «the door code changed in 2019», «the PIN pad in room 4711».
_COUNTED = frozenset(
    ["in", "since", "at", "on", "port", "line", "page", "room", "section", "issue", "ticket", "year", "from", "step", "no", "nr", "number", "im", "seit", "am", "um", "zimmer", "seite", "zeile", "raum", "en", "depuis", "ligne", "salle", "desde", "línea", "sala", "about", "over", "under", "than", "building", "user", "order", "gpio", "error", "takes", "has", "have", "had", "fails", "returns", "runs", "needs", "uses", "of", "for", "und", "and", "or", "oder", "et", "y"]
)  # fmt: skip
_SIGN_BEFORE = re.compile(r"(?:[:=：＝]|->|=>|→|⇒|[-–—])(?:\s*[>|]-?(?=\n))?[\s\"'`*(\[<{«“„‘「]*$")
# After a value: «… is the token», «… als Passwort», «… (password)».
_FOLLOWS = re.compile(
    r"[!?\"'`*)\]>»”’」]*\s*(?:[-–—,]\s*)?(?:\(|(?:is|was|as|for|ist|war|als|est|comme|es|como|that['’]?s|das ist|c['’]est|eso es)\b)"
)
# Recovery codes such as `4f8a-9c2e` or `12345678`.
_CODE = re.compile(
    r"(?=[A-Za-z-]*\d)[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){1,5}|\d{6,10}|(?=[a-z]*\d)[a-z0-9]{8,16}"
)
_UNIT = re.compile(
    r"\s*%|\s+(?:digits?|char|letters?|attempts?|tries|times|second|minute|hour|day|week|month|year|users?|people|items?"
    r"|entries|euros?|dollars?|stellen|ziffern|zeichen|versuche|sekunden|minuten|stunden|tage|chiffres|caract|essais|jours"
    r"|heures|cifras|dígitos|intentos|días|horas|veces)"
)
# A value after one of these is an id, with or without a cue.
_NAMES_AN_ID = re.compile(
    r"(?:\b(?i:ids?|uid|uuid|sha\d*|md5|commit|revision|checksum|digest|hash|fingerprint|integrity|signature|etag|nonce"
    r"|request|trace|span|message|channel|video|document|folder|file|image|build|address|wallet|cid|public key|adresse|datei)"
    r"|(?:[a-z]Id|_id|-id|(?<!SESS)ID)s?)[\s:=#\"'`(*\\]{1,6}$"
)
_SENTENCE_WORDS = 3
# A label on its own line, such as `Okta: …`.
_LABEL = re.compile(r"[\s>*\-•|]*[A-Z][\w.]*(?: [\w.]+){0,2}\s?(?::|->|→|=|–|-)\s*[\"'`*(\[<«]*")
_NOTHING_MORE = re.compile(r"[\"'`*)\]>».,;\s]*")


def find_in_sentences(text: str, cues: Sequence[Cue]) -> Iterator[Secret]:
    """Every value that is a secret by the words around it, or by its form in a sentence."""
    starts = [cue.start for cue in cues]
    for found in _TOKEN.finditer(text):
        start, end = found.start(), _end(text, found)
        value = text[start:end]
        if not 4 <= len(value) <= _LONGEST_TOKEN or text[end : end + 1] in _CALLED:
            continue
        # `${PASSWORD:?must be set}` names a variable.
        if text.endswith("${", 0, start) or _NAMES_AN_ID.search(text, max(0, start - 32), start):
            continue
        place = bisect_left(starts, start)
        kind = _judged(
            text, value, start, end, cues[max(0, place - 3) : place], cues[place : place + 2]
        )
        if kind and "://" not in value and not _in_address(text, start):
            yield Secret(kind, start, end)


def _end(text: str, found: re.Match[str]) -> int:
    end = found.end()
    if text[end - 1] == "!" and text[end : end + 1] in (",", ";", ")", '"', "'", "”"):
        return end
    while end > found.start() and text[end - 1] in _TRAILING:
        end -= 1
    return end


def _in_address(text: str, start: int) -> bool:
    """Whether it is part of a URL, such as the value of `?id=`."""
    before = text[max(0, start - 200) : start]
    cut = max(before.rfind(" "), before.rfind("\n"), before.rfind('"'), before.rfind("'"))
    return "://" in before[cut + 1 :]


def _judged(
    text: str, value: str, start: int, end: int, before: Sequence[Cue], behind: Sequence[Cue]
) -> str | None:
    """The kind of secret; None if it is not a secret."""
    loose: Kind | None = None
    near = False
    for cue in reversed(before):
        if cue.end > start or start - cue.end > _REACH:
            continue
        between = text[cue.end : start]
        if _SENTENCE_END.search(between):
            continue
        kind = _named_kind(cue, between, before, text)
        if named := _named_by(cue, kind, between, value, text, end):
            return NAMES[named]
        loose = loose or cue.kind
        near = near or _is_near(cue, between)
    for cue in behind:
        if (
            cue.start < end
            or cue.start - end > _REACH
            or _SENTENCE_END.search(text[end : cue.start])
        ):
            continue
        between = text[end : cue.start]
        if (
            text[cue.start : cue.end].lower() != "pass"
            and _FOLLOWS.match(between)
            and not is_about_another(between)
            and _is_named_behind(cue.kind, value)
        ):
            return NAMES[cue.kind]
        loose = loose or cue.kind
        near = near or _is_near(cue, between)
    return _by_its_form(text, value, start, end, loose, near=near)


def _by_its_form(
    text: str, value: str, start: int, end: int, loose: Kind | None, *, near: bool
) -> str | None:
    """The kind of a value that no words lead to: one `near` a password must look made up, others generated."""
    if near and is_made_up(value):
        return NAMES["password"]
    if loose == "codes" and _CODE.fullmatch(value):
        return NAMES[loose]
    if loose and loose != "generic" and is_opaque(value, 10 if is_of_both_cases(value) else 16):
        return NAMES[loose]
    return "opaque key" if is_mixed(value) and _in_sentence(text, start, end) else None


def _is_near(cue: Cue, between: str) -> bool:
    """Whether a password is spoken of a few words before or behind a value: «I think it's …, the pw»."""
    return (
        cue.kind == "password"
        and len(between) <= _NEAR
        and not is_about_another(between)
        and not _NEXT_CLAUSE.search(between)
        and not _COUNTED.intersection(between.lower().split()[-1:])
    )


def _named_kind(cue: Cue, between: str, before: Sequence[Cue], text: str) -> Kind:
    """What a cue names: the "key" of a network is its password, as is what follows "wifi:"."""
    if cue.kind == "network":
        used = _USE.intersection(between.lower().split()[-1:]) or between[-1:] in _QUOTES
        given = bool(used) or _SIGN_BEFORE.search(between) is not None
        return "network" if given else "login"
    if cue.kind in ("key", "generic") and _ACCOUNT.search(text, max(0, cue.start - 60), cue.start):
        return "password"
    if cue.kind in ("key", "generic") and _NETWORK.search(between):
        return "password"
    network = cue.kind == "generic" and any(
        one.kind == "network"
        and one.end < cue.start
        and not _SENTENCE_END.search(text[one.end : cue.start])
        for one in before
    )
    return "password" if network else cue.kind


def _named_by(cue: Cue, kind: Kind, between: str, value: str, text: str, end: int) -> Kind | None:
    """The kind of secret that a cue before a value says it is."""
    # «Pass AgentSession to …»: the verb needs its value right behind it, and no name of a class.
    verb = text[cue.start : cue.end].lower() == "pass"
    if verb and (is_joined_words(value) or not _AFTER_PASS.issuperset(between.lower().split())):
        return None
    if not _leads_to(between) and not _in_brackets(between, text, end):
        return kind if _stands_beside(kind, between, value, text, end) else None
    if is_value(kind, value, text[end : end + 12]):
        return kind
    return "pin" if kind == "unlock" and _opens_a_door(text, cue, value) else None


def _opens_a_door(text: str, cue: Cue, value: str) -> bool:
    named = DOOR.search(text, max(0, cue.start - 60), cue.start)
    return is_pin(value.strip("#*")) and bool(named)


def _in_brackets(between: str, text: str, end: int) -> bool:
    """Whether a value stands alone in brackets: «the PIN of the card (7001)»."""
    closed = between[-2:] == " (" and text[end : end + 1] == ")"
    return closed and not is_about_another(between)


def _stands_beside(kind: Kind, between: str, value: str, text: str, end: int) -> bool:
    """Whether a value follows what it is for and ends the clause: «alarm code at the warehouse 7391»."""
    words = [word.lower() for word in _WORD.findall(between)]
    if not 1 <= len(words) <= _BESIDE or words[-1] in _COUNTED or not _CLAUSE_ENDS.match(text, end):
        return False
    if is_about_another(between) or any(len(word) > 4 and word.endswith("ed") for word in words):
        return False
    if kind == "pin":
        return is_value(kind, value, text[end : end + 12])
    if kind not in ("password", "network") and not (kind == "login" and "ssid" in between):
        return bool(kind == "login" and _WORD_AND_NUMBER.fullmatch(value)) and is_value(
            "network", value, ""
        )
    made_up = _WORD_AND_NUMBER.fullmatch(value) or is_chosen(value) or is_varied(value)
    return bool(made_up) and is_value(kind, value, "")


def _leads_to(between: str) -> bool:
    """Whether the words between a cue and a value connect them."""
    words = [word.lower() for word in _WORD.findall(between)]
    if not words:
        return len(between) <= 12
    if _NOT_ITS_VALUE.intersection(words):
        return False
    return bool(_SIGN_BEFORE.search(between)) or words[-1] in _LEADS or words[-1] in _USE


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


def _is_named_behind(kind: Kind, value: str) -> bool:
    if kind == "codes":
        return bool(_CODE.fullmatch(value))
    if kind in ("generic", "login", "network", "unlock"):
        return is_opaque(value, 16)
    if kind == "password" and (
        (is_spoken_password(value) and is_varied(value)) or is_joined_words(value)
    ):
        return True
    return is_spoken_key(value) or (kind == "pin" and is_pin(value))


def _in_sentence(text: str, start: int, end: int) -> bool:
    """Whether it is among the words of a sentence, or after a label on its own line."""
    before = text[max(0, start - 120) : start].rpartition("\n")[2]
    after = text[end : end + 120].partition("\n")[0]
    if before.endswith("base64,"):
        return False
    if _LABEL.fullmatch(before) and _NOTHING_MORE.fullmatch(after):
        return True
    return (
        len(re.findall(r"(?<![\w/.-])[^\W\d_]{2,}(?![\w/-])", f"{before} {after}"))
        >= _SENTENCE_WORDS
    )
