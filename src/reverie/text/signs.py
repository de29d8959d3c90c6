"""The evidence for and against two texts saying the same, or holding two values of one thing.

Each sign is a number: which words, names, figures and days both have, which only one has, whether
the rest often says the same (`forms/near.txt`), negations, conditions, words of change, how alike
the two are worded (`wording`). `odds` weighs them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

from reverie.text.alignment import differing, keys_of, subject_of
from reverie.text.closeness import meaning_signs
from reverie.text.lexicon import MONTHS
from reverie.text.statements import Change, Statement, Token
from reverie.text.value_readers import DIMENSIONS
from reverie.text.values import compare_values, values_in
from reverie.text.word_classes import alternatives, near_groups, opposed
from reverie.text.wording import wording_signs

# How much a word that often says the same counts as a match, and a part of a compound.
_NEAR = 0.8
_PART = 0.7
_SHORTEST_PART = 4
# Vague verbs weigh less than informative words.
_SAYS_LITTLE = 0.4
# Words that say which of several things is meant: another environment means another thing.
_WHICH_WORDS = """
production staging dev development test testing local ci qa preprod sandbox
canary demo beta alpha frontend backend mobile web desktop ios android linux
windows macos germany france spain
"""
WHICH = frozenset(_WHICH_WORDS.split())
_OPPOSITE = (
    "to from, before after, into from, nach von, vor nach, zu aus, a de, avant apres, antes despues"
)
OPPOSITES = frozenset(frozenset(pair.split()) for pair in _OPPOSITE.split(","))
# "a" and "de" lead most objects in French and Spanish.
_WEAKLY_OPPOSED = frozenset({"a", "de"})
_VALUES = ("number", "day")
_KINDS_OF_VALUES = ("time of day", "weekday", "date", "sum", "duration", "measure", "number")
_IN_BOTH = [(kind, f"{kind} in both") for kind in _KINDS_OF_VALUES]
_IN_ONE = [(kind, f"{kind} in one") for kind in _KINDS_OF_VALUES]
_MONEY = frozenset({"euro", "dollar", "pound", "franc", "cent"})
_MOST_VALUES = 3
_YEAR = re.compile(r"(?:19|20)\d\d")


Signs: TypeAlias = Mapping[str, float]


@dataclass(frozen=True)
class _Side:
    """The content words of one text, and those that the other does not have."""

    statements: Sequence[Statement]
    tokens: tuple[Token, ...]
    alone: tuple[Token, ...]

    @cached_property
    def values(self) -> list[Token]:
        return [token for token in self.alone if token.kind in ("number", "day")]

    @cached_property
    def names(self) -> list[Token]:
        return [token for token in self.alone if token.kind in ("name", "code")]

    @cached_property
    def words(self) -> list[Token]:
        return [token for token in self.alone if token.kind in ("word", "quantity")]

    @cached_property
    def subject(self) -> frozenset[str]:
        return frozenset[str]().union(*(subject_of(one) for one in self.statements))

    @cached_property
    def relations(self) -> set[str]:
        return {one.relation for one in self.statements}

    @cached_property
    def verbs(self) -> set[str]:
        return {token.key for token in self.tokens if token.verb}

    @cached_property
    def of_speaker(self) -> bool:
        return any(token.kind == "speaker" for one in self.statements for token in one.tokens)

    @cached_property
    def narrowed(self) -> bool:
        return any(
            token.conditional or token.kind == "quantity" or token.key in WHICH
            for token in self.alone
        )

    def having(self, *kinds: str) -> int:
        return sum(token.kind in kinds for token in self.tokens)


def share_anything(signs: Signs) -> bool:
    """Whether both have a word, a value or a name in common; otherwise no odds count."""
    names = ("least alike", "same values", "values in common", "names in common")
    return any(signs[name] > 0 for name in names)


def signs_of(
    texts: tuple[str, str],
    ours: Sequence[Statement],
    theirs: Sequence[Statement],
    change: Change,
    language: str,
    *,
    whole: bool = True,
) -> dict[str, float]:
    """All signs by name; the texts are the new and the old one.

    Unless `whole`, only the first signs are computed for texts that share nothing.
    """
    all_ours, all_theirs = (_content(side) for side in (ours, theirs))
    alone = differing(all_ours, all_theirs)
    new, old = _Side(ours, all_ours, alone[0]), _Side(theirs, all_theirs, alone[1])
    found = _words_in_common(new, old, language)
    found |= _values_and_names(new, old)
    found |= _agreement(texts, language)
    if not whole and not share_anything(found):
        return found
    found |= _subjects(new, old)
    found |= _figures(new, old)
    found |= _rest(new, old)
    found |= _change(new, old, change)
    found["opposed"] = float(_apart(new, old, language))
    found["another of its kind"] = float(_another_of_its_kind(new, old, language))
    found["one of several"] = float(any(t.key in WHICH for t in (*new.alone, *old.alone)))
    found["each has its own"] = float(
        bool(new.values or new.names) and bool(old.values or old.names)
    )
    clean = not (new.values or old.values or new.names or old.names)
    found["clean"] = float(clean)
    found["both say more"] = float(bool(new.alone and old.alone))
    for name in ("least covered", "most covered", "least alike", "most alike"):
        found[f"clean, {name}"] = clean * found[name]
    found["agree on values"] = float(found["values in common"] > 0 and clean)
    found["values differ, subject"] = found["values differ"] * found["subject in common"]
    found["units agree, covered"] = found["units agree"] * found["least alike"]
    found["names differ, covered"] = found["names differ"] * found["least alike"]
    found["cue, subject"] = found["cue"] * max(
        found["subject in common"], found["subject named"], float(found["names in common"] > 0)
    )
    found |= _kinds_of_values(new, old)
    found["another language"] = float(language != "english")
    found |= wording_signs(texts, (all_ours, all_theirs), alone)
    return found | meaning_signs((all_ours, all_theirs), alone)


def _content(side: Sequence[Statement]) -> tuple[Token, ...]:
    return tuple(token for one in side for token in one.content)


def _words_in_common(new: _Side, old: _Side, language: str) -> dict[str, float]:
    sizes = [max(1, len(side.tokens)) for side in (new, old)]
    shared = min(len(side.tokens) - len(side.alone) for side in (new, old))
    covered = [1 - len(side.alone) / size for side, size in zip((new, old), sizes, strict=True)]
    alike = _alike(new, old, language), _alike(old, new, language)
    rest = [min(4, len(side.words)) / 2 for side in (new, old)]
    return {
        "shared": min(shared, 5) / 5,
        "overlap": shared / max(1, sum(sizes) - shared),
        "least covered": min(covered),
        "most covered": max(covered),
        "least alike": min(alike),
        "most alike": max(alike),
        "words of new": rest[0],
        "words of old": rest[1],
        "no words left": float(not new.words or not old.words),
        "length": sum(sizes) / 10,
        "lengths differ": abs(sizes[0] - sizes[1]) / 5,
    }


def _alike(side: _Side, other: _Side, language: str) -> float:
    """The share of one side's words that the other has, exactly or as near words."""
    alone = set(map(id, side.alone))
    total = matched = 0.0
    for token in side.tokens:
        if token.kind not in ("word", "quantity"):
            continue
        weight = _SAYS_LITTLE if token.vague else 1.0
        total += weight
        matched += weight * (1.0 if id(token) not in alone else _best(token, other, language))
    return matched / total if total else 1.0


