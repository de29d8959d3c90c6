"""Cues of a memory without a model: words people may ask by that its text does not have.

Two rules. Initials stand for a name of several words ("Great Expectations", "GE") and an abbreviation
in brackets for what it follows. The thesaurus gives other words for the most telling ones: those of
the smallest groups, which say most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reverie.text import thesaurus
from reverie.text.words import fold, plain_words, root

MOST = 5
# Longer cues than this are no words people ask by.
LONGEST = 60
_FROM_A_GROUP = 2
# A name within a sentence; a word that begins one may be written large for that alone.
_NAME = re.compile(r"(?<=[^.!?:\s] )[A-ZÀ-Þ][a-zà-þ]+(?: [A-ZÀ-Þ][a-zà-þ]+)+\b")


def cues_for(text: str, most: int = MOST) -> tuple[str, ...]:
    """Other words for a text, the surest first; none that it has itself."""
    said = _roots(text)
    found = (
        cue for cue in (*_initials(text), *_other_words(text)) if not said.issuperset(_roots(cue))
    )
    return tuple(dict.fromkeys(found))[:most]


def given(cues: tuple[str, ...]) -> tuple[str, ...]:
    """Cues that a person or a model gave, as they are kept: short, each once."""
    plain = (" ".join(cue.split()) for cue in cues)
    kept = {fold(cue): cue for cue in plain if cue and len(cue) <= LONGEST}
    return tuple(kept.values())[: 2 * MOST]


def _roots(text: str) -> frozenset[str]:
    return frozenset(map(root, plain_words(text)))


def _initials(text: str) -> Iterator[str]:
    for match in _NAME.finditer(text):
        yield "".join(word[0] for word in match[0].split())


def _other_words(text: str) -> Iterator[str]:
    for group in thesaurus.phrases_for(text):
        yield from group[:_FROM_A_GROUP]
