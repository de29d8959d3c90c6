"""Reasons not to remember a sentence: questions, hedges, hearsay, jokes, single tasks.

Precision comes before recall: one doubt is enough.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reverie.learning.extraction.questions import (
    HEDGES,
    REPORTS,
    REWORDS,
    SUPPOSES,
    asks,
    begins_as_question,
    reporter,
    without_politeness,
    without_reasons,
)
from reverie.learning.extraction.rules.cues import Manner

_JOKE = re.compile(
    r"\b(?:jk|j/k|just kidding|only joking|kidding|as a joke|scherz|spaß(?:eshalber)?|je plaisante|es broma|es un chiste)\b|(?<=\s)/s\b",
    re.I,
)
# Laughter is about its own sentence, or about the one before it.
_LAUGHS = re.compile(
    r"\b(?:lol|lmao|haha\w*|hehe|rofl|xd)\b|😂|🤣|😜|😛|😉|😝|🙃|[;:]-?[PpD)](?=\s|$)", re.I
)
_NOT_FOR_MEMORY = re.compile(
    r"\b(?:don't|do not|never|no need to|needn't|don't have to|not worth|shouldn't|please not) "
    r"(?:\w+ ){0,2}?(?:remember|remembering|memori[sz]e|save|store|note|keep)\b.{0,30}\b(?:this|that|it|any of|memory)\b"
    r"|\boff the record\b|\b(?:nicht|kein\w*) (?:merken|speichern)\b|\bmerk\w* (?:dir|es).{0,20}\bnicht\b"
    r"|\bne (?:retiens|mémorise|garde) pas\b|\bno (?:recuerdes|guardes|memorices)\b|\bforget (?:that|what) i (?:just )?said\b",
    re.I,
)
_PLAY = re.compile(
    rf"\b(?:{SUPPOSES}|role-?play|act as|for the sake of argument|let us say|say we|thought experiment)\b",
    re.I,
)
_REWORDING = re.compile(rf"\b(?:{REWORDS}|summari[sz]e this)\b", re.I)
# After such a task a sentence describes the text; before it, people talk about themselves.
_WRITING = re.compile(
    r"\bwrite (?:me )?an? (?:\w+ )?(?:story|poem|song|email|mail|tweet|post|haiku|letter|essay|scene|joke)\b",
    re.I,
)
# A task to build something describes that thing, not the way of working.
_TASK = re.compile(
    r"^(?:please |can you |could you |let's |now |then |also |ok |okay |next )*(?:write|implement|create|add|build"
    r"|refactor|generate|design|fix|port|convert|extend|rewrite|make)\b.{0,80}\b(?:function|class|method|script|endpoint"
    r"|query|component|test|tests|parser|module|cli|command|api|page|form|service|validator|hook|handler|migration"
    r"|table|job|pipeline|workflow|view|button|dialog|loop|regex|schema|\w+\(.*\))",
    re.I,
)
_HEDGE = re.compile(
    rf"\b(?:{HEDGES}|might|may want|could be|i think|i guess|i suppose|not sure|probably|wonder|thinking (?:of|about)"
    r"|second thoughts|reconsider\w*|changed my mind|tempted)\b",
    re.I,
)
_HEARSAY = re.compile(
    rf"(?<!\byou )(?<!\bi )(?<!\bwe )\b(?:{REPORTS})\b|(?:^|, )(?:laut|selon|d['’]après|según)\b|\b(?:according to|apparently|supposedly|told me|tells me|and i quote|(?:rumou?r|legend|myth|gossip) (?:is|has it|goes)?\b|(?:rival|competitor|competition)['’]?s?|gerücht\w*|rumeurs?|konkurren\w+|concurrents?|competidor\w*|(?:i|we)(?:['’]ve| have)? (?:read|heard|seen|saw)\b(?: \w+){{0,3}} that|(?:sign|notice|poster|label|board|banner|page|screen|plaque|leaflet|flyer) (?:reads|says|tells)|(?:reads|states)(?=\s*[:,“\"]| that\b| as follows)"
    r"|(?:guide|docs?|readme|tutorial|article|spec|manual|linter|reviewer|bot|copilot|policy|boss|teacher|mother)"
    r" (?:recommend|require|suggest|demand|insist|want|complain|advise|teach|taught)\w*)\b",
    re.I,
)
_OWN_SAYING = re.compile(r"\b(?:like|as) i said\b|\bi(?:'ve)? said\b|\b(?:i|we) agree\b", re.I)
_NOW = re.compile(
    r"\b(?:right now|now|yet|for now|for the moment|at the moment|today|tonight|this time|until|till|first(?=,| thing\b)|just this"
    r"|this once|temporarily|in (?:a|ten|five|\d+) minutes?|any minute|while (?:i|you|we|it)|in the middle of|before i"
    r"|jetzt|gerade|heute|vorerst|maintenant|aujourd'hui|pour l'instant|ahora|hoy|por ahora)\b",
    re.I,
)
_STANDING_NOW = re.compile(
    r"\b(?:from (?:now|today|tomorrow) on|from here on(?: out)?|as of (?:today|now)|(?:it['’]s|is|are) now|only\b.{1,40}\bnow|(?:now|maintenant|ahora)(?=[.!]?$)|ab jetzt|ab heute|von jetzt an|à partir de maintenant|à partir d'aujourd'hui"
    r"|(?:a partir|de) (?:de )?ahora(?: en adelante)?|a partir de hoy)\b",
    re.I,
)
_THIS = re.compile(
    r"\b(?:in|for|on|of|with|from|inside|within|to|merge|close|rename|remove|delete|revert|change) (?:this|that|these|those|the (?:current|above|next|last|second|third))"
    r" (?:\w+ )?(?:function|file|script|pr|pull request|commit|branch|test|tests|case|session|task|method|class|loop"
    r"|query|button|page|endpoint|one|line|block|hunk|change|step|request|run|example|snippet|variable|part|section"
    r"|screen|form|issue|ticket|bug|exercise|conversation|chat|merge|index|component|view|diff|patch|column|field|cell|notebook)s?\b"
    r"|\bfor this\b|\bhere\b(?!,? we)|\bline \d+\b|\b(?:in|for) diese[mnr]? \w+|\bdans (?:ce|cette) \w+|\ben est[ea] \w+",
    re.I,
)
_HOUSE = re.compile(
    r"\bin this (?:company|team|project|repo(?:sitory)?|codebase|house|organi[sz]ation)\b", re.I
)
_CONDITIONAL = re.compile(
    r"^(?:if|once|when|unless|until|before|falls|wenn|sobald|si|cuando|quand|dès que)\b", re.I
)
_UNDECIDED = re.compile(
    r"\b(?:haven't|hasn't|have not|has not|not yet|yet to|still need|need to|never|i thought|didn't|did not|if|whether"
    r"|noch nicht|nicht|pas encore|n'avons pas|n'a pas|todavía no|aún no)\b.{0,40}\b(?:decid|agree|settle|chose|choose"
    r"|beschlossen|entschieden|décid|decid)",
    re.I,
)
_TAG = re.compile(
    r"(?:,| -) (?:right|don't we|isn't it|no|eh|hey|ok|correct|oder|nicht wahr|non|verdad)[.!?]*$",
    re.I,
)
# Words after "always" or "never" that describe something or say how code behaves.
_NOT_A_RULE = re.compile(
    r"\b(?:always|never)(?: ever)? (?:with|the|an?|in|on|at|so|too|that|this|these|those|my|your|nice|good|great|fun|as|more|less"
    r"|later|one|there|here|such|just|like|something|someone|enough|mind|been|seen|had|has|have i|was|were|is|are|be|being|got|gets?|heard|thought|knew"
    r"|went|came|did|does|saw|\w+(?<!s)s|\w+(?<!e)ed|return|raise|throw|yield|emit|render|evaluate|resolve|equal|contain"
    r"|fail|display|fire|trigger|again|ever(?! \w)|expire|happen|blame|trust|say never|gonna|wanted|worry)\b",
    re.I,
)
_IDLE_AGAIN = re.compile(r"\b(?:worry|bother|mind|get|hesitate|panic|think)\b", re.I)
_MINE = re.compile(
    r"\b(?:i'm|i am|i'll|i will|i) (?:just )?(?:going|gonna|call\w*|will)\b|^(?:from now on|going forward),? (?:i|it|they|he|she)\b(?! want| would like| prefer)",
    re.I,
)
# "From now on the variable holds …" describes code.
_NARRATES = re.compile(
    r"^(?:from now on|from here on(?: out)?|going forward|henceforth),? (?:(?:the|this|that|these|those|it|there|an?)\b"
    r"|(?:in|at|inside|on|within) .*\b(?:is|are|was|holds|has|returns|points|contains)\b)",
    re.I,
)


# In a long text the person's own words are at both ends; the middle is usually pasted.
_LONG_TEXT = 700
_ENDS = 2
_PLAINLY = re.compile(
    r"\b(?:please|bitte|s'il te plaît|por favor|future|memory|from now on|ab jetzt|ab sofort|désormais"
    r"|à partir de|a partir de|de ahora en adelante)\b",
    re.I,
)
_BRIEFING = re.compile(
    r"\b(?:remember|note|mind|memory)\b[^a-z]{0,3}(?:that |this |the following )?[:,]? ?(?:you(?!['’]ll find| will find| can find)(?:'re| are| will| should| can)?\b"
    r"|your (?:goal|task|job|role|answer)|the (?:target|goal|user|reader|audience|character|most important|key (?:is|to|points?|things?|takeaways?|message|idea|facts?)\b|key:))",
    re.I,
)
# "Remember, practice makes perfect" is about nothing in particular.
_PROVERB = re.compile(r"^remember,", re.I)
_PARTICULAR = re.compile(r"\d|(?<=\w )[A-Z]|\b(?:I|I'm|my|we|our|the)\b")
_OUTING = re.compile(
    r"\b(?:decided|agreed) (?:to|on) (?:meet|grab|go (?!live|with|public|ahead|for)|watch|order|eat|have|take an?|visit|book)",
    re.I,
)
# Things that are being written in this conversation; a request about them is part of that task.
_WORKPIECE = re.compile(
    r"\bthe (?:article|story|essay|program|blog|post|poem|character|protagonist|scene|chapter|text|output|response"
    r"|table|email|letter|prompt|persona|reader|audience|summary|exercise|game|plot)s?\b",
    re.I,
)
_FOR_NOW = re.compile(
    r"\b(?:for now|for the moment|for today|this time|temporarily|for this(?! (?:year|month|week|quarter|season|term)\b)|in this (?:conversation|chat|session|function|file"
    r"|task|pr|branch|story|game|exercise)|when you (?:write|do|make|implement|fix|change|review) (?:the|this|that|it))\b",
    re.I,
)


_ADVICE = re.compile(r"\b(?:you|your|yourself)\b", re.I)
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|me|my|mine|we|we're|we've|us|our)\b", re.I)


# "Please remember: you'll find the tests in …" speaks to the assistant.
_PLEASE_REMEMBER = re.compile(r"please,? (?:remember|note|memori[sz]e)(?: that)?\s*:", re.I)
# "Please remember: you reach me on …" states a fact; "you are …" and "you should …" brief the
# assistant.
_ANYONE = re.compile(
    rf"{_PLEASE_REMEMBER.pattern}\s*you(?:['’]ve)? (?!are\b|were\b|will\b|should\b|must\b)", re.I
)


def not_for_memory(text: str) -> bool:
    """Whether the text asks not to remember something."""
    return _NOT_FOR_MEMORY.search(text) is not None


def about_message(text: str) -> str | None:
    """A doubt about a whole message, or None."""
    for pattern, doubt in (
        (_JOKE, "a joke"),
        (_NOT_FOR_MEMORY, "not to be remembered"),
        (_PLAY, "a supposition"),
        (_REWORDING, "a text to work on"),
    ):
        if pattern.search(text):
            return doubt
    return None


def hedged(sentence: str) -> bool:
    """Whether the speaker is not certain."""
    return _HEDGE.search(sentence) is not None


def hearsay(sentence: str) -> bool:
    """Whether it reports what others say, or what the person read or heard."""
    said = without_reasons(sentence)
    return bool(_HEARSAY.search(said) or reporter(said)) and not _OWN_SAYING.search(sentence)


def about_place(said: Sequence[str], place: int) -> str | None:
    """A doubt from the position of a sentence: beside laughter, part of a text to write, inside a long text."""
    laughs_at_it = place + 1 < len(said) and _LAUGHS.match(said[place + 1])
    if _LAUGHS.search(said[place]) or laughs_at_it:
        return "a joke"
    if any(map(_WRITING.search, said[: place + 1])):
        return "a text to work on"
    if any(map(_WRITING.search, said)) and not _FIRST_PERSON.search(said[place]):
        return "a text to work on"
    if sum(map(len, said)) <= _LONG_TEXT:
        return None
    at_an_end = place < _ENDS or place >= len(said) - _ENDS
    return None if at_an_end and _PLAINLY.search(said[place]) else "inside a long text"


def about_sentence(sentence: str, manner: Manner, earlier: tuple[str, ...]) -> str | None:
    """A doubt about one sentence, or None; `earlier` are those before it in the message."""
    sounds_asked = begins_as_question(sentence) or _TAG.search(sentence)
    if asks(sentence) or (sounds_asked and manner != "dictated"):
        return "a question"
    if manner in ("dictated", "asked"):
        return _about_request(sentence)
    if _HEDGE.search(sentence):
        return "not certain"
    if hearsay(sentence):
        return "said by others"
    if manner == "decision":
        sentence = _DECIDED_WHEN.sub(" ", sentence)
    if manner in ("rule", "standing", "decision", "plain") and _scoped(sentence):
        return "about this task"
    return _by_manner(sentence, manner, earlier)


# "We decided today to …": made today, but the decision lasts.
_DECIDED_WHEN = re.compile(
    r"\b(?:just now|today|tonight|heute|aujourd['’]hui|hoy)\b(?=.{0,12}\b(?:to|that|on|against|dass|que|de)\b)",
    re.I,
)
# "Remember them, also next month" refers to something elsewhere.
_POINTING = re.compile(
    r"(?:please\s+)?remember\s+(?:(?:it|them|these|those|this)(?:\s+(?:rules?|things?|points?|ones?|list))?"
    r"\s*(?:[.,;!]|$|\b(?:for|also|too|when|next|later|until|tomorrow)\b)|that\s*(?:[.,;!]|$))",
    re.I,
)


def _about_request(sentence: str) -> str | None:
    if _POINTING.match(sentence):
        return "what it means stands elsewhere"
    briefs = _BRIEFING.search(sentence) and not _ANYONE.match(sentence)
    if briefs or _FOR_NOW.search(sentence) or _WORKPIECE.search(sentence):
        return "about this task"
    if _PROVERB.match(sentence) and (_ADVICE.search(sentence) or not _PARTICULAR.search(sentence)):
        return "a saying"
    addressed = _FIRST_PERSON.search(sentence) or _PLEASE_REMEMBER.match(sentence)
    if _ADVICE.search(without_politeness(sentence)) and not addressed:
        return "advice to a reader"
    return None


# "Always …, and please do it now": the rule lasts, the request after it does not.
_AND_NOW = re.compile(
    r",? (?:and|und|et|y) (?:please |bitte )?(?:do|start|run|fix|apply) (?:it|that|this|so)\b.*",
    re.I,
)


def _scoped(sentence: str) -> bool:
    plain = _STANDING_NOW.sub(" ", _AND_NOW.sub("", sentence))
    return bool(_NOW.search(plain)) or bool(_THIS.search(_HOUSE.sub(" ", plain)))


def _by_manner(sentence: str, manner: Manner, earlier: tuple[str, ...]) -> str | None:
    match manner:
        case "rule":
            return _rule(sentence, earlier)
        case "standing" if _MINE.search(sentence) or _NARRATES.search(sentence):
            return "a story, not a rule"
        case "decision" if _UNDECIDED.search(sentence) or _CONDITIONAL.match(sentence):
            return "not decided"
        case "decision" if _OUTING.search(sentence):
            return "an outing"
        case _:
            return None


# "Add a test. I always want pytest.": not only for this task.
_MY_WAY = re.compile(r"^i(?:['’]d| would)? (?:always|never|like you to always)\b", re.I)


def _rule(sentence: str, earlier: tuple[str, ...]) -> str | None:
    if _NOT_A_RULE.search(sentence):
        return "a description"
    if re.search(r"\b(?:again|any ?more)\b", sentence, re.I) and _IDLE_AGAIN.search(sentence):
        return "a figure of speech"
    if any(_TASK.match(before) for before in earlier) and not _MY_WAY.match(sentence):
        return "part of a task"
    return None
