"""Compare a new memory with existing ones, and find reasons not to save it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from reverie.memory.changes.draft import Declined, Draft, Related
from reverie.memory.format.manifest import Candidates, ManifestEntry
from reverie.memory.format.taxonomy import MemoryType, may_share
from reverie.memory.format.topic import LARGEST_FILE, Topic, render
from reverie.ports import TopicStore
from reverie.text import likeness
from reverie.text.likeness import Match

# How many similar memories are reported.
MOST_TOLD = 3
# A memory about another thing is reported only if it has this much in common: not for one common verb.
_NEAR = 0.2


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Existing memories similar to a text: a duplicate, the one it replaces, related ones."""

    same: Declined | None = None
    replaces: str | None = None
    related: tuple[Related, ...] = ()


def neighbours(
    made: Draft, entries: Sequence[ManifestEntry], body_of: Callable[[str], str]
) -> Neighbours:
    """Find similar memories; only a duplicate is a reason not to save."""
    current = {entry.file: entry.description or entry.name for entry in entries if entry.listed}
    found = likeness.related(made.claim, current.items())
    same = next((match for match in found if match.likeness == "duplicate"), None)
    if same is None and made.description not in made.claim:
        same = _described_alike(made, current, body_of)
    replaced = _replaced_by_words(found)
    if replaced is not None:
        # The words say what is outdated: the odds that another memory is meant no longer count.
        found = [m for m in found if not (m.verdict.weighed and m.likeness == "update")]
    near = tuple(
        Related(
            match.key,
            current[match.key],
            match.likeness,
            match.verdict.certain,
            match.verdict.weighed,
            round(match.verdict.score, 2) if match.verdict.weighed else 1.0,
        )
        for match in [one for one in found if _is_near(one)][:MOST_TOLD]
    )
    if same is not None:
        return Neighbours(_known(same.key, current[same.key]), related=near)
    return Neighbours(replaces=replaced, related=near)


def _is_near(match: Match) -> bool:
    verdict = match.verdict
    return verdict.likeness != "sibling" or verdict.weighed or verdict.score >= _NEAR


def _described_alike(
    made: Draft, current: Mapping[str, str], body_of: Callable[[str], str]
) -> Match | None:
    """A memory with the same description counts as a duplicate only if the bodies are, too."""
    for match in likeness.related(made.description, current.items()):
        if match.likeness != "duplicate":
            break
        if likeness.compare(made.claim, body_of(match.key)).likeness == "duplicate":
            return match
    return None


def _known(file: str, text: str) -> Declined:
    return Declined(
        f"{file} already says so: {text}",
        f"change it with `reverie edit {file}`, or save anyway with --even-if-known",
        file,
    )


def without_secret(known: Declined) -> Declined:
    """The refusal of a text whose secret was removed: another password reads the same."""
    return replace(
        known, reason=f"{known.reason} (a secret is never kept, so a new one changes nothing here)"
    )


def _replaced_by_words(found: Sequence[Match]) -> str | None:
    """The only memory that the text itself says is outdated; None if there are several."""
    outdated = [match for match in found if match.verdict.said]
    return outdated[0].key if len(outdated) == 1 else None


def newest_value(near: Sequence[Related]) -> str | None:
    """The memory of which a text is a newer value, if there is exactly one."""
    updates = [one for one in near if one.likeness == "update" and not one.guessed]
    plain = [one for one in updates if not one.weighed]
    best = [one for one in updates if one.certain] or plain or updates
    return best[0].file if len(best) == 1 else None


def nothing_to_replace(near: Sequence[Related]) -> Declined:
    """The refusal if it is not clear which memory to replace."""
    if not near:
        return Declined("no memory holds another value of this", "save it without --replace")
    named = ", ".join(one.file for one in near)
    return Declined(
        f"it is not certain what this replaces: {named}",
        f"name it, for example with --supersedes {near[0].file}",
        near[0].file,
    )


def twin(made: Draft, beside: Sequence[tuple[str, str]]) -> Declined | None:
    """The refusal if the same import contains a duplicate."""
    match = likeness.nearest(made.claim, beside)
    if match is None or match.likeness != "duplicate":
        return None
    return Declined(f"{match.key}, from the same import, already says so", existing=match.key)


def retired_by_siblings(store: TopicStore) -> list[tuple[str, str]]:
    """Superseded memories with their successors, where the two are about different things."""
    found = []
    for entry in store.entries():
        stored = store.read(entry.file) if entry.superseded else None
        successor = stored.topic.superseded_by if stored else None
        newer = store.read(successor) if successor else None
        if stored is not None and newer is not None and _differ(stored.topic, newer.topic):
            found.append((entry.file, newer.topic.file))
    return found


def _differ(old: Topic, new: Topic) -> bool:
    texts = [(a, b) for a in (new.description, new.body) for b in (old.description, old.body)]
    return all(likeness.compare(a, b).likeness in ("sibling", "unrelated") for a, b in texts)


def replaced(old: Topic) -> Declined | None:
    """The refusal if a memory already has a successor: replace that one instead."""
    newer = old.superseded_by
    if newer is None:
        return None
    return Declined(
        f"{old.file} was already replaced by {newer}",
        f"replace it with --supersedes {newer}",
        newer,
    )


def too_large(memory: Topic) -> Declined | None:
    size = len(render(memory))
    if size <= LARGEST_FILE:
        return None
    return Declined(
        f"it would be {size:,} bytes; a memory holds at most {LARGEST_FILE:,}",
        "keep the point and move the detail elsewhere",
    )


def secret_in_team(kinds: Sequence[str]) -> Declined:
    return Declined(
        f"it holds a secret ({', '.join(kinds)}), and team memory is shared",
        "say where the secret is kept instead of what it is",
    )


def not_for_team(type_: MemoryType, kinds: Sequence[str]) -> Declined | None:
    """The refusal for personal memories and secrets, which are never shared."""
    if kinds:
        return secret_in_team(kinds)
    if may_share(type_):
        return None
    return Declined(
        "it is about a person (type user), which is always private",
        "leave out --team, or say what kind it really is with --type",
    )


class ImportBatch:
    """The memories of an import so far, by name and by words; `here` are the existing ones."""

    def __init__(self, here: Sequence[ManifestEntry] | None = None) -> None:
        # Whether `here` is complete; otherwise the store is asked.
        self.is_whole = here is not None
        here = here or ()
        self._entries = {entry.file: entry for entry in here}
        self._names = {entry.file.casefold() for entry in here}
        self._known = Candidates((e.file, e.description or e.name) for e in here if e.listed)
        self._texts = Candidates()

    def add(self, memory: Topic) -> None:
        self._names.add(memory.file.casefold())
        self._texts.add(memory.file, memory.description)

    def has(self, file: str) -> bool:
        return file.casefold() in self._names

    def alike(self, text: str) -> Sequence[tuple[str, str]]:
        """Those in the batch that share the rarest words of a text: (file, description)."""
        return self._texts.find(text)

    def known(self, text: str) -> Sequence[ManifestEntry]:
        """Existing memories that share the rarest words of a text."""
        return [self._entries[file] for file, _ in self._known.find(text)]
