"""What kind of prompt a message is: one about one's own work, or one about the world.

A memory may answer "Who approves the banner?" but not "Who painted the banner of the Medici?", and
similarity of meaning separates the two less well than the phrasing does. A message is read as a
sequence of small words with its content words left blank ("who _ the _"); `prompt_kinds.json` has
the weight of each run of up to three. `benchmarks/calibrate_recall.py` makes it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from reverie.text import thesaurus
from reverie.text.words import ENGLISH, leaning, plain_words

# The limit of a prompt's log odds.
MOST = 4.0
LONGEST = 40
_LONGEST_RUN = 3
_FRAGMENT = 4
_SHORT_TASK = 15
_MOST_KEYWORDS = 3
_BLANK = "_"
_NUMBER = "0"
_START = "^"
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d[\d.:]*")
_SENTENCES = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_ORDERS = frozenset(
    {"explain", "write", "fix", "rename", "refactor", "implement", "summarise", "summarize"}
    | {"translate", "draft", "suggest", "recommend", "generate", "please"}
)
_ASKS = re.compile(
    r"(?:and |so |but |also |ok |hey )?(?:who|whom|whose|when|where|what|which|how|why|is|are|am|was|were|do|"
    r"does|did|may|can|could|should|must|has|have|will|wer|wen|wem|wann|wo|wohin|woher|was|welche\w*|wie|"
    r"warum|qui|quand|où|quel\w*|comment|pourquoi|qui[eé]n|cu[aá]ndo|d[oó]nde|qu[eé]|cu[aá]l\w*|c[oó]mo|"
    r"wie|wanneer|waar|welke|hoe|waarom|quando|dove|chi|quale|quanto)\b"
    # "at what score", "until when"; "in welcher Sprache", "con qué licencia".
    r"|(?:at|by|for|from|in|of|on|since|till|to|until|with) (?:what|which|when|where|whom|whose|how)\b"
    r"|(?:bis|seit|ab|in|mit|von|zu|für|an|auf) (?:wann|welche\w*|wem|wen|wo)\b"
    r"|(?:à|de|avec|pour|dans|en|con|por|para|a|hasta) (?:qui|quoi|quel\w*|quand|qu[eé]|cu[aá]l\w*|qui[eé]n)\b"
    r"|(?:remind|tell) me (?:again )?(?:who|whom|whose|when|where|what|which|how|why)\b",
    re.IGNORECASE,
)
# "The internet is down again, what should I try".
_ASKS_AT_THE_END = re.compile(
    r"[,;:–—-] (?:and |so |but )?(?:who|whom|when|where|what|which|how|why|(?:can|could|may|should|do|does|is|are)"
    r" (?:i|we|it|that|there|the|they|he|she))\b",
    re.IGNORECASE,
)
# "The inspector asks about irrigation".
_ASKS_FOR_OTHERS = re.compile(
    r"\b(?:asks?|asked|is asking|wants? to know|wonders?|wondering) (?:me |us )?"
    r"(?:about|whether|if|who|whom|whose|what|when|where|which|how|why)\b",
    re.IGNORECASE,
)
# "Who's" asks as "who is" does.
_SHORTENED = re.compile(r"\b(who|what|where|when|how|that|there|it|here)['’]s\b", re.IGNORECASE)
# An agent asks "how does the user like it" where a person says "I" or "we".
_THE_USER = re.compile(
    r"\b(does|did|would|should) the user\b(?!['’])|\bthe user['’]s\b",
    re.IGNORECASE,
)
# Small words of other languages, mapped to the English ones that ask the same.
_ABROAD: Mapping[str, Mapping[str, str]] = {
    "german": {
        "wer": "who", "wen": "who", "wem": "who", "wann": "when", "wo": "where", "woher": "where",
        "wohin": "where", "was": "what", "welche": "which", "welcher": "which", "welches": "which",
        "welchem": "which", "welchen": "which", "wie": "how", "warum": "why", "wir": "we",
        "uns": "us", "unser": "our", "unsere": "our", "unserer": "our", "unserem": "our",
        "ich": "i", "mein": "my", "meine": "my", "darf": "may", "dürfen": "may", "muss": "must",
        "müssen": "must", "kann": "can", "können": "can", "ist": "is", "sind": "are",
        "werden": "are", "wird": "is", "der": "the", "die": "the", "das": "the", "ein": "a",
        "eine": "a", "soll": "should", "sollen": "should", "haben": "have", "gibt": "is",
        "schreib": "write", "erkläre": "explain", "übersetze": "translate",
    },
    "french": {
        "qui": "who", "quand": "when", "où": "where", "que": "what", "quel": "which",
        "quelle": "which", "quels": "which", "quelles": "which", "comment": "how",
        "pourquoi": "why", "nous": "we", "notre": "our", "nos": "our", "je": "i", "mon": "my",
        "ma": "my", "peut": "can", "puis": "can", "doit": "must", "est": "is", "sont": "are",
        "le": "the", "la": "the", "les": "the", "un": "a", "une": "a", "écris": "write",
        "explique": "explain", "traduis": "translate",
    },
    "spanish": {
        "quién": "who", "quien": "who", "cuándo": "when", "cuando": "when", "dónde": "where",
        "donde": "where", "qué": "what", "cuál": "which", "cuáles": "which", "cómo": "how",
        "nuestro": "our", "nuestra": "our", "nosotros": "we", "mi": "my", "puedo": "can",
        "podemos": "can", "debemos": "must", "es": "is", "son": "are", "el": "the", "la": "the",
        "los": "the", "las": "the", "un": "a", "una": "a", "escribe": "write",
        "explica": "explain", "traduce": "translate",
    },
    "dutch": {
        "wie": "who", "wanneer": "when", "waar": "where", "wat": "what", "welke": "which",
        "welk": "which", "hoe": "how", "waarom": "why", "wij": "we", "we": "we", "ons": "our",
        "onze": "our", "ik": "i", "mijn": "my", "mag": "may", "moet": "must", "moeten": "must",
        "kan": "can", "kunnen": "can", "is": "is", "zijn": "are", "de": "the", "het": "the",
        "een": "a", "schrijf": "write", "vertaal": "translate",
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PromptKind:
    """Whether a prompt asks, and how much it sounds like a question about one's own work."""

    asks: bool
    own_work: float


