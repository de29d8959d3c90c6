"""What a question wants to hear, a person or a day or a number, and whether a memory tells such a thing.

"Who approves the banner?" is hardly answered by a memory that names nobody. Only the form is looked
at: a memory that has a number may have another one.
"""

from __future__ import annotations

import re

# What the term of such a kind begins with; no word does.
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
_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december|"
    "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
)
_TOLD = {
    "when": rf"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:{_MONTHS})\b|\b\d{{1,2}}[:.]\d\d\b"
    r"|\b\d{1,2} ?[ap]m\b|\b(?:19|20)\d\d\b|\b(?:every|daily|weekly|monthly|yearly|annual\w*|nightly|hourly|night|"
    r"morning|evening|noon|midnight|weeks?|days?|months?|years?|hours?|minutes?|seconds?|until|since|q[1-4]|"
    r"spring|summer|autumn|winter|today|tomorrow|weekend|quarter\w*)\b",
    "number": r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|"
    r"forty|fifty|sixty|hundred|thousand|half|dozen|once|twice|double|unlimited)\b",
    "place": r"[\w.-]*/[\w./-]+|\b\w+\.\w{2,}\b"
    r"|\b(?:in|under|at|on|from|to|into|behind|near|beside|via|through)\b",
    "reason": r"\b(?:because|since|due to|so|as|after|reason|caused?|otherwise|instead|over|avoid|for)\b|[;:]",
    "rule": r"\b(?:must|never|only|always|no|not|don't|doesn't|can't|cannot|shouldn't|should|may|allowed|"
    r"forbidden|at most|at least|has to|have to|needs?|required?|nothing|nobody|without|before|rather|avoid|"
    r"wants?|prefers?)\b",
}
# A name inside a sentence, or at its beginning before what a person does; people without one.
_PERSON = re.compile(
    r"(?<=[^.!?:\s] )[A-ZÀ-Þ][\w-]+|^[A-ZÀ-Þ][\w-]+(?= (?:and|in|from) |,| \w+s\b)"
    r"|\b(?:team|lead|manager|owner|I|[Mm]y|[Ww]e|[Oo]ur|people|person|everybody|anyone|somebody|customers?|users?)\b",
    re.MULTILINE,
)
_WANTED = {kind: re.compile(form, re.IGNORECASE) for kind, form in _ASKED.items()}
_OFFERED = {kind: re.compile(form, re.IGNORECASE) for kind, form in _TOLD.items()}


def wanted(question: str) -> frozenset[str]:
    """What a question asks for, as terms; none for most that begin with "what"."""
    return frozenset(_MARK + kind for kind, form in _WANTED.items() if form.search(question))


def offered(text: str) -> frozenset[str]:
    """What a memory has to tell, as terms."""
    found = {_MARK + kind for kind, form in _OFFERED.items() if form.search(text)}
    return frozenset(found | {_MARK + "who"} if _PERSON.search(text) else found)


def fits(asked: frozenset[str], terms: frozenset[str]) -> float:
    """1 when a memory has what was asked for, -1 when it has not, 0 when nothing is known."""
    told = {term for term in terms if term.startswith(_MARK)}
    if not asked or not told:
        return 0.0
    return 1.0 if asked & told else -1.0
