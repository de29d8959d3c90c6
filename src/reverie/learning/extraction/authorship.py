"""Decides whether a paragraph reads as the person's own words, or gives the reason for doubt. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from reverie.learning.extraction.questions import (
    ACKNOWLEDGES,
    ALWAYS,
    OPENINGS,
    REPORTS,
    SMALL,
    given,
    inquires,
)
from reverie.learning.extraction.speech_signs import (
    ADVICE,
    ANYBODYS,
    EMPOWERS,
    FICTION,
    FOUND,
    FRAGMENT,
    FRAMES,
    GOES_ON,
    INTRODUCES,
    MEANING,
    ORDER,
    ORGANISATION,
    OWN_COLON,
    PERSONAL,
    POINTS,
    READERS,
    SOURCE,
    SPEAKER,
    TASK,
    TEXT_NAMED,
    TEXT_WORK,
    TURNS,
    WORK_ON,
)
from reverie.text.words import STOP_WORDS

ASKS = r"remember|note(?!s)|memory|memori[sz]e|from now on|merk|souviens|retiens|recuerda"
REPORTING = re.compile(
    rf"\b(?:{REPORTS}|told|tells|reads?|states?|answered|replied|called it|heißt|steht|écrivait|pone)\b",
    re.I,
)
# "Remember that." and "Don't save this." refer to the sentence before.
_ABOUT_MEMORY = re.compile(
    r"(?:remember|memori[sz]e|keep) (?:that|this|it)[.!]*$|(?:don't|do not) (?:save|store|remember|keep|note) (?:this|that|it)\b",
    re.I,
)
# "Reply in German" applies to all answers, "reply to this" is a single task.
_STYLE = re.compile(
    r"(?:reply|respond|draft|review|antwort|beantwort|formulier|répon|contesta|reformul)", re.I
)
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n")
_BEFORE_COLON = re.compile(r"([^.!?:：\n]{3,120})[:：]\s*\S")
# "Write a mail: …", "Set the greeting to: …"; but "Write this down: …" is for us.
_WRITES = re.compile(
    r"(?:please |bitte |s['’]il te plaît,? |por favor,? )?(?:write|draft|compose|prepare|create|design|print|put|add|set|type|rédige|écris|prépare|ajoute|mets|schreibe?|verfasse|entwirf|formuliere|füge?|setze?|escribe|redacta|pon|añade)\b"
    r"(?!.*\b(?:down|memory|remember|auf|merk\w*|gedächtnis|mémoire|memoria|apunta)\b)",
    re.I,
)
# "Turn into a list - always …"
_BEFORE_DASH = re.compile(r"([^.!?:：\n]{3,120}?) [-–—] \S")
_OWN_LEAD = re.compile(
    rf"\b(?:{ASKS})|\b(?:i|we|ich|wir|je|nous|on|yo)\b[^,;]{{0,20}}\b(?:told|said|wrote|sagte|gesagt|dit|dije|dicho)\b",
    re.I,
)
_OPENING_QUESTION = re.compile(r"(?P<question>[^.!?\n]+\?)\s+(?P<rest>\S.*)", re.S)
_FEWEST_WORDS = 4
_SHORTEST_TEXT = 20
# "Which font fits? Ours is …": pages do not ask their readers for advice.
_SEEKS_ADVICE = re.compile(
    r"\b(?:good|best|better|should|would you|suggest|recommend|passt|beste[rsn]?|besser|soll|meilleur\w*|devrait|mejor|debería)\b",
    re.I,
)
_SPEAKS_OF_US = re.compile(
    r"(?:we|(?:all )?our|i|my|wir|(?:alle )?unser\w*|ich|mein\w*|nous|(?:tous |toutes )?(?:notre|nos)|je|mon|ma|mes|nuestr\w+|mis?)\b",
    re.I,
)
# A longer sentence does more than present a text.
_LONGEST_FRAME = 12
_MEMORY = re.compile(ASKS, re.I)
# "I got this in a ticket." is about a text next to it.
_SHOWN = re.compile(
    r"^(?:i |we )?(?:just )?(?:got|found|received|saw|copied|pasted) (?:this|that|it|these|an?)\b|^(?:das|dies\w*) (?:habe? (?:ich|wir)|kam|stand)\b"
    r"|^(?:j['’]ai|on a) (?:reçu|trouvé|lu) (?:ceci|ça|cela|ce)\b|^(?:he|hemos|me) (?:recibido|encontrado|leído|llegó) (?:esto|este|eso)\b",
    re.I,
)
# A longer sentence does more than ask for work on a text.
_LONGEST_REQUEST = 14
# "…, is that right?" asks about what was said; "…, will this binary run?" does not.
_OF_WHAT_WAS_SAID = re.compile(
    r"\b(?:that|it|they|them|he|she|so|true|right|correct|mean\w*|agree\w*|das|es|sie|stimmt|ça|cela|ils?|elles?|eso|ello|verdad|cierto)\b"
    r"|\bthis(?= (?:is|was|true|right|mean\w*|ok|legit\w*|what)\b|\?)",
    re.I,
)
_THIS = re.compile(r"\b(?:this|that|these|those|dies\w*|ce(?:t|tte|ci)?|est[aeo]s?)\b", re.I)
_SPOKEN = ("english", "german", "french", "spanish")
_ZERO_WIDTH = re.compile("[\u00ad\u061c\u115f\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")


def doubt_on_later(paragraph: str) -> str:
    """The doubt that a paragraph casts on all later ones; a mere "thanks, that works" casts none."""
    if "?" in paragraph or inquires(paragraph):
        return "it follows a question, and may be what the question is about"
    if INTRODUCES.search(paragraph) or TEXT_WORK.search(paragraph):
        return "it follows an introduction, and may be another author's text"
    if {word.lower() for word in _WORD.findall(paragraph)} <= ACKNOWLEDGES:
        return ""
    return "it is not in the first paragraph, and may be another author's text"


def doubt_about(paragraph: str) -> str:
    """A doubt about one paragraph by itself."""
    for applies, doubt in (
        (MEANING.search, "it asks what a text means"),
        (_is_made_up, "it is about a text that is made up, and may be a part of it"),
        (_names_a_text, "it follows the name of a text, and may be that text"),
        (_quotes_after_colon, "it follows a colon, and may be another author's text"),
        (
            _follows_strange_question,
            "it follows a question, and may be what the question is about",
        ),
        (_is_framed, "it stands beside words that present a text, and may be that text"),
        (_follows_text_work, "it follows a request to work on a text, and may be that text"),
        (_addresses_readers, "it speaks to readers, and may be another author's text"),
    ):
        if applies(paragraph):
            return doubt
    return (
        ""
        if _plainly_spoken(paragraph)
        else "it stands beside sentences that may be another author's"
    )


def _names_a_text(paragraph: str) -> bool:
    """Whether a fragment names the text next to it: "FAQ draft. We are in …", "Her bio - I always …"."""
    first = _parts(paragraph)[0] if paragraph.strip() else ""
    found = FRAGMENT.match(first)
    if found is not None and len(paragraph) - found.end() > _SHORTEST_TEXT:
        return True
    leads = (_BEFORE_COLON.match(line) for line in paragraph.splitlines()[1:])
    return any(lead is not None and FRAGMENT.match(lead[1]) for lead in leads)


def _is_made_up(paragraph: str) -> bool:
    """A story, a role or a dialogue; what people say about themselves before asking for one is their own."""
    if TURNS.search(paragraph):
        return True
    *before, last = _parts(paragraph) or [""]
    if any(map(FICTION.search, before)):
        return True
    return FICTION.search(last) is not None and not (before and all(map(_is_personal, before)))


def _follows_strange_question(paragraph: str) -> bool:
    """ "Tired of slow builds? …" may begin pasted text; "Can you rename it? From now on …" does not."""
    found = _OPENING_QUESTION.match(paragraph)
    if found is None:
        return False
    question = found["question"]
    if TASK.match(paragraph):
        return WORK_ON.search(question) is not None
    if _SEEKS_ADVICE.search(question) and _SPEAKS_OF_US.match(found["rest"]):
        return READERS.search(found["rest"]) is not None
    about = (MEANING, TEXT_WORK, INTRODUCES, POINTS)
    theirs = SPEAKER.search(question) and not any(sign.search(question) for sign in about)
    return not (theirs and (GOES_ON.match(found["rest"]) or SPEAKER.search(found["rest"])))


def _follows_text_work(paragraph: str) -> bool:
    """ "Shorten this to a tweet. Our foundation …": the text to work on follows, unless it is another task."""
    said = _parts(paragraph)
    for place, part in enumerate(said[:-1]):
        short = len(_WORD.findall(part)) <= _LONGEST_REQUEST
        if short and TEXT_WORK.search(part) and POINTS.search(part) and is_order(part):
            return not all(
                is_order(later) or _is_personal_remark(later) for later in said[place + 1 :]
            )
    return False


def _is_framed(paragraph: str) -> bool:
    """ "The vendor replied. We never verify certificates.": a short sentence presents what stands beside it."""
    if FOUND.match(paragraph):
        return True
    said = _parts(paragraph)
    short = [part for part in said if len(_WORD.findall(part)) <= _LONGEST_FRAME]
    if len(said) > 1 and any(FRAMES.search(part) and not _MEMORY.search(part) for part in short):
        return True
    return len(said) > 1 and any(_SHOWN.search(part) for part in short)


def introduces(sentence: str) -> bool:
    """Whether it only leads to a text, or asks to work on one: "From Slack:", "Shorten this to a tweet."."""
    if sentence.rstrip().endswith((":", "：")):
        return True
    plain = sentence.lstrip("¿¡ ")
    asks = TEXT_WORK.match(plain) is not None and (POINTS.search(plain) or not _STYLE.match(plain))
    return bool(asks) and not ALWAYS & {word.lower() for word in _WORD.findall(plain)}


def _addresses_readers(paragraph: str) -> bool:
    """An organisation's "we" to "you", or a model's advice: not a person speaking for themselves."""
    if ADVICE.search(paragraph):
        return True
    both = ORGANISATION.search(paragraph) and READERS.search(paragraph)
    return bool(both) and not SPEAKER.search(paragraph)


def _quotes_after_colon(paragraph: str) -> bool:
    """Whether it asks for work on, or reports, the text after its first colon: "Translate: …", "she wrote: …"."""
    dash = _BEFORE_DASH.match(paragraph)
    if dash and not PERSONAL.search(dash[1]) and _names_work(dash[1], (TEXT_WORK, WORK_ON)):
        return True
    lead = _BEFORE_COLON.match(paragraph)
    if lead is None or (_OWN_LEAD.search(lead[1]) and not _WRITES.match(lead[1])):
        return False
    signs = (INTRODUCES, TEXT_WORK, REPORTING, WORK_ON, SOURCE)
    if _WRITES.match(lead[1]) or _names_work(lead[1], signs):
        return True
    spaced = paragraph[lead.end(1) + 1 : lead.end(1) + 2].isspace()
    return spaced and (TEXT_NAMED.search(lead[1]) is not None or not _continues_freely(lead[1]))


def _names_work(lead: str, signs: Sequence[re.Pattern[str]]) -> bool:
    return any(sign.search(lead) for sign in signs)


def _continues_freely(lead: str) -> bool:
    """Whether people continue in their own words after such a lead: "One more thing: …"."""
    return bool(OWN_COLON.match(lead) or PERSONAL.search(lead)) or len(_WORD.findall(lead)) < 3


# "Always use tabs. The linter is strict."
_SHORT_REASON = re.compile(
    r"(?:the|our|my|it)(?: \w+)? (?:is|are|isn't|aren't)(?: (?:very|quite|really|too|so))? \w+[.!]?",
    re.I,
)


def _plainly_spoken(paragraph: str) -> bool:
    """Whether the sentences read like a person speaking to an assistant."""
    said = _parts(paragraph)
    if any(_is_personal(part) for part in said):
        return True
    if len(said) == 2 and ANYBODYS.match(said[0]) and _SHORT_REASON.fullmatch(said[1]):
        return True
    return len(said) < 2 or all(
        ANYBODYS.match(part) or is_order(part) or _asks_for_help(part) for part in said
    )


def _asks_for_help(sentence: str) -> bool:
    """Whether it is a question to the assistant, and not about a text beside it."""
    about = (MEANING, TEXT_WORK, INTRODUCES, POINTS)
    long_enough = len(_WORD.findall(sentence)) >= _FEWEST_WORDS
    return (
        sentence.endswith("?") and long_enough and not any(sign.search(sentence) for sign in about)
    )


def _parts(paragraph: str) -> list[str]:
    return [part.strip() for part in _SENTENCE_END.split(paragraph) if part.strip()]


def is_order(sentence: str) -> bool:
    if TASK.match(sentence):
        return True
    found = ORDER.match(sentence)
    return found is not None and found["verb"].lower() not in function_words()


def is_task(sentence: str) -> bool:
    """Whether it is a single order, not a rule for all work."""
    orders = is_order(sentence) or _WRITES.match(sentence)
    return bool(orders) and not ALWAYS & {word.lower() for word in _WORD.findall(sentence)}


def starting_point(question: str) -> str:
    """The person's statement that a question starts from; empty if it is about another text."""
    fact, rest = given(question)
    about_fact = (INTRODUCES.search(fact), _THIS.search(fact), EMPOWERS.search(fact))
    about_text = (MEANING.search(question), _OF_WHAT_WAS_SAID.search(rest))
    strange = any(about_fact) or any(about_text)
    return fact if PERSONAL.search(fact) and not strange else ""


