"""Splits text into sentences, and finds what a reply confirms. Pure."""

from __future__ import annotations

import re

from reverie.learning.extraction.speech import BULLET, own_words, prose

LONGEST_SENTENCE = 400

# No sentence ends after a title or an abbreviation, nor between a day and its month: "17. März".
_ABBREVIATED = "e.g. i.e. vs. z.B. Dr. Mr. Mrs. Ms. Prof. St. Nr. Fr. Hr. Sr. Sra."
_END = re.compile(
    r"(?<=[.!?…])"
    + "".join(rf"(?<!\b{re.escape(one)})" for one in _ABBREVIATED.split())
    + r"(?!(?<=\d\.)[ \t]+(?:Jan|Feb|März|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))[ \t]+"
)
# Openings before the point of a sentence.
_OPENING = re.compile(
    r"^(?:(?:(?:(?:as|like) i (?:already )?said(?: before| already)?|ok(?:ay)?|oh|ah|hey|hi|also|and|so|but|btw|by the way|fyi|heads[- ]up|(?:one|another)(?: more)? thing(?: to remember)?|before (?:we|i) (?:start|begin|go on|forget)|anyway|in general|for the record|just so you know|for the future"
    r"|(?:house|general|basic) rule(?=:)|quick note|note(?=:)|übrigens|und|ach|zur info|für die zukunft|pour l'avenir|para el futuro|grundsätzlich|nebenbei|au fait|et|pour info|bon|en général|por cierto|oye|en general|y)(?!\w)[,:;!–—-]*|(?:thanks|thank you|great|good|cool|well|right|sorry|no|yes"
    r"|nein|ja|non|oui|sí|perfect)[,:;!–—-]+)\s+)+",
    re.I,
)


def sentences(text: str) -> tuple[str, ...]:
    """Every sentence, in order, without bullets and extra spaces."""
    lines = (BULLET.sub("", line) for line in text.split("\n"))
    pieces = (" ".join(piece.split()) for line in lines for piece in _END.split(line))
    return tuple(piece for piece in pieces if piece)


def to_the_point(sentence: str) -> str:
    """The sentence without its opening: "Oh, by the way, …"."""
    return _OPENING.sub("", sentence)


_LONGEST_YES = 90

_YES = re.compile(
    r"^(?:(?:yes|yep|yeah|yup|ja|oui|sí|si)[,!. ]+)?(?:please,? )?(?:exactly(?: (?:that|right|so|like that))?|precisely|spot on"
    r"|correct,? (?:that's|that is) (?:it )?exactly(?: right)?|(?:that's|that is) exactly (?:it|right|what i (?:want|mean|meant|wanted))"
    r"|correct|(?:that's|that is) (?:it|right)(?:,? exactly)?|genau(?: so| das)?|exactement(?: comme ça| ça)?|c'est exactement ça"
    r"|exactamente(?: así| eso)?)(?:[,!. ]+(?:yes|please|thanks|thank you|exactly|that's it exactly|ja|oui|sí|merci|danke|gracias))*[.! ]*$",
    re.I,
)
_KEEP = re.compile(
    r"^(?:(?:yes|yep|yeah|perfect|great|good|nice|exactly|excellent|love it)[,!. –-]+)*(?:please )?(?:keep (?:doing|working) (?:it |that )?(?:that|it|so"
    r"|this way|that way|like (?:that|this))|(?:do (?:it|that|this) )?(?:always|every time) (?:like (?:that|this)|this way|that way)"
    r"|(?:do it )?like (?:that|this) (?:always|every time|from now on)|(?:that's|that is) (?:exactly )?how i (?:want|like) it(?: (?:every time|always|from now on))?"
    r"|immer so|toujours comme ça|siempre así)(?:[,!. ]+(?:please|thanks|thank you|bitte|merci))*[.! ]*$",
    re.I,
)
_LASTING = re.compile(
    r"\b(?:always|never|from now on|going forward|in (?:the )?future|every time|whenever|each time|as a rule|by default"
    r"|prefer|we (?:have )?(?:decided|agreed)|immer|nie(?:mals)?|künftig|ab jetzt|in zukunft|toujours|jamais|désormais"
    r"|siempre|nunca|a partir de ahora|you(?:'re| are) an?|your role|you work)\b",
    re.I,
)
_MAYBE = re.compile(r"\b(?:or|alternatively|oder|sinon|perhaps|maybe)\b.*\?$", re.I)
# "Is that what you want?" and "All tests pass." are not confirmed by a yes.
_FRAME = re.compile(
    r"^(?:is (?:that|this)|does (?:that|this)|right|ok(?:ay)?|correct|all tests|done|shall i (?:go on|proceed|continue)|let me know)\b.*",
    re.I,
)
_LEAD = re.compile(
    r"^(?:to confirm|just to confirm|so|in short|understood|got it|noted|then|entonces|donc|also)[,:]? +",
    re.I,
)


def confirmed(reply: str, proposal: str) -> str | None:
    """The sentence of the assistant's message that the person's reply confirms, or None."""
    said = own_words(reply)
    if not said or len(said) > _LONGEST_YES:
        return None
    statements = [one for one in sentences(prose(proposal)) if not _FRAME.match(one)]
    if _KEEP.match(said):
        return _only(statements)
    if _YES.match(said):
        return _only([one for one in statements if _LASTING.search(one)])
    return None


def _only(statements: list[str]) -> str | None:
    """The statement if there is exactly one; a reply to several is ambiguous."""
    if len(statements) != 1 or len(statements[0].split()) < 4 or _MAYBE.search(statements[0]):
        return None
    return to_the_point(_LEAD.sub("", statements[0]))
