"""The prefix of a request as a chain of digests: equal digests mean equal bytes up to there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

from reverie.core.request import Head, Segment, ToolSpec, head_segments, key_bytes


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
    links: Sequence[Link]

    @property
    def digest(self) -> str:
        return self.links[-1].digest if self.links else root_digest(self.head)

    @property
    def tokens(self) -> int:
        return self.links[-1].tokens if self.links else 0


def root_digest(head: Head) -> str:
    """The digest at the start of a chain: the model and the options of every cache key."""
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
    """How many leading links two chains share, by binary search over the chained digests."""
    low, high = 0, min(len(old.links), len(new.links))
    while low < high:
        middle = (low + high + 1) // 2
        if old.links[middle - 1].digest == new.links[middle - 1].digest:
            low = middle
        else:
            high = middle - 1
    return low


def _digest(previous: str, data: bytes) -> str:
    return hashlib.blake2b(previous.encode() + data, digest_size=16).hexdigest()


What: TypeAlias = Literal[
    "model",
    "options",
    "tool_changed",
    "tool_added",
    "tool_removed",
    "tools_reordered",
    "system",
    "message",
    "ttl_expired",
    "provider",
]

# How many bytes of a difference are shown.
_SHOWN = 24
# Options that are part of the cache key.
_KEY_OPTIONS = ("thinking", "effort", "tool_choice", "output_schema")


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that differs, and where."""

    what: What
    detail: str


def changes(old: Chain, new: Chain) -> tuple[Change, ...]:
    """What differs in `new` before the end of `old`; empty when `new` extends `old`."""
    found = [*_key_changes(old.head, new.head), *_tool_changes(old.head.tools, new.head.tools)]
    shared = common_length(old, new)
    if not found and shared < len(old.links):
        found.append(_first_difference(old, new, shared))
    return tuple(found)


def _key_changes(old: Head, new: Head) -> list[Change]:
    found = []
    if old.model != new.model:
        found.append(Change("model", f"{old.model} → {new.model}"))
    names = [f.name for f in fields(old.options) if f.name in _KEY_OPTIONS]
    for name in names:
        before, after = getattr(old.options, name), getattr(new.options, name)
        if before != after:
            found.append(Change("options", f"{name}: {before!r} → {after!r}"))
    return found


def _tool_changes(old: tuple[ToolSpec, ...], new: tuple[ToolSpec, ...]) -> list[Change]:
    before = {tool.name: tool for tool in old}
    after = {tool.name: tool for tool in new}
    found = [Change("tool_removed", name) for name in before if name not in after]
    found += [Change("tool_added", name) for name in after if name not in before]
    found += [
        Change("tool_changed", f"{name}: {difference(_spec(before[name]), _spec(after[name]))}")
        for name in before
        if name in after and before[name] != after[name]
    ]
    if not found and list(before) != list(after):
        found.append(Change("tools_reordered", ", ".join(after)))
    return found


def _spec(tool: ToolSpec) -> bytes:
    return f"{tool.description} {tool.schema}".encode("utf-8", "surrogatepass")


def _first_difference(old: Chain, new: Chain, shared: int) -> Change:
    before = old.links[shared].segment
    after = new.links[shared].segment if shared < len(new.links) else None
    if before.section == "messages" and after is not None and after.section == "system":
        return Change("system", f"{after.place} is new: {_around(after.data, 0)}")
    what: What = "system" if before.section == "system" else "message"
    if after is None or after.section != before.section:
        return Change(what, f"{before.place} is gone: {_around(before.data, 0)}")
    return Change(what, f"{_place(before, after)}: {difference(before.data, after.data)}")


def _place(before: Segment, after: Segment) -> str:
    return before.place if before.place == after.place else f"{before.place} (now {after.place})"


def difference(old: bytes, new: bytes) -> str:
    """The first differing byte, with some bytes of both sides around it."""
    shared = next(
        (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
    return f"byte {shared}: {_around(old, shared)} → {_around(new, shared)}"


def _around(data: bytes, at: int) -> str:
    start = max(0, at - _SHOWN // 2)
    shown = data[start : start + _SHOWN].decode("utf-8", "replace")
    return f"“{'…' if start else ''}{shown}{'…' if start + _SHOWN < len(data) else ''}”"
