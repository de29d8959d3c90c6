"""The prompt cache: the prefix as a chain of digests, and where to set cache marks.

An entry is written only at a mark, and a mark finds an entry only among the last `look_back`
blocks before it. Four marks are allowed. Ours, in order of importance:

1. the tail, moving with every request;
2. the *anchor*, when more blocks were added than the look-back reaches: the newest earlier mark
   that still stands, so that the entry written there is found;
3. the end of tools and system: shared by every conversation with the same head, and by forks;
4. the stable start of the conversation (its first message, and the records of earlier
   compactions): survives a later compaction.

Entries live for five minutes, or for an hour at a higher price. `auto` pays for the hour only where
it is cheap: when little is new compared with what would have to be written again after a lapse and
is not covered by an older hour. It also does so after a tool result, because four in five pauses
follow one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

from reverie.core.request import Breakpoint, Head, Segment, ToolSpec, head_segments, key_bytes
from reverie.core.window import CacheRules, Ttl


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


TtlChoice: TypeAlias = Literal["5m", "1h", "auto"]

# An hour costs 0.75 of the input price more to write; a lapse costs 1.15 (a write instead of a
# read) of the whole prefix. About one request in twenty is followed by a pause of five minutes to an hour.
_HOUR_EXTRA = 0.75
_LAPSE = 1.15
_PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class Mark:
    """A link to mark, and the TTL of its entry."""

    index: int
    ttl: Ttl = "5m"


@dataclass(frozen=True, slots=True)
class StandingMarks:
    """The newest earlier mark that still holds, and the newest with an hour to live; -1 for none."""

    newest: int = -1
    newest_hour: int = -1


Policy: TypeAlias = Callable[[Chain, StandingMarks, CacheRules], tuple[Mark, ...]]


def no_marks(chain: Chain, standing: StandingMarks, rules: CacheRules) -> tuple[Mark, ...]:
    return ()


def tail_only(chain: Chain, standing: StandingMarks, rules: CacheRules) -> tuple[Mark, ...]:
    """One moving mark on the newest block, as most clients do."""
    return _usable(chain, [Mark(len(chain.links) - 1)], rules)


def head_only(chain: Chain, standing: StandingMarks, rules: CacheRules) -> tuple[Mark, ...]:
    """Mark only the shared head, for one-shot requests whose messages will not be read again."""
    return _usable(chain, [Mark(_head_end(chain.links))], rules)


def placed(ttl: TtlChoice = "5m") -> Policy:
    """The four marks above, as far as they apply; those before one of an hour last an hour, too."""

    def policy(chain: Chain, standing: StandingMarks, rules: CacheRules) -> tuple[Mark, ...]:
        tail = len(chain.links) - 1
        wanted = [Mark(tail, _tail_ttl(chain, standing) if ttl == "auto" else ttl)]
        if tail - standing.newest >= rules.look_back:
            wanted.append(Mark(standing.newest))
        if ttl == "auto":
            wanted.append(Mark(standing.newest_hour, "1h"))
        head = _head_end(chain.links)
        wanted += [Mark(head), Mark(_start_end(chain.links, head))]
        return _usable(chain, wanted, rules)

    return policy


def _tail_ttl(chain: Chain, standing: StandingMarks) -> Ttl:
    """Use a 1 h TTL when a lapse would cost more than the surcharge on new tokens."""
    new = chain.tokens - _tokens_to(chain, standing.newest)
    uncovered = chain.tokens - _tokens_to(chain, standing.newest_hour)
    return "1h" if new * _HOUR_EXTRA < uncovered * _LAPSE * _PAUSE else "5m"


def _tokens_to(chain: Chain, index: int) -> int:
    return chain.links[index].tokens if index >= 0 else 0


def _usable(chain: Chain, wanted: Sequence[Mark], rules: CacheRules) -> tuple[Mark, ...]:
    """The usable marks, most important first, as many as the provider allows.

    The first mark at a place wins, and entries with a longer TTL must come first in a request.
    """
    if rules.kind != "explicit":
        return ()
    places: dict[int, Ttl] = {}
    for mark in wanted:
        index = _markable_at_or_before(chain.links, mark.index)
        if index >= 0 and chain.links[index].tokens >= rules.minimum:
            places.setdefault(index, mark.ttl)
    chosen = sorted(list(places)[: rules.max_breakpoints])
    hours = [i for i in chosen if places[i] == "1h"]
    return tuple(Mark(i, "1h" if hours and i <= hours[-1] else "5m") for i in chosen)


def _markable_at_or_before(links: Sequence[Link], index: int) -> int:
    while index >= 0 and not links[index].segment.markable:
        index -= 1
    return index


def as_breakpoints(chain: Chain, marks: Sequence[Mark]) -> tuple[Breakpoint, ...]:
    found = ((chain.links[mark.index].segment, mark.ttl) for mark in marks)
    return tuple(Breakpoint(s.section, s.index, s.block, ttl) for s, ttl in found)


def _head_end(links: Sequence[Link]) -> int:
    """The last link of tools and system, or -1 when there is neither."""
    for i, link in enumerate(links):
        if link.segment.section == "messages":
            return i - 1
    return len(links) - 1


def _start_end(links: Sequence[Link], head: int) -> int:
    """The last block of the first message, or of the last record that the conversation begins with."""
    for i in range(head + 1, len(links)):
        if links[i].segment.index > 0 and not links[i].segment.lasting:
            return i - 1
    return len(links) - 1
