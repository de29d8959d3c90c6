"""Where to mark a request so that the provider keeps, and finds again, the longest prefix.

An entry is written only at a mark, and a mark finds an entry only among the last `look_back`
blocks before it. Four marks are allowed. Ours, in order of what they protect:

1. the end of tools and system: shared by every conversation with the same head, and by forks;
2. the stable start of the conversation (its first user message): survives a later compaction;
3. the tail, moving with every request;
4. the *anchor*, when more blocks were added than the look-back reaches: the newest earlier mark
   that still stands, so that the entry written there is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from reverie.core.capabilities import CacheRules, Ttl
from reverie.core.prompt_cache.chain import Chain, Link
from reverie.core.request import Breakpoint

# A policy sees the chain of this request and the anchor (-1 when there is none), and answers with
# the links to mark, ascending.
Policy: TypeAlias = Callable[[Chain, int, CacheRules], tuple[int, ...]]


def no_marks(chain: Chain, anchor: int, rules: CacheRules) -> tuple[int, ...]:
    return ()


def tail_only(chain: Chain, anchor: int, rules: CacheRules) -> tuple[int, ...]:
    """What most clients do: one moving mark on the newest block."""
    return _usable(chain, [len(chain.links) - 1], rules)


def head_only(chain: Chain, anchor: int, rules: CacheRules) -> tuple[int, ...]:
    """For one-shot requests: share the head, pay nothing to keep what will not be read again."""
    return _usable(chain, [_head_end(chain.links)], rules)


def placed(chain: Chain, anchor: int, rules: CacheRules) -> tuple[int, ...]:
    """Ours: the four marks above, as far as they apply."""
    tail = len(chain.links) - 1
    far = [anchor] if tail - anchor >= rules.look_back else []
    return _usable(chain, [tail, *far, _head_end(chain.links), _start_end(chain.links)], rules)


def _usable(chain: Chain, wanted: Sequence[int], rules: CacheRules) -> tuple[int, ...]:
    """The wanted marks that count, most important first, as many as the provider takes."""
    if rules.kind != "explicit":
        return ()
    marks = (_markable_at_or_before(chain.links, i) for i in wanted)
    usable = [i for i in marks if i >= 0 and chain.links[i].tokens >= rules.minimum]
    return tuple(sorted(list(dict.fromkeys(usable))[: rules.max_breakpoints]))


def _markable_at_or_before(links: Sequence[Link], index: int) -> int:
    while index >= 0 and not links[index].segment.markable:
        index -= 1
    return index


def as_breakpoints(chain: Chain, marks: Sequence[int], ttl: Ttl) -> tuple[Breakpoint, ...]:
    segments = (chain.links[i].segment for i in marks)
    return tuple(Breakpoint(s.section, s.index, s.block, ttl) for s in segments)


def _head_end(links: Sequence[Link]) -> int:
    """The last link of tools and system, or -1 when there is neither."""
    for i, link in enumerate(links):
        if link.segment.section == "messages":
            return i - 1
    return len(links) - 1


def _start_end(links: Sequence[Link]) -> int:
    """The last block of the first message."""
    for i in range(_head_end(links) + 1, len(links)):
        if links[i].segment.index > 0:
            return i - 1
    return len(links) - 1