def _best(token: Token, other: _Side, language: str) -> float:
    near = _near(token.word, token.key, language)
    best = 0.0
    for one in other.tokens:
        if near and not near.isdisjoint(_near(one.word, one.key, language)):
            return _NEAR
        if _contains(token.key, one.key):
            best = _PART
    return best


@lru_cache(maxsize=16_384)
def _near(word: str, key: str, language: str) -> frozenset[int]:
    return near_groups(word, language) | near_groups(key, language)


@lru_cache(maxsize=65_536)
def _contains(ours: str, theirs: str) -> bool:
    short, long = (ours, theirs) if len(ours) <= len(theirs) else (theirs, ours)
    return len(short) >= _SHORTEST_PART and (long.startswith(short) or long.endswith(short))


def _values_and_names(new: _Side, old: _Side) -> dict[str, float]:
    units = [{_unit(token) for token in side.values} for side in (new, old)]
    return {
        "values in common": min(3, new.having("number", "day") - len(new.values)),
        "has values": float(new.having("number", "day") > 0)
        + float(old.having("number", "day") > 0),
        "values differ": float(bool(new.values and old.values)),
        "value of new": float(bool(new.values and not old.values)),
        "value of old": float(bool(old.values and not new.values)),
        "units agree": float(not units[0].isdisjoint(units[1])),
        "time and value differ": float(_dated(new) and _dated(old)),
        "names in common": min(2, new.having("name", "code") - len(new.names)),
        "names differ": float(bool(new.names and old.names)),
        "name of new": float(bool(new.names and not old.names)),
        "name of old": float(bool(old.names and not new.names)),
        "other names are subjects": float(
            all(any(not token.phrase for token in side.names) for side in (new, old))
        ),
        "narrowed": float(new.narrowed) + float(old.narrowed),
    }


