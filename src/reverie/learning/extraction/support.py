"""Checks that messages support a memory's claim: words, numbers, names, addresses and negations.

Most words of the claim must occur, and every number, date, name and address, also a name at the start
of a sentence. An embedding can support a claim in other words, but never a missing number or a lost
"not". Questions, conditions, errands and guesses support nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from reverie.learning.extraction import questions
from reverie.learning.extraction.questions import (
    ALWAYS,
    FRAME_NAMES,
    MONTHS,
    OPENINGS,
    SMALL,
    denying,
)
from reverie.learning.extraction.reading import Utterance
from reverie.learning.extraction.rules.sentences import sentences
from reverie.text.dates import absolute_dates
from reverie.text.words import STOP_WORDS, fold, root

# Returns the similarity of meaning of two texts, at most 1.
Similarity: TypeAlias = Callable[[str, str], float]

ENOUGH_WORDS = 0.6
# With fewer words in common, similarity of meaning proves nothing.
FEWEST_WORDS = 0.25
ENOUGH_LIKENESS = 0.75
_MOST_SOURCES = 3
_SPOKEN = ("english", "german", "french", "spanish")
# The reach of a passage around a word, and the number of passages examined in a long text.
_PASSAGE = 200
_MOST_PASSAGES = 200
# Clauses that share this many words are the same clause, so a "not" in only one of them inverts it.
_SAME_CLAUSE = 0.8

_TOKEN = re.compile(r"[^\W_]+(?:['.\-:][^\W_]+)*")
_URL = re.compile(r"https?://[^\s)>\]\"'“”]+[^\s)>\]\"'“”.,;:!?]")
_ISO_DAY = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_NAME = re.compile(r"(?<=[\w,;:\"“(] )[A-Z][\w-]+|\b[A-Z][a-z]*[A-Z]\w*|\b[A-Z]{2,}\b")
_FIRST = re.compile(r"\W*([^\W\d_][\w'’-]*(?:\.\d+)*)")
_POSSESSIVE = re.compile(r"['’]s?\Z")
# The word after these is a name even in lower case.
_ROLE = re.compile(
    r"\b(?:by|ask|asks|tell|tells|trust|trusts|obey|von|durch|fragt?|par|demande à|por|pregunta a) ([^\W\d_][\w-]{2,})",
    re.I,
)
_CALLED = re.compile(r"(?<=[\w,;:\"“(] )[A-Z][\w-]+")
_STANDING = re.compile(
    r"from now on|going forward|in (?:the )?future|next time|again|any ?more|ever\b|ab jetzt|ab sofort|künftig|in zukunft"
    r"|nie wieder|à partir de|désormais|à l'avenir|a partir de|de ahora|no vuelvas",
    re.I,
)
_CLAUSE_END = re.compile(
    r"[,;:–—]\s+|[.!?]\s+|\n+|\b(?:because|but|since|so that|weil|parce que|porque)\b"
)
# Negations with a positive meaning.
_NOT_FORGET = re.compile(
    r"\b(?:don['’]t|do not|never) forget\b|\bvergiss nicht\b|\bn['’]oubliez? pas\b|\bno (?:te )?olvides\b",
    re.I,
)
_LABEL = re.compile(r"\*\*(?:Why|How to apply):\*\*")


@dataclass(frozen=True, slots=True)
class Supported:
    """The messages that support the claim."""

    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Why the claim is not supported, and which parts of it no message says."""

    reason: str
    missing: tuple[str, ...] = ()


def support(
    claim: str,
    spoken: Sequence[Utterance],
    cited: Iterable[str] = (),
    similarity: Similarity | None = None,
    *,
    answered: bool = False,
) -> Supported | Unsupported:
    """Whether the cited utterances support the whole claim; without citations the best ones are used.

    A question that was `answered` with yes counts as a statement.
    """
    wanted = frozenset(cited)
    pool = [one for one in spoken if one.id in wanted] if wanted else _nearest(claim, spoken)
    if not pool or not _words(claim):
        return Unsupported("no message says it")
    texts = map(_dated, pool)
    source = "\n".join(text if answered else _stated(claim, text) for text in texts)
    for sentence in sentences(_LABEL.sub(" ", claim)):
        lacking = _lacking(sentence, source, similarity)
        if lacking is not None:
            return lacking
    return Supported(tuple(dict.fromkeys(one.id for one in pool)))


