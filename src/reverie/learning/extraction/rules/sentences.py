"""Splits text into sentences, and finds what a reply confirms and what is stated along with a question or a task.

Such a sentence asks for something and also states a lasting fact. The fact is cut out, and must
read as one about the person or their own work. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reverie.learning.extraction.authorship import is_order, starting_point
from reverie.learning.extraction.rules import plain
from reverie.learning.extraction.rules.cues import CUES
from reverie.learning.extraction.speech import BULLET, own_words, prose
from reverie.learning.extraction.speech_signs import POINTS, TEXT_WORK

LONGEST_SENTENCE = 400

# No sentence ends after a title or an abbreviation, nor between a day and its month: "17. März".
_ABBREVIATED = "e.g. i.e. vs. z.B. Dr. Mr. Mrs. Ms. M. Mme. Mlle. Prof. St. Nr. Fr. Hr. Sr. Sra."
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


# Where a task ends and a remark begins.
_REMARK = re.compile(
    r"(?:[,;–—]| -) +(?:(?:and|but|und|aber|et|mais|y|pero) )?(?:(?:just )?so you know,? |fyi,? |btw,? |by the way,? |übrigens,? |also,? )?",
    re.I,
)
# Says whose fact it is, anywhere in the sentence: "amounts are in francs with us", "at our place".
_OURS = re.compile(
    r"\b(?:(?:we|we['’](?:re|ve)|our|ours|us|my (?:team|company|office|class|firm|club|group))|wir|uns|unser\w*|nous|notre|nos|chez nous|nuestr\w+|nosotros)\b",
    re.I,
)
_HOLDS = re.compile(
    r"\b(?:is|are|has|have|uses?|runs?|lives?|needs?|requires?|must|has to|have to|goes|go|comes?|starts?|ends?|works?|handled|built|kept|stored|calls?|writes?|keeps?|serves?|ships?|stays?"
    r"|ist|sind|hat|haben|läuft|laufen|steht|nutzen|setzen|schreiben|arbeiten|est|sont|utilisons|avons|tourne|es|son|está|usamos|tenemos|trabajamos)\b",
    re.I,
)
_ME = (
    r"^(?:i['’]?m|i am|im) (?:(?:also|still|quite|completely|pretty) )?(?:new to|left-handed|right-handed|based in|from (?-i:[A-Z])|in charge of|responsible for"
    r"|an? (?:[\w-]+ ){0,2}(?:person|user|beginner|novice|purist|speaker)\b|on (?:the )?(?:\w+ )?(?:shell|linux|windows|mac\w*|arch|debian|ubuntu|fedora|nixos|fish|zsh|python|node)\b)"
    r"|^i work (?:only )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days|mornings|nights|part|full)\b"
    r"|\b(?:is|are) what (?:we|i) (?:use|run|have)\b|^ich (?:arbeite|nutze|wohne)\b|^je (?:travaille|vis) (?:à|en|dans|chez|avec|le)\b|^j['’](?:utilise|habite)\b|^(?:uso|vivo) "
)
_ALONE = re.compile(_ME, re.I)
# Next to a question or a task it need not say that it lasts.
_BESIDE = re.compile(
    rf"{_ME}|^i (?:only |mostly |always |never )?(?:use|speak|come from|type)\b|^i only have\b|^we(?:['’]re| are) on (?!it\b|the\b|a\b|this\b)\w+"
    r"|^(?:he|she|they)(?:['’]s|['’]re| is| are) (?:my|our)\b"
    r"|^that['’]s (?:my|our) (?:\w+ )?(?:standard|minimum|maximum|default|limit|rule|convention|policy|favou?rite|only|usual)\b",
    re.I,
)
# A story, or about the person rather than the work.
_TOLD = re.compile(
    r"\b(?:i|i['’]\w+|me|my|was|were|had|did|didn['’]t|got|we['’]ll|amazing|love|excited|great|drove|stopped|went|came|need|really|war|waren|hatte\w*|était|étaient|fue|fueron)\b"
    r"|(?<!is )(?<!are )(?<!be )(?<!always )(?<!never )(?<!only )\b(?!need)\w{3,}ed\b",
    re.I,
)
_POINTS_BACK = re.compile(r"^(?:that|he|she|they|das|c['’]est|eso)\b", re.I)
_CHANGED = re.compile(
    r"^(?:we|i)(?:['’]ve| have)? (?:switched|moved|migrated|settled|standardi[sz]ed)\b|^we['’]re (?:moving|switching|migrating)\b.*\b(?:off|to|from)\b",
    re.I,
)
_EVERYWHERE = re.compile(r"\b(?:in|for|on) (?:all|every|each|any)\b|\beverywhere\b", re.I)
_WORDS = re.compile(r"[^\W\d_]+")
_FEWEST, _MOST = 3, 28
_LONGEST = 300
# "…, please stick to it", "we don't … here": not about a passing moment.
_HARMLESS = re.compile(
    r"(?:,|;| –| —) (?:so )?(?:please|bitte|s['’]il te plaît|por favor)\b.*$|(?<=\w) here\b(?=,|$)",
    re.I,
)


def facts(sentence: str) -> Iterator[str]:
    """The lasting facts that a sentence states beside what it asks for."""
    start = starting_point(sentence)
    if start:
        yield from filter(_is_premise, (start,))
    elif sentence.endswith(("?", "？")):
        return
    elif is_order(sentence) or _is_short_order(sentence):
        yield from _after_task(sentence)
    elif _lasts_alone(to_the_point(sentence)) or any(map(_is_ours, _remarks(sentence))):
        yield to_the_point(sentence)


def _remarks(sentence: str) -> Iterator[str]:
    for found in _REMARK.finditer(sentence[:_LONGEST]):
        yield sentence[found.end() :]


def _after_task(sentence: str) -> Iterator[str]:
    for rest in _remarks(sentence):
        task = sentence[: -len(rest)]
        if TEXT_WORK.search(task) and POINTS.search(task):
            return
        if _is_ours(rest) or _lasts(rest):
            yield sentence if _is_ours(rest) else rest
            return


def _is_ours(remark: str) -> bool:
    """ "That's our standard" and "he's our landlord" need the words before them."""
    return _POINTS_BACK.match(remark) is not None and _BESIDE.match(remark) is not None


def _is_premise(fact: str) -> bool:
    """The premise of a question lasts, unless it describes a moment."""
    return _lasts(fact) or (plain.is_about_work(fact) and not plain.is_passing(fact))


def _is_short_order(sentence: str) -> bool:
    """ "Set up the linter, …": a verb with its particle."""
    return (
        re.match(
            r"(?:please )?(?:set up|clean up|write up|sum up|draft|explain|resize|reformat)\b",
            sentence,
            re.I,
        )
        is not None
    )


def _lasts(clause: str) -> bool:
    said = _HARMLESS.sub("", clause.rstrip(".! "))
    if not _FEWEST <= len(_WORDS.findall(said)) <= _MOST or plain.is_passing(said):
        return False
    if plain.lasting_piece(said) or _CHANGED.match(said) or _is_self(said):
        return True
    return _BESIDE.search(said) is not None or _is_about_us(said)


def _lasts_alone(sentence: str) -> bool:
    """A separate sentence must not tell a story."""
    said = _HARMLESS.sub("", sentence.rstrip(".! "))
    if not _FEWEST <= len(_WORDS.findall(said)) <= _MOST or plain.is_passing(said):
        return False
    if _CHANGED.match(said) or _ALONE.search(said):
        return True
    return _is_about_us(said) and _TOLD.search(said) is None


def _is_about_us(said: str) -> bool:
    ours = _OURS.search(said) and _HOLDS.search(said)
    return bool(ours) and (plain.is_particular(said) or _EVERYWHERE.search(said) is not None)


def _is_self(said: str) -> bool:
    """Whether it says who the person is, as a separate sentence would."""
    return any(cue.manner == "self" and cue.pattern.match(said) for cue in CUES)
