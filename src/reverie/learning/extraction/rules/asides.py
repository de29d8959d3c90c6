"""Facts beside a question or a task: "We use Bazel, so where does … go?", "Draft the offer; we bill in francs".

Such a sentence asks for something, and states a lasting fact on the way. The fact is cut out and must
read as one of the person's own work or of themselves. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reverie.learning.extraction.authorship import is_order, starting_point
from reverie.learning.extraction.rules import plain
from reverie.learning.extraction.rules.confirmations import to_the_point
from reverie.learning.extraction.rules.cues import CUES
from reverie.learning.extraction.speech_signs import POINTS, TEXT_WORK

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
# Beside a question or a task it need not say that it lasts.
_BESIDE = re.compile(
    rf"{_ME}|^i (?:only |mostly |always |never )?(?:use|speak|come from|type)\b|^i only have\b|^we(?:['’]re| are) on (?!it\b|the\b|a\b|this\b)\w+"
    r"|^(?:he|she|they)(?:['’]s|['’]re| is| are) (?:my|our)\b"
    r"|^that['’]s (?:my|our) (?:\w+ )?(?:standard|minimum|maximum|default|limit|rule|convention|policy|favou?rite|only|usual)\b",
    re.I,
)
# Tells a story, or speaks of the person rather than of the work.
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
# "…, please stick to it", "we don't … here": no sign of a passing moment.
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
    """What a question starts from lasts, unless it tells of a moment."""
    return _lasts(fact) or (plain.is_of_work(fact) and not plain.is_passing(fact))


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
    if plain.standing(said) or _CHANGED.match(said) or _is_self(said):
        return True
    return _BESIDE.search(said) is not None or _is_of_ours(said)


def _lasts_alone(sentence: str) -> bool:
    """A sentence of its own must not tell a story."""
    said = _HARMLESS.sub("", sentence.rstrip(".! "))
    if not _FEWEST <= len(_WORDS.findall(said)) <= _MOST or plain.is_passing(said):
        return False
    if _CHANGED.match(said) or _ALONE.search(said):
        return True
    return _is_of_ours(said) and _TOLD.search(said) is None


def _is_of_ours(said: str) -> bool:
    ours = _OURS.search(said) and _HOLDS.search(said)
    return bool(ours) and (plain.is_particular(said) or _EVERYWHERE.search(said) is not None)


def _is_self(said: str) -> bool:
    """Whether it tells who the person is, as a sentence of its own would."""
    return any(cue.manner == "self" and cue.pattern.match(said) for cue in CUES)
