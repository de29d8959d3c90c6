"""A "yes, exactly that" and the statement it confirms. Pure.

Only a statement that is meant to last is taken: a yes to "shall I delete it?" says nothing about
tomorrow, unless the yes itself does ("keep doing that").
"""

from __future__ import annotations

import re

from reverie.layers.extraction.rules.sentences import sentences, to_the_point
from reverie.layers.extraction.speech import own_words, prose

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
# "Is that what you want?" and "All tests pass." are not what was confirmed.
_FRAME = re.compile(
    r"^(?:is (?:that|this)|does (?:that|this)|right|ok(?:ay)?|correct|all tests|done|shall i (?:go on|proceed|continue)|let me know)\b.*",
    re.I,
)
_LEAD = re.compile(
    r"^(?:to confirm|just to confirm|so|in short|understood|got it|noted|then|entonces|donc|also)[,:]? +",
    re.I,
)


def confirmed(reply: str, proposal: str) -> str | None:
    """The sentence of the assistant's message that the person's reply confirms; None if none is."""
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
    """One statement can be confirmed; of several nobody knows which was meant."""
    if len(statements) != 1 or len(statements[0].split()) < 4 or _MAYBE.search(statements[0]):
        return None
    return to_the_point(_LEAD.sub("", statements[0]))
