"""What real agent sessions cost when our layers, or others, decide what is sent, and what is kept.

First the simulator is held against what the provider billed. Then every session is replayed under
each strategy with the same cache marks, and facts from its early part are asked for later on.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import get_args

from cost_plot import plot_costs
from counterfactual import Outcome, input_cost, play
from our_layers import OurLayers
from probes import KINDS, Probes, Retention
from report import RESULTS, data_folder, publish
from strategies import AsRecorded, Make, baselines
from trajectories import SOURCES, Trajectory, load_all, row_of

from reverie.context.microcompaction import Policy
from reverie.conversation.records import Used
from reverie.core.prompt_cache.breakpoints import TtlChoice, placed
from reverie.core.prompt_cache.simulator import Simulator
from reverie.core.usage import Usage
from reverie.core.window import TTL_SECONDS, Ttl
from reverie.settings.schema import SETTINGS

OURS = "ours"
RECORDED = "as recorded, our marks"
CLAUDE = "claude_sessions"
QUICK = 10

MILLION = 1_000_000
NOISE = 1_000


@dataclass(slots=True)
class Tally:
    """One strategy over many sessions."""

    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    read: int = 0
    attainable: int = 0
    overflows: int = 0
    rewrites: int = 0
    unexpected: int = 0
    fired: Counter[str] = field(default_factory=Counter)
    retention: Retention = field(default_factory=Retention)
    costs: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, outcome: Outcome, retention: Retention) -> None:
        self.usage += outcome.total
        self.cost += outcome.cost
        self.read += sum(usage.cache_read for usage in outcome.usages)
        self.attainable += outcome.attainable
        self.overflows += outcome.overflows
        self.rewrites += outcome.rewrites
        self.unexpected += outcome.unexpected
        self.fired += outcome.fired
        self.retention += retention
        self.costs[name] = outcome.cost


def main() -> None:
    asked = _arguments()
    sessions = load_all(data_folder(), CLAUDE, QUICK if asked.quick else None)
    billed = {session.name: _billed(session) for session in sessions}
    check_simulator(sessions)
    with tempfile.TemporaryDirectory() as folder:
        if asked.tune:
            tune(sessions, billed, Path(folder), asked.ttl)
            return
        makes: dict[str, Make] = {RECORDED: AsRecorded, **baselines(), **ours(Path(folder))}
        tallies = compare(sessions, makes, asked.ttl)
        show_costs(sessions, tallies, billed)
        show_retention(tallies)
        show_layers(tallies[OURS])
        plot_costs(RESULTS / "context_cost.svg", billed, tallies[OURS].costs)
        if not asked.quick:
            del makes[RECORDED]
            show_others(makes, tallies, asked.ttl)


def ours(folder: Path) -> dict[str, Make]:
    return {
        OURS: partial(OurLayers, journals=folder),
        "ours, no model for notes": partial(OurLayers, journals=folder, refine="never"),
        "ours, a model for notes whenever due": partial(OurLayers, journals=folder, refine="due"),
    }


def compare(
    sessions: Sequence[Trajectory], makes: Mapping[str, Make], ttl: TtlChoice
) -> dict[str, Tally]:
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    for session in sessions:
        probes = Probes(session)
        for name, make in makes.items():
            outcome = play(session, make(session), ttl, probes.checkpoints)
            tallies[name].add(session.name, outcome, probes.retention(outcome))
    return dict(tallies)


def _billed(session: Trajectory) -> float:
    return sum(_input_cost(used) for used in session.recorded.reported)


def _input_cost(used: Used) -> float:
    prices = row_of(used.model).prices
    return input_cost(prices, used.usage) if prices else 0.0


# ── the simulator against the bill ───────────────────────────────────────────


def check_simulator(sessions: Sequence[Trajectory]) -> None:
    """Cache reads as simulated, on the recorded prompts with the client's own TTL, and as billed."""
    tokens: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    billed = 0
    for session in sessions:
        for cause, difference, read in _differences(session):
            tokens[cause] += difference
            calls[cause] += 1
            billed += read
    rows = [
        [cause, calls[cause], tokens[cause], f"{tokens[cause] / billed:+.2%}"]
        for cause in sorted(tokens, key=lambda cause: -abs(tokens[cause]))
    ]
    rows.append(["all", calls.total(), tokens.total(), f"{tokens.total() / billed:+.2%}"])
    columns = ["cache reads billed, less simulated", "calls", "tokens", "of those billed"]
    publish("context_cost_simulator", columns, rows)
    print(f"{billed:,} tokens were billed as read, {billed - tokens.total():,} are in simulation\n")


