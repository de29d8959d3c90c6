"""Signs of a value in a text: what it looks like, which words for a secret are near, how they lead to it.

Each sign has a weight in `weights.json`, fitted by `benchmarks/fit_secrets.py`; their sum is the
score of the value as a secret.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from reverie.memory.secrets.shapes import BROAD, shape_of, signs_of_value, what_is_said
from reverie.memory.secrets.word_classes import GO_ON, Topic, classes_of

REACH_BEFORE, REACH_BEHIND = 110, 60
_MOST_TOPICS = 3
# Values of these shapes are judged even where no word for a secret is near.
ALONE = frozenset(
    ["random", "hash", "groups", "signs", "mixed", "joined", "word and number", "humps"]
)
NOTHING = "nothing"
_STRONG = frozenset(["password", "pin", "codes", "key", "answer"])

_WORD = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"[.!?]['\")]?\s+(?=[A-ZÄÖÜÉÈÀ¿¡])")
_CLAUSE_END = re.compile(r"[.!?;]\s|,\s|\s[-–—]\s|\)")
_CODE_LINE = re.compile(
    r"[(){};]|=>|==|!=|</|::|\w\.\w+\(|^\s*(?:def|class|import|from|const|let|var|if|return)\b"
)
_LONGEST_HEADING = 30
_PLAIN = re.compile(r"(?<![\w/.=-])[^\W\d_]{2,}(?![\w/=(-])")
_FEWEST_PLAIN = 3
_DIGIT = re.compile(r"\d")
_MARKUP = re.compile(r"\\[nrtu\"]|\"\s*:|</|[{}]|::")


def signs_of(
    text: str, start: int, end: int, topics: Sequence[Topic], starts: Sequence[int]
) -> tuple[list[str], str]:
    """Every sign of the value at `text[start:end]`, and the nearest word's topic; both empty if none is near."""
    value = text[start:end]
    shape = shape_of(value)
    near = list(_near(text, start, end, topics, starts))
    if not near and shape in ALONE and _DIGIT.search(value) and _in_prose(text, start, end):
        near = [(NOTHING, "nowhere", "")]
    if not near:
        return [], ""
    broad = BROAD[shape]
    of_value = list(signs_of_value(value, shape))
    found = [
        f"shape {shape}",
        *(f"{sign} of {broad}" for sign in of_value),
        *what_is_said(text, value, shape, near),
    ]
    lead = list(_lead(text, start))
    behind = list(_behind(text, end))
    found += _of_topics(near, shape, broad)
    first = near[0][0]
    strong = "strong" if any(name in _STRONG for name, _, _ in near) else "weak"
    found += [
        f"{strong} {broad}",
        *(
            f"{sign} of {strong} {broad}"
            for sign in of_value
            if sign in ("year", "time", "round", "public")
        ),
    ]
    found += _of_neighbours(lead, behind, broad, first, strong)
    way, told = _way(lead, near), _description_after(text, end, topics, starts)
    if shape == "phrase" and _clause_begins(text, end):
        told = "nothing"
    found += _of_way(way, told, broad, first, strong)
    for sign in _line(text, start, end):
        found += [f"{sign} in line", f"{sign} in line {broad}"]
    found += [f"{sign} between" for sign in _between(text, start, end, topics, starts)]
    found += [f"{BROAD_OF_WORD[broad]} {word}" for word in _words_around(text, start, end)]
    return list(dict.fromkeys(found)), first


def _of_topics(near: Sequence[tuple[str, str, str]], shape: str, broad: str) -> Iterator[str]:
    for rank, (topic, place, _) in enumerate(near):
        if rank == 0:
            yield from (f"{topic} {place}", f"{topic} for {shape}")
        else:
            yield f"also {topic} {place.split()[0]}"
        yield f"{topic} {place.split()[0]} {broad}"


def _of_neighbours(
    lead: Sequence[str], behind: Sequence[str], broad: str, first: str, strong: str
) -> Iterator[str]:
    """The words right before a value, and what stands behind it."""
    for sign in lead:
        yield f"after {sign}"
        yield f"after {sign}: {broad}"
        yield f"after {sign}: {first}"
        yield f"after {sign}: {strong} {broad}"
    for sign in behind:
        yield f"before {sign}"
        yield f"before {sign}: {broad}"


def _of_way(way: str, told: str, broad: str, first: str, strong: str) -> tuple[str, ...]:
    """How the word for a secret leads to a value, and what is told of it behind."""
    return (
        f"way {way}",
        f"way {way} {broad}",
        f"way {way} {strong} {broad}",
        f"way {way} {first} {broad}",
        f"told {told}",
        f"told {told} {strong} {broad}",
        f"way {way} told {told}",
        f"way {way} told {told} {broad}",
    )


