"""Which of the four types a person's sentence is, when its cue does not say. Pure."""

from __future__ import annotations

import re

from reverie.memory.taxonomy import MemoryType

_SIGNS: tuple[tuple[MemoryType, re.Pattern[str]], ...] = (
    (
        "reference",
        re.compile(
            r"https?://|\B#[a-z][\w-]+"
            r"|\b(?:linear|jira|notion|confluence|grafana|slack|figma|datadog|sentry|pagerduty|sharepoint|wiki"
            r"|dashboard|runbooks?|tracker|channel)\b",
            re.I,
        ),
    ),
    (
        "feedback",
        re.compile(
            r"^(?:please |bitte )?(?:don't|do not|never|always|stop|avoid|use|prefer|keep|make sure|ask|write|run|show|tell"
            r"|answer|explain|commit|no)\b|\b(?:you|your)\b|\bi (?:always |never )?want\b|\bi(?:'d| would) (?:like|rather)"
            r"|\b(?:is|are) (?:always )?(?:reviewed|written|named|tested|run|signed off)\b.*\bbefore\b"
            r"|\bich (?:will|möchte)\b|\b(?:möchte|will)[.!]?$|\bje (?:veux|voudrais|souhaite)\b|\b(?:quiero|quisiera)\b"
            r"|\b(?:antworten|commits?|answers?|replies|réponses|respuestas|diffs?|explanations?|comments)\b",
            re.I,
        ),
    ),
    (
        "user",
        re.compile(
            r"\b(?:i am|i'm|i work|i've|i have|i know|i live|i like|i prefer|my (?:name|role|job|background|title|pronouns"
            r"|time ?zone)|ich bin|ich arbeite|je suis|je travaille|je préfère|soy|trabajo|prefiero)\b",
            re.I,
        ),
    ),
)


def kind(sentence: str) -> MemoryType:
    """`project` is what is left: facts about the work and the people in it."""
    return next((type_ for type_, sign in _SIGNS if sign.search(sentence)), "project")
