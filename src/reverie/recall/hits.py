"""The results of recall and search as they are shown: marks for outdated memories, weak matches apart."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from reverie.errors import InputError
from reverie.memory.changes.handles import ids_among
from reverie.memory.format import topic as topics
from reverie.memory.format.attachment import term
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.queries import parse
from reverie.text.words import plain_words, root

if TYPE_CHECKING:
    from reverie.memory.format.topic import Topic
    from reverie.memory.opening import OpenMemory
    from reverie.recall.documents import Hit, Results
    from reverie.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Shown:
    """A hit with its marks; without --all only `good` ones are shown."""

    hit: Hit
    good: bool
    # Whether it was found by a filter, a phrase or keywords, so that its score means little.
    looked_up: bool = False
    id: str = ""
    replaced_by: str = ""
    archived: bool = False
    # `expired 2026-11-01`, or `from 2027-01-01`.
    term: str = ""

    @property
    def mark(self) -> str:
        if self.replaced_by:
            return f"(replaced by {self.replaced_by})"
        if self.archived:
            return "(archived)"
        standing = self.term or self.hit.label
        return f"({standing})" if standing else ""

    @property
    def weak(self) -> bool:
        return not self.looked_up and self.hit.score < GOOD_MATCH

    def as_json(self) -> dict[str, Any]:
        return {
            "shown": self.good,
            "replaced_by": self.replaced_by or None,
            "archived": self.archived,
            "term": self.term or None,
        }


# Up to this many words are a lookup, not a question.
_FEW_WORDS = 2


def read_hits(
    app: Workspace,
    found: Results,
    question: str,
    as_of: datetime | None = None,
    memory: OpenMemory | None = None,
    ids: Mapping[str, str] | None = None,
) -> list[Shown]:
    """Every hit with its marks, best first, from memory as it is now or was at `as_of`.

    `memory` is the project's, where it is open already, and `ids` are its short ids, where known.
    """
    memory = memory or app.memory()
    if ids is None:
        ids = ids_among(memory.topics, [hit.key for hit in found.hits])
    now = as_of or datetime.fromtimestamp(app.clock.now(), UTC)
    query = parse(question)
    words = " ".join(query.text.split())
    # The order of messages means more than their scores.
    by_score = bool(words) and any(hit.collection == "memories" for hit in found.hits)
    shown = []
    for hit in sorted(found.hits, key=lambda hit: -hit.score) if by_score else found.hits:
        topic = _topic_of(memory, hit, as_of)
        looked_up = not words or (
            hit.score < GOOD_MATCH and (bool(query.phrases) or _has_keywords(words, hit, topic))
        )
        good = looked_up or query.filtered or hit.score >= GOOD_MATCH
        marks = _marks(memory, hit, topic, now)
        shown.append(Shown(hit, good, looked_up, ids.get(hit.key, ""), **marks))
    return shown


def _has_keywords(question: str, hit: Hit, topic: Topic | None) -> bool:
    """Whether a few keywords were typed and a hit has them all; "on-call" is one word."""
    keywords = question.split()
    if "?" in question or len(keywords) > _FEW_WORDS or hit.signals.get("lexical", 0.0) <= 0:
        return False
    texts = [hit.snippet] if topic is None else [topic.name, topic.description, topic.body]
    said = " ".join(map(_stems, texts))
    return all(f" {_stems(word)} " in f" {said} " for word in keywords)


def _stems(text: str) -> str:
    return " ".join(map(root, plain_words(text)))


def _topic_of(memory: OpenMemory, hit: Hit, as_of: datetime | None) -> Topic | None:
    found = memory.part(hit.key) if hit.collection == "memories" else None
    return None if found is None else _topic(*found, as_of)


def _marks(memory: OpenMemory, hit: Hit, topic: Topic | None, now: datetime) -> dict[str, Any]:
    """The marks of a memory: its replacement's label, whether it is archived, and its term."""
    found = memory.part(hit.key) if hit.collection == "memories" else None
    if found is None or topic is None:
        return {}
    newer = topic.superseded_by
    return {
        "replaced_by": found[0].label(newer) if newer else "",
        "archived": topic.archived is not None,
        "term": term(topic.valid_from, topic.valid_until, now),
    }


def _topic(memory: OpenMemory, file: str, as_of: datetime | None) -> Topic | None:
    """A memory as it is now, or as it was at `as_of`."""
    if as_of is None:
        with suppress(InputError):
            stored = memory.store.read(file)
            return None if stored is None else stored.topic
        return None
    revision = memory.history.as_of(as_of)
    data = None if revision is None else memory.history.read(file, revision.id)
    return None if data is None else topics.parse(data, file)
