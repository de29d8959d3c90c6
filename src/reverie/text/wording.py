"""How alike two texts are worded: the same frame with another word in it, or told anew.

Siblings mostly repeat a sentence and change what it is about ("Mia takes piano lessons", "Mia takes
drama lessons"). The same fact in other words turns the sentence round: other small words, another order.
These signs need no knowledge of the words, so they hold for words that were never seen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from posixpath import commonprefix
from unicodedata import category

from reverie.text.alignment import differing
from reverie.text.lexicon import folded
from reverie.text.statements import Statement, Token, claim_of, sentences
from reverie.text.word_classes import forms

_WORD = re.compile(r"\w+")
_POSSESSOR = re.compile(r"(\w+)['’]s\b")
_PERSON = re.compile(r"\b(?:he|she|they|er|sie|ils?|elles?|él|ell[oa]s?)\b", re.I)
_VALUES = ("number", "day")
# Words and signs that are more than punctuation: a thumb up or down, an arrow.
_ANY_WORD = re.compile(r"\w+|[^\w\s.,;:!?'’\"()\[\]*`~_–—-]")
_SWITCHES = (
    ("on", "off"),
    ("in", "out"),
    ("up", "down"),
    ("an", "aus"),
    ("ein", "aus"),
    ("auf", "zu"),
)
# Where one of these stands, the order of the other words may be what is said.
_ORDER_WORDS = """
then first last afterwards before after unless than instead no not but above below over under
> < → ← / =
dann erst zuerst danach vor nach bevor statt uber unter nicht kein
puis abord ensuite avant apres sauf sur sous pas
luego primero antes despues salvo sobre bajo
"""
_ORDERS = frozenset(_ORDER_WORDS.split())
_PLACE_WORDS = """
above below over under behind between into from to before after opposite inside outside against without
uber unter vor hinter nach neben ohne gegen aus sur sous avant apres avec sans entre
sobre bajo antes despues con sin
"""
_PLACES = frozenset(_PLACE_WORDS.split())
_NO = frozenset({"no", "not", "none", "non", "nein", "aucun", "t"})
# Written in capitals, two letters are no small word: EN, DE.
_ABBREVIATION = re.compile(r"(?<!\d)(?<!\d )\b[A-Z]{2,}\b")
# Without common words nothing is known about their places.
_UNKNOWN = 0.5
_MOST_OTHERS = 5


def told_apart(
    texts: tuple[str, str],
    statements: tuple[Sequence[Statement], Sequence[Statement]],
    language: str,
) -> bool:
    """Whether two texts that seem to say the same differ in something that may turn the meaning round.

    To be taken for a repetition a text must say what a statement of the other says, no less: "the lift
    is running" leaves out more than a word of "the lift is out of service".
    """
    new, old = (_all_words_of(text) for text in texts)
    if new == old:
        return False
    short = [set(_ABBREVIATION.findall(text)) for text in texts]
    if _reordered(new, old) or (short[0] - short[1] and short[1] - short[0]):
        return True
    mine, other = set(new) - set(old), set(old) - set(new)
    no = forms(language).negations | _NO
    if bool(mine & no) != bool(other & no) or any(map(_is_sign, mine | other)):
        return True
    if (mine & _PLACES and other & _PLACES) or len(sentences(texts[0])) > len(statements[0]):
        return True
    return not all(any(_equal(one, known) for known in statements[1]) for one in statements[0])


def _equal(new: Statement, old: Statement) -> bool:
    return differing(new.content, old.content) == ((), ())


def _is_sign(word: str) -> bool:
    """Whether it is part of a name, or a sign that stands for a word, like a thumb up."""
    return "_" in word or (category(word[0]) == "So" and word != "°")


def switched(texts: tuple[str, str]) -> bool:
    """Whether one says "on" where the other says "off": small words that turn the meaning round."""
    new, old = (set(_all_words_of(text)) for text in texts)
    mine, other = new - old, old - new
    return any((a in mine and b in other) or (b in mine and a in other) for a, b in _SWITCHES)


def _reordered(new: Sequence[str], old: Sequence[str]) -> bool:
    """Whether the words that both have come in another order, and the order may matter."""
    both = set(new) & set(old)
    if both.isdisjoint(_ORDERS):
        return False
    mine, other = ([word for word in side if word in both] for side in (new, old))
    return Counter(mine) == Counter(other) and mine != other


@lru_cache(maxsize=4_096)
def _all_words_of(text: str) -> tuple[str, ...]:
    return tuple(_ANY_WORD.findall(folded(claim_of(text)).lower()))


def wording_signs(
    texts: tuple[str, str],
    tokens: tuple[Sequence[Token], Sequence[Token]],
    alone: tuple[Sequence[Token], Sequence[Token]],
) -> dict[str, float]:
    """The signs of a new and an old text, their content words, and those that only one has."""
    found = _frame(_words_of(texts[0]), _words_of(texts[1]), *tokens)
    found |= _order(*tokens) | _places(*alone) | _modifiers(tokens, alone)
    found |= _possessors(texts)
    return found | {
        "spelt alike": _spelt_alike(tokens, alone),
        "letters": _letters_in_common(*tokens),
        "letters of the rest": _letters_in_common(*alone),
    }


@lru_cache(maxsize=4_096)
def _words_of(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(folded(claim_of(text)).lower()))


def _frame(
    new: Sequence[str], old: Sequence[str], ours: Sequence[Token], theirs: Sequence[Token]
) -> dict[str, float]:
    """What both have in common of all their words, small ones included."""
    common = sum((Counter(new) & Counter(old)).values())
    shorter = max(1, min(len(new), len(old)))
    small = set(new) - {t.word for t in ours}, set(old) - {t.word for t in theirs}
    equal = sum(a == b for a, b in zip(new, old, strict=False))
    return {
        "words in common": 2 * common / max(1, len(new) + len(old)),
        "begin alike": _run(new, old) / shorter,
        "end alike": _run(new[::-1], old[::-1]) / shorter,
        "in place": equal / shorter if len(new) == len(old) else 0.0,
        "other words": min(_MOST_OTHERS, min(len(new), len(old)) - common),
        "small words": len(small[0] & small[1]) / max(1, len(small[0] | small[1])),
    }


def _run(ours: Sequence[str], theirs: Sequence[str]) -> int:
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(ours), len(theirs)))


def _order(ours: Sequence[Token], theirs: Sequence[Token]) -> dict[str, float]:
    """Whether the words that both have come in another order, and elsewhere in the sentence."""
    mine, other = ({t.key: at for at, t in reversed(list(enumerate(s)))} for s in (ours, theirs))
    both = sorted(mine.keys() & other.keys(), key=mine.__getitem__)
    pairs = [other[a] > other[b] for a, b in combinations(both, 2)]
    moved = [abs(mine[key] / len(ours) - other[key] / len(theirs)) for key in both]
    return {
        "turned round": sum(pairs) / len(pairs) if pairs else 0.0,
        "any turned": float(any(pairs)),
        "moved": sum(moved) / len(moved) if moved else _UNKNOWN,
    }


def _places(ours: Sequence[Token], theirs: Sequence[Token]) -> dict[str, float]:
    """Whether two differing words stand in the same place of the sentence."""
    mine, other = (
        {(t.phrase > 0, t.led, t.kind) for t in side if not t.verb} for side in (ours, theirs)
    )
    return {"same place": float(not mine.isdisjoint(other))}


def _modifiers(
    tokens: tuple[Sequence[Token], Sequence[Token]],
    alone: tuple[Sequence[Token], Sequence[Token]],
) -> dict[str, float]:
    """Whether one word has another word before it: "the payments service", "the mail service"."""
    new, old = (_modified(side, own) for side, own in zip(tokens, alone, strict=True))
    led = [{t.led for t in side if t.led and t.kind not in _VALUES} for side in alone]
    values = all(any(t.kind in _VALUES for t in side) for side in alone)
    other, after = not new.isdisjoint(old), not led[0].isdisjoint(led[1])
    return {
        "other modifier": float(other),
        "modifier of one": float(bool(new) != bool(old)),
        "other modifier, values differ": float(other and values),
        "after one preposition": float(after),
        "after one preposition, values differ": float(after and values),
    }


def _modified(tokens: Sequence[Token], alone: Sequence[Token]) -> set[str]:
    """The common words that directly follow a word which only this side has."""
    own = set(map(id, alone))
    return {
        after.key
        for before, after in pairwise(tokens)
        if id(before) in own and id(after) not in own
        if before.kind not in _VALUES and not before.verb
    }


def _possessors(texts: tuple[str, str]) -> dict[str, float]:
    """Whether one text speaks of a person's thing and the other does not name the person."""
    new, old = (text.lower() for text in texts)
    persons = [_PERSON.search(text) is not None for text in texts]
    return {
        "person of one": float(persons[0] != persons[1]),
        "possessor of new": float(any(one not in old for one in _POSSESSOR.findall(new))),
        "possessor of old": float(any(one not in new for one in _POSSESSOR.findall(old))),
    }


