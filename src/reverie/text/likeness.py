"""Compares a new text with an old one: same, more, update, sibling or unrelated.

The rules (`comparison`) decide first. Where they see no more than words in common, the odds (`odds`)
tell what is probably the same in other words, or probably another value. In doubt both stay valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from reverie.text.comparison import Likeness, Verdict, compare_statements
from reverie.text.odds import Odds, Signs, odds, signs_of
from reverie.text.statements import Change, change_in, reason_of, statements
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
    if new.split() == old.split():
        return Verdict("duplicate", certain=True, score=1.0)
    language = language_of(new, old)
    ours, theirs = statements(new, language), statements(old, language)
    if not ours or not theirs:
        return Verdict("unrelated")
    change = change_in(new, language)
    verdict = _together(
        [[compare_statements(mine, other, change) for other in theirs] for mine in ours], change
    )
    uncertain = not (verdict.likeness == "duplicate" or verdict.said or verdict.certain)
    if verdict.score and uncertain and _of_like_length(new, old):
        signs = signs_of((new, old), ours, theirs, change, language)
        verdict = _weighed(verdict, signs, odds(signs))
    if verdict.likeness == "duplicate" and reason_of(new) not in ("", reason_of(old)):
        return replace(verdict, likeness="extends")
    return verdict


def _of_like_length(new: str, old: str) -> bool:
    """The odds were learnt from single facts: they say nothing of a fact beside a whole paragraph."""
    shorter, longer = sorted((len(new.split()), len(old.split())))
    return longer <= _MOST_TIMES * shorter


def related(text: str, candidates: Iterable[tuple[str, str]]) -> list[Match]:
    """The related candidates (key, text), most similar first."""
    matches = [Match(key, compare(text, old)) for key, old in candidates]
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


# How probable it must be that both say the same, to tell it: telling costs a line, so little is enough
# where the sentence was told anew, more where it is the same sentence with other words in it.
_SAME_ANEW = 0.1
_MOST_TIMES = 4
_SAME = 0.28
_SAME_IN_DOUBT = 0.5
_SAME_AND_MORE = 0.7
_NEVER = 2.0
# A sentence with this many other words, small ones included, is not the same with something added.
_ANEW = 2
_ANEW_BY_ANOTHER = 3
# Two sentences that begin alike this far and then differ go on about something else.
_SAME_OPENING = 0.5
# How probable another value must be: with words of change, without, where many values may stand.
_CHANGED = 0.12
_OTHER_VALUE = 0.3
_ONE_OF_MANY = 0.45


def _weighed(verdict: Verdict, signs: Signs, found: Odds) -> Verdict:
    """The verdict where the rules are not certain; it neither refuses nor retires a memory."""
    if not _apart(signs) and found.same >= max(found.value, _needed(verdict, signs)):
        return replace(verdict, likeness="restates", score=found.same, weighed=True)
    if signs["both say more"] and verdict.likeness in ("sibling", "unrelated"):
        return _other_value(verdict, signs, found)
    return verdict


def _needed(verdict: Verdict, signs: Signs) -> float:
    """How probable it must be that both say the same, by what speaks against it."""
    ruled = verdict.likeness in ("extends", "update")
    if not signs["both say more"]:
        # Where all words of one are in the other, their order and form count: the rules know these,
        # unless the sentence was told anew.
        known = verdict.likeness != "extends" and not _told_anew(signs)
        return _NEVER if known else _SAME_AND_MORE
    doubt = bool(signs["denied"] or signs["narrowed"])
    opened_alike = signs["begin alike"] >= _SAME_OPENING
    if ruled or opened_alike or signs["cue"] or (doubt and not _told_anew(signs)):
        return _SAME_AND_MORE if ruled and doubt else _SAME_IN_DOUBT
    return _SAME_ANEW if _told_anew(signs) else _SAME


def _told_anew(signs: Signs) -> bool:
    return signs["other words"] >= (_ANEW if signs["same speaker"] else _ANEW_BY_ANOTHER)


def _other_value(verdict: Verdict, signs: Signs, found: Odds) -> Verdict:
    """An update where that is probable, unless the words plainly speak of two things."""
    value = found.value + (found.same if _apart(signs) else 0.0)
    usual = _ONE_OF_MANY if signs["many values"] else _OTHER_VALUE
    if not signs["cue"] and (verdict.firm or signs["opposed"] or _of_two_kinds(signs)):
        return verdict
    if value < (_CHANGED if signs["cue"] else usual):
        return verdict
    return replace(verdict, likeness="update", score=value, weighed=True)


def _of_two_kinds(signs: Signs) -> bool:
    """A figure on one side and a name on the other are not two values of one thing."""
    alike = signs["values differ"] or signs["names differ"]
    return bool(signs["each has its own"] and not alike)


def _apart(signs: Signs) -> bool:
    """Whether a figure, day, name, place or opposite differs: then both do not say the same."""
    names = ("values differ", "names differ", "opposed", "one of several", "each has its own")
    return any(signs[name] for name in names)