def _differences(session: Trajectory) -> Iterable[tuple[str, int, int]]:
    """For each call: why it differs, by how many read tokens, and how many were billed."""
    cache: Simulator | None = None
    before: Used | None = None
    ttl: Ttl = "5m"
    for call, used in zip(session.recorded.calls, session.recorded.reported, strict=True):
        if cache is None or before is None or before.model != used.model:
            cache = Simulator(row_of(used.model).capabilities.cache)
        ttl = _ttl(used.usage) or ttl
        marks = placed(ttl)(call.chain, cache.standing(call.chain), cache.rules)
        billed = used.usage.cache_read
        difference = billed - cache.run(call, marks).cache_read
        idle = used.at - before.at if before else 0.0
        yield _cause(difference, before is None, idle > TTL_SECONDS[ttl]), difference, billed
        before = used


def _ttl(usage: Usage) -> Ttl | None:
    """For how long the client had this prompt kept, if it was kept."""
    if usage.cache_write_1h:
        return "1h"
    return "5m" if usage.cache_write_5m else None


def _cause(difference: int, first: bool, lapsed: bool) -> str:
    if abs(difference) < NOISE:
        return f"less than {NOISE:,} tokens: sizes of single blocks are estimates"
    if difference < 0:
        return "prefix as recorded, but not read: changed unseen by the client, or evicted"
    if first:
        return "first call: another session had left the head in the cache"
    return "entry outlived its time" if lapsed else "more was found than the marks promise"


# ── tables ───────────────────────────────────────────────────────────────────


def show_costs(
    sessions: Sequence[Trajectory], tallies: Mapping[str, Tally], billed: Mapping[str, float]
) -> None:
    total = sum(billed.values())
    used = sum((u.usage for s in sessions for u in s.recorded.reported), Usage())
    rows: list[list[object]] = [["as billed", *_tokens(used), total, "", "", "", "", ""]]
    for name, tally in tallies.items():
        rows.append(
            [
                name,
                *_tokens(tally.usage),
                tally.cost,
                f"{tally.cost / total - 1:+.1%}",
                _halves(tally.costs, billed),
                tally.overflows,
                tally.rewrites,
                f"{tally.read / tally.attainable:.1%}",
            ]
        )
    columns = ["strategy", "sent M", "read M", "written M", "input $", "vs billed"]
    columns += ["odd / even", "over window", "prefix changes", "of attainable reads"]
    publish("context_cost", columns, rows)
    print()


def _tokens(usage: Usage) -> list[str]:
    return [f"{n / MILLION:.1f}" for n in (usage.prompt, usage.cache_read, usage.cache_write)]


def _halves(costs: Mapping[str, float], billed: Mapping[str, float]) -> str:
    """The same figure for the sessions parameters were chosen on, and for the others."""
    names = sorted(billed)
    shares = (
        sum(costs[name] for name in half) / sum(billed[name] for name in half) - 1
        for half in (names[::2], names[1::2])
        if half
    )
    return " / ".join(f"{share:+.1%}" for share in shares)


