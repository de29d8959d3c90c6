"""The kind of answer a question asks for (a person, a day, a number …), and whether a memory offers one.

A memory that names no person hardly answers "Who approves the banner?". Only the form is checked: a
memory with a number may have the wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# The prefix of a kind's term; no word begins with it.
_MARK = "za"

_ASKED = {
    "who": r"\b(?:who|whom|whose|which (?:person|one of us)|wer|wem|wen|qui|qui[eé]n)\b",
    "when": r"\b(?:when|what time|which day|what date|how (?:often|long|old)|wann|quand|cu[aá]ndo|quando|wanneer)\b",
    "number": r"\b(?:how (?:much|many|big|large|long|fast|old|high|far|small|wide|deep|heavy|tall|often|hot)"
    r"|what (?:size|number|limit|price|percentage)|cost|wie ?viele?|combien|cu[aá]nt[oa]s?|hoeveel)\b",
    "place": r"\b(?:where|wo|wohin|où|d[oó]nde|dove|waar|which (?:folder|server|file|room|place|machine|address|host))\b",
    "reason": r"\b(?:why|how come|reason|warum|wieso|pourquoi|por qu[eé]|waarom)\b",
    "rule": r"^(?:and |so )?(?:can|may|should|must|am i|are we|is it|do i|do we|could|shall|darf|dürfen|peut|puis|puedo|mag)\b"
    r"|\b(?:allowed|ok(?:ay)? to|(?:may|can|should) (?:i|we))\b",
}
# Words that offer an answer of each kind; digits and clock times do, too.
_TOLD = {
    "when": """
        monday mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday fridays saturday saturdays
        sunday sundays january february march april may june july august september october november december jan
        feb mar apr jun jul aug sep sept oct nov dec am pm every daily weekly monthly yearly annual annually
        nightly hourly night morning evening noon midnight week weeks day days month months year years hour hours
        minute minutes second seconds until since q1 q2 q3 q4 spring summer autumn winter today tomorrow weekend
        weekends quarter quarterly""",
    "number": """
        one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty
        hundred thousand half dozen once twice double unlimited""",
    "place": "in under at on from to into behind near beside via through",
    "reason": "because since due so as after reason cause caused otherwise instead over avoid for",
    "rule": """
        must never only always no not don doesn can cannot shouldn should may allowed forbidden most least has have
        need needs require required nothing nobody without before rather avoid want wants prefer prefers""",
    "who": """
        team lead manager owner i my we our people person everybody anyone somebody customer customers user users""",
}
_WORD = re.compile(r"[a-z]+\d?|\d")
_FORMS = {
    "when": re.compile(r"\b\d{1,2}[:.]\d\d\b|\b(?:19|20)\d\d\b"),
    "place": re.compile(r"/|\w\.\w\w"),
    "reason": re.compile(r"[;:]"),
    # A name inside a sentence, or at its beginning before what a person does.
    "who": re.compile(
        r"(?<=[^.!?:\s] )[A-ZÀ-Þ][\w-]+|^(?!It |This |That |The )[A-ZÀ-Þ][\w-]+(?= (?:and|in|from) |,| \w+s\b)",
        re.MULTILINE,
    ),
}
_WORDS = {kind: frozenset(words.split()) for kind, words in _TOLD.items()} | {
    "number": frozenset(_TOLD["number"].split()) | set("0123456789")
}
_KINDS = frozenset(_MARK + kind for kind in _ASKED)
_WANTED = {kind: re.compile(form, re.IGNORECASE) for kind, form in _ASKED.items()}


def wanted(question: str) -> frozenset[str]:
    """The kinds of answer a question asks for, as terms; none for most that begin with "what"."""
    return frozenset(_MARK + kind for kind, form in _WANTED.items() if form.search(question))


def offered(text: str) -> frozenset[str]:
    """The kinds of answer a memory offers, as terms."""
    said = set(_WORD.findall(text.lower()))
    return frozenset(_MARK + kind for kind in _WORDS if _offers(kind, said, text))


def offers(asked: frozenset[str], text: str) -> bool:
    """Whether a text offers one of the kinds asked for; faster than computing all it offers."""
    said = set(_WORD.findall(text.lower()))
    return any(_offers(kind.removeprefix(_MARK), said, text) for kind in asked)


def _offers(kind: str, said: set[str], text: str) -> bool:
    return not _WORDS[kind].isdisjoint(said) or (
        kind in _FORMS and _FORMS[kind].search(text) is not None
    )


def fits(asked: frozenset[str], terms: Sequence[str]) -> float:
    """1 if a memory offers what was asked for, -1 if it does not, 0 if that is unknown."""
    if not asked or _KINDS.isdisjoint(terms):
        return 0.0
    return -1.0 if asked.isdisjoint(terms) else 1.0
