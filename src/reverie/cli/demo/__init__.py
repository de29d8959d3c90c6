"""`reverie demo`: a long scripted session, played live, then again without each layer."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import click
from rich.console import Console  # noqa: TC002 - this module is itself loaded late
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from reverie.cli.demo import player
from reverie.cli.demo.player import MODEL, SELECTOR, WINDOW, Learnt, Run, Turn
from reverie.cli.demo.script import LAYERS, QUESTIONS, SCENES, VARIANTS
from reverie.cli.invocation import (
    Invocation,
    console,
    counted,
    dollars,
    printable,
    reverie_command,
    share,
    tokens,
)
from reverie.cli.screen import start_logging
from reverie.errors import InvariantBroken
from reverie.settings.sources import environment

LATER = "Layer 7 (agents) is not part of the demo."
_FILL = {"ok": "green", "warning": "yellow", "compact": "red", "blocked": "red"}
_WIDEST, _BAR = 132, 8
# A title, the names of the columns, and the rows.
Section: TypeAlias = tuple[str, Sequence[str], Iterable[Sequence[str]]]


class Check(NamedTuple):
    """A condition that must hold at the end of the session, and what was found."""

    name: str
    passed: bool
    found: str


def checks(run: Run) -> Iterator[Check]:
    """The promises of the layers, checked against the session with all of them."""
    said = f"{len(run.turns) - len(run.missing)} of {len(run.turns)}"
    yield Check("every message of yours is still sent, word for word", not run.missing, said)
    for name, places in run.found.items():
        where = f"in {', '.join(places)}" if places else "lost"
        yield Check(f"known at the end: {name}", bool(places), where)
    for one in run.answers:
        right = bool(one.memories) and one.with_memory != one.without_memory
        yield Check(f"memory changes the answer: {one.name}", right, ", ".join(one.memories) or "no memory")  # fmt: skip
    breaks, expected = run.unexpected_breaks, run.expected_breaks
    yield Check("no cache break that no layer announced", not breaks, f"{breaks}; {expected} were announced")  # fmt: skip
    sizes = f"at most {tokens(run.largest_request)} of {tokens(WINDOW.blocking)} tokens"
    yield Check("the window was never full", run.full_in_turn is None, sizes)
    for learnt in (one for one in run.learnt if one.layer == player.EXTRACTION):
        kept = counted(len(learnt.kept), "memory", "memories")
        own = f"{len(learnt.kept) - len(learnt.foreign)} of {kept} in your own words"
        yield Check("nothing was saved that you did not say", not learnt.foreign, own)
    yield Check("nothing failed on the way", not run.troubles, "; ".join(run.troubles) or "no trouble")  # fmt: skip


def outcome_of(learnt: Learnt) -> str:
    """The outcome of a layer that learns."""
    done = "saved" if learnt.layer == player.EXTRACTION else "changed"
    kept = counted(len(learnt.kept), "memory", "memories")
    waiting = (f"for you to decide: {what}" for what in learnt.waiting)
    refused = (f"refused: {why}" for why in learnt.refused)
    return "; ".join((f"{kept} {done}", *waiting, *refused))


def lost(run: Run, whole: Run) -> str:
    """What is lost in this variant."""
    forgotten = [name for name, places in run.found.items() if not places]
    if run.full_in_turn is not None:
        never = len(run.turns) - run.full_in_turn + 1
        return f"the window is full in turn {run.full_in_turn}: the last {never} turns never happen"
    if run.missing or forgotten:
        return f"{counted(len(run.missing), 'message')}; {', '.join(forgotten) or 'no fact'}"
    summaries = run.fired(player.COMPACTION)
    if summaries > whole.fired(player.COMPACTION):
        return f"you wait for {counted(summaries, 'summary', 'summaries')} by the model"
    if any(one.kept for one in whole.learnt) and not any(one.kept for one in run.learnt):
        return f"not done: {', '.join(outcome_of(one).partition(';')[0] for one in whole.learnt)}"
    return "nothing"


def savings(runs: Sequence[Run]) -> str:
    """All of it in one paragraph."""
    whole, none = runs[0], runs[-1]
    money, sent = 1 - whole.cost / none.cost, 1 - whole.usage.prompt / none.usage.prompt
    cheaper = ", ".join(run.name for run in runs if run.cost < whole.cost)
    learning = dollars(sum(one.cost for one in whole.learnt))
    return (
        f"All six layers together: {dollars(whole.cost)}, {money * 100:.0f} % less cost and "
        f"{sent * 100:.0f} % fewer tokens than none. {learning} of it is for learning (layers 5 and 6), "
        "which pays in later sessions. Without a prompt cache these requests would have cost "
        f"{dollars(whole.cost_without_cache)}."
    ) + (f" Cheaper, for what they lose: {cheaper}." if cheaper else "")


def sections(runs: Sequence[Run]) -> Iterator[Section]:
    """The tables of the report."""

    def figures(of: Run | Learnt) -> tuple[str, str]:
        return tokens(of.usage.prompt), share(of.usage.hit_rate)

    whole = runs[0]
    for one in whole.answers:
        rows = (
            ("without memory", one.without_memory),
            ("with memory", one.with_memory),
            ("because of", f"{', '.join(one.memories) or 'nothing'} ({one.origin})"),
        )
        yield f"A week later: {one.question}", ("", ""), rows
    names = ("", "sent", "from cache", "largest", "cost", "lost")
    runs_ = ((run.name, *figures(run), tokens(run.largest_request), dollars(run.cost), lost(run, whole)) for run in runs)  # fmt: skip
    yield "The same session without each layer", names, runs_
    names = ("", "calls", "sent", "from cache", "cost", "what came of it")
    learnt = ((f"{one.layer} {one.name}", str(one.calls), *figures(one), dollars(one.cost), outcome_of(one)) for one in whole.learnt)  # fmt: skip
    yield "What was learnt meanwhile, in these totals", names, learnt


def as_json(runs: Sequence[Run], files: Sequence[str], kept: str | None) -> dict[str, Any]:
    def data(of: Turn | Learnt | Run) -> dict[str, Any]:
        names = ("hit_rate", "cache_read", "cache_write", "output")
        usage = {name: getattr(of.usage, name) for name in names}
        return {**asdict(of), "usage": asdict(of.usage), **usage, "tokens_sent": of.usage.prompt, "cost": of.cost}  # fmt: skip

    return {
        "model": {"billed_like": MODEL, "selector": SELECTOR, "window": WINDOW.tokens},
        "turns": [data(turn) for turn in runs[0].turns],
        "runs": [
            {key: value for key, value in data(run).items() if key not in ("entries", "turns")}
            | {"largest_request": run.largest_request, "full_in_turn": run.full_in_turn}
            | {"lost": lost(run, runs[0]), "memories_recalled": run.fired(player.RECALL)}
            | {"layers_fired": {str(layer): run.fired(layer) for layer in range(1, 7)}}
            | {"per_turn": [{"tokens": t.usage.prompt, "cost": t.cost} for t in run.turns]}
            for run in runs
        ],
        "learnt": [data(one) for one in runs[0].learnt],
        "answers": [asdict(one) for one in runs[0].answers],
        "checks": [check._asdict() for check in checks(runs[0])],
        "not_shown": LATER,
        "files": files,
        "kept": kept,
    }


def show(console: Console, runs: Sequence[Run], files: Sequence[str], kept: str | None) -> None:
    """The end of the demo."""
    for title, names, rows in sections(runs):
        console.print(Text(f"\n{title}", "bold"))
        table = Table(*names, box=None, pad_edge=False, show_header=any(names))
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)
    console.print(Text(f"\n{savings(runs)}\n"))
    for check in checks(runs[0]):
        mark = ("✓ ", "green") if check.passed else ("✗ ", "bold red")
        console.print(Text.assemble(mark, check.name, (f": {check.found}", "dim")))
    console.print(Text(LATER, "dim"))
    for file in files:
        console.print(f"Report: {printable(file)}", soft_wrap=True)
    if len(files) == 1:
        console.print("(no PNG: matplotlib is not installed)", style="dim")
    if kept:
        look = f"reverie --home {kept}/1/home --project {kept}/1/ferry context"
        console.print(f"Kept: {printable(f'{kept}; to look around: {look}')}", soft_wrap=True)


@dataclass(frozen=True, slots=True)
class LiveView:
    """Prints turns; after each it waits `seconds`, so that a person can follow."""

    console: Console
    seconds: float = 0.0

    def open(self, turns: int) -> None:
        legend = Text()
        for layer in (*LAYERS[1:], LAYERS[0]):
            legend.append(f"{layer['mark']} ", f"bold {layer['colour']}")
            legend.append(f"{layer['about']}   ")
        begin = f"A session of {turns} turns through layers 1 to 6, with a scripted model: no key, no network, and nothing of yours is touched."
        terms = f"Real tools on a made-up project; a window of {WINDOW.tokens:,} tokens; prices and cache rules of {MODEL}. What is sent and its cost include side calls and learning."
        head = f" # {'asked':{self._asked}}   sent window         cache    cost layers (before → after)"
        self.console.print(Text(begin), Text(terms, "dim"), legend, "", Text(head, "dim"), sep="\n")

    @property
    def _asked(self) -> int:
        # Two fifths of the space beside the figures; the layers have the rest.
        return (min(self.console.width, _WIDEST) - 39) * 2 // 5

    async def tell(self, turn: Turn) -> None:
        width = min(self.console.width, _WIDEST)
        if turn.away:
            title = f"closed for lunch; resumed from its journal {turn.away / 60:.0f} minutes later"
            self.console.print(Rule(title, style="dim"), width=width)
        asked = Text(turn.asks.replace("\n", " "))
        asked.truncate(self._asked, overflow="ellipsis", pad=True)
        used, usage = turn.context / WINDOW.tokens, turn.usage
        full = "█" * min(_BAR, round(used * _BAR))
        line = Text.assemble(
            (f"{turn.number:>2} ", "dim"),
            asked,
            f" {tokens(usage.prompt):>6} ",
            (full, _FILL[WINDOW.state(turn.context)]),
            (f"{'░' * (_BAR - len(full))}", "dim"),
            f" {used * 100:3.0f} % {usage.hit_rate * 100:3.0f} % {dollars(turn.spent):>7} ",
        )
        indent, lines = len(line), [Text()]
        for fired in turn.fired:
            mark, colour, _ = LAYERS[fired.layer].values()
            piece = Text.assemble((f"{mark}: ", f"bold {colour}"), fired.sizes or fired.what)
            piece.truncate(width - indent, overflow="ellipsis")
            if lines[-1] and len(lines[-1]) + 2 + len(piece) > width - indent:
                lines.append(Text())
            lines[-1].append("  " if lines[-1] else "").append_text(piece)
        line.append_text(Text("\n" + " " * indent).join(lines))
        self.console.print(line, soft_wrap=True)
        await asyncio.sleep(self.seconds)


async def play(folder: Path, view: LiveView | None, verbose: int) -> list[Run]:
    """Play all variants, the one with every layer first; without a view nothing is printed."""
    first, *others = (player.Player(folder / str(i), Run(**v)) for i, v in enumerate(VARIANTS, 1))
    start_logging(first.app().settings, verbose)
    if view:
        view.open(len(SCENES))
    await first.play(SCENES, view.tell if view else None)
    await first.ask(QUESTIONS)
    for other in others:
        if view:
            view.console.print(f"Playing it again: {other.run.name} …", style="dim")
        await other.play(SCENES)
    return [first.run, *(other.run for other in others)]


# Seconds between turns on a terminal.
_PACE = 0.3
# The demo's folder has a path of this length where it can, so that every machine counts the same tokens.
_PATH_LENGTH = 80


@reverie_command(name="demo")
@click.option("--fast", is_flag=True, help="Do not pause between turns.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Where the report goes: a file or a folder (default: reverie-demo.html here).",
)
@click.option("--no-open", is_flag=True, help="Do not show the report in a browser.")
@click.option("--keep", is_flag=True, help="Keep the project and the home it ran in.")
def command(frame: Invocation, fast: bool, output: Path | None, no_open: bool, keep: bool) -> None:
    """A long session through the layers, live, without a key.

    It runs in its own project and home, with its own settings: --project, --home, --memory-dir and
    --set have no effect. The report is one HTML file (and a PNG if matplotlib is installed);
    existing files are never overwritten.

    \b
    reverie demo
    reverie demo --fast --no-open --output ~/reports
    """
    from reverie.cli.demo import page
    from reverie.cli.screen import run

    target = page.free(output or Path.cwd())
    printed = not (frame.as_json or frame.quiet)
    watched = printed and sys.stdout.isatty()
    with _scratch(keep=keep) as folder, player.away_from_home(folder / "person"):
        pace = _PACE if watched and not fast else 0.0
        view = LiveView(console(), pace) if printed else None
        runs = run(play(folder, view, frame.verbose))
        files = [str(file) for file in page.save(runs, target)]
    kept = str(folder) if keep else None
    data = as_json(runs, files, kept)
    frame.show(data, lambda out: show(out, runs, files, kept))
    display = sys.platform == "darwin" or any(
        map(environment().get, ("DISPLAY", "WAYLAND_DISPLAY"))
    )
    if watched and display and not no_open:
        click.launch(files[0])
    failed = [check.name for check in checks(runs[0]) if not check.passed]
    if failed:
        raise InvariantBroken(f"a check of the demo failed: {'; '.join(failed)}")


@contextmanager
def _scratch(*, keep: bool) -> Iterator[Path]:
    """A folder for the demo alone. It is removed however the demo ends, unless it should be kept."""
    above = Path(tempfile.gettempdir()).resolve()
    # `mkdtemp` adds eight characters.
    prefix = "reverie-demo-".ljust(_PATH_LENGTH - len(f"{above}/") - 8, "x")
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=above))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
