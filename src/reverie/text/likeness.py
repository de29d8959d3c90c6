"""Compares a new text with an old one: same, more, update, sibling or unrelated.

The rules (`comparison`) decide first. Where they see no more than words in common, the odds (`odds`)
tell what is probably the same in other words, or probably another value; of what may be, a model
reads both texts (`reader`) and corrects the odds. In doubt both stay valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from reverie.text import reader
from reverie.text.closeness import closest_sentences, in_common
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
from reverie.text.weighing import by_reading, by_signs, is_faint
from reverie.text.word_classes import language_of
from reverie.text.wording import switched, told_apart

__all__ = ["Likeness", "Match", "Verdict", "compare", "nearest", "related"]

_ORDER: tuple[Likeness, ...] = (
    "unrelated",
    "sibling",
    "restates",
    "update",
    "extends",
    "duplicate",
)
# From the next one on, a statement of the old text is spoken of.
_SPOKEN_OF = _ORDER.index("sibling")
# How probable it must be by the signs that two texts are about different things, to leave them unread.
_OTHER = 0.98
# The same where one of them has several sentences: the model learnt little of such texts.
_OTHER_OF_SEVERAL = 0.75
# How many candidates are read: reading takes time, and with three hardly less is told for nothing.
MOST_READ = 1
# How many candidates the odds judge: those with the most words in common.
MOST_WEIGHED = 6
# Of longer texts the odds say nothing; from this many sentences on, more count as many.
_MOST_TOLD = 4
_MOST_SENTENCES = 3


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
    return _weigh([pair])[0] if pair.uncertain else pair.verdict


class _Pair:
    """Two texts, and what the rules say of them; the odds are weighed only when asked for."""

    def __init__(self, new: str, old: str) -> None:
        self.new, self.old = new, old
        self._language = language_of(new, old)
        self._ours = statements(new, self._language)
        self._theirs = statements(old, self._language)
        self._change = change_in(new, self._language)
        self._turned = self._apart = False
        self._ruled = by_rules(self._ours, self._theirs, self._change)
        self.verdict = self._judged()

    def _judged(self) -> Verdict:
        if self.new.split() == self.old.split():
            return Verdict("duplicate", certain=True, score=1.0)
        ruled = self._ruled
        texts = (self.new, self.old)
        self._turned = ruled.likeness in ("duplicate", "extends") and switched(texts)
        if self._turned:
            ruled = replace(ruled, likeness="sibling", certain=False, firm=True)
        sides = (self._ours, self._theirs)
        self._apart = ruled.likeness == "duplicate" and told_apart(texts, sides, self._language)
        if self._apart:
            ruled = replace(ruled, likeness="restates", certain=False)
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
        settled = self.verdict.likeness in ("duplicate", "restates") and not self._apart
        if settled or self.verdict.said:
            return False
        parsed = bool(self._ours and self._theirs)
        told = [len(sentences(text)) for text in (self.new, self.old)]
        fewest = min(len(self.new.split()), len(self.old.split()))
        return parsed and max(told) <= _MOST_TOLD and fewest > 1

    @cached_property
    def unread(self) -> reader.Unread | None:
        """The pair with its signs and what these say; None if the texts have nothing in common."""
        signs = self.signs(whole=False)
        return self._with(signs) if share_anything(signs) else None

    def unread_anyway(self) -> reader.Unread:
        return self.unread or self._with(self.signs(whole=True))

    def _with(self, signs: Signs) -> reader.Unread:
        several = len(sentences(self.old)) > 1
        texts = self.closest if several else (self.new, self.old)
        return reader.Unread(*texts, signs, odds(signs))

    def weighed(self) -> Verdict:
        """The verdict by the odds, where the texts have anything in common."""
        if self.unread is None:
            return self.verdict
        return self._with_reason(by_signs(self.verdict, self.unread.signs, self.unread.odds))

    def read(self, unread: reader.Unread, found: Odds) -> Verdict:
        """The verdict by the odds that were found by reading."""
        elsewhere = self._change.former and not unread.signs["former value named"]
        # "8443 instead of 8080" repeats "8443"; what it replaces stands in another text.
        repeated = self.verdict.likeness == "extends" and elsewhere
        if repeated or self._turned:
            return self.verdict
        return self._with_reason(by_reading(self.verdict, unread.signs, unread.odds, found))

    @cached_property
    def closest(self) -> tuple[str, str]:
        """The two sentences that belong together."""
        return closest_sentences(sentences(self.new), sentences(self.old))

    def signs(self, *, whole: bool) -> dict[str, float]:
        """The signs of the two sentences that belong together, and what each text says beside them."""
        language, texts = self._language, self.closest
        told, known = sentences(self.new), sentences(self.old)
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
    near = near[:MOST_WEIGHED]
    weighed = dict(zip(near, _weigh([pairs[key] for key in near]), strict=True))
    faint = sorted(
        (key for key in weighed if is_faint(weighed[key])), key=lambda k: weighed[k].score
    )
    for key in faint[:-1]:
        # Of several guesses only the best is told.
        weighed[key] = pairs[key].verdict
    matches = [Match(key, weighed.get(key, pair.verdict)) for key, pair in pairs.items()]
    found = [match for match in matches if match.likeness != "unrelated"]
    return sorted(found, key=_rank, reverse=True)


def _weigh(pairs: Sequence[_Pair]) -> list[Verdict]:
    """The verdicts by the odds: of pairs that may be about one thing, after reading them."""
    verdicts = [pair.weighed() for pair in pairs]
    if not reader.known():
        return verdicts
    chosen = _worth_reading(pairs)
    found = reader.read([unread for _, unread in chosen])
    for (at, unread), one in zip(chosen, found, strict=True):
        verdicts[at] = pairs[at].read(unread, one)
    return verdicts


def _worth_reading(pairs: Sequence[_Pair]) -> list[tuple[int, reader.Unread]]:
    """The pairs that are likeliest to be about one thing."""
    # Reading changes nothing that the rules are certain of.
    doubtful = [at for at, pair in enumerate(pairs) if not pair.verdict.certain]
    shared = [(at, pairs[at].unread) for at in doubtful]
    found = [(at, unread) for at, unread in shared if unread is not None]
    if doubtful and not found:
        # Texts without a common word may say the same: the nearest in meaning.
        nearest = max(doubtful, key=lambda at: in_common(pairs[at].new, pairs[at].old))
        found = [(nearest, pairs[nearest].unread_anyway())]
    found = [one for one in found if _is_open(one[1])]
    return sorted(found, key=lambda one: one[1].odds.other)[:MOST_READ]


def _is_open(unread: reader.Unread) -> bool:
    signs = unread.signs
    several = signs["more sentences in new"] or signs["more sentences in old"]
    return unread.odds.other < (_OTHER_OF_SEVERAL if several else _OTHER)


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
