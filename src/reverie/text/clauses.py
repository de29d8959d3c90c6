"""Whether a sentence with a date states something else in another clause.

There is no grammar here: a comma or a conjunction before an article, a pronoun or a verb may begin a
statement. Where that is in doubt, the date does not limit the sentence: an expired true fact is worse
than a stale notice.
"""

from __future__ import annotations

import re

# Where another statement may begin: "Ana and Bo" is one subject, "and the renewal is due" is a clause.
_BREAK = re.compile(
    r"[,;:()—]| [–-] "
    r"| (?:and|but|und|aber|et|mais|y|pero) (?=(?:the|its?|our|my|your|his|her|their|we|i|he|she|they|you|there"
    r"|is|are|has|goes|der|die|das|ein|eine|mein|meine|unser|unsere|ihr|ihre|wir|ich|er|sie|es|ist|sind|hat"
    r"|le|la|les|l['’]\w+|un|une|mon|ma|mes|notre|nos|son|sa|ses|nous|je|j['’]\w+|il|elle|on|est|sont|a"
    r"|el|los|las|una|mi|mis|nuestr[ao]s?|su|sus|está|están|es|son|tiene)\b"
    r"|(?-i:[A-ZÄÖÜÉ]\w+) (?:is|has|ist|hat|est|a|es|tiene) (?!on |in |due |am |le |el ))"
    r"| (?:which|who|whose|where|while|wo|während|qui|où|dont|tandis que|donde|que|mientras) ",
    re.IGNORECASE,
)
# Words about place, company or purpose belong to the statement beside them.
_ASIDE = re.compile(
    r"(?:at|in|on|for|with|from|to|by|near|so|because|please|um|im|am|bei|mit|für|weil|also|damit|bitte"
    r"|à|au|en|dans|avec|pour|chez|parce|donc|al|con|para|por|porque|así)\b",
    re.IGNORECASE,
)
_SAYS = re.compile(
    r"\b(?:is|are|has|have|lives?|works?|uses?|goes|runs|costs?|belongs?|likes?|drives?|owns|keeps|studies|plays"
    r"|ist|sind|bin|hat|haben|heißt|wohnt|lebt|arbeitet|nutzt|kostet|gehört|mag|fährt|liegt|läuft|steht"
    r"|est|sont|suis|habite|travaille|utilise|coûte|appartient|aime|s['’]appelle|vit|ont"
    r"|es|son|soy|está|están|tiene|tienen|vive|trabaja|usa|cuesta|pertenece|se llama)\b"
    r"|['’](?:m|re|s)\b",
    re.IGNORECASE,
)


def follows_a_statement(text: str, end: int) -> bool:
    """Whether an earlier clause states something that the date ending here does not limit."""
    return any(_SAYS.search(one) for one in _clauses(text, end)[0])


def is_alone(text: str, end: int) -> bool:
    """Whether the clause with the date ending here is all that is said."""
    earlier, later = _clauses(text, end)
    return not any(len(one.split()) > 2 and not _ASIDE.match(one) for one in (*earlier, *later))


def _clauses(text: str, end: int) -> tuple[list[str], list[str]]:
    """The clauses before and after the one in which a date ends."""
    breaks = [match.span() for match in _BREAK.finditer(text)]
    before = [one for one in breaks if one[1] < end]
    after = [one for one in breaks if one[0] >= end]
    starts = (0, *(stop for _, stop in before))
    earlier = [text[a:b].strip() for a, (b, _) in zip(starts, before, strict=False)]
    stops = (*(start for start, _ in after[1:]), len(text))
    later = [text[a:b].strip(" .!)") for (_, a), b in zip(after, stops, strict=False)]
    return earlier, later
