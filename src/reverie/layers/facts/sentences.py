"""What an assistant's words commit to: decisions it states, and a question it leaves open."""

from __future__ import annotations

import re

from reverie.layers.facts.calls import shortened

LONGEST_SENTENCE = 300

# Longer texts are reports and quotations; what was decided stands near their beginning.
_READ_UP_TO = 20_000

_FENCES = ("```", "~~~")
_CLOSING = 2_000
_SENTENCE_END = re.compile(r"(?<=[.!?])[ \t]+|\n+")
_SHALL = r"\b(?:I'll|I’ll|I will|I'm going to|we'll|we’ll|we will|let's|let’s|let me|I’m going to)"
_DECISION = re.compile(
    r"\b(?:I|we)(?:'ve|’ve| have)? (?:decided|chose|chosen|opted|settled on|agreed)\b"
    r"|^\W*decision\W*:"
    r"|\b(?:I'm|I’m|I am|we're|we’re|we are) going with\b"
    rf"|{_SHALL} (?:go|stick) with\b"
    rf"|{_SHALL} (?:just )?(?:use|keep|avoid|leave|skip)\b.{{1,200}}\b(?:because|so that|since)\b"
    rf"|{_SHALL} .{{1,200}}\b(?:instead|rather than)\b"
    r"|\bthe (?:right|cleanest|simplest|best|better) (?:approach|fix|solution) is to\b"
    r"|\bthe plan is to\b",
    re.IGNORECASE,
)
# To look at something first is no decision yet.
_LOOKING = re.compile(
    rf"{_SHALL} (?:\w+ )?(?:check|see|verify|look|read|find|try|confirm|search|explore)\b|\bto:$",
    re.IGNORECASE,
)


def decisions(text: str) -> tuple[str, ...]:
    """Sentences that state a decision, in order. Rather none than a wrong one."""
    prose = _without_code(text[:_READ_UP_TO])
    found = (sentence.strip() for sentence in _SENTENCE_END.split(prose))
    return tuple(
        sentence
        for sentence in found
        if len(sentence) <= LONGEST_SENTENCE
        and not sentence.endswith("?")
        and _DECISION.search(sentence)
        and not _LOOKING.search(sentence)
    )


def closing_question(text: str) -> str:
    """The question a text ends with; empty when it does not end with one."""
    last = text.rstrip()[-_CLOSING:].rpartition("\n")[2].strip(" *_")
    if not last.endswith(("?", "？")):
        return ""
    return shortened(_SENTENCE_END.split(last)[-1].lstrip(" *_"), LONGEST_SENTENCE)


def _without_code(text: str) -> str:
    kept: list[str] = []
    inside = False
    for line in text.split("\n"):
        if line.lstrip().startswith(_FENCES):
            inside = not inside
        elif not inside:
            kept.append(line)
    return "\n".join(kept)
