"""The prefix of a request as a chain of digests: equal digests mean equal bytes up to there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from reverie.core.request import Head, Segment, head_segments, key_bytes


@dataclass(frozen=True, slots=True)
class Link:
    """One segment, the digest of everything up to and including it, and the tokens so far."""

    segment: Segment
    digest: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Chain:
    """All links of a request, in the order tools, system, messages."""

    head: Head
    links: tuple[Link, ...]

    @property
    def digest(self) -> str:
        return self.links[-1].digest if self.links else root_digest(self.head)

    @property
    def tokens(self) -> int:
        return self.links[-1].tokens if self.links else 0


def root_digest(head: Head) -> str:
    """Where a chain starts: the model and the options that are part of every cache key."""
    return _digest("", key_bytes(head))


def extend(last: Link | None, start: str, segments: Iterable[Segment]) -> list[Link]:
    """The links for `segments` that follow `last` (or the `start` digest when there is none)."""
    digest, tokens = (last.digest, last.tokens) if last else (start, 0)
    grown = []
    for segment in segments:
        digest = _digest(digest, segment.data)
        tokens += segment.tokens
        grown.append(Link(segment, digest, tokens))
    return grown


def head_chain(head: Head) -> list[Link]:
    return extend(None, root_digest(head), head_segments(head))


def common_length(old: Chain, new: Chain) -> int:
    """How many leading links two chains share. Digests chain, so a binary search finds it."""
    low, high = 0, min(len(old.links), len(new.links))
    while low < high:
        middle = (low + high + 1) // 2
        if old.links[middle - 1].digest == new.links[middle - 1].digest:
            low = middle
        else:
            high = middle - 1
    return low


def extends(old: Chain, new: Chain) -> bool:
    """The prefix invariant: everything that was sent before is sent again, unchanged."""
    return root_digest(old.head) == root_digest(new.head) and common_length(old, new) == len(
        old.links
    )


def _digest(previous: str, data: bytes) -> str:
    return hashlib.blake2b(previous.encode() + data, digest_size=16).hexdigest()
