"""Small facts about languages: words that carry no meaning, and which stemmer fits a text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_NAMES = [
    "english",
    "german",
    "french",
    "spanish",
    "italian",
    "portuguese",
    "dutch",
    "russian",
    "arabic",
]


def _stop_words(language: str) -> frozenset[str]:
    file = Path(__file__).with_name("stop_words") / f"{language}.txt"
    return frozenset(file.read_text(encoding="utf-8").split())


STOP_WORDS: Mapping[str, frozenset[str]] = {name: _stop_words(name) for name in _NAMES}
ENGLISH = STOP_WORDS["english"]
LATIN = ("english", "german", "french", "spanish", "italian", "portuguese", "dutch")
# Languages that write compounds as one word: Datenbankverbindung, ziekenhuisbed.
COMPOUNDING = frozenset({"german", "dutch"})
# How many stop words of another language a text must have more of than English ones.
_MARGIN = 2


def language(words: list[str]) -> str:
    """The language most of the small words are in; English when in doubt."""
    for word in words[:40]:
        if word[0] >= "\u0400":
            script = _script(word[0])
            if script:
                return script
    sample = words[:200]
    counts = {name: sum(word in STOP_WORDS[name] for word in sample) for name in LATIN}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] >= counts["english"] + _MARGIN else "english"


def leaning(words: list[str]) -> str | None:
    """The language a short question seems to be in; None when no small word tells."""
    found = language(words)
    if found != "english":
        return found
    counts = {name: sum(word in STOP_WORDS[name] for word in words) for name in LATIN}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else None


def _script(char: str) -> str | None:
    if "\u0400" <= char <= "\u04ff":
        return "russian"
    return "arabic" if "\u0600" <= char <= "\u06ff" else None
