"""Compares a new text with an old one: same, more, update, sibling or unrelated.

The rules (`comparison`) decide first. Where they see no more than words in common, the odds (`odds`)
tell what is probably the same in other words, or probably another value. In doubt both stay valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from reverie.text.closeness import closest_sentences
from reverie.text.comparison import Likeness, Verdict, compare_statements
from reverie.text.odds import Odds, odds, ruled
from reverie.text.signs import Signs, share_anything, signs_of
from reverie.text.statements import (
    Change,
    Statement,
    change_in,
    lists_several,
    reason_of,
    sentences,
    statements,
)
from reverie.text.values import compare_values, values_in
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
_WORD = re.compile(r"\w+")
_SWITCHES = (
    ("on", "off"),
    ("in", "out"),
    ("up", "down"),
    ("an", "aus"),
    ("ein", "aus"),
    ("auf", "zu"),
)
# From the next one on, a statement of the old text is spoken of.
_SPOKEN_OF = _ORDER.index("sibling")


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
        self._ruled = by_rules(self._ours, self._theirs, self._change)
        self.verdict = self._judged()

    def _judged(self) -> Verdict:
        if self.new.split() == self.old.split():
            return Verdict("duplicate", certain=True, score=1.0)
        ruled = self._ruled
        if ruled.likeness in ("duplicate", "extends") and _switched(self.new, self.old):
            ruled = replace(ruled, likeness="sibling", certain=False, firm=True)
        if ruled.likeness == "update" and not ruled.said and self._same_values(ruled):
            # "at half past two", "at 14:30": other figures for the same value.
            ruled = replace(ruled, likeness="restates", certain=False, firm=True)
        if ruled.said and self._says_more():
            ruled = replace(ruled, said=False, certain=False)
        return self._with_reason(ruled)

    def _says_more(self) -> bool:
        """Whether the old text also says something that did not change: retired, that would be lost."""
        rows = zip(*_compared(self._ours, self._theirs, self._change), strict=True)
        touched = [any(_ORDER.index(one.likeness) > _SPOKEN_OF for one in row) for row in rows]
        return not all(touched) or lists_several(self.old, self._language)

    def _same_values(self, ruled: Verdict) -> bool:
        """Whether only figures differ, and all stand for the same values."""
        figures = [*ruled.ours, *ruled.theirs]
        if not figures or not all(one[:1].isdigit() for one in figures):
            return False
        found = compare_values(*(values_in(text, self._language) for text in (self.new, self.old)))
        return found.common > 0 and not found.ours and not found.theirs

    @property
    def uncertain(self) -> bool:
        """Whether the odds may say more than the rules; of a whole page they say nothing."""
        if self.verdict.likeness in ("duplicate", "restates") or self.verdict.said:
            return False
        parsed = bool(self._ours and self._theirs)
        told = [len(sentences(text)) for text in (self.new, self.old)]
        fewest = min(len(self.new.split()), len(self.old.split()))
        return parsed and max(told) <= _MOST_READ and fewest > 1

    def weighed(self) -> Verdict:
        signs = self.signs(whole=False)
        if not share_anything(signs):
            return self.verdict
        return self._with_reason(_weighed(self.verdict, signs, odds(signs)))

    def signs(self, *, whole: bool) -> dict[str, float]:
        """The signs of the two sentences that belong together, and what each text says beside them."""
        language = self._language
        told, known = sentences(self.new), sentences(self.old)
        texts = closest_sentences(told, known)
        more = [min(_MOST_SENTENCES, len(told)) - 1, min(_MOST_SENTENCES, len(known)) - 1]
        more = [
            count or int(part not in said)
            for count, part, said in zip(more, texts, (told, known), strict=True)
        ]
        ours, theirs = (statements(text, language) for text in texts)
        change = change_in(texts[0], language)
        found = signs_of(texts, ours, theirs, change, language, whole=whole)
        if not whole and not share_anything(found):
            return found
        same = ours is self._ours and theirs is self._theirs and change is self._change
        found |= ruled(self._ruled if same else by_rules(ours, theirs, change))
        return found | {
            "more sentences in new": float(more[0]),
            "more sentences in old": float(more[1]),
            "cue anywhere": float(bool(self._change.cue)),
            "plain cue anywhere": float(self._change.plain),
            "beside anywhere": float(self._change.beside),
        }

    def _with_reason(self, verdict: Verdict) -> Verdict:
        if verdict.likeness == "duplicate" and reason_of(self.new) not in ("", reason_of(self.old)):
            return replace(verdict, likeness="extends")
        return verdict


def _switched(new: str, old: str) -> bool:
    """Whether one says "on" where the other says "off": small words that turn the meaning round."""
    ours, theirs = (frozenset(_WORD.findall(text.lower())) for text in (new, old))
    mine, other = ours - theirs, theirs - ours
    return any((a in mine and b in other) or (b in mine and a in other) for a, b in _SWITCHES)


def signs_between(new: str, old: str) -> dict[str, float]:
    """All signs of two texts."""
    return _Pair(new, old).signs(whole=True)


def by_rules(ours: Sequence[Statement], theirs: Sequence[Statement], change: Change) -> Verdict:
    """What the rules alone say of the statements of two texts."""
    if not ours or not theirs:
        return Verdict("unrelated")
    return _together(_compared(ours, theirs, change), change)


def _compared(
    ours: Sequence[Statement], theirs: Sequence[Statement], change: Change
) -> list[list[Verdict]]:
    return [[compare_statements(mine, other, change) for other in theirs] for mine in ours]


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
    faint = sorted((key for key in weighed if _faint(weighed[key])), key=lambda k: weighed[k].score)
    for key in faint[:-1]:
        # Of several guesses only the best is told.
        weighed[key] = pairs[key].verdict
    matches = [Match(key, weighed.get(key, pair.verdict)) for key, pair in pairs.items()]
    found = [match for match in matches if match.likeness != "unrelated"]
    return sorted(found, key=_rank, reverse=True)


def _faint(verdict: Verdict) -> bool:
    """Whether it is not much more than a guess."""
    return verdict.weighed and verdict.score < _ALIKE


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
TOLD = 0.28
# Of two sentences in nearly the same words the rules know more: siblings mostly repeat a sentence.
_ALIKE = 0.36
# The rules see two things ("API v1", "API v2"), in whatever words.
_FIRM = 0.38
# Less is enough where the words speak of a change.
_CHANGED = 0.12
# So much is needed where form speaks against it: another speaker, a denial.
_EVEN = 0.5
_SURE = 0.7
_NEVER = 2.0
# From here on the other text is at least worth naming.
NAMED = 0.2
# A sentence with this many other words, small ones included, was told anew.
_ANEW = 2
_ANEW_BY_ANOTHER = 3
# How much of what is needed one of the two readings must reach alone.
_CLEAR = 0.75
# How many times more likely another value is than the same one, where the words speak of a change.
_CHANGE_COUNTS = 3.0
# From here on it need not be saved again, if no figure, name, day, negation or condition differs.
_KNOWN = 0.95
# How near in meaning two texts must be, if one denies and the other does not.
_NOT_APART = 0.4
# How much of the words of each the other must say, too, in these or near words.
_SAID_BY_BOTH = 0.7
# How many candidates the odds judge: those with the most words in common.
MOST_WEIGHED = 6
# Of longer texts the odds say nothing; from this many sentences on, more count as many.
_MOST_READ = 4
_MOST_SENTENCES = 3


def _weighed(verdict: Verdict, signs: Signs, found: Odds) -> Verdict:
    """The verdict where the rules are not sure; it retires no memory."""
    value = found.value * (_CHANGE_COUNTS if signs["cue anywhere"] else 1)
    likeness: Likeness = "restates" if found.same >= value or _same_values(signs) else "update"
    probable = found.same + found.value
    needed = _needed(verdict, signs, likeness)
    clear = max(found.same, found.value) >= max(found.more, _CLEAR * needed)
    if probable < needed or not clear:
        return _named(verdict, probable)
    denies = signs["denied"] and verdict.likeness == "update"
    if likeness == verdict.likeness or (likeness == "restates" and denies):
        return _named(verdict, probable)
    known = likeness == "restates" and found.same >= _KNOWN and verdict.likeness != "update"
    # Without the meaning of words the odds are not sure enough to leave a text unsaved.
    if known and "meaning" in signs and not _tells_apart(signs):
        likeness = "duplicate"
    return replace(verdict, likeness=likeness, certain=False, score=probable, weighed=True)


def _named(verdict: Verdict, probable: float) -> Verdict:
    """The verdict of the rules; what is perhaps about the same thing is a sibling at least."""
    if verdict.likeness != "unrelated" or probable < NAMED:
        return verdict
    return replace(verdict, likeness="sibling", score=probable, weighed=True)


def _far_apart(signs: Signs) -> bool:
    """Whether the words are too far apart in meaning for one to be the other, said with "not"."""
    return signs.get("meaning", 1.0) < _NOT_APART and not signs["same values"]


def _same_values(signs: Signs) -> bool:
    """Whether all figures and days stand for the same, and nothing else that may be a value differs."""
    apart = ("names differ", "another of its kind", "cue anywhere")
    return bool(signs["all values agree"]) and not any(signs[name] for name in apart)


def _needed(verdict: Verdict, signs: Signs, likeness: Likeness) -> float:
    """How probable it must be: of two sentences that differ in a word or two the rules know more."""
    if verdict.likeness == "extends":
        return _NEVER if likeness == "update" or verdict.certain else _SURE
    if signs["cue anywhere"]:
        return _ALIKE if verdict.firm else _CHANGED
    if likeness == "update" and signs["opposed"]:
        return _NEVER
    if _told_anew(signs):
        denies = signs["denied"] and _far_apart(signs)
        return _FIRM if verdict.firm else _EVEN if denies else TOLD
    return _needed_in_one_form(verdict, signs)


def _needed_in_one_form(verdict: Verdict, signs: Signs) -> float:
    """The same of two sentences of which one repeats most words of the other."""
    settled = verdict.certain or verdict.firm or verdict.likeness == "update"
    if settled or signs["opposed"] or signs["narrowed"]:
        return _NEVER
    if signs["denied"] or not signs["same speaker"]:
        return _NEVER if signs["person of one"] else _EVEN
    return _ALIKE if signs["both say more"] else _SURE


def _told_anew(signs: Signs) -> bool:
    one_view = signs["same speaker"] or signs["same values"]
    return signs["other words"] >= (_ANEW if one_view else _ANEW_BY_ANOTHER)


def _tells_apart(signs: Signs) -> bool:
    """Whether anything but plain words differs, or a text says more than the sentence compared."""
    names = ("opposed", "denied", "narrowed", "one of several", "cue anywhere", "beside anywhere")
    more = signs["more sentences in new"] or signs["more sentences in old"]
    apart = any(signs[name] for name in names) or signs["least alike"] < _SAID_BY_BOTH
    return bool(more or apart or not signs["clean"] or not signs["same speaker"])