BROAD_OF_WORD = {
    "number": "number near",
    "code": "number near",
    "made": "made near",
    "hash": "made near",
    "word": "word near",
    "phrase": "word near",
    "other": "made near",
}
_NAMES = frozenset(["is", "changed", "«:»", "«=»", "«→»", "«->»", "«=>»", "«?»"])
_GIVES = frozenset(["use", "with", "takes", "to", "and", "«/»"])
_AWAY = ("counted", "when", "called", "sign and counted", "sign and called", "article")


def _way(lead: Sequence[str], near: Sequence[tuple[str, str, str]]) -> str:
    """How the words before a value lead to it, in one word."""
    if any(sign in lead for sign in _AWAY) and "is" not in lead:
        return "away"
    if any(sign in _NAMES for sign in lead):
        return "names"
    if any(place.startswith("before 0") for _, place, _ in near):
        return "beside"
    if any(sign in lead for sign in ("quote", "code span", "«(»", "a new line")):
        return "apart"
    return "gives" if any(sign in _GIVES for sign in lead) else "none"


_TOLD = re.compile(
    r"[\"'`»”’*#)]*\s*(?:[-–—,]\s*|<-\s*|\()?(?:(?:that|it|this)(?: i|['’])s|(?:is|was|as|for|ist|war|als|für|est|comme|pour|es|como|c['’]est|das ist|eso es)(?= |:)|that old|(?=the ))"
    r"(?: (?:still|just|now|what|immer noch|noch|aussi))?(?: (?:the|a|an|my|our|new|das|der|die|unser|mein|le|la|notre|mon|nuestra|mi|el|de)\w{0,2}){0,2}(?: [\w-]+){0,1}? ?"
)


def _description_after(text: str, end: int, topics: Sequence[Topic], starts: Sequence[int]) -> str:
    """Whether the words after a value say what it is: «… is the password», «… opens the gate», «… digits»."""
    place = bisect_left(starts, end)
    topic = topics[place] if place < len(topics) and starts[place] - end < REACH_BEHIND else None
    after = text[end : end + 60]
    if (
        topic
        and (found := _TOLD.match(text, end, end + REACH_BEHIND))
        and starts[place] - found.end() <= 2
    ):
        return "what it is"
    words = [word.lower() for word in _WORD.findall(after.partition("\n")[0])[:3]]
    if words and "opens" in classes_of(words[0]) and re.match(r"\W{0,3}\s", after):
        return "what it opens"
    if words and "unit" in classes_of(words[0]) and re.match(r"[ -]\w", after):
        return "its unit"
    bare = after.lstrip("\"'`»”’*# \t")
    return "nothing" if not bare or bare[0] in "\n.,;!?)-–—(" else "more"


def _clause_begins(text: str, end: int) -> bool:
    """Whether a new clause begins after a phrase."""
    return GO_ON.issuperset(word.lower() for word in _WORD.findall(text[end : end + 16])[:1])


def _near(
    text: str, start: int, end: int, topics: Sequence[Topic], starts: Sequence[int]
) -> Iterator[tuple[str, str, str]]:
    """The nearest words for a secret, each with its position."""
    place = bisect_left(starts, start)
    found = list[tuple[int, str, str, str]]()
    for topic in topics[max(0, place - 4) : place + 4]:
        if topic.start < end and topic.end > start:
            continue
        before = topic.end <= start
        between = text[topic.end : start] if before else text[end : topic.start]
        if len(between) > (REACH_BEFORE if before else REACH_BEHIND):
            continue
        blank = between.count("\n")
        if blank > 3 or (
            blank and not (before and (topic.name in _STRONG or _is_heading(text, topic)))
        ):
            continue
        crossed = (
            "line"
            if blank
            else "sentence"
            if _SENTENCE_END.search(between)
            else "clause"
            if _CLAUSE_END.search(between)
            else ""
        )
        words = len(_WORD.findall(between))
        distance = (
            "0"
            if words == 0
            else "1"
            if words == 1
            else "3"
            if words <= 3
            else "6"
            if words <= 6
            else "9"
        )
        side = "before" if before else "behind"
        weight = (
            len(between)
            + (60 if crossed == "sentence" else 20 if crossed == "line" else 0)
            + (0 if topic.name in _STRONG else 25)
            + (0 if before else 10)
        )
        where = f"{side}{'-' + crossed if crossed in ('line', 'sentence') else ''} {distance}{' clause' if crossed == 'clause' else ''}"
        found.append((weight, topic.name, where, text[topic.start : topic.end].lower()))
    seen = set[str]()
    for _, name, where, word in sorted(found):
        if name not in seen and len(seen) < _MOST_TOPICS:
            seen.add(name)
            yield name, where, word


def _is_heading(text: str, topic: Topic) -> bool:
    """Whether a word is in a short line that acts as a heading for the lines below."""
    start = text.rfind("\n", 0, topic.start) + 1
    end = text.find("\n", topic.end)
    return 0 < end - start <= _LONGEST_HEADING