def kind_of(text: str) -> PromptKind:
    """The kind of a prompt: that of its last question, or of the whole prompt if it asks none."""
    asked = [sentence for sentence in _SENTENCES.split(text.strip()) if asks(sentence)]
    counts = weights()
    told = asked[-1] if asked else text
    if asked and _is_fragment(told):
        return PromptKind(asks=True, own_work=0.0)
    total = counts[""] + sum(counts.get(run, 0.0) for run in runs(told))
    if not asked:
        # The runs were learnt from short tasks; a long one contains many by chance.
        total *= min(1.0, _SHORT_TASK / max(len(plain_words(told)), 1))
    return PromptKind(bool(asked), limited(total))


def _is_fragment(sentence: str) -> bool:
    """Whether a question is a few words without a verb ("standup time?"), which shows no kind."""
    words = plain_words(sentence)
    return len(words) <= _FRAGMENT and _ASKS.match(sentence.strip()) is None


def asks(sentence: str) -> bool:
    """Whether a sentence is a question, even without a question mark."""
    plain = sentence.strip()
    return (
        plain.endswith(("?", "？"))
        or _ASKS.match(plain) is not None
        or _ASKS_AT_THE_END.search(plain) is not None
        or _ASKS_FOR_OTHERS.search(plain) is not None
    )


def is_keywords(text: str) -> bool:
    """Whether a text is a few content words, as people type them into a search box."""
    words = plain_words(text)
    if not 0 < len(words) <= _MOST_KEYWORDS or asks(text):
        return False
    # "On call".
    phrases = thesaurus.groups_by_phrase(text)
    return not any(word in _ORDERS or (word in ENGLISH and word not in phrases) for word in words)


def limited(log_odds: float) -> float:
    return MOST * math.tanh(log_odds / MOST)


def runs(text: str) -> frozenset[str]:
    """The runs of one to three small words in a text."""
    words = _small_words(text)
    found = {
        " ".join(words[at : at + size])
        for size in range(1, _LONGEST_RUN + 1)
        for at in range(len(words) - size + 1)
    }
    return frozenset(found - {_START, _BLANK})


def _small_words(text: str) -> list[str]:
    """The words of a text, with a blank for each run of words that are not small."""
    known = _small()
    abroad = _ABROAD.get(leaning(plain_words(text)) or "", {})
    found = [_START]
    for match in _TOKEN.finditer(_SHORTENED.sub(r"\1 is", _THE_USER.sub(_we, text))):
        word = match[0].lower().replace("’", "'")
        if word[0].isdigit():
            word = _NUMBER
        elif abroad:
            word = abroad.get(word, _BLANK)
        elif word not in known and word.replace("'", "") not in known:
            word = _BLANK
        if word != _BLANK or found[-1] != _BLANK:
            found.append(word)
        if len(found) > LONGEST:
            break
    return found


def _we(found: re.Match[str]) -> str:
    if found[1] is None:
        return "our"
    verb = found[1].lower()
    return "do we" if verb == "does" else f"{verb} we"


@lru_cache(maxsize=1)
def _small() -> frozenset[str]:
    return ENGLISH | thesaurus.common_words() | _ORDERS


@lru_cache(maxsize=1)
def weights() -> Mapping[str, float]:
    text = Path(__file__).with_name("prompt_kinds.json").read_text(encoding="utf-8")
    found: dict[str, float] = json.loads(text)
    return found