def _stated(claim: str, text: str) -> str:
    """The sentences of a text that can support a claim, because they state something.

    A condition only supports a claim with a condition, an errand only a claim about it, and reported
    speech no rule of the person.
    """
    kept = []
    for sentence in sentences(text):
        if not questions.states(sentence):
            continue
        if _rules(claim) and _rules(sentence) and _hearsay(claim, sentence):
            continue
        who = questions.errand(sentence)
        if who and not questions.errand(claim) and fold(who) in _tokens(claim):
            continue
        if not questions.conditional(claim):
            sentence = _without_conditions(claim, sentence)
        kept.append(sentence)
    return "\n".join(kept)


def _rules(text: str) -> bool:
    return bool(_tokens(text) & ALWAYS or _STANDING.search(text))


def _hearsay(claim: str, sentence: str) -> bool:
    """Whether the claim turns another person's words into a rule without naming that person."""
    who = questions.reporter(sentence)
    return bool(who) and not _tokens(who) & _tokens(claim)


def _without_conditions(claim: str, sentence: str) -> str:
    """The sentence without a condition whose subject the claim presents as a fact."""
    subject = _FIRST.match(claim)
    names = {fold(name) for name in _CALLED.findall(claim)}
    names |= {fold(subject[1])} if subject else set()
    rest = questions.without_conditions(sentence)
    return rest if names & (_tokens(sentence) - _tokens(rest)) else sentence


def covered(claim: str, source: str) -> float:
    """The share of the claim's words that the source has."""
    words = _words(claim)
    return len(words & _words(source)) / len(words) if words else 0.0


