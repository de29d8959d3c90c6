"""What the odds make of a verdict of the rules: how probable a reading must be to be told.

The odds come from the signs of both texts alone (`by_signs`), or from reading them (`by_reading`), which
knows more and needs fewer conditions. Neither retires a memory.
"""

from __future__ import annotations

from dataclasses import replace

from reverie.text.comparison import Likeness, Verdict
from reverie.text.odds import Odds
from reverie.text.signs import Signs, share_anything

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
# How probable it must be after reading that both say the same or hold two values of one thing, to tell it;
# how probable if the signs speak against it, if the rules see two things, and if a word is turned round.
READ = 0.15
_READ_AGAINST_SIGNS = 0.55
_READ_FIRM = 0.65
_READ_OPPOSED = 0.75
_LIKELY_OTHER = 0.9
# An update that only words suggest is none, if it is less probable than this after reading.
_DOUBTED = 0.1


def by_reading(verdict: Verdict, signs: Signs, before: Odds, found: Odds) -> Verdict:
    """The verdict after reading; what the rules are certain of stays."""
    if verdict.certain or (verdict.likeness == "extends" and signs["beside anywhere"]):
        return verdict
    probable = found.same + found.value
    likeness: Likeness = "restates" if found.same >= found.value else "update"
    needed = _needed_after_reading(verdict, signs, before)
    if probable >= needed and max(found.same, found.value) >= found.more:
        if likeness == verdict.likeness:
            return verdict
        if found.same >= _KNOWN and by_signs(verdict, signs, before).likeness == "duplicate":
            likeness = "duplicate"
        return replace(verdict, likeness=likeness, score=probable, weighed=True)
    if verdict.likeness == "update" and probable < _DOUBTED:
        return replace(verdict, likeness="sibling")
    return _named(verdict, probable)


def _needed_after_reading(verdict: Verdict, signs: Signs, before: Odds) -> float:
    """How probable it must be; where only order or a condition differs, the rules see more."""
    if signs["opposed"] and not _told_anew(signs):
        return _NEVER
    if signs["narrowed"] and not signs["other words"]:
        return _NEVER
    if signs["opposed"]:
        return _READ_OPPOSED
    likely = before.other < _LIKELY_OTHER and share_anything(signs)
    needed = READ if likely else _READ_AGAINST_SIGNS
    if signs["cue anywhere"]:
        needed = _CHANGED
    return max(needed, _READ_FIRM) if verdict.firm else needed


def is_faint(verdict: Verdict) -> bool:
    """Whether it is not much more than a guess."""
    return verdict.weighed and verdict.score < _ALIKE


def by_signs(verdict: Verdict, signs: Signs, found: Odds) -> Verdict:
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