def _spelt_alike(
    tokens: tuple[Sequence[Token], Sequence[Token]],
    alone: tuple[Sequence[Token], Sequence[Token]],
) -> float:
    """How much of the differing words begins like a word of the other side; the lesser of both."""
    shares = []
    for side, others in ((alone[0], tokens[1]), (alone[1], tokens[0])):
        words = [t.key for t in side if t.kind == "word"]
        known = [t.key for t in others if t.kind == "word"]
        best = [max((_begins(word, one) for one in known), default=0.0) for word in words]
        shares.append(sum(best) / len(best) if best else 1.0)
    return min(shares)


@lru_cache(maxsize=65_536)
def _begins(ours: str, theirs: str) -> float:
    if ours[:1] != theirs[:1]:
        return 0.0
    return len(commonprefix((ours, theirs))) / max(1, len(ours), len(theirs))


def _letters_in_common(ours: Sequence[Token], theirs: Sequence[Token]) -> float:
    """How many groups of three letters both have: parts of compounds, other forms of a word."""
    mine, other = (_letters(tuple([t.word or t.key for t in side])) for side in (ours, theirs))
    return 2 * len(mine & other) / max(1, len(mine) + len(other))


@lru_cache(maxsize=4_096)
def _letters(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset[str]().union(*map(_triples, words))


@lru_cache(maxsize=16_384)
def _triples(word: str) -> frozenset[str]:
    padded = f" {word} "
    return frozenset(padded[at : at + 3] for at in range(len(padded) - 2))
