"""The parts of a statement, and the words that only one of two statements has.

A word matches other forms of it ("pays", "payment"), a compound matches its parts, and a vague verb
("is kept in", "lives in") matches the others of its group.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from posixpath import commonprefix

from reverie.text.lexicon import MONTHS
from reverie.text.statements import Statement, Token

# Two words of one family share this many letters and differ in one of these endings.
_FAMILY = 4
_ENDING_LETTERS = """
 e s y i ic ie al ing ion ation ment ung en t n ique ic ia icion cion acion ad
id ado ada ido ida age ance ence iv ive ly ed es ant ent ir re able ness ity
lich ig isch bar keit heit ement ual ual d is iz is ag
"""
_ISO_DAY = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(\d\d)")
_ENDINGS = frozenset(_ENDING_LETTERS.split()) | {""}


def differing(
    mine: Sequence[Token], other: Sequence[Token]
) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """The words that only one statement has, and those that only the other has."""
    ours, theirs = _only(mine, other), _only(other, mine)
    ours, theirs = _without_days(ours, theirs)
    ours, theirs = _without_vague(*_without_family(ours, theirs))
    if _joined(ours, theirs) or _joined(theirs, ours):
        # "sea-sick" and "seasick", "gegen Pollen allergisch" and "Pollenallergie".
        return (), ()
    return ours, theirs


def _only(tokens: Sequence[Token], others: Sequence[Token]) -> tuple[Token, ...]:
    """The tokens without a match on the other side, where each token matches once."""
    left = [token.key for token in others]
    found = []
    for token in tokens:
        if token.key in left:
            left.remove(token.key)
        else:
            found.append(token)
    return tuple(found)


def _without_days(
    ours: tuple[Token, ...], theirs: tuple[Token, ...]
) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """Remove days that one side writes in full and the other without the year: 2026-11-30, 30/11."""
    for side, other, turned in ((ours, theirs, False), (theirs, ours, True)):
        for token in side:
            day = _ISO_DAY.fullmatch(token.key)
            wanted = {str(int(day[2])), MONTHS[int(day[1]) - 1]} if day else set()
            if day and wanted <= keys_of(other):
                kept = tuple(one for one in side if one is not token)
                rest = tuple(one for one in other if one.key not in wanted)
                return (rest, kept) if turned else (kept, rest)
    return ours, theirs


def _without_family(
    ours: Sequence[Token], theirs: Sequence[Token]
) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """Remove words with a word of their family on the other side: "pays" and "payment"."""
    mine, other = list(ours), list(theirs)
    for token in ours:
        begins = token.key[:_FAMILY]
        alike = [one for one in other if one.key[:_FAMILY] == begins]
        kin = next((one for one in alike if _one_family(token, one)), None)
        if kin is not None:
            mine.remove(token)
            other.remove(kin)
    return tuple(mine), tuple(other)


def _one_family(ours: Token, theirs: Token) -> bool:
    if ours.kind != "word" or theirs.kind != "word" or ours.conditional != theirs.conditional:
        return False
    shared = len(commonprefix((ours.key, theirs.key)))
    return shared >= _FAMILY and {ours.key[shared:], theirs.key[shared:]} <= _ENDINGS


def _without_vague(
    ours: Sequence[Token], theirs: Sequence[Token]
) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """Remove vague verbs, unless the other side has one of another group."""
    verbs = [[token for token in side if token.verb] for side in (ours, theirs)]
    groups = [{token.vague for token in side} for side in verbs]
    if all(groups) and (0 in groups[0] | groups[1] or groups[0].isdisjoint(groups[1])):
        return tuple(ours), tuple(theirs)
    if not all(groups) and any(
        token.kind == "word" and not token.verb and not token.led
        for side, own in zip((ours, theirs), groups, strict=True)
        if not own
        for token in side
    ):
        # An unknown word may be the verb: "I run 5 km", "I walk 5 km".
        return tuple(ours), tuple(theirs)
    mine, other = (
        tuple(token for token in side if not (token.verb and token.vague))
        for side in (ours, theirs)
    )
    return mine, other


def _joined(apart: Sequence[Token], whole: Sequence[Token]) -> bool:
    """Whether the words of one side form one word on the other."""
    if len(whole) != 1 or not apart or any(token.kind != "word" for token in (*apart, *whole)):
        return False
    key, parts = whole[0].key, [token.key for token in apart]
    return any(
        key.startswith(first) and _begin_alike(key[len(first) :], rest)
        for first, rest in ((parts[0], "".join(parts[1:])), (parts[-1], "".join(parts[:-1])))
        if rest
    )


def _begin_alike(ours: str, theirs: str) -> bool:
    """Whether the second parts of a compound begin alike, with or without a joining s."""
    return any(len(commonprefix((one, theirs))) >= _FAMILY - 1 for one in (ours, ours.lstrip("s")))


def keys_of(tokens: Sequence[Token]) -> set[str]:
    return {token.key for token in tokens}


def denials_of(statement: Statement, alone: set[str]) -> int:
    tokens = statement.tokens
    said = [tokens[at].key if at < len(tokens) else "" for at in statement.denied]
    return sum(key not in alone for key in said) % 2


def conditions_of(statement: Statement) -> set[str]:
    return {token.key for token in statement.tokens if token.conditional}


def are_values(tokens: Sequence[Token]) -> bool:
    return all(token.kind in ("number", "day") for token in tokens)


def topic_of(statement: Statement) -> frozenset[str]:
    return statement.topic


def subject_of(statement: Statement) -> frozenset[str]:
    return statement.subject


def relation_words(statement: Statement) -> set[str]:
    return {token.key for token in statement.tokens if token.verb}


def parts_of(statement: Statement) -> dict[str, tuple[str, bool]]:
    """The role of each word: its preposition and, for names, its side of the relation."""
    return {
        token.key: (token.led, token.kind == "name" and token.phrase > 0)
        for token in statement.tokens
        if token.kind != "speaker"
    }
