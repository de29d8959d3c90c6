"""Compares a new text with an old one: same, more, update, sibling or unrelated.

The rules (`comparison`) decide first. Where they see no more than words in common, the odds (`odds`)
tell what is probably the same in other words, or probably another value. In doubt both stay valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from reverie.text.comparison import Likeness, Verdict, compare_statements
from reverie.text.odds import Odds, odds, ruled
from reverie.text.signs import signs_of
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
    if new.split() == old.split():
        return Verdict("duplicate", certain=True, score=1.0)
    language = language_of(new, old)
    ours, theirs = statements(new, language), statements(old, language)
    if not ours or not theirs:
        return Verdict("unrelated")
    change = change_in(new, language)
    verdict = by_rules(ours, theirs, change)
    ruled_alone = verdict.likeness == "duplicate" or verdict.said
    if not ruled_alone and _of_like_length(new, old):
        signs = signs_of((new, old), ours, theirs, change, language)
        verdict = _weighed(verdict, odds(signs | ruled(verdict)))
    if verdict.likeness == "duplicate" and reason_of(new) not in ("", reason_of(old)):
        return replace(verdict, likeness="extends")
    return verdict


def by_rules(ours: Sequence[Statement], theirs: Sequence[Statement], change: Change) -> Verdict:
    """What the rules alone say of the statements of two texts."""
    return _together(
        [[compare_statements(mine, other, change) for other in theirs] for mine in ours], change
    )


def _of_like_length(new: str, old: str) -> bool:
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


# How probable it must be that both say the same or hold two values of one thing, to tell it: telling
# costs a line. `benchmarks/fit_odds.py` shows what each threshold notices and what it tells for nothing.
TOLD = 0.25
# The odds were learnt from single facts: they say nothing of a fact beside a whole paragraph.
_MOST_TIMES = 4


def _weighed(verdict: Verdict, found: Odds) -> Verdict:
    """The verdict where the rules are not sure; it neither refuses nor retires a memory."""
    likeness: Likeness = "restates" if found.same >= found.value else "update"
    if verdict.certain and likeness == verdict.likeness:
        return verdict
    probable = max(found.same, found.value)
    if found.same + found.value < TOLD or probable < found.more:
        return _without_update(verdict)
    return replace(verdict, likeness=likeness, certain=False, score=probable, weighed=True)


def _without_update(verdict: Verdict) -> Verdict:
    """What the rules take for an update without being sure of it stays a sibling if that is improbable."""
    if verdict.likeness != "update" or verdict.certain:
        return verdict
    return replace(verdict, likeness="sibling")
