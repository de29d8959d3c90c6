"""`reverie stats` and `reverie impact`: what happened with memory, and whether it helped, with intervals and harm."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import (
    Invocation,
    counted,
    reverie_command,
    share,
    sparkline,
    styled,
    table,
    tokens,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.workspace import Workspace


@reverie_command(name="stats")
@click.option(
    "--days", type=click.IntRange(1, 3650), default=30, show_default=True, help="How far back."
)
def stats(frame: Invocation, days: int) -> None:
    """Show what happened: memories recalled and used, layers, cache, learning.

    Delivered: put beside a message. Seen: a model answered afterwards. Used: its words or facts are
    in a reply or a tool call. Whether it helped is `reverie impact`.

    \b
    reverie stats
    reverie stats --days 7 --json
    """
    from reverie.impact.stats import stats_of

    data = stats_of(frame.app(), days=days)
    frame.answer(data, _stats_lines(data))


def _stats_lines(data: dict[str, Any]) -> Iterator[RenderableType]:
    shown = table("", "", "", rows=_rows(data), fixed=2)
    shown.show_header = False
    shown.columns[1].justify, shown.columns[2].overflow = "right", "fold"
    yield shown
    yield styled(f"the last {counted(data['days'], 'day')}")


def _rows(data: dict[str, Any]) -> list[tuple[str, str, str]]:
    memories, use, learning, cache = (data[key] for key in ("memories", "use", "learning", "cache"))
    series = data["per_day"]
    rows = [
        ("memories", f"{memories['count']:,}", _facts(memories["type"])),
        ("", "", f"age: {_facts(memories['age'])}"),
        ("", "", f"origin: {_facts(memories['origin'])}"),
        ("delivered", f"{use['delivered']:,}", sparkline(series["delivered"])),
        ("seen", f"{use['seen']:,}", "an answer came afterwards"),
        ("used", f"{use['used']:,}", sparkline(series["used"])),
        ("contradicted", f"{use['contradicted']:,}", "replaced by a newer value"),
        ("undone", f"{use['undone']:,}", ""),
        ("never recalled", f"{use['never_recalled']:,}", "of those that hold now"),
        ("learning runs", f"{learning['runs']:,}", sparkline(series["learnt"])),
        ("", "", f"{learning['saved']} saved, {learning['to_inbox']} to the inbox, {learning['refused']} refused, "
                 f"{learning['failed']} failed; {learning['inbox']} wait now"),
        ("cache hit rate", share(cache["hit_rate"]), f"{cache['breaks_expected']} expected breaks, "
                                                     f"{cache['breaks_unexpected']} unexpected"),
    ]  # fmt: skip
    rows += [
        (layer, f"{row['fired']:,}", f"{tokens(row['saved'])} tokens kept out")
        for layer, row in data["layers"].items()
    ]
    return [*rows, *(("stopped", "", line) for line in data["breakers"])]


def _facts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "–"


DEFAULT_CAP = 1.0


@reverie_command(name="impact")
@click.option("--replay", is_flag=True, help="Ask recorded turns again, with memories and without.")
@click.option("--probes", is_flag=True, help="Ask facts you stated in fresh sessions, four ways.")
@click.option("--model", metavar="M", help="The model to ask; default: models.main.")
@click.option("--judge", metavar="M", help="With --replay: a model that also judges the pairs.")
@click.option(
    "-n", "--most", type=click.IntRange(1, 500), default=20, show_default=True, help="How many."
)
@click.option(
    "--cap", type=click.FloatRange(min=0), default=DEFAULT_CAP, show_default=True,
    help="Dollars that it may cost, where the price is known.",
)  # fmt: skip
def impact(
    frame: Invocation,
    replay: bool,
    probes: bool,
    judge: str | None,
    model: str | None,
    **limits: Any,
) -> None:
    """Show whether memory helped.

    Without options: the sessions of the holdout compared (`impact.holdout`), and the last measurements.
    --replay and --probes ask a model, under the cap, on a copy of the memories.

    \b
    reverie impact
    reverie impact --probes --model ollama:qwen3
    reverie impact --replay --model anthropic:claude-haiku-4-5 --cap 0.50
    """
    if judge and not replay:
        raise click.UsageError("--judge goes with --replay")
    from reverie.impact.report import keep, outcome_report

    app = frame.app()
    if replay or probes:
        import asyncio

        name = _model(app, model)
        shown = _progress if sys.stderr.isatty() and not frame.quiet else None
        if probes:
            from reverie.impact.probes import run_probes

            keep(app, "probes", asyncio.run(run_probes(app, name, progress=shown, **limits)))
        if replay:
            from reverie.impact.replay import replay as run_replay

            made = run_replay(app, name, judge=judge or "", progress=shown, **limits)
            keep(app, "replay", asyncio.run(made))
    data = outcome_report(app)
    frame.answer(data, _impact_lines(data))


def _model(app: Workspace, given: str | None) -> str:
    from reverie.errors import InputError
    from reverie.models.selection import OFFLINE

    name = given or app.settings.model("main")
    if name == OFFLINE:
        raise InputError("asking needs a model: --model provider:model, or models.main in settings")
    # Fails here, before anything is read, if no provider serves it.
    app.bare_model(name)
    return name


def _progress(done: int, total: int) -> None:
    click.echo(f"\rasked {done}/{total}", err=True, nl=done == total)


def _impact_lines(data: dict[str, Any]) -> Iterator[RenderableType]:
    holdout, total = data["holdout"], data["sessions"]
    counts = holdout["sessions"]
    title = f"{share(holdout['share'])} of sessions" if holdout["share"] else "off"
    yield f"Holdout ({title}): {counts['with']} sessions with memories, {counts['without']} without"
    if holdout["measures"]:
        columns = ("a session", "with", "without", "difference", "95 % interval", "verdict", "harm")
        yield table(*columns, rows=map(_arm, holdout["measures"]))
        if holdout["directional"]:
            yield styled("fewer than 5 sessions in an arm: directional only")
    elif not holdout["share"]:
        yield styled(
            "  to compare: impact.holdout = 0.1 withholds recalled memories from every tenth session"
        )
    yield from _measured_lines("Replay", "replay", data["replay"])
    yield from _measured_lines("Probes", "probes", data["probes"])
    yield styled(
        f"{total['count']} sessions, {total['with_memories']} with memories: {total['prompts']} prompts, "
        f"{total['corrections']} corrections ({total['repeated_corrections']} said before), "
        f"{total['rereads']} files read again, {total['reasked']} questions asked again"
    )


def _arm(row: dict[str, Any]) -> tuple[str, ...]:
    found, name = row["difference"], row["measure"].replace("_", " ")
    interval = f"{found['low']:+.2f} … {found['high']:+.2f}"
    means = (f"{row['with']:.2f}", f"{row['without']:.2f}", f"{found['mean']:+.2f}")
    return name, *means, interval, row["verdict"], "yes" if row["harm"] else "no"


def _measured_lines(
    title: str, kind: str, found: dict[str, Any] | None
) -> Iterator[RenderableType]:
    if found is None:
        yield f"{title}: not measured yet; reverie impact --{kind} --model provider:model"
        return
    yield f"{title}, {found['model']}: {found['verdict']}"
    if found["rows"]:
        yield table(*found["columns"], rows=(map(str, row) for row in found["rows"]))
    yield styled(f"  {found['note']}")
