"""Memories for dreams, and functions that judge what a dream did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from reverie.learning.dreaming.changes import Reason, RuledCues, typed
from reverie.learning.dreaming.checks import CheckContext
from reverie.learning.dreaming.judging import Budget, Judged, judge
from reverie.memory.format import index as indexes
from reverie.memory.format import topic as topics
from reverie.memory.format.index import Index, pointer_to
from reverie.memory.format.manifest import INDEX_FILE, is_index
from reverie.memory.format.topic import Value

TODAY = date(2026, 11, 15)


@dataclass(frozen=True)
class Clean:
    text: str
    kinds: tuple[str, ...] = ()


class Scrubber:
    """A scrubber that knows one secret."""

    def scrub(self, text: str) -> Clean:
        return Clean(text, ("password",) if "hunter2" in text else ())


def memory(text: str, **keys: Value) -> bytes:
    """A memory whose description is its first sentence."""
    first = text.splitlines()[0]
    given: dict[str, Value] = {"created": "2026-10-01T10:00:00+00:00", **keys}
    made = topics.new(first.rstrip(".")[:60], first, "project", text, **given)
    return topics.render(made)


def with_index(files: Mapping[str, bytes]) -> dict[str, bytes]:
    index = Index()
    for name, data in files.items():
        found = topics.parse(data, name)
        if found.superseded_by is None:
            index = index.with_pointer(pointer_to(found.name, name, found.description))
    return {**files, INDEX_FILE: indexes.render(index)}


def changed(data: bytes, **keys: Value) -> bytes:
    return topics.render(topics.parse(data).with_(**keys))


def judged(
    before: Mapping[str, bytes],
    after: Mapping[str, bytes],
    reasons: Mapping[str, Reason] | None = None,
    share: float = 0.10,
    ruled: RuledCues | None = None,
) -> Judged:
    context = CheckContext(before, after, TODAY, Scrubber(), ruled=ruled or {})
    return judge(typed(before, after, reasons), context, Budget(share))


def words_found(files: Mapping[str, bytes], question: str, limit: int) -> Sequence[str]:
    """A recall that counts shared words: no index, the same answers every time."""
    wanted = set(question.casefold().replace(".", " ").split())
    scored = []
    for name, data in sorted(files.items()):
        if not is_index(name):
            said = set(data.decode().casefold().replace(".", " ").split())
            scored.append((-len(wanted & said), len(said), name))
    return [name for score, _, name in sorted(scored)[:limit] if score]