def _figures(new: _Side, old: _Side) -> dict[str, float]:
    """Whether different figures are two values of one thing, or belong to two events or measures."""
    units = [{_unit(token) for token in side.values} for side in (new, old)]
    years = all(any(_YEAR.fullmatch(t.key) for t in side.values) for side in (new, old))
    days = all(any(t.kind == "day" for t in side.values) for side in (new, old))
    figures = all(
        any(t.kind == "number" and not _YEAR.fullmatch(t.key) for t in side.values)
        for side in (new, old)
    )
    return {
        "units differ": float(all(units) and units[0].isdisjoint(units[1])),
        "years differ": float(years),
        "days differ": float(days),
        "day and figure differ": float((days or years) and figures),
        "several figures differ": float(min(len(new.values), len(old.values)) > 1),
    }


def _kinds_of_values(new: _Side, old: _Side) -> dict[str, float]:
    """Whether both name a time of day, a weekday, a sum, …, or only one of them."""
    kinds = [{_kind_of_value(t) for t in side.tokens if t.kind in _VALUES} for side in (new, old)]
    both, one = kinds[0] & kinds[1], kinds[0] ^ kinds[1]
    found = {name: float(kind in both) for kind, name in _IN_BOTH}
    return found | {name: float(kind in one) for kind, name in _IN_ONE}


def _kind_of_value(token: Token) -> str:
    if token.kind == "day":
        return "date" if token.key in MONTHS or token.key[0].isdigit() else "weekday"
    unit = token.key.lstrip("0123456789.:,")
    if ":" in token.key:
        return "time of day"
    if unit in _MONEY:
        return "sum"
    return "duration" if unit == "s" else "measure" if unit else "number"


def _agreement(texts: tuple[str, str], language: str) -> dict[str, float]:
    """Whether both hold the same values, however they are written, or others of one dimension."""
    new, old = (values_in(text, language) for text in texts)
    found = compare_values(new, old)
    alone = found.ours + found.theirs
    return {
        "same values": min(_MOST_VALUES, found.common),
        "other values of new": min(_MOST_VALUES, found.ours),
        "other values of old": min(_MOST_VALUES, found.theirs),
        "values clash": len(found.clashing),
        "all values agree": float(found.common > 0 and not alone),
        "values agree": float(found.common > 0 and not found.clashing),
        "no values": float(not new and not old),
        "values of one": float(bool(new) != bool(old)),
        **{f"{one} clashes": float(one in found.clashing) for one in DIMENSIONS},
    }


def _rest(new: _Side, old: _Side) -> dict[str, float]:
    """How much is left on each side, of what kind, and before or after the relation."""
    subjects = [
        sum(t.kind == "word" and not t.phrase and not t.verb for t in side.alone)
        for side in (new, old)
    ]
    kinds = [{t.kind for t in side.alone if not t.verb} for side in (new, old)]
    return {
        "subject words": min(*subjects, 3) / 3,
        "subject words of one": float(bool(subjects[0]) != bool(subjects[1])),
        "name of one": float(bool(new.names) != bool(old.names)),
        "one kind": float(kinds[0] == kinds[1] and len(kinds[0]) == 1),
        "one each": float(len(new.alone) == len(old.alone) == 1),
        "little left": 1 / (1 + max(len(new.alone), len(old.alone))),
    }


