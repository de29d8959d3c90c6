"""Secrets in sentences: «the token of the staging server is …», «tape 4713 au portail», «nimm … als Passwort».

A value of the right form that directly follows a word for a secret is one. Any other candidate near
such a word is judged by all its signs together: its form, the words around it, and how they lead to
it (`signs.py`). Without such a word, only long tokens with three character classes count, and only
inside a sentence.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from reverie.memory.secrets.cues import NAMES
from reverie.memory.secrets.layout import is_about_another, is_value
from reverie.memory.secrets.library import Secret
from reverie.memory.secrets.plausibility import (
    is_hash,
    is_joined_words,
    is_mixed,
    is_never_secret,
    is_uuid,
)
from reverie.memory.secrets.shapes import TURNS
from reverie.memory.secrets.signs import score_of, signs_of
from reverie.memory.secrets.word_classes import GO_ON, Topic, classes_of, find_topics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reverie.memory.secrets.cues import Cue

# A missed password costs more than a lost word. Without a word for a secret nearby, as in «the gate
# wants …», require about even odds.
THRESHOLD, THRESHOLD_WITHOUT_WORD = -0.8, -0.15
_NAMES: Mapping[str, str] = {
    **{str(kind): name for kind, name in NAMES.items()},
    "door": "pin",
    "card": "pin",
    "answer": "secret word",
}
# A generated value is a secret if one of these words, or a sign, links it to a word for a secret.
_LEADS = frozenset(
    ["s", "is", "are", "was", "were", "be", "being", "now", "still", "currently", "actually", "simply", "just", "to", "into", "as", "by", "with", "reads", "equals", "ist", "sind", "war", "lautet", "lauten", "heißt", "heisst", "jetzt", "nun", "auf", "durch", "als", "bitte", "mit", "sei", "est", "sont", "était", "devient", "désormais", "maintenant", "par", "comme", "avec", "suivant", "es", "son", "era", "será", "ahora", "por", "como", "con", "al", "sea", "ahora", "el", "la", "le", "das", "der", "a", "à", "zu"]
)  # fmt: skip
_TOWARDS = frozenset(["to", "into", "auf", "zu", "à", "a", "al"])
_SIGN_BEFORE = re.compile(r"(?:[:=：＝]|->|=>|→|⇒|[-–—])(?:\s*[>|]-?(?=\n))?[\s\"'`*(\[<{«“„‘「]*$")
_SENTENCE_END = re.compile(r"[.!?]['\")]?\s+[A-ZÄÖÜÉÈÀ¿¡]|\n")
_WORD = re.compile(r"[^\W_]+")
_REACH, _SHORTEST_WAY = 110, 12
# A value after one of these is an id, with or without a cue.
_NAMES_AN_ID = re.compile(
    r"(?:\b(?i:ids?|uid|uuid|sha\d*|md5|commit|blob|tree|object|parent|revision|checksum|digest|hash|fingerprint|integrity|signature|etag|nonce"
    r"|request|trace|span|message|w/|channel|video|document|folder|file|image|build|address|wallet|cid|public key|adresse|datei)"
    r"|(?:[a-z]Id|_id|-id|(?<!SESS)ID)s?)[\s:=#\"'`(*\\]{1,6}$"
)
_SENTENCE_WORDS = 3
# How many characters around a value are considered.
_SIGHT = 300
# A label on its own line, such as `Okta: …`.
_LABEL = re.compile(r"[\s>*\-•|]*[A-Z][\w.]*(?: [\w.]+){0,2}\s?(?::|->|→|=|–|-)\s*[\"'`*(\[<«]*")
_NOTHING_MORE = re.compile(r"[\"'`*)\]>».,;\s]*")


def find_in_sentences(
    text: str, lower: str, cues: Sequence[Cue], refused: set[int]
) -> Iterator[Secret]:
    """Every value that is a secret by the words around it, or by its form in a sentence.

    `refused` remembers rejected values with their surroundings for the next round.
    """
    topics = find_topics(lower, cues)
    starts = [topic.start for topic in topics]
    starts_of_cues = [cue.start for cue in cues]
    for start, end in find_candidates(text, topics):
        value = text[start:end]
        seen = hash((text[max(0, start - _SIGHT) : start], value, text[end : end + _SIGHT]))
        if seen in refused:
            continue
        if is_never_secret(value) or _NAMES_AN_ID.search(text, max(0, start - 32), start):
            refused.add(seen)
            continue
        if "://" in value or _in_address(text, start):
            continue
        if cue := _leading(
            text,
            value,
            start,
            end,
            cues[max(0, (place := bisect_left(starts_of_cues, start)) - 2) : place],
        ):
            yield Secret(NAMES[cue.kind], start, end)
            continue
        signs, topic = signs_of(text, start, end, topics, starts)
        named = any(sign.startswith("strong ") for sign in signs)
        if topic and score_of(signs) > (THRESHOLD if named else THRESHOLD_WITHOUT_WORD):
            yield Secret(_NAMES.get(topic, "password"), start, end)
        elif is_mixed(value) and _in_sentence(text, start, end):
            yield Secret("opaque key", start, end)
        else:
            refused.add(seen)


def _leading(text: str, value: str, start: int, end: int, before: Sequence[Cue]) -> Cue | None:
    """The word for a secret that leads to a value of its form: «our staging token changed to …»."""
    for cue in reversed(before):
        between = text[cue.end : start]
        if cue.end > start or len(between) > _REACH or _SENTENCE_END.search(between):
            continue
        words = [word.lower() for word in _WORD.findall(between)]
        leads = not words and len(between) <= _SHORTEST_WAY
        led = leads or _SIGN_BEFORE.search(between) or (words and words[-1] in _LEADS)
        if _may_be_an_id(value, words):
            continue
        named = (
            led and not is_about_another(between) and text[cue.start : cue.end].lower() != "pass"
        )
        if named and is_value(cue.kind, value, text[end : end + 12]) and not is_joined_words(value):
            return cue
    return None


def _may_be_an_id(value: str, words: Sequence[str]) -> bool:
    """Whether a UUID or hash is named by more than the word for a secret: «the token service went back to …»."""
    if is_uuid(value):
        return len(words) > 1
    return is_hash(value) and bool(words) and words[-1] in _TOWARDS


def _in_address(text: str, start: int) -> bool:
    """Whether it is part of a URL, such as the value of `?id=`."""
    before = text[max(0, start - 200) : start]
    cut = max(before.rfind(" "), before.rfind("\n"), before.rfind('"'), before.rfind("'"))
    return "://" in before[cut + 1 :]


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


# --- spans that could be secrets ---

_IN_TOKEN = r"[^\s\"'`<>(){}\[\],;|=「」，。；、«»“”„‘’\ufffc\\]"
# Anchored at the first character, so that a long run of letters is tried once; requires a digit, a
# sign, a separator between words, or a hump as in `BlueOtter`.
_TOKEN = re.compile(
    rf"(?<!{_IN_TOKEN})(?={_IN_TOKEN}*?(?:[\d!@#$%^&*?~+]|[^\W\d_][-_.][^\W\d_]{{3}}|[a-zA-Z]={{1,2}}(?!\S)|[a-zà-ÿ]{{2}}[A-Z][a-z]{{2}}))"
    rf"{_IN_TOKEN}{{3,}}+={{0,2}}"
)
_TRAILING = ".:?…"
_LONGEST = 512
_WORDS_FROM = frozenset(["password", "answer", "unlock", "network", "login"])
_PHRASE_TOPICS = frozenset(["password", "answer", "unlock", "codes", "key"])
_SPACED = re.compile(
    r"(?<![\w.-])(?:\d(?:(?: |-|, )\d){3,5}|\d{1,2}(?: \d{1,2}){2,3}|\d{3} \d{3}|\d{4}(?: \d{4}){1,7})(?![\w-])"
)
_WORD_RUN = re.compile(r"[^\W\d_]{2,24}(?:['’][a-z])?(?:[ ,]{1,2}[^\W\d_]{1,24}){0,23}")
_ONE = re.compile(r"(?<![\w@.-])[^\W\d_]{4,24}(?![\w@-]|[.][a-z])")
# Words in quotes, and invented names of people or pets.
_QUOTED = re.compile(
    r"(?:\"(?P<a>[^\"\n]{4,80})\"|[“„](?P<b>[^“”\n]{4,80})[“”]|«\s?(?P<c>[^»\n]{4,80}?)\s?»|(?<!\w)['‘](?P<d>[^'‘’\n]{4,60})['’](?!\w))"
)
_ONLY_WORDS = re.compile(r"[^\W\d_]+(?:[ ,'’.-]{1,2}[^\W\d_]+)*")
_NAME = re.compile(r"(?<![\w.])[A-ZÀ-Þ][a-zà-ÿ]+\.?(?: [A-ZÀ-Þ][\w’-]+){1,3}")
# «nine tired otters is what opens it».
_BEFORE = re.compile(r"(?:^|[.,;:!?–—-] |\n)((?:[^\W\d_]{2,16} ){2,5}[^\W\d_]{2,16}) $")
_AROUND = 90


def find_candidates(text: str, topics: Sequence[Topic]) -> Iterator[tuple[int, int]]:
    """Every span that could be a secret, whatever the evidence."""
    for found in _TOKEN.finditer(text):
        start, end = found.start(), _end(text, found)
        if (
            3 <= end - start <= _LONGEST
            and text[end : end + 1] not in ("(", "[")
            and not text.endswith("${", 0, start)
        ):
            yield start, end
            yield from _tails(text, start, end)
    reach = 0
    for topic in topics:
        if topic.name in ("door", "pin", "code", "codes", "card", "unlock", "password", "login"):
            low, high = max(reach, topic.start - 40), topic.end + _AROUND
            for form in (_SPACED, TURNS):
                for found in form.finditer(text, low, high + 40):
                    yield found.span()
            reach = high - 12
    yield from _words(text, topics)


def _end(text: str, found: re.Match[str]) -> int:
    """The end without closing punctuation and bold marks; a sign before those may belong to a password."""
    end = found.end()
    while end > found.start() and (text[end - 1] in _TRAILING or text.endswith("**", 0, end)):
        end -= 1
    return end


def _tails(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The second part of `bob:…` and `admin/…`, and what follows `-p`."""
    found = re.match(r"[\w.@-]{1,32}[:/](?=[^/])", text[start:end]) or re.match(
        r"-[pPk](?=\w)", text[start:end]
    )
    if found and end - start - found.end() >= 4:
        yield start + found.end(), end


