"""`reverie extract --batch`, `--status`, `--cancel`: sessions that a model reads at half price."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import dollars, printable, when
from reverie.errors import InputError, ReverieError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from reverie.cli.invocation import Invocation
    from reverie.learning.past_sessions import ReadingPlan, ReadSession
    from reverie.learning.pending import Batch
    from reverie.workspace import Workspace


def as_batch(app: Workspace, plan: ReadingPlan) -> ReadingPlan:
    """The plan at the prices of a batch; InputError where there are none."""
    from reverie.learning.batches import why_not
    from reverie.learning.past_sessions import batch_estimate

    if why := why_not(app, plan.choice.model or "offline"):
        raise InputError(f"{why}; leave out --batch")
    choice = replace(plan.choice, why=f"{plan.choice.why}, in a batch: within a day, at half price")
    return replace(plan, choice=choice, cost=batch_estimate(plan))


def collect_first(frame: Invocation, app: Workspace, *, submit: bool = False) -> None:
    """Collect the answers of finished batches, and report on stderr what was learnt.

    With `submit`, sessions that have since ended are sent, if the settings say so.
    """
    from reverie.learning.ended_sessions import due, look_after
    from reverie.learning.pending import Pending

    waits = Pending.of(app).load()
    if not waits and not (submit and due(app)):
        return
    from reverie.learning.batches import collect

    try:
        done = asyncio.run(look_after(app) if submit else collect(app))
    except ReverieError as error:
        frame.warn(f"batches: {error}")
        return
    for note in done.notes:
        frame.warn(note)
    if done.read and not (frame.quiet or frame.as_json):
        for line in _brought(done.read):
            click.echo(printable(line), err=True)


def send(frame: Invocation, app: Workspace, plan: ReadingPlan) -> None:
    """Submit the plan as a batch, and show what the rules found meanwhile."""
    from reverie.learning.batches import submit

    sent = asyncio.run(submit(app, plan))
    data = {
        "batch": None if sent.batch is None else _row(sent.batch),
        "by_rules": [{"session": one.name, **asdict(one.learnt)} for one in sent.read],
        "notes": list(sent.notes),
    }

    def human(console: Console) -> None:
        for one in sent.read:
            for file in one.learnt.saved:
                console.print(printable(f"{one.name}: saved by rules: {file}"), soft_wrap=True)
        for note in sent.notes:
            console.print(printable(note), soft_wrap=True)
        line = "Nothing was sent." if sent.batch is None else f"Sent {_line(sent.batch)}."
        console.print(printable(line), soft_wrap=True)

    frame.show(data, human)


def look(frame: Invocation, app: Workspace, *, cancel: bool, when_idle: bool) -> None:
    """Show the waiting batches, cancel them, or look after them as the daemon does."""
    from reverie.learning import batches
    from reverie.learning.ended_sessions import due, look_after
    from reverie.learning.pending import Pending

    if when_idle:
        if due(app):
            asyncio.run(look_after(app))
        return
    asked = asyncio.run(batches.cancel(app)) if cancel else []
    waiting = Pending.of(app).load()
    data: dict[str, Any] = {
        "batches": [_row(batch) for batch in waiting],
        "cancelled": [batch.id for batch in asked],
        "learning.batch": str(app.settings["learning.batch"]),
    }

    def human(console: Console) -> None:
        if not waiting:
            console.print("No batch waits for answers.")
        for batch in waiting:
            mark = ", cancelled now" if batch in asked else ""
            console.print(printable(f"{_line(batch)}{mark}"), soft_wrap=True)
        if waiting:
            hint = "The next `reverie extract`, a dream, a chat or the daemon collects the answers."
            console.print(hint, soft_wrap=True)
        if (why := _not_offered(app)) and data["learning.batch"] != "off":
            console.print(printable(f"learning.batch has no effect: {why}"), soft_wrap=True)

    frame.answer(data, human)


def _not_offered(app: Workspace) -> str:
    from reverie.core.usage import EXTRACT
    from reverie.learning.batches import why_not
    from reverie.learning.side_models import choose_model

    return why_not(app, choose_model(app, EXTRACT).model or "offline")


def _row(batch: Batch) -> dict[str, Any]:
    return {
        "id": batch.id,
        "model": batch.model,
        "sent": batch.at,
        "accepted": bool(batch.id),
        "sessions": list(batch.sessions),
        "requests": len(batch.pieces),
        "most": batch.most,
    }


def _line(batch: Batch) -> str:
    count = len(batch.sessions)
    most = "at an unknown price" if batch.most is None else f"for at most {dollars(batch.most)}"
    known = "" if batch.id else "; whether it was accepted is not known yet"
    sessions = f"{count} session{'' if count == 1 else 's'}"
    return f"{sessions} to {batch.model}, {when(batch.at)}, {most}{known}"


def _brought(read: Sequence[ReadSession]) -> list[str]:
    """The results of a batch, one line per session, and its price."""
    lines = []
    for one in read:
        saved = ", ".join(one.learnt.saved) or "nothing"
        waits = f", {len(one.learnt.waiting)} for the inbox" if one.learnt.waiting else ""
        lines.append(f"{one.name}: from the batch: saved {saved}{waits}")
        lines += [f"{one.name}: {trouble}" for trouble in one.learnt.troubles]
    costs = [one.cost for one in read]
    price = "?" if None in costs else dollars(sum(cost or 0.0 for cost in costs))
    return [*lines, f"The batch cost {price}."]
