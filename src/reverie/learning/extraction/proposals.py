"""What a fork wrote, read as a candidate: it proposes, and is believed no further than the messages."""

from __future__ import annotations

from collections.abc import Sequence

from reverie.core.messages import Message
from reverie.learning.extraction.prompts import cited
from reverie.learning.extraction.rules.confirmations import kind, sentences
from reverie.learning.extraction.values import Add, Candidate, Operation, Supersede, Update
from reverie.memory.format.topic import Topic


def proposed(topic: Topic, messages: Sequence[Message], before: Topic | None = None) -> Candidate:
    """A file the fork wrote, or changed from `before`: only what is new in it has to be shown."""
    fresh = _added(topic.body, before.body if before else "")
    text = " ".join(fresh) if before else topic.body.strip()
    return Candidate(
        text=text,
        type=topic.type or kind(text),
        sources=cited(topic.source, messages),
        origin="assistant",
        operation=_operation(topic, before),
        name=_changed(topic.name, before.name if before else ""),
        description=_changed(topic.description, before.description if before else ""),
    )


def _operation(topic: Topic, before: Topic | None) -> Operation:
    if before is not None:
        return Update(before.file)
    return Supersede(topic.supersedes[0]) if topic.supersedes else Add()


def _added(new: str, old: str) -> list[str]:
    known = set(sentences(old))
    return [sentence for sentence in sentences(new) if sentence not in known]


def _changed(new: str, old: str) -> str:
    return "" if new == old else new