_QUOTES = {
    '"': "quote",
    "“": "quote",
    "„": "quote",
    "«": "quote",
    "'": "quote",
    "‘": "quote",
    "`": "code span",
}


def _lead(text: str, start: int) -> Iterator[str]:
    """What comes right before a value: a sign, the class of the word, and that of the word before it."""
    before = text[max(0, start - 80) : start]
    stripped = before.rstrip(" \t")
    if stripped[-1:] in _QUOTES:
        yield _QUOTES[stripped[-1]]
        stripped = stripped[:-1].rstrip(" \t")
    if stripped.endswith("\n") or (not stripped and len(before) < 80):
        yield "a new line"
    stripped = stripped.rstrip("\n >*•-" if "\n" in before else " ")
    sign = re.search(r"(?::=|[:=：(/,.?!|]|->|=>|→|<-|[-–—])$", stripped)
    if sign:
        yield f"«{sign[0]}»"
        stripped = stripped[: sign.start()].rstrip(" \t")
    words = _WORD.findall(stripped)[-4:]
    skipped = 0
    while (
        words
        and skipped < 2
        and "filler" in classes_of(words[-1].lower())
        and not {"to", "with"} & set(classes_of(words[-1].lower()))
    ):
        words.pop()
        skipped += 1
    if skipped:
        yield "filler"
    for place, word in enumerate(reversed(words[-2:])):
        kinds = classes_of(word.lower()) or ("other" if word.isalpha() else "number",)
        for kind in kinds:
            yield f"{'sign and ' if sign and not place else ''}{kind}{' earlier' if place else ''}"


def _behind(text: str, end: int) -> Iterator[str]:
    after = text[end : end + 60].partition("\n")[0]
    bare = after.lstrip("\"'`»”’*# \t")
    if not bare:
        yield "end of line"
        return
    if bare[0] in ".,;!?)":
        yield "stop" if bare[0] in ".;!" else f"«{bare[0]}»"
        bare = bare[1:].lstrip()
    elif bare[0] in "-–—(/:=|<":
        yield f"«{bare[0]}»"
    words = _WORD.findall(bare)[:2]
    for place, word in enumerate(words):
        kinds = classes_of(word.lower()) or ("other" if word.isalpha() else "number",)
        for kind in kinds:
            yield f"{kind}{' later' if place else ''}"


def _in_prose(text: str, start: int, end: int) -> bool:
    """Whether plain words stand on the line of a value, and no markup or escaped line ends."""
    before = text[max(0, start - 80) : start].rpartition("\n")[2]
    after = text[end : end + 60].partition("\n")[0]
    line = f"{before} {after}"
    return len(_PLAIN.findall(line)) >= _FEWEST_PLAIN and not _MARKUP.search(line)


def _words_around(text: str, start: int, end: int) -> Iterator[str]:
    """The words of the sentence around a value, by how they begin."""
    before = _SENTENCE_END.split(text[max(0, start - 120) : start])[-1]
    behind = _SENTENCE_END.split(text[end : end + 60])[0]
    words = [*_WORD.findall(before)[-10:], *_WORD.findall(behind)[:6]]
    yield from dict.fromkeys(word[:6].lower() for word in words if len(word) > 2 and word.isalpha())


def _line(text: str, start: int, end: int) -> Iterator[str]:
    line = (
        text[max(0, start - 120) : start].rpartition("\n")[2]
        + " "
        + text[end : end + 80].partition("\n")[0]
    )
    if _CODE_LINE.search(line):
        yield "code"
    if "?" in line:
        yield "question"
    words = {kind for word in _WORD.findall(line.lower()) for kind in classes_of(word)}
    yield from (
        kind
        for kind in (
            "rule",
            "absent",
            "mine",
            "note",
            "changed",
            "use",
            "opens",
            "takes",
            "code",
            "counted",
        )
        if kind in words
    )
    if not words and len(line) < 40:
        yield "bare"


def _between(
    text: str, start: int, end: int, topics: Sequence[Topic], starts: Sequence[int]
) -> Iterator[str]:
    """Classes of the words between the nearest topic before a value and the value."""
    place = bisect_left(starts, start) - 1
    if place < 0 or start - topics[place].end > REACH_BEFORE:
        return
    between = text[topics[place].end : start].lower()
    yield from dict.fromkeys(
        kind for word in _WORD.findall(between)[-8:] for kind in classes_of(word)
    )


@cache
def weights() -> Mapping[str, float]:
    found: Mapping[str, float] = json.loads(
        Path(__file__).with_name("weights.json").read_text("utf-8")
    )
    return found


def score_of(signs: Sequence[str]) -> float:
    """The sum of the signs' weights; above 0 a value is more likely a secret than not."""
    known = weights()
    return known.get("", 0.0) + sum(known.get(sign, 0.0) for sign in signs)
