"""The end of the demo: what every layer was worth, and whether anything was lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from reverie.cli.demo.hearing import COMPACTION, EXTRACTION
from reverie.cli.demo.runs import Learnt, Run, Turn
from reverie.cli.demo.stage import MODEL, SELECTOR
from reverie.cli.figures import counted, dollars, share, tokens

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

LATER = "Layer 7 (agents) is not part of the demo yet."


@dataclass(frozen=True, slots=True)
class Check:
    """Something that must hold at the end of the session, and what was found."""

    name: str
    passed: bool
    found: str


def checks(run: Run) -> tuple[Check, ...]:
    """What the layers promise, held against the session with all of them."""
    said = len(run.turns)
    facts = (
        Check(
            f"known at the end: {name}", bool(places), f"in {_listed(places)}" if places else "lost"
        )
        for name, places in run.found.items()
    )
    return (
        Check(
            "every message of yours is still sent, word for word",
            not run.missing,
            f"{said - len(run.missing)} of {said}",
        ),
        *facts,
        Check(
            "no cache break that no layer announced",
            not run.unexpected_breaks,
            f"{run.unexpected_breaks}; {run.expected_breaks} were announced",
        ),
        Check(
            "the window was never full",
            run.full_in is None,
            f"at most {tokens(run.largest)} of {tokens(run.window.blocking)} tokens",
        ),
        *(_said(one) for one in run.learnt if one.layer == EXTRACTION),
        Check(
            "nothing failed on the way", not run.troubles, "; ".join(run.troubles) or "no trouble"
        ),
    )


def _said(learnt: Learnt) -> Check:
    own = len(learnt.kept) - len(learnt.foreign)
    return Check(
        "nothing was saved that you did not say",
        not learnt.foreign,
        f"{own} of {counted(len(learnt.kept), 'memory', 'memories')} in your own words",
    )


def came_of(learnt: Learnt) -> tuple[str, ...]:
    """What a layer that learns did, each in a line."""
    done = "saved" if learnt.layer == EXTRACTION else "changed"
    return (
        f"{counted(len(learnt.kept), 'memory', 'memories')} {done}",
        *(f"for you to decide: {what}" for what in learnt.waiting),
        *(f"refused: {why}" for why in learnt.refused),
    )


def lost(run: Run, whole: Run) -> str:
    """What one would have had to do without."""
    turns = len(run.turns)
    summaries = run.fired(COMPACTION)
    if run.full_in is not None:
        never = turns - run.full_in + 1
        return f"the window is full in turn {run.full_in}: the last {never} turns never happen"
    if run.missing or run.forgotten:
        return f"{counted(len(run.missing), 'message')}; {_listed(run.forgotten) or 'no fact'}"
    if summaries > whole.fired(COMPACTION):
        return f"you wait for {counted(summaries, 'summary', 'summaries')} by the model"
    return "nothing"


def as_json(runs: Sequence[Run], files: Sequence[str], kept: str | None) -> dict[str, Any]:
    whole = runs[0]
    return {
        "model": {"billed_like": MODEL, "selector": SELECTOR, "window": whole.window.tokens},
        "turns": [_turn_json(turn) for turn in whole.turns],
        "runs": [_run_json(run, whole) for run in runs],
        "learnt": [_learnt_json(one) for one in whole.learnt],
        "checks": [asdict(check) for check in checks(whole)],
        "not_shown": LATER,
        "files": list(files),
        "kept": kept,
    }


def _turn_json(turn: Turn) -> dict[str, Any]:
    data = asdict(turn) | {"hit_rate": turn.usage.hit_rate, "tokens_sent": turn.usage.prompt}
    return {**data, "fired": [asdict(fired) for fired in turn.fired]}


def _learnt_json(learnt: Learnt) -> dict[str, Any]:
    usage = learnt.usage
    return {**asdict(learnt), "tokens_sent": usage.prompt, "hit_rate": usage.hit_rate}


def _run_json(run: Run, whole: Run) -> dict[str, Any]:
    usage = run.usage
    return {
        "name": run.variant.name,
        "about": run.variant.about,
        "off": list(run.variant.off),
        "tokens_sent": usage.prompt,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "hit_rate": usage.hit_rate,
        "output": usage.output,
        "cost": run.cost,
        "cost_without_cache": run.uncached_cost,
        "largest_request": run.largest,
        "full_in_turn": run.full_in,
        "lost": lost(run, whole),
        "layers_fired": {str(layer): run.fired(layer) for layer in range(1, 7)},
        "memories_recalled": run.fired(0),
        "per_turn": [{"tokens": turn.usage.prompt, "cost": turn.cost} for turn in run.turns],
    }


def savings(runs: Sequence[Run]) -> str:
    """The sum of it in one sentence."""
    whole, none = runs[0], runs[-1]
    money, sent = 1 - whole.cost / none.cost, 1 - whole.usage.prompt / none.usage.prompt
    return (
        f"Layers 1 to 4 together: {money * 100:.0f} % less cost and {sent * 100:.0f} % fewer tokens than "
        f"none. Without a prompt cache these requests would have cost {dollars(whole.uncached_cost)}, "
        f"not {dollars(whole.cost)}.{_cheaper(runs)}"
    )


def on_top(run: Run) -> str:
    """What layers 5 and 6 add: they learn, and save nothing in the session they learn from."""
    added = sum(one.cost for one in run.learnt)
    return (
        "Layers 5 and 6 learn beside the conversation, for later ones. They are on in the first run only, "
        f"and come on top of its figures: {dollars(added)} more, {dollars(run.cost + added)} in all."
    )


def _cheaper(runs: Sequence[Run]) -> str:
    """Layers that keep room, not money, are paid for: that is said too."""
    names = [run.variant.name for run in runs if run.cost < runs[0].cost]
    return f" Cheaper, for what they lose: {_listed(names)}." if names else ""


def show(console: Console, runs: Sequence[Run]) -> None:
    """The comparison, the checks and what is not shown."""
    from rich.table import Table
    from rich.text import Text

    whole = runs[0]
    console.print()
    console.print(Text("The same session, played again without each layer", "bold"))
    table = Table(
        "", "sent", "from cache", "largest", "cost", "lost", box=None, pad_edge=False
    )  # fmt: skip
    for run in runs:
        table.add_row(
            run.variant.name,
            tokens(run.usage.prompt),
            share(run.usage.hit_rate),
            tokens(run.largest),
            dollars(run.cost),
            lost(run, whole),
            style="bold" if run is whole else "",
        )
    console.print(table)
    console.print(Text(savings(runs)))
    console.print()
    if whole.learnt:
        console.print(_learnt_table(whole.learnt))
        console.print(Text(on_top(whole)))
        console.print()
    for check in checks(whole):
        mark = ("✓ ", "green") if check.passed else ("✗ ", "bold red")
        console.print(Text.assemble(mark, check.name, (f": {check.found}", "dim")))
    console.print(Text(LATER, "dim"))


def _learnt_table(learnt: Sequence[Learnt]) -> Table:
    from rich.table import Table

    names = ("beside it", "calls", "sent", "from cache", "cost", "what came of it")
    table = Table(*names, box=None, pad_edge=False)
    for one in learnt:
        table.add_row(*learnt_cells(one), "\n".join(came_of(one)))
    return table


def learnt_cells(one: Learnt) -> tuple[str, str, str, str, str]:
    """Its name and its figures."""
    sent, cached = tokens(one.usage.prompt), share(one.usage.hit_rate)
    return f"{one.layer} {one.name}", str(one.calls), sent, cached, dollars(one.cost)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