def _is_personal_remark(sentence: str) -> bool:
    """Thanks, or a question to the assistant."""
    return (
        sentence.endswith("?") or {word.lower() for word in _WORD.findall(sentence)} <= ACKNOWLEDGES
    )


def _is_personal(sentence: str) -> bool:
    if _ABOUT_MEMORY.match(sentence):
        return True
    if {word.lower() for word in _WORD.findall(sentence)} <= ACKNOWLEDGES:
        return True
    return PERSONAL.search(sentence) is not None and not ANYBODYS.match(sentence)


def moves_on(paragraph: str) -> bool:
    """Whether it is an independent task or mere thanks, and so not about the paragraph before it."""
    words = _WORD.findall(paragraph)
    if {word.lower() for word in words} <= ACKNOWLEDGES:
        return "?" not in paragraph
    about = (MEANING, TEXT_WORK, INTRODUCES, POINTS)
    return (
        len(words) >= _FEWEST_WORDS
        and TASK.match(paragraph) is not None
        and not any(sign.search(paragraph) for sign in about)
    )


def rare_words(text: str) -> set[str]:
    """Rare words, which recur only where the same thing is meant."""
    return {word for word in map(str.lower, _WORD.findall(text)) if len(word) > 2} - _usual()


@cache
def function_words() -> frozenset[str]:
    """Function words, which do not end a sentence."""
    return frozenset((*SMALL, *(word for name in _SPOKEN for word in STOP_WORDS[name])))


@cache
def _usual() -> frozenset[str]:
    return function_words() | ALWAYS | OPENINGS | ACKNOWLEDGES


def hidden(text: str) -> str:
    """A doubt about characters that people do not type: invisible ones, mixed scripts in a word."""
    if _ZERO_WIDTH.search(text):
        return "it holds invisible characters"
    if not text.isascii() and any(_mixed(word) for word in _WORD.findall(text)):
        return "it mixes letters that only look alike"
    return ""


def _mixed(word: str) -> bool:
    if word.isascii():
        return False
    scripts = {unicodedata.name(char, "").partition(" ")[0] for char in word}
    return "LATIN" in scripts and bool(
        scripts & {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "FULLWIDTH", "MATHEMATICAL"}
    )
