"""How the cache fared in a recorded session: hit rate by purpose, every break and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from reverie.core.capabilities import CacheRules
from reverie.core.prompt_cache.breakpoints import placed
from reverie.core.prompt_cache.simulator import Simulator
from reverie.core.prompt_cache.tracker import Broken, ExpectedBreak, Kept, Sent, Tracker
from reverie.core.usage import PER_MILLION, Prices, Usage
from reverie.session.records import (
    Compacted,
    Folded,
    Record,
    Redacted,
    Rewound,
    Said,
    ToolResultsCleared,
    Unfolded,
    Used,
)
from reverie.session.replay import Replay, replay


@dataclass(frozen=True, slots=True)
class Break:
    """Tokens that had to be sent again."""

    call: int
    lost: int
    why: str
    expected: bool
    cost: float


@dataclass(frozen=True, slots=True)
class CacheRow:
    """One purpose of one session."""

    session: str
    purpose: str
    calls: int
    usage: Usage
    breaks: tuple[Break, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"hit_rate": self.usage.hit_rate}


def cache_report(
    session: str, records: Sequence[Record], rules: CacheRules, prices: Prices | None
) -> list[CacheRow]:
    used: dict[str, list[Used]] = {}
    for record in records:
        if isinstance(record, Used):
            used.setdefault(record.purpose, []).append(record)
    breaks = _breaks(replay(records), _registered(records), rules, prices)
    return [
        CacheRow(
            session,
            purpose,
            len(calls),
            sum((call.usage for call in calls), Usage()),
            breaks if purpose == "main" else (),
        )
        for purpose, calls in used.items()
    ]


def _breaks(
    replayed: Replay, registered: Mapping[int, str], rules: CacheRules, prices: Prices | None
) -> tuple[Break, ...]:
    """Judge the recorded calls as the tracker would have judged them live."""
    tracker = Tracker(rules)
    simulator = Simulator(rules)
    policy = placed()
    found = []
    for number, (call, used) in enumerate(zip(replayed.calls, replayed.reported, strict=True), 1):
        if number in registered:
            tracker.expect_break(registered[number])
        marks = policy(call.chain, simulator.standing(call.chain), rules)
        simulator.run(call, marks)
        promise = tracker.before(call.chain)
        verdict = tracker.after(promise, Sent(call.chain, marks, call.at), used.usage)
        if not isinstance(verdict, Kept):
            found.append(_break(number, verdict, prices))
    return tuple(found)


def _break(number: int, verdict: Broken | ExpectedBreak, prices: Prices | None) -> Break:
    extra = prices.cache_write_5m - prices.cache_read if prices else 0.0
    cost = verdict.lost * extra / PER_MILLION
    if isinstance(verdict, ExpectedBreak):
        return Break(number, verdict.lost, f"expected: {verdict.reason}", True, cost)  # noqa: FBT003 - a field
    why = "; ".join(f"{cause.what}: {cause.detail}" for cause in verdict.causes)
    return Break(number, verdict.lost, why, False, cost)  # noqa: FBT003 - a field


def _registered(records: Sequence[Record]) -> dict[int, str]:
    """Numbers of the calls whose prefix was changed on purpose, and why."""
    responses = {r.response for r in records if isinstance(r, Used) and r.purpose == "main"}
    found: dict[int, str] = {}
    number = 0
    pending: str | None = None
    for record in records:
        pending = _BREAKS.get(type(record), pending)
        if isinstance(record, Said) and record.message.response in responses:
            responses.discard(record.message.response)
            number += 1
            if pending is not None:
                found[number] = pending
                pending = None
    return found


_BREAKS: dict[type, str] = {
    Compacted: "compaction",
    ToolResultsCleared: "microcompaction",
    Folded: "folded rounds",
    Unfolded: "unfolded rounds",
    Rewound: "the history was changed",
    Redacted: "words of a forgotten memory were taken out",
}
