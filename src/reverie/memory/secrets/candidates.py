"""Finds spans that could be secrets: tokens that are not plain words, and words or phrases that a sentence points to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reverie.memory.secrets.shapes import TURNS
from reverie.memory.secrets.word_classes import GO_ON, Topic, classes_of

_IN_TOKEN = r"[^\s\"'`<>(){}\[\],;|=「」，。；、«»“”„‘’\ufffc\\]"
# Anchored at the first character, so that a long run of letters is tried once; requires a digit, a
# sign, a separator between words, or a hump as in `BlueOtter`.
_TOKEN = re.compile(
    rf"(?<!{_IN_TOKEN})(?={_IN_TOKEN}*?(?:[\d!@#$%^&*?~+]|[^\W\d_][-_.][^\W\d_]{{3}}|[a-zA-Z]={{1,2}}(?!\S)|[a-zà-ÿ]{{2}}[A-Z][a-z]{{2}}))"
    rf"{_IN_TOKEN}{{3,}}+={{0,2}}"
)
_TRAILING = ".:?…"
_LONGEST = 512
_WORDS_FROM = frozenset(["password", "answer", "unlock", "network", "login"])
_PHRASE_TOPICS = frozenset(["password", "answer", "unlock", "codes", "key"])
_SPACED = re.compile(
    r"(?<![\w.-])(?:\d(?:(?: |-|, )\d){3,5}|\d{1,2}(?: \d{1,2}){2,3}|\d{3} \d{3}|\d{4}(?: \d{4}){1,7})(?![\w-])"
)
_WORD_RUN = re.compile(r"[^\W\d_]{2,24}(?:['’][a-z])?(?:[ ,]{1,2}[^\W\d_]{1,24}){0,23}")
_ONE = re.compile(r"(?<![\w@.-])[^\W\d_]{4,24}(?![\w@-]|[.][a-z])")
# Words in quotes, and invented names of people or pets.
_QUOTED = re.compile(
    r"(?:\"(?P<a>[^\"\n]{4,80})\"|[“„](?P<b>[^“”\n]{4,80})[“”]|«\s?(?P<c>[^»\n]{4,80}?)\s?»|(?<!\w)['‘](?P<d>[^'‘’\n]{4,60})['’](?!\w))"
)
_ONLY_WORDS = re.compile(r"[^\W\d_]+(?:[ ,'’.-]{1,2}[^\W\d_]+)*")
_NAME = re.compile(r"(?<![\w.])[A-ZÀ-Þ][a-zà-ÿ]+\.?(?: [A-ZÀ-Þ][\w’-]+){1,3}")
# «nine tired otters is what opens it».
_BEFORE = re.compile(r"(?:^|[.,;:!?–—-] |\n)((?:[^\W\d_]{2,16} ){2,5}[^\W\d_]{2,16}) $")
_AROUND = 90


def find_candidates(text: str, topics: Sequence[Topic]) -> Iterator[tuple[int, int]]:
    """Every span that could be a secret, whatever the evidence."""
    for found in _TOKEN.finditer(text):
        start, end = found.start(), _end(text, found)
        if (
            3 <= end - start <= _LONGEST
            and text[end : end + 1] not in ("(", "[")
            and not text.endswith("${", 0, start)
        ):
            yield start, end
            yield from _tails(text, start, end)
    reach = 0
    for topic in topics:
        if topic.name in ("door", "pin", "code", "codes", "card", "unlock", "password", "login"):
            low, high = max(reach, topic.start - 40), topic.end + _AROUND
            for form in (_SPACED, TURNS):
                for found in form.finditer(text, low, high + 40):
                    yield found.span()
            reach = high - 12
    yield from _words(text, topics)


def _end(text: str, found: re.Match[str]) -> int:
    """The end without closing punctuation and bold marks; a sign before those may belong to a password."""
    end = found.end()
    while end > found.start() and (text[end - 1] in _TRAILING or text.endswith("**", 0, end)):
        end -= 1
    return end


def _tails(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The second part of `bob:…` and `admin/…`, and what follows `-p`."""
    found = re.match(r"[\w.@-]{1,32}[:/](?=[^/])", text[start:end]) or re.match(
        r"-[pPk](?=\w)", text[start:end]
    )
    if found and end - start - found.end() >= 4:
        yield start + found.end(), end


def _words(text: str, topics: Sequence[Topic]) -> Iterator[tuple[int, int]]:
    done = set[tuple[int, int]]()
    for topic in topics:
        if topic.name in _WORDS_FROM or topic.name in _PHRASE_TOPICS:
            for span in _words_near(text, topic):
                if span not in done:
                    done.add(span)
                    yield span


def _words_near(text: str, topic: Topic) -> Iterator[tuple[int, int]]:
    low, high = max(0, topic.start - 40), topic.end + _AROUND
    if topic.name in _WORDS_FROM:
        for found in _ONE.finditer(text, low, high):
            if _is_led_to(text, *found.span()):
                yield found.span()
    yield from _quoted_and_names(text, topic, low, high)
    if topic.name in _PHRASE_TOPICS:
        for found in _WORD_RUN.finditer(text, topic.end, min(len(text), high + 160)):
            if found.start() <= high and " " in found[0]:
                yield from _phrases(text, found, 2 if topic.name == "answer" else 3)


def _quoted_and_names(text: str, topic: Topic, low: int, high: int) -> Iterator[tuple[int, int]]:
    for found in _QUOTED.finditer(text, low, high + 40):
        start, end = found.span(found.lastgroup or 0)
        if _ONLY_WORDS.fullmatch(text, start, end):
            yield start, end
    if topic.name == "unlock" and (before := _BEFORE.search(text[low : topic.start])):
        yield low + before.start(1), low + before.end(1)
    if topic.name == "answer":
        for found in _NAME.finditer(text, topic.end, high):
            yield found.span()


_LEADS = ("is", "with", "use", "to", "filler", "changed", "takes", "words")


def _is_led_to(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 30) : start]
    if before.rstrip(" \t")[-1:] in tuple(":=\"'`“„«->→,(–—/\n") or not before.strip():
        return True
    words = re.findall(r"[^\W_]+", before)
    return bool(words) and bool(set(classes_of(words[-1].lower())) & set(_LEADS))


def _phrases(text: str, run: re.Match[str], fewest: int) -> Iterator[tuple[int, int]]:
    """The run of words that a sentence points to, up to the next clause."""
    words = [
        (m.start() + run.start(), m.end() + run.start(), m[0].lower())
        for m in re.finditer(r"[^\W\d_]+", run[0])
    ]
    for place in range(min(len(words) - fewest + 1, 8)):
        start = words[place][0]
        if set(classes_of(words[place][2])) - {"note", "opens"}:
            continue
        if not _is_led_to(text, start, start) or (
            place and text[words[place - 1][1] : start] == ", "
        ):
            continue
        last = place
        listed = place + 1 < len(words) and "," in text[words[place][1] : words[place + 1][0]]
        while last + 1 < len(words) and words[last + 1][2] not in GO_ON:
            if not listed and "," in text[words[last][1] : words[last + 1][0]]:
                break
            last += 1
        if last - place + 1 >= fewest:
            yield start, words[last][1]
