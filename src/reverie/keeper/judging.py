"""Reasons not to save: already known, replaced before, too large, or not for the team. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from reverie.keeper.draft import Draft
from reverie.keeper.wishes import Declined
from reverie.memory.manifest import ManifestEntry
from reverie.memory.similar import nearest
from reverie.memory.taxonomy import MemoryType, may_share
from reverie.memory.topic import LARGEST_FILE, Topic, render


def known(made: Draft, entries: Sequence[ManifestEntry]) -> Declined | None:
    """Is it there already? Two values of one thing are not the same fact."""
    current = {entry.file: entry for entry in entries if entry.listed}
    texts = [(entry.file, entry.description or entry.name) for entry in current.values()]
    match = nearest(made.description, texts)
    if match is None or match.likeness == "unrelated":
        return None
    found = current[match.key]
    if match.likeness == "same":
        return Declined(
            f"{match.key} already says so: {found.description or found.name}",
            f"change it with `reverie edit {match.key}`, or save anyway with --even-if-known",
            match.key,
        )
    if match.likeness == "differs":
        return Declined(
            f"{match.key} says otherwise: {found.description or found.name}",
            f"replace it with --supersedes {match.key}, or keep both with --even-if-known",
            match.key,
        )
    return None


def twin(made: Draft, beside: Sequence[tuple[str, str]]) -> Declined | None:
    """Is it in the same pile twice? There, differing memories were kept on purpose."""
    match = nearest(made.description, beside)
    if match is None or match.likeness != "same":
        return None
    return Declined(f"{match.key}, from the same import, already says so", existing=match.key)


def replaced(old: Topic) -> Declined | None:
    """A memory has one successor: what replaces it again replaces the successor."""
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
    """What is said about a person stays theirs, and so do secrets."""
    if kinds:
        return secret_in_team(kinds)
    if may_share(type_):
        return None
    return Declined(
        "it is about a person (type user), which is always private",
        "leave out --team, or say what kind it really is with --type",
    )
