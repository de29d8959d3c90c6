"""What real agent sessions cost when our layers, or others, decide what is sent, and what is kept.

The baseline is the real client, replayed in the same simulator with its own prompts and lifetimes;
the bill stands beside it. Everything is priced: input, replies, calls made again for what a strategy
hid, compaction, notes and learning. Facts from the early part of a session are asked for later on.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from cost_plot import plot_costs, plot_frontier
from counterfactual import (
    INPUT_PARTS,
    MarksFor,
    Outcome,
    always,
    as_the_client,
    billed_ttl,
    input_cost,
    play,
)
from needs import Needs
from our_layers import OurLayers, Unread
from probes import KINDS, Probes, Retention
from report import RESULTS, data_folder, publish
from strategies import AsRecorded, FullHistory, Make, langchain
from trajectories import SOURCES, Trajectory, load_all, row_of

from reverie.context.profiles import PROFILES
from reverie.conversation.records import Used
from reverie.core.prompt_cache import TtlChoice, placed, tail_only
from reverie.core.prompt_cache.tracker import Simulator
from reverie.core.window import TTL_SECONDS, Ttl
from reverie.settings.schema import SETTINGS

CLIENT = "the client, replayed"
CLAUDE = "claude_sessions"
QUICK = 10
NOISE = 1_000

# Dearer by less than this is a rounding of block sizes.
DEARER = 1.0001
SAMPLES = 2_000
# What the shortest equivalent form takes out of the tools of each of the 18 releases of Claude Code that
# the sessions were recorded with, at the least (`heads.py`, Claude's published tokenizer). Tools of MCP
# servers, which are not known, are taken to stay as they are.
SLIM_HEAD = 475
# Editing the context, alone or beside, costs a multiple: it breaks the cache with every call.
LANGCHAIN_SHOWN = ("LangChain summarization",)

_DEFAULTS = {setting.key: setting.default for setting in SETTINGS}
DEFAULT = str(_DEFAULTS["context.profile"])


@dataclass(frozen=True, slots=True)
class Entrant:
    """A strategy, the marks it sets, and which costs are counted."""

    make: Make
    marks: Callable[[Trajectory], MarksFor]
    rereads: bool = True
    mixed: bool = True
    # Whether a client's tools are sent in their shortest equivalent form.
    slim: bool = False
    # Whether it is a strategy of its own, not another look at one.
    plotted: bool = True
    # What its sessions leave for later ones to learn from.
    unread: Unread = field(default_factory=Unread)


@dataclass(slots=True)
class Tally:
    """One strategy over many sessions."""

    costs: dict[str, float] = field(default_factory=dict)
    parts: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    input_parts: dict[str, float] = field(default_factory=lambda: dict.fromkeys(INPUT_PARTS, 0.0))
    overflows: int = 0
    rewrites: int = 0
    unexpected: int = 0
    rereads: int = 0
    fired: Counter[str] = field(default_factory=Counter)
    retention: Retention = field(default_factory=Retention)

    @property
    def cost(self) -> float:
        return sum(self.costs.values())

    def learn(self, dollars: Mapping[str, float]) -> None:
        """Book what is still to be paid for learning, by session."""
        for name, cost in dollars.items():
            self.costs[name] += cost
            self.parts["learning"] += cost

    def add(self, name: str, outcome: Outcome, retention: Retention) -> None:
        self.costs[name] = outcome.cost
        for part, cost in outcome.costs.items():
            self.parts[part] += cost
        for part, dollars in outcome.input_parts.items():
            self.input_parts[part] += dollars
        self.overflows += outcome.overflows
        self.rewrites += outcome.rewrites
        self.unexpected += outcome.unexpected
        self.rereads += outcome.rereads
        self.fired += outcome.fired
        self.retention += retention


def main() -> None:
    asked = _arguments()
    sessions = load_all(data_folder(), CLAUDE, QUICK if asked.quick else None)
    check_simulator(sessions)
    with tempfile.TemporaryDirectory() as folder:
        entrants = everyone(Path(folder))
        tallies = compare(sessions, entrants)
        show_costs(sessions, tallies)
        show_retention(tallies)
        show_parts(tallies)
        show_split(tallies)
        client, ours = tallies[CLIENT], tallies[f"ours, {DEFAULT}"]
        plot_costs(RESULTS / "context_cost.svg", client.costs, ours.costs)
        points = {
            name: (tally.cost / client.cost - 1, tally.retention.share())
            for name, tally in tallies.items()
            if entrants[name].plotted
        }
        billed = sum(_billed(session) for session in sessions)
        points["as billed"] = (billed / client.cost - 1, client.retention.share())
        plot_frontier(RESULTS / "context_frontier.svg", points)
        if not asked.quick:
            show_others(entrants)


def everyone(folder: Path) -> dict[str, Entrant]:
    """Every strategy by the name it has in the tables, the baseline first."""
    auto = always("auto")
    found = {
        # Its re-reads really happened and are in its transcript.
        CLIENT: Entrant(AsRecorded, as_the_client, rereads=False),
        "the client, a mark at the tail only": Entrant(
            AsRecorded, lambda session: lambda call: tail_only, rereads=False
        ),
        "the client, our marks": Entrant(AsRecorded, lambda session: auto, rereads=False),
        "full history, our marks": Entrant(FullHistory, lambda session: auto),
    }
    for name, make in langchain().items():
        if name in LANGCHAIN_SHOWN:
            found[name] = Entrant(make, lambda session: auto)
    for name in PROFILES:
        found[f"ours, {name}"] = ours(folder, name, "auto")
    looks: tuple[tuple[str, TtlChoice, bool, bool], ...] = (
        ("no mixed lifetimes", "auto", False, True),
        ("tools as the client sends them", "auto", True, False),
        ("five minutes only", "5m", False, True),
    )
    for name, ttl, mixed, slim in looks:
        default = ours(folder, DEFAULT, ttl)
        found[f"ours, {name}"] = replace(default, mixed=mixed, slim=slim, plotted=False)
    return found


def ours(folder: Path, profile: str, ttl: TtlChoice) -> Entrant:
    unread, marks = Unread(), always(ttl)
    make = partial(OurLayers, journals=folder, profile=PROFILES[profile], unread=unread)
    return Entrant(make, lambda session: marks, slim=True, unread=unread)


def compare(sessions: Sequence[Trajectory], entrants: Mapping[str, Entrant]) -> dict[str, Tally]:
    tallies = {name: Tally() for name in entrants}
    for session in sorted(sessions, key=lambda session: session.calls[0].at):
        probes = Probes(session)
        for name, entrant in entrants.items():
            needs = Needs(session) if entrant.rereads else None
            played = _with_slim_head(session) if entrant.slim else session
            outcome = play(
                played,
                entrant.make(played),
                entrant.marks(session),
                probes.checkpoints,
                needs,
                mixed=entrant.mixed,
            )
            tallies[name].add(session.name, outcome, probes.retention(outcome))
    for name, entrant in entrants.items():
        tallies[name].learn(entrant.unread.settle())
    return tallies


def _with_slim_head(session: Trajectory) -> Trajectory:
    """The session with less in the tools, which stand first, also in what others left in the cache."""
    if session.source != CLAUDE:
        return session
    head, warm = (max(0, tokens - SLIM_HEAD) for tokens in (session.head, session.warm))
    return replace(session, head=head, warm=warm)


def _billed(session: Trajectory) -> float:
    """The bill: input as reported, and replies as long as the prompts after them tell."""
    spoken = session.spoken
    return sum(
        input_cost(prices, used.usage) + spoken[used.response] * prices.output / 1e6
        for used in session.recorded.reported
        if (prices := row_of(used.model).prices)
    )


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
        ttl = billed_ttl(used.usage) or ttl
        marks = placed(ttl)(call.chain, cache.standing(call.chain), cache.rules)
        billed = used.usage.cache_read
        difference = billed - cache.run(call, marks).cache_read
        idle = used.at - before.at if before else 0.0
        yield _cause(difference, before is None, idle > TTL_SECONDS[ttl]), difference, billed
        before = used


def _cause(difference: int, first: bool, lapsed: bool) -> str:
    if abs(difference) < NOISE:
        return f"less than {NOISE:,} tokens: sizes of single blocks are estimates"
    if difference < 0:
        return "prefix as recorded, but not read: changed unseen by the client, or evicted"
    if first:
        return "first call: another session had left the head in the cache"
    return "entry outlived its time" if lapsed else "more was found than the marks promise"


# ── tables ───────────────────────────────────────────────────────────────────


def show_costs(sessions: Sequence[Trajectory], tallies: Mapping[str, Tally]) -> None:
    base = tallies[CLIENT].costs
    billed = {session.name: _billed(session) for session in sessions}
    rows: list[list[object]] = [["as billed", *_against(billed, base), "", "", "", ""]]
    for name, tally in tallies.items():
        dearer = [tally.costs[n] - base[n] for n in base if tally.costs[n] > base[n] * DEARER]
        worst = max((tally.costs[n] / base[n] - 1 for n in base), default=0.0)
        rows.append(
            [
                name,
                *_against(tally.costs, base),
                f"{len(dearer)} of {len(base)}",
                f"{max(dearer, default=0.0):.2f} / {max(worst, 0.0):.1%}",
                tally.rereads,
                f"{tally.overflows} / {tally.unexpected}",
            ]
        )
    columns = ["strategy", "$", "net", "95 %", "odd / even", "sessions dearer"]
    columns += ["by at most $ / share", "re-reads", "over window / unexpected breaks"]
    publish("context_cost", columns, rows)
    print()


def _against(costs: Mapping[str, float], base: Mapping[str, float]) -> list[object]:
    """Dollars, the difference to the baseline, its interval, and that of each half."""
    names = sorted(base)
    halves = " / ".join(f"{_share(costs, base, half):+.1%}" for half in (names[::2], names[1::2]))
    low, high = _interval(costs, base, names)
    whole = f"{_share(costs, base, names):+.1%}"
    return [sum(costs.values()), whole, f"{low:+.1%} to {high:+.1%}", halves]


def _share(costs: Mapping[str, float], base: Mapping[str, float], names: Sequence[str]) -> float:
    total = sum(base[name] for name in names)
    return sum(costs[name] for name in names) / total - 1 if total else 0.0


def _interval(
    costs: Mapping[str, float], base: Mapping[str, float], names: Sequence[str]
) -> tuple[float, float]:
    """The middle 95 % of the difference over sessions drawn again with replacement."""
    chance = random.Random(17)
    drawn = sorted(_share(costs, base, chance.choices(names, k=len(names))) for _ in range(SAMPLES))
    return drawn[SAMPLES // 40], drawn[-SAMPLES // 40]


def show_retention(tallies: Mapping[str, Tally]) -> None:
    rows = [
        [
            name,
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


PARTS = ("input", "output", "re-reads", "compaction", "notes", "learning")


def show_split(tallies: Mapping[str, Tally]) -> None:
    """The input of the requests, re-reads included, by what the tokens were."""
    rows = [
        [name, *(f"{tally.input_parts[part]:.1f}" for part in INPUT_PARTS)]
        for name, tally in tallies.items()
    ]
    publish("context_cost_split", ["strategy", *(f"{part} $" for part in INPUT_PARTS)], rows)
    print()


def show_parts(tallies: Mapping[str, Tally]) -> None:
    rows = [
        [name, *(f"{tally.parts[part]:.1f}" for part in PARTS), _fired(tally)]
        for name, tally in tallies.items()
    ]
    publish("context_cost_parts", ["strategy", *(f"{part} $" for part in PARTS), "fired"], rows)
    print()


def _fired(tally: Tally) -> str:
    return ", ".join(f"{layer} {times}" for layer, times in tally.fired.most_common())


def show_others(entrants: Mapping[str, Entrant]) -> None:
    """The other agents' trajectories, which have no bill: against full history."""
    base = "full history, our marks"
    wanted = {
        name: one for name, one in entrants.items() if name.startswith(("full", "ours,", "Lang"))
    }
    rows: list[list[object]] = []
    for source in SOURCES:
        if source == CLAUDE:
            continue
        tallies = compare(load_all(data_folder(), source), wanted)
        for name, tally in tallies.items():
            low, high = _interval(tally.costs, tallies[base].costs, sorted(tally.costs))
            rows.append(
                [
                    source,
                    name,
                    tally.cost,
                    f"{tally.cost / tallies[base].cost - 1:+.1%}",
                    f"{low:+.1%} to {high:+.1%}",
                    f"{tally.retention.share():.3f}",
                    f"{tally.retention.share('edits'):.3f}",
                    tally.overflows,
                ]
            )
    columns = ["source", "strategy", "$", "vs full history", "95 %", "kept", "edits", "over window"]
    publish("context_cost_others", columns, rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"only {QUICK} Claude Code sessions")
    return parser.parse_args()


if __name__ == "__main__":
    main()