def _words(text: str, topics: Sequence[Topic]) -> Iterator[tuple[int, int]]:
    done = set[tuple[int, int]]()
    for topic in topics:
        if topic.name in _WORDS_FROM or topic.name in _PHRASE_TOPICS:
            for span in _words_near(text, topic):
                if span not in done:
                    done.add(span)
                    yield span


def _words_near(text: str, topic: Topic) -> Iterator[tuple[int, int]]:
    low, high = max(0, topic.start - 40), topic.end + _AROUND
    if topic.name in _WORDS_FROM:
        for found in _ONE.finditer(text, low, high):
            if _is_led_to(text, *found.span()):
                yield found.span()
    yield from _quoted_and_names(text, topic, low, high)
    if topic.name in _PHRASE_TOPICS:
        for found in _WORD_RUN.finditer(text, topic.end, min(len(text), high + 160)):
            if found.start() <= high and " " in found[0]:
                yield from _phrases(text, found, 2 if topic.name == "answer" else 3)


def _quoted_and_names(text: str, topic: Topic, low: int, high: int) -> Iterator[tuple[int, int]]:
    for found in _QUOTED.finditer(text, low, high + 40):
        start, end = found.span(found.lastgroup or 0)
        if _ONLY_WORDS.fullmatch(text, start, end):
            yield start, end
    if topic.name == "unlock" and (before := _BEFORE.search(text[low : topic.start])):
        yield low + before.start(1), low + before.end(1)
    if topic.name == "answer":
        for found in _NAME.finditer(text, topic.end, high):
            yield found.span()


