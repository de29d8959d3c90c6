"""The dream without a model: merges duplicates, resolves dates, archives expired memories. Pure.

Only certain changes are made. Memories that differ in a value stay apart and are flagged; pinned,
malformed and superseded ones are left alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from reverie.learning.dreaming.changes import (
    CUES_GIVEN,
    Files,
    Reason,
    RuledCues,
    mended,
    topics_of,
)
from reverie.learning.dreaming.checks import differs_in_value
from reverie.learning.dreaming.facts import (
    ARCHIVED,
    archived,
    body,
    claim,
    content,
    dated,
    day_of,
    expired,
    is_live,
    missing,
    parsed,
    summary,
    unkept,
)
from reverie.memory.format import index as indexes
from reverie.memory.format import topic as topics
from reverie.memory.format.manifest import INDEX_FILE
from reverie.memory.format.topic import Topic
from reverie.text.cues import cues_for

# Two memories are compared if they share one of this many rarest words of either.
_RAREST = 5
# A word in more memories than this is not used to find pairs.
_COMMON = 60


@dataclass(frozen=True, slots=True)
class Flag:
    """Something that a person or a model should look at."""

    kind: Literal["contradiction", "dead anchor"]
    files: tuple[str, ...]
    about: str


@dataclass(frozen=True, slots=True)
class Tidied:
    """The new files, the reason for each change, and flags for what was left alone."""

    files: Files
    reasons: Mapping[str, Reason] = field(default_factory=dict)
    flags: tuple[Flag, ...] = ()


def no_anchors(topic: Topic) -> tuple[str, ...]:
    """The default for memories without a work tree: no dead anchors."""
    return ()


def tidied(
    files: Files,
    today: date,
    anchors: Callable[[Topic], tuple[str, ...]] = no_anchors,
    recalled: Mapping[str, int] | None = None,
    ruled: RuledCues | None = None,
) -> Tidied:
    """Tidy the files; deterministic for a memory and a day. `ruled` are the cues that rules wrote before."""
    work = _Work(dict(files), today)
    work.make_dates_absolute()
    work.merge_duplicates()
    work.archive_expired()
    work.mend_cues(ruled or {})
    work.mend_index(recalled)
    flags = (*work.contradictions(), *_dead(work.files, anchors))
    return Tidied(work.files, work.reasons, flags)


@dataclass(slots=True)
class _Work:
    files: dict[str, bytes]
    today: date
    reasons: dict[str, Reason] = field(default_factory=dict)

    def _free(self) -> Iterator[Topic]:
        """Valid memories that may be changed."""
        for topic in topics_of(self.files):
            if topic.problem is None and not topic.pinned and is_live(topic, self.today):
                yield topic

    def _put(self, topic: Topic, why: str, *sources: str) -> None:
        self.files[topic.file] = topics.render(topic)
        self._because(topic.file, why, *sources)

    def _because(self, file: str, why: str, *sources: str) -> None:
        was = self.reasons.get(file, Reason())
        whole = "; ".join(part for part in (was.why, why) if part)
        self.reasons[file] = Reason(whole, tuple(dict.fromkeys((*was.sources, *sources))))

    def make_dates_absolute(self) -> None:
        for topic in list(self._free()):
            text, description = dated(topic, topic.body), dated(topic, topic.description)
            if (text, description) == (topic.body, topic.description):
                continue
            fresh = topic.with_(description=description or None)
            fresh = fresh if text == topic.body else fresh.with_(body=text)
            self._put(fresh, "its relative dates were made absolute", topic.file)

    def merge_duplicates(self) -> None:
        for one, other in _pairs(list(self._holding())):
            if one in self.files and other in self.files:
                self._merge(one, other)

    def _holding(self) -> Iterator[Topic]:
        for topic in topics_of(self.files):
            if topic.problem is None and is_live(topic, self.today):
                yield topic

    def _merge(self, one: str, other: str) -> None:
        """Keep the memory that covers the other; of equals the pinned one, then the older."""
        first, second = parsed(self.files[one], one), parsed(self.files[other], other)
        if first.type != second.type or first.type is None:
            return
        for kept, gone in sorted([(first, second), (second, first)], key=_preference):
            if not gone.pinned and self._covers(kept, gone) and self._can_go(gone):
                self._absorb(kept, gone)
                return

    def _covers(self, kept: Topic, gone: Topic) -> bool:
        """Whether one memory says everything that the other says, by values and words."""
        old, new = self.files[gone.file], self.files[kept.file]
        pairs = (
            (body(old, gone.file), body(new, kept.file)),
            (summary(old, gone.file), claim(new, kept.file)),
        )
        if any(unkept(*pair) is not None or missing(*pair) for pair in pairs):
            return False
        named = not missing(gone.name, claim(new, kept.file))
        if gone.valid_until != kept.valid_until or self._later(gone) != self._later(kept):
            return False
        return named and {*gone.anchors} <= {*kept.anchors}

    def _later(self, topic: Topic) -> str | None:
        """The start of a memory that is not valid yet; two different starts are two facts."""
        start = day_of(topic.valid_from)
        return topic.valid_from if start and start > self.today else None

    def _can_go(self, gone: Topic) -> bool:
        """False while a memory that may not be changed links to it."""
        names = {gone.file, gone.file.removesuffix(".md"), gone.name}
        return not gone.supersedes and not any(
            names & {*topic.linked, *topic.supersedes, topic.superseded_by}
            for topic in topics_of(self.files)
            if topic.file != gone.file
        )

    def _absorb(self, kept: Topic, gone: Topic) -> None:
        sources = tuple(dict.fromkeys((*kept.source, *gone.source)))
        links = tuple(dict.fromkeys((*kept.links, *gone.links)))
        changed = kept if kept.pinned else kept.with_(source=sources, links=links)
        if topics.render(changed) != self.files[kept.file]:
            self._put(changed, f"it took in {gone.file}", gone.file)
        del self.files[gone.file]
        self._because(gone.file, f"{kept.file} says the same", kept.file)

    def archive_expired(self) -> None:
        for topic in list(topics_of(self.files)):
            touchable = topic.problem is None and not topic.pinned and topic.superseded_by is None
            if touchable and expired(topic, self.today) and archived(topic) is None:
                document = topic.document.with_entry(ARCHIVED, self.today.isoformat())
                why = f"it held until {topic.valid_until}"
                self._put(replace(topic, document=document), why, topic.file)

    def mend_cues(self, ruled: RuledCues) -> None:
        """Give cues to memories without any, and remove those that the rules wrote but would no longer write."""
        for topic in list(self._free()):
            found = cues_for(f"{topic.name}\n{topic.description}\n{topic.body}")
            outdated = ruled.get(topic.file, frozenset()).difference(found)
            kept = tuple(cue for cue in topic.cues if cue not in outdated)
            if len(kept) < len(topic.cues):
                why = "it lost words that mislead who asks by them"
                self._put(topic.with_(cues=kept or found or None), why, topic.file)
            elif found and not topic.cues:
                self._put(topic.with_(cues=found), CUES_GIVEN, topic.file)

    def mend_index(self, recalled: Mapping[str, int] | None) -> None:
        old = indexes.parse(self.files.get(INDEX_FILE, b""))
        fresh = indexes.render(mended(old, self.files, recalled))
        if fresh != self.files.get(INDEX_FILE, b""):
            self.files[INDEX_FILE] = fresh
            self._because(INDEX_FILE, "pointers follow the memories")

    def contradictions(self) -> Iterator[Flag]:
        holding = list(self._holding())
        by_file = {topic.file: topic for topic in holding}
        for one, other in _pairs(holding):
            first, second = by_file[one], by_file[other]
            if differs_in_value(first.description, second.description):
                about = f"“{first.description}” or “{second.description}”?"
                yield Flag("contradiction", (one, other), about)


def _preference(pair: tuple[Topic, Topic]) -> tuple[bool, str, str]:
    kept = pair[0]
    return (not kept.pinned, kept.created or "9", kept.file)


def _pairs(memories: list[Topic]) -> Iterator[tuple[str, str]]:
    """Pairs of memories of one type that share a rare word; only these can be duplicates."""
    words = {topic.file: frozenset(content(f"{topic.description}")) for topic in memories}
    number = Counter(word for found in words.values() for word in found)
    groups: dict[tuple[str | None, str], list[str]] = defaultdict(list)
    for topic in memories:
        rare = sorted(words[topic.file], key=lambda word: (number[word], word))[:_RAREST]
        for word in rare:
            groups[topic.type, word].append(topic.file)
    seen: set[tuple[str, str]] = set()
    for group in (found for found in groups.values() if len(found) <= _COMMON):
        for at, one in enumerate(group):
            for other in group[at + 1 :]:
                pair = (one, other) if one < other else (other, one)
                shared = len(words[one] & words[other])
                # Duplicates, and memories that differ in one value, share all other words.
                close = shared + 1 >= min(len(words[one]), len(words[other]))
                if pair not in seen and close:
                    seen.add(pair)
                    yield pair


def _dead(files: Files, anchors: Callable[[Topic], tuple[str, ...]]) -> Iterator[Flag]:
    for topic in topics_of(files):
        for note in anchors(topic) if topic.anchors else ():
            yield Flag("dead anchor", (topic.file,), note)
