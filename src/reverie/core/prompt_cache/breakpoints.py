"""Where to set cache marks so that the provider stores and finds the longest prefix.

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
is not covered by an older hour. It also does so after a tool result, because four pauses in five
follow one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from reverie.core.prompt_cache.chain import Chain, Link
from reverie.core.request import Breakpoint
from reverie.core.window import CacheRules, Ttl

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