_LED_BY = ("is", "with", "use", "to", "filler", "changed", "takes", "words")


def _is_led_to(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 30) : start]
    if before.rstrip(" \t")[-1:] in tuple(":=\"'`“„«->→,(–—/\n") or not before.strip():
        return True
    words = re.findall(r"[^\W_]+", before)
    return bool(words) and bool(set(classes_of(words[-1].lower())) & set(_LED_BY))


def _phrases(text: str, run: re.Match[str], fewest: int) -> Iterator[tuple[int, int]]:
    """The run of words that a sentence points to, up to the next clause."""
    words = [
        (m.start() + run.start(), m.end() + run.start(), m[0].lower())
        for m in re.finditer(r"[^\W\d_]+", run[0])
    ]
    for place in range(min(len(words) - fewest + 1, 8)):
        start = words[place][0]
        if set(classes_of(words[place][2])) - {"note", "opens"}:
            continue
        if not _is_led_to(text, start, start) or (
            place and text[words[place - 1][1] : start] == ", "
        ):
            continue
        last = place
        listed = place + 1 < len(words) and "," in text[words[place][1] : words[place + 1][0]]
        while last + 1 < len(words) and words[last + 1][2] not in GO_ON:
            if not listed and "," in text[words[last][1] : words[last + 1][0]]:
                break
            last += 1
        if last - place + 1 >= fewest:
            yield start, words[last][1]