def _dated(side: _Side) -> bool:
    """Whether a day or year differs, and something else does, too: two events."""
    moments = [t for t in side.values if t.kind == "day" or _YEAR.fullmatch(t.key)]
    others = [t for t in side.values if t not in moments]
    return bool(moments) and bool(side.names or [t for t in others if not t.key.isdigit()])


def _another_of_its_kind(new: _Side, old: _Side, language: str) -> bool:
    mine, other = ([token.word or token.key for token in side.alone] for side in (new, old))
    return alternatives(mine, other, language)


def _apart(new: _Side, old: _Side, language: str) -> bool:
    """Whether opposite words or prepositions distinguish the two: "left", "to Oslo", "from Oslo"."""
    mine, other = ([token.word for token in side.words] for side in (new, old))
    ours, theirs = ({token.key: token.led for token in side.tokens} for side in (new, old))
    led = {frozenset((ours[key], theirs[key])) for key in ours.keys() & theirs.keys()}
    led.discard(_WEAKLY_OPPOSED)
    return _swapped(new, old) or opposed(mine, other, language) or not led.isdisjoint(OPPOSITES)


def _swapped(new: _Side, old: _Side) -> bool:
    """Whether two names changed places: "Ada mentors Bo", "Bo coaches Ada"."""
    if any(one.passive for side in (new, old) for one in side.statements):
        return False
    names = {t.key for side in (new, old) for t in side.tokens if t.kind == "name"}
    both = names & keys_of(new.tokens) & keys_of(old.tokens)
    orders = [[t.key for t in side.tokens if t.key in both] for side in (new, old)]
    return len(both) == 2 and orders[0] == orders[1][::-1] != orders[1]


def _unit(token: Token) -> str:
    return "day" if token.kind == "day" else token.key.lstrip("0123456789.:,")


def _subjects(new: _Side, old: _Side) -> dict[str, float]:
    ours, theirs = new.subject, old.subject
    mine, other = keys_of(new.tokens), keys_of(old.tokens)
    verbs = new.verbs, old.verbs
    relations = new.relations | old.relations
    return {
        "one subject": float(ours == theirs != frozenset()),
        "subject in common": float(not ours.isdisjoint(theirs)),
        "subject named": float(not ours.isdisjoint(other) or not theirs.isdisjoint(mine)),
        "subjects differ": float(
            all(any(not t.phrase and not t.verb for t in side.alone) for side in (new, old))
        ),
        "new subject known": len(ours & other) / len(ours) if ours else 0.5,
        "old subject known": len(theirs & mine) / len(theirs) if theirs else 0.5,
        "one relation": float(not new.relations.isdisjoint(old.relations)),
        "many values": float("multiple" in relations),
        "holders": float("owner" in relations),
        "both are": float("copula" in new.relations and "copula" in old.relations),
        "read": sum(any(one.parsed for one in side.statements) for side in (new, old)) / 2,
        "one verb": float(not verbs[0].isdisjoint(verbs[1])),
        "verbs differ": float(bool(verbs[0] and verbs[1]) and verbs[0].isdisjoint(verbs[1])),
        "same speaker": float(new.of_speaker == old.of_speaker),
    }


def _change(new: _Side, old: _Side, change: Change) -> dict[str, float]:
    denied = [sum(len(one.denied) for one in side.statements) % 2 for side in (new, old)]
    named = bool(change.former & keys_of(old.tokens))
    return {
        "denied": float(denied[0] != denied[1]),
        "cue": float(bool(change.cue)),
        "plain cue": float(change.plain),
        "beside": float(change.beside),
        "cue, beside": float(bool(change.cue) and change.beside),
        "former value named": float(named),
    }
