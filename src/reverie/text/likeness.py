"""Compares a new text with an old one: same, more, update, sibling or unrelated.

The rules (`comparison`) decide first. Where they see no more than words in common, the odds (`odds`)
tell what is probably the same in other words, or probably another value. In doubt both stay valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from reverie.text.comparison import Likeness, Verdict, compare_statements
from reverie.text.odds import Odds, odds, ruled
from reverie.text.signs import Signs, signs_of
from reverie.text.statements import Change, Statement, change_in, reason_of, statements
from reverie.text.word_classes import language_of

__all__ = ["Likeness", "Match", "Verdict", "compare", "nearest", "related"]

_ORDER: tuple[Likeness, ...] = (
    "unrelated",
    "sibling",
    "restates",
    "update",
    "extends",
    "duplicate",
)


@dataclass(frozen=True, slots=True)
class Match:
    """A candidate and how a text relates to it."""

    key: str
    verdict: Verdict

    @property
    def likeness(self) -> Likeness:
        return self.verdict.likeness


def compare(new: str, old: str) -> Verdict:
    """How a new text relates to an old one."""
    pair = _Pair(new, old)
    return pair.weighed() if pair.uncertain else pair.verdict


class _Pair:
    """Two texts, and what the rules say of them; the odds are weighed only when asked for."""

    def __init__(self, new: str, old: str) -> None:
        self.new, self.old = new, old
        self._language = language_of(new, old)
        self._ours = statements(new, self._language)
        self._theirs = statements(old, self._language)
        self._change = change_in(new, self._language)
        self.verdict = self._judged()

    def _judged(self) -> Verdict:
        if self.new.split() == self.old.split():
            return Verdict("duplicate", certain=True, score=1.0)
        if not self._ours or not self._theirs:
            return Verdict("unrelated")
        return self._with_reason(by_rules(self._ours, self._theirs, self._change))

    @property
    def uncertain(self) -> bool:
        """Whether the odds may say more than the rules; they were learnt from single facts."""
        if self.verdict.likeness == "duplicate" or self.verdict.said:
            return False
        shorter, longer = sorted((len(self.new.split()), len(self.old.split())))
        parsed = bool(self._ours and self._theirs)
        return parsed and shorter > 1 and longer <= _MOST_TIMES * shorter

    def weighed(self) -> Verdict:
        signs = signs_of(
            (self.new, self.old), self._ours, self._theirs, self._change, self._language
        )
        return self._with_reason(_weighed(self.verdict, signs, odds(signs | ruled(self.verdict))))

    def _with_reason(self, verdict: Verdict) -> Verdict:
        if verdict.likeness == "duplicate" and reason_of(self.new) not in ("", reason_of(self.old)):
            return replace(verdict, likeness="extends")
        return verdict


def by_rules(ours: Sequence[Statement], theirs: Sequence[Statement], change: Change) -> Verdict:
    """What the rules alone say of the statements of two texts."""
    return _together(
        [[compare_statements(mine, other, change) for other in theirs] for mine in ours], change
    )


def related(text: str, candidates: Iterable[tuple[str, str]]) -> list[Match]:
    """The related candidates (key, text), most similar first.

    The rules judge all of them; the odds only those that have the most in common with the text.
    """
    pairs = {key: _Pair(text, old) for key, old in candidates}
    near = sorted(
        (key for key, pair in pairs.items() if pair.uncertain),
        key=lambda key: pairs[key].verdict.score,
        reverse=True,
    )
    weighed = {key: pairs[key].weighed() for key in near[:MOST_WEIGHED]}
    matches = [Match(key, weighed.get(key, pair.verdict)) for key, pair in pairs.items()]
    found = [match for match in matches if match.likeness != "unrelated"]
    return sorted(found, key=_rank, reverse=True)


def nearest(text: str, candidates: Iterable[tuple[str, str]]) -> Match | None:
    """The most similar candidate; None when all are unrelated."""
    return next(iter(related(text, candidates)), None)


def _rank(match: Match) -> tuple[int, bool, float, str]:
    verdict = match.verdict
    return _ORDER.index(verdict.likeness), verdict.certain, verdict.score, match.key


def _together(table: Sequence[Sequence[Verdict]], change: Change) -> Verdict:
    """One verdict for texts of several statements."""
    best = [max(row, key=lambda one: (_ORDER.index(one.likeness), one.score)) for row in table]
    kinds = [one.likeness for one in best]
    updates = [one for row in table for one in row if one.likeness == "update"]
    if all(kind == "duplicate" for kind in kinds):
        return min(best, key=lambda one: one.score)
    if updates and not any(kind in ("duplicate", "extends") for kind in kinds[:1]):
        return max(updates, key=lambda one: (one.certain, one.score))
    columns = list(zip(*table, strict=True))
    said = [any(one.likeness in ("duplicate", "extends") for one in column) for column in columns]
    if all(said):
        return Verdict("extends", score=max(one.score for one in best), cue=change.cue)
    if updates:
        return max(updates, key=lambda one: (one.certain, one.score))
    closest = max(best, key=lambda one: one.score)
    if len(table) == len(table[0]) == 1 or all(kind == "unrelated" for kind in kinds):
        return closest
    return Verdict("sibling", score=closest.score, cue=change.cue)


# How probable it must be that both say the same or hold two values of one thing, to tell it: telling
# costs a line. `benchmarks/fit_odds.py` shows what each threshold notices and what it tells for nothing.
TOLD: dict[Likeness, float] = {"restates": 0.35, "update": 0.2}
# Less is enough where the words speak of a change; more where the rules plainly see two things, or
# where it is the same sentence with other words in it.
_CHANGED = 0.12
_LIKELY = 0.5
_SURE = 0.7
_NEVER = 2.0
# From here on it need not be saved again, if no figure, name, day, negation or condition differs.
_KNOWN = 0.92
# How much of the words of each the other must say, too, in these or near words.
_SAID_BY_BOTH = 0.7
# How many candidates the odds judge: those with the most words in common.
MOST_WEIGHED = 6
# The odds were learnt from single facts: they say nothing of a fact beside a whole paragraph.
_MOST_TIMES = 4
# A sentence with this many other words, small ones included, was told anew.
_ANEW = 2
_ANEW_BY_ANOTHER = 3


def _share_anything(signs: Signs) -> bool:
    return any(signs[name] > 0 for name in ("least alike", "values in common", "names in common"))


def _weighed(verdict: Verdict, signs: Signs, found: Odds) -> Verdict:
    """The verdict where the rules are not sure; it retires no memory."""
    likeness: Likeness = "restates" if found.same >= found.value else "update"
    probable = max(found.same, found.value)
    if likeness == verdict.likeness or probable < found.more or not _share_anything(signs):
        return verdict
    if signs["both say more"]:
        needed = _needed(verdict, signs, likeness)
    else:
        needed = _needed_within(verdict, signs)
    if probable < needed:
        return verdict
    known = likeness == "restates" and probable >= _KNOWN and verdict.likeness != "update"
    if known and not _tells_apart(signs):
        likeness = "duplicate"
    return replace(verdict, likeness=likeness, certain=False, score=probable, weighed=True)


def _needed_within(verdict: Verdict, signs: Signs) -> float:
    """How probable it must be where all words of one are in the other: their order and form count."""
    plainly_other = signs["opposed"] or signs["denied"] or not signs["same speaker"]
    known = verdict.likeness != "extends" and plainly_other
    return _NEVER if known and not _told_anew(signs) else _SURE


def _needed(verdict: Verdict, signs: Signs, likeness: Likeness) -> float:
    """How probable it must be where both say more, by what the rules know better."""
    anew = _told_anew(signs)
    if likeness == "restates" and not anew:
        return _NEVER if signs["opposed"] or signs["denied"] or verdict.firm else _LIKELY
    if signs["cue"]:
        return _CHANGED
    if likeness == "update" and (signs["opposed"] or _of_two_kinds(signs)):
        return _NEVER
    if verdict.firm and not anew:
        return _NEVER
    apart = verdict.firm or (likeness == "update" and signs["units differ"])
    return _LIKELY if apart else TOLD[likeness]


def _tells_apart(signs: Signs) -> bool:
    """Whether anything but plain words differs."""
    names = ("opposed", "denied", "narrowed", "one of several", "cue", "beside")
    apart = any(signs[name] for name in names) or signs["least alike"] < _SAID_BY_BOTH
    return apart or not signs["clean"] or not signs["same speaker"]


def _told_anew(signs: Signs) -> bool:
    return signs["other words"] >= (_ANEW if signs["same speaker"] else _ANEW_BY_ANOTHER)


def _of_two_kinds(signs: Signs) -> bool:
    """A figure on one side and a name on the other are not two values of one thing."""
    alike = signs["values differ"] or signs["names differ"]
    return bool(signs["each has its own"] and not alike)
