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

from reverie.memory.secrets.candidates import find_candidates
from reverie.memory.secrets.cues import NAMES
from reverie.memory.secrets.layout import is_about_another, is_value
from reverie.memory.secrets.library import Secret
from reverie.memory.secrets.plausibility import is_joined_words, is_mixed, is_never_secret
from reverie.memory.secrets.signs import score_of, signs_of
from reverie.memory.secrets.word_classes import find_topics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reverie.memory.secrets.cues import Cue

# A missed password costs more than a lost word. Without a word for a secret nearby, as in «the gate
# wants …», require slightly better than even odds.
THRESHOLD, THRESHOLD_WITHOUT_WORD = -0.65, 0.1
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
_SIGN_BEFORE = re.compile(r"(?:[:=：＝]|->|=>|→|⇒|[-–—])(?:\s*[>|]-?(?=\n))?[\s\"'`*(\[<{«“„‘「]*$")
_SENTENCE_END = re.compile(r"[.!?]['\")]?\s+[A-ZÄÖÜÉÈÀ¿¡]|\n")
_WORD = re.compile(r"[^\W_]+")
_REACH, _SHORTEST_WAY = 110, 12
# A value after one of these is an id, with or without a cue.
_NAMES_AN_ID = re.compile(
    r"(?:\b(?i:ids?|uid|uuid|sha\d*|md5|commit|revision|checksum|digest|hash|fingerprint|integrity|signature|etag|nonce"
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
        named = (
            led and not is_about_another(between) and text[cue.start : cue.end].lower() != "pass"
        )
        if named and is_value(cue.kind, value, text[end : end + 12]) and not is_joined_words(value):
            return cue
    return None


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
