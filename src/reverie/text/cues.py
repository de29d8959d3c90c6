"""Cues of a memory without a model: words that people may ask by but that its text lacks.

A cue is the name of what the text is about by the thesaurus ("email" for a newsletter). It is
written into a person's files and weighs much in recall, so a few right ones beat many: the word in
the text must be unambiguous, and the name must be close to the meaning of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reverie.text import meaning, thesaurus
from reverie.text.thesaurus import Topic
from reverie.text.words import fold, plain_words, root

MOST = 3
# As many as a person or a model may give.
MOST_GIVEN = 10
# People do not ask by longer cues.
LONGEST = 60
# How close a name must be if one word of the text supports it, and if several do.
_BY_ONE = 0.7
_BY_SEVERAL = 0.45
# The weight of the rest of the text against the words that support a name.
_REST = 2.0
# The first words of a group describe it best.
_CENTRE = 8


def cues_for(text: str) -> tuple[str, ...]:
    """Names of what a text is about, the surest first; none that shares a word with it."""
    words = tuple(dict.fromkeys(plain_words(text)))
    said = _roots(words)
    found = [
        (sure, topic.words[0])
        for topic in thesaurus.topics_of(text)
        if not said & _roots(plain_words(topic.words[0]))
        and (sure := _nearness(topic, words)) is not None
    ]
    return tuple(name for _, name in sorted(found, reverse=True))[:MOST]


def given(cues: tuple[str, ...]) -> tuple[str, ...]:
    """Cues that a person or a model gave, as they are kept: short, each once."""
    plain = (" ".join(cue.split()) for cue in cues)
    kept = {fold(cue): cue for cue in plain if cue and len(cue) <= LONGEST}
    return tuple(kept.values())[:MOST_GIVEN]


def _roots(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(root, words))


def _nearness(topic: Topic, words: Sequence[str]) -> float | None:
    """How close a topic is to a text, by the words that support it and by all others; None if too far."""
    name = plain_words(topic.words[0])
    centre = [word for phrase in topic.words[:_CENTRE] for word in plain_words(phrase)]
    rest = [word for word in words if word not in topic.said and thesaurus.is_specific(word)]
    near = max(meaning.together([word], name) for word in topic.said)
    near += _REST * meaning.together(centre, rest)
    several = len(_roots(topic.said)) > 1
    return near if near >= (_BY_SEVERAL if several else _BY_ONE) else None
