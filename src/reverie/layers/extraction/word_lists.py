"""Words that turn, strengthen or merely hold together what a sentence says, without accents."""

from __future__ import annotations

from functools import cache

from reverie.text.statements import negations


def _bag(words: str) -> frozenset[str]:
    return frozenset(words.split())


@cache
def denying() -> frozenset[str]:
    """Words that deny what they stand beside."""
    return negations() | {"against", "instead", "ne"}


ALWAYS = _bag(
    """always every everything everywhere whenever each all any must never forever
    immer jede jeder jedes alle stets nie niemals toujours chaque jamais tout tous desormais
    siempre cada nunca todo todos"""
)
SMALL = _bag(
    """a an the is are was were be been being am to of in on at for by with as and or that this these
    those it its they their them he she his her i my me we our us you your will would should shall can
    could do does did has have had if then than so but from into about when which who what how why
    user users person people agent assistant wants want prefers likes asked said says apply applies
    please also very just really s t ll re ve d m
    der die das den dem ein eine einen und oder ist sind zu im am auf mit fur von dass wir ich du bitte
    le la les un une des de et ou est sont que qu je tu nous vous il elle
    el los las una y o es son con para por lo se mi"""
)
# What two texts about one thing may differ in; whether one says "not" is compared apart.
IDLE = _bag(
    """the a an is are was in on at to of for by and from now please we i it our my has have been be will
    that this instead always never not don't do"""
)
FRAME_NAMES = _bag("i user the why how this when always never person")
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