def show_retention(tallies: Mapping[str, Tally]) -> None:
    rows = [
        [
            name if name != RECORDED else "the real client, as recorded",
            f"{tally.retention.share():.3f}",
            *(f"{tally.retention.share(kind):.3f}" for kind in KINDS),
            f"{tally.retention.within_reach:.3f}",
            f"{tally.retention.share('edits'):.3f}",
        ]
        for name, tally in tallies.items()
    ]
    columns = ["strategy", "all", *KINDS, "kept or in a named file", "edits in sight"]
    publish("context_cost_retention", columns, rows)
    asked = next(iter(tallies.values())).retention.asked
    print(f"asked: {', '.join(f'{asked[kind]} {kind}' for kind in (*KINDS, 'edits'))}\n")


def show_layers(tally: Tally) -> None:
    rows = [[layer, times] for layer, times in tally.fired.most_common()]
    rows.append(["unexpected cache breaks", tally.unexpected])
    publish("context_cost_layers", ["layer", "fired"], rows)
    print()


def show_others(makes: Mapping[str, Make], claude: Mapping[str, Tally], ttl: TtlChoice) -> None:
    """The other agents' trajectories, and all of them together."""
    found: dict[str, dict[str, Tally]] = {CLAUDE: dict(claude)}
    for source in SOURCES:
        if source != CLAUDE:
            found[source] = compare(load_all(data_folder(), source), makes, ttl)
    rows: list[list[object]] = []
    for name in makes:
        tallies = [found[source][name] for source in SOURCES]
        retention = Retention()
        for tally in tallies:
            retention += tally.retention
        cost = sum(tally.cost for tally in tallies)
        over = sum(tally.overflows for tally in tallies)
        rows.append([name, *(t.cost for t in tallies), cost, over, f"{retention.share():.3f}"])
    columns = ["strategy", *(f"{source} $" for source in SOURCES), "all $", "over window", "kept"]
    publish("context_cost_all", columns, rows)


# ── parameters ───────────────────────────────────────────────────────────────


def tune(
    sessions: Sequence[Trajectory], billed: Mapping[str, float], folder: Path, ttl: TtlChoice
) -> None:
    """Layer 2's parameters, one at a time, chosen on the odd sessions and shown on both halves."""
    rows: list[list[object]] = []
    for label, policy in _policies():
        tally = compare(sessions, {label: partial(OurLayers, journals=folder, policy=policy)}, ttl)[
            label
        ]
        kinds = ((), *((kind,) for kind in (*KINDS, "edits")))
        kept = [f"{tally.retention.share(*kind):.3f}" for kind in kinds]
        vs = f"{tally.cost / sum(billed.values()) - 1:+.1%}"
        rows.append([label, tally.cost, vs, _halves(tally.costs, billed), tally.rewrites, *kept])
    columns = ["policy", "input $", "vs billed", "odd / even", "prefix changes", "kept", *KINDS]
    columns.append("edits in sight")
    publish("context_cost_tuning", columns, rows)


def _policies() -> Iterable[tuple[str, Policy]]:
    shipped = Policy()
    yield "as shipped", shipped
    for keep in (2, 3, 5, 8):
        yield f"keep {keep}", replace(shipped, keep=keep)
    for calls in (5, 10, 20, 40):
        yield f"looks {calls} calls ahead", replace(shipped, calls=calls)
    for freed in (1_000, 2_000, 5_000, 10_000):
        yield f"least freed {freed:,}", replace(shipped, least_freed=freed)
    for margin in (1.0, 1.5, 2.0):
        yield f"margin {margin}", replace(shipped, margin=margin)


def _arguments() -> argparse.Namespace:
    shipped = next(setting.default for setting in SETTINGS if setting.key == "cache.ttl")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"only {QUICK} Claude Code sessions")
    parser.add_argument("--tune", action="store_true", help="layer 2's parameters, one by one")
    parser.add_argument("--ttl", choices=get_args(TtlChoice), default=shipped)
    return parser.parse_args()


if __name__ == "__main__":
    main()