def echoes(claim: str, text: str) -> bool:
    """Whether some passage of a text contains half of the claim's words."""
    words = _words(claim)
    plain = text.lower() if text.isascii() else fold(text)
    for word in sorted(words, key=lambda one: (-len(one), one)):
        at = plain.find(word)
        for _ in range(_MOST_PASSAGES):
            if at < 0:
                break
            passage = plain[max(0, at - _PASSAGE) : at + _PASSAGE]
            if 2 * len(words & _words(passage)) >= len(words):
                return True
            at = plain.find(word, at + _PASSAGE // 2)
    return False


def _nearest(claim: str, spoken: Sequence[Utterance]) -> list[Utterance]:
    """The utterances with most of the claim, in their order."""
    shares = [(covered(claim, _dated(one)), at) for at, one in enumerate(spoken)]
    best = sorted(shares, key=lambda share: (-share[0], share[1]))[:_MOST_SOURCES]
    useful = [at for share, at in best if share >= 0.5 * best[0][0] and share > 0]
    return [spoken[at] for at in sorted(useful)]


def _lacking(claim: str, source: str, similarity: Similarity | None) -> Unsupported | None:
    missing = _missing_values(claim, source)
    if missing:
        return Unsupported(f"no message says {', '.join(missing)}", missing)
    if not _words(claim):
        return None
    nearest = _closest(claim, sentences(source))
    twisted = _twisted(claim, nearest, source)
    if twisted is not None or _enough(claim, nearest, source, similarity):
        return twisted
    missing = tuple(sorted(_words(claim) - _words(source)))
    return Unsupported("the messages say something else", missing)


def _twisted(claim: str, nearest: str, source: str) -> Unsupported | None:
    """Detect a changed meaning: a lost "not", swapped names, a rule made from a single case."""
    if _negated(claim) not in (_negated(nearest), _negated(_closest(claim, _clauses(nearest)))):
        return Unsupported("one says no where the other says yes", (nearest,))
    for clause in _clauses(claim):
        theirs = _closest(clause, _clauses(source))
        if covered(clause, theirs) >= _SAME_CLAUSE and _negated(clause) != _negated(theirs):
            return Unsupported("one says no where the other says yes", (theirs,))
    if other := _another(claim, nearest):
        return Unsupported(f"it was said of {other}", (nearest,))
    if _exchanged(claim, nearest):
        return Unsupported("the names stand the other way round", (nearest,))
    strong = _tokens(claim) & ALWAYS
    if strong and not (_tokens(source) & ALWAYS or _STANDING.search(source)):
        return Unsupported("no message says that it always holds", tuple(sorted(strong)))
    return None


def _another(claim: str, nearest: str) -> str:
    """The name that the claim replaces with one from another sentence; empty if it replaces none."""
    mine, theirs = _named(claim), _named(nearest)
    absent = {name for name in mine - theirs if name not in _tokens(nearest)}
    others = theirs - mine
    return min(others) if absent and others else ""


def _named(text: str) -> set[str]:
    """The names in a sentence, folded: capitalised words, and a first word that is not common."""
    first = _FIRST.match(text)
    names = {fold(name) for name in _CALLED.findall(text)}
    if first and first[1][0].isupper() and not _common(first[1]):
        names.add(fold(first[1]))
    return {name for name in names if not _common(name)}


def _exchanged(claim: str, nearest: str) -> bool:
    """Whether two names swapped places: "Lena reports to Priya", "Priya reports to Lena"."""
    names = re.findall(r"\b[A-Z]\w+", claim)
    both = [name for name in dict.fromkeys(names) if name in nearest]
    places = [nearest.index(name) for name in both]
    return len(both) == 2 and places != sorted(places) and "and" not in _TOKEN.findall(claim)


def _clauses(text: str) -> list[str]:
    return [clause for clause in _CLAUSE_END.split(text) if len(_words(clause)) > 1] or [text]


def _closest(claim: str, pieces: Sequence[str]) -> str:
    return max(pieces, key=lambda one: covered(claim, one), default="")


def _enough(claim: str, nearest: str, source: str, similarity: Similarity | None) -> bool:
    share = covered(claim, source)
    if share >= ENOUGH_WORDS or similarity is None:
        return share >= ENOUGH_WORDS
    return share >= FEWEST_WORDS and similarity(claim, nearest) >= ENOUGH_LIKENESS


def _missing_values(claim: str, source: str) -> tuple[str, ...]:
    """Numbers, dates, names and addresses of the claim that the source does not have."""
    addresses = [url for url in _URL.findall(claim) if url not in source]
    rest = _URL.sub(" ", claim)
    days = [day for day in _ISO_DAY.finditer(rest) if not _day_said(day, source)]
    rest = _ISO_DAY.sub(" ", rest)
    said = {one for token in _tokens(source) for one in (token, _POSSESSIVE.sub("", token))}
    theirs = said | {root(token) for token in said}
    numbers = [token for token in sorted(_tokens(rest)) if _numeric(token) and token not in theirs]
    places = [*_NAME.findall(rest), *_FIRST.findall(rest)[:1], *_ROLE.findall(rest)]
    names = [name for name in places if not _known_name(name, theirs)]
    return tuple(dict.fromkeys((*addresses, *(day[0] for day in days), *numbers, *names)))


def _known_name(name: str, tokens: frozenset[str] | set[str]) -> bool:
    plain = fold(name)
    if plain in tokens or root(plain) in tokens or _common(plain):
        return True
    # A title may look like a file name: staging_port.
    parts = re.split(r"[_-]+", plain)
    return len(parts) > 1 and all(_known_name(part, tokens) for part in parts if part)


@cache
def _common_words() -> frozenset[str]:
    small = {fold(word) for name in _SPOKEN for word in STOP_WORDS[name]}
    return SMALL | ALWAYS | FRAME_NAMES | OPENINGS | denying() | small


def _common(word: str) -> bool:
    """Whether a word is never a name."""
    plain = fold(word).replace("’", "'")
    return plain in _common_words() or root(plain) in _common_words()


def _day_said(day: re.Match[str], source: str) -> bool:
    """Whether the source has the day, as written or in words: "14 December" for 2026-12-14."""
    if day[0] in source:
        return True
    tokens = _tokens(source)
    month = MONTHS[int(day[2]) - 1] if 1 <= int(day[2]) <= 12 else ""
    number = str(int(day[3]))
    dated = any(f"{number}{ending}" in tokens for ending in ("", "st", "nd", "rd", "th"))
    return dated and any(token in (month, month[:3]) for token in tokens)


def _dated(one: Utterance) -> str:
    """The text, and again with its relative dates made absolute."""
    if one.day is None:
        return one.text
    resolved, changes = absolute_dates(one.text, one.day)
    return f"{one.text}\n{resolved}" if changes else one.text


def _negated(text: str) -> bool:
    return bool(_tokens(re.sub(r"n['’]t\b", " not", _NOT_FORGET.sub(" ", text))) & denying())


def _words(text: str) -> frozenset[str]:
    return frozenset(
        root(token) for token in _tokens(text) if token not in SMALL and token not in denying()
    )


def _tokens(text: str) -> frozenset[str]:
    plain = fold(re.sub(r"(?<=\d),(?=\d{3}\b)", "", text).replace("’", "'"))
    return frozenset(_TOKEN.findall(plain))


def _numeric(token: str) -> bool:
    return any(char.isdigit() for char in token)
