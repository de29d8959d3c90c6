"""`reverie extract` and `reverie learning`: learn from past conversations, and state what is worth learning."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import (
    Invocation,
    at_terminal,
    counted,
    dollars,
    open_editor,
    printable,
    reverie_command,
)
from reverie.cli.learning import batches
from reverie.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from reverie.learning.past_sessions import PastSession, ReadingPlan, ReadSession
    from reverie.learning.service import Learnt
    from reverie.workspace import Workspace


@reverie_command(name="extract")
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@click.option("--yes", is_flag=True, help="Do not ask before a model is used.")
@click.option("--no-model", is_flag=True, help="Use only the rules, which cost nothing.")
@click.option("--again", is_flag=True, help="Also read what was read before.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show the plan, its cost and what the rules would save, without saving or spending anything.",
)
@click.option("--batch", is_flag=True, help="Let the model read at half price, within a day.")
@click.option("--status", is_flag=True, help="Show the batches that wait for their answers.")
@click.option("--cancel", is_flag=True, help="Cancel the batches that wait for their answers.")
@click.option("--when-idle", is_flag=True, hidden=True)
def extract(
    frame: Invocation,
    sessions: tuple[str, ...],
    yes: bool,
    no_model: bool,
    again: bool,
    dry_run: bool,
    batch: bool,
    status: bool,
    cancel: bool,
    when_idle: bool,
) -> None:
    """Look through past conversations for what should be remembered.

    SESSION is the id of a session of this project, the start of one, or the path of a
    transcript: Reverie's, Claude Code's or Codex's. Without any, all conversations of this
    project are read. Rules find the wishes, decisions and preferences you stated; the side model
    (`models.side`, else `models.main`) finds more, after you have seen what that costs. What may
    not be your own words goes to the inbox.

    Nothing is read twice: an interrupted run continues where it stopped, and of a session that grew
    only the new part is read.

    With --batch, the rules read at once and the model within a day, at half price (Anthropic and
    OpenAI). The next `reverie extract`, a dream, a chat or the daemon collects what it found.

    \b
    reverie extract 20261101
    reverie extract --dry-run
    reverie extract --batch --yes
    reverie extract ~/.claude/projects/*/*.jsonl --yes
    """
    from reverie.learning.past_sessions import plan_reading

    app = frame.app()
    app.memory()
    if sum((batch, status, cancel, no_model)) > 1 or (again and (status or cancel)):
        raise click.UsageError("give one of --batch, --status, --cancel, --no-model")
    if status or cancel or when_idle:
        batches.look(frame, app, cancel=cancel, when_idle=when_idle)
        return
    chosen = {(path := app.transcript(one)).stem: path for one in sessions} or None
    if not dry_run:
        batches.collect_first(frame, app)
    plan = plan_reading(app, chosen, use_model=not no_model, again=again)
    if batch:
        plan = batches.as_batch(app, plan)
    if dry_run:
        _show_plan(frame, app, plan)
        return
    _print_plan(frame, plan)
    _confirm(frame, plan, yes=yes)
    if batch:
        batches.send(frame, app, plan)
    else:
        _read_now(frame, app, plan)


def _show_plan(frame: Invocation, app: Workspace, plan: ReadingPlan) -> None:
    rows = [_row(one.name, _by_rules(app, one), dry_run=True) for one in plan.open]
    skipped = _skipped(plan)
    data = {"plan": _plan_json(plan), "dry_run": True, "sessions": rows, "skipped": skipped}
    would = "Would read " if plan.open else ""
    frame.show(data, [f"{would}{_plan_line(plan)}.", *_session_lines(data)])


def _read_now(frame: Invocation, app: Workspace, plan: ReadingPlan) -> None:
    try:
        done = asyncio.run(_read(app, plan, _progress(frame, plan)))
    except KeyboardInterrupt:
        click.echo(
            "What was read is saved; the next `reverie extract` continues from there.", err=True
        )
        raise
    data = _done_json(plan, done)
    frame.show(data, _extracted_lines(data))


def _done_json(plan: ReadingPlan, done: Sequence[ReadSession]) -> dict[str, Any]:
    """What was read and saved, and its cost; None where a price is unknown."""
    rows = [
        {
            **_row(one.name, one.learnt, dry_run=False),
            "messages": one.messages,
            "model": one.model,
            "cost": one.cost,
        }
        for one in done
    ]
    costs = [one.cost for one in done]
    return {
        "plan": _plan_json(plan),
        "dry_run": False,
        "sessions": rows,
        "skipped": _skipped(plan),
        "cost": None if None in costs else sum(one or 0.0 for one in costs),
    }


async def _read(
    app: Workspace, plan: ReadingPlan, progress: Callable[[ReadSession, int], None]
) -> list[ReadSession]:
    from reverie.learning.past_sessions import read_sessions

    done: list[ReadSession] = []
    async for one in read_sessions(app, plan):
        done.append(one)
        progress(one, len(done))
    return done


def _by_rules(app: Workspace, session: PastSession) -> Learnt:
    from reverie.learning.service import learn

    earlier, new = session.load()
    return learn(app, session.name, new, earlier, dry_run=True)


# --- plan ---


def _plan_json(plan: ReadingPlan) -> dict[str, Any]:
    return {
        "sessions": len(plan.open),
        "messages": plan.messages,
        "model": plan.choice.model,
        "why": plan.choice.why,
        "about": plan.cost,
        "most": plan.choice.most,
    }


def _plan_line(plan: ReadingPlan) -> str:
    line = f"{counted(len(plan.open), 'session')} with {counted(plan.messages, 'new message')}"
    if not plan.open:
        return "Nothing is new since the last time; --again reads all of it once more"
    about = f"; about {dollars(plan.cost)}" if plan.choice.model and plan.cost is not None else ""
    return f"{line}, {plan.choice.description}{about}"


def _print_plan(frame: Invocation, plan: ReadingPlan) -> None:
    """Print the plan on stderr; the result goes to stdout."""
    if not (frame.quiet or frame.as_json):
        click.echo(printable(f"{_plan_line(plan)}."), err=True)


def _confirm(frame: Invocation, plan: ReadingPlan, *, yes: bool) -> None:
    if yes or not plan.choice.model or not plan.open:
        return
    if frame.as_json or not at_terminal():
        raise InputError(
            f"this would read {_plan_line(plan)}; confirm with --yes, or use the rules with --no-model"
        )
    if not click.confirm("Begin?", default=True, err=True):
        raise InputError("nothing was read")


def _progress(frame: Invocation, plan: ReadingPlan) -> Callable[[ReadSession, int], None]:
    def report(one: ReadSession, number: int) -> None:
        if plan.choice.model and not (frame.quiet or frame.as_json):
            saved, waiting = len(one.learnt.saved), len(one.learnt.waiting)
            line = (
                f"{number} of {len(plan.open)}  {one.name}: {saved} saved, {waiting} for the inbox"
            )
            click.echo(printable(line), err=True)

    return report


def _skipped(plan: ReadingPlan) -> list[dict[str, str]]:
    return [
        {"session": one.name, "why": one.problem or "read before, nothing new"}
        for one in plan.sessions
        if not one.count
    ]


# --- results ---


def _row(session: str, learnt: Learnt, *, dry_run: bool) -> dict[str, Any]:
    return {"session": session, "dry_run": dry_run, **asdict(learnt)}


def _extracted_lines(data: dict[str, Any]) -> Iterator[str]:
    yield from _session_lines(data)
    rows = data["sessions"]
    if not rows:
        return
    saved, waiting = (sum(len(row[key]) for row in rows) for key in ("saved", "waiting"))
    models = sorted({row["model"] for row in rows} - {""})
    price = "?" if data["cost"] is None else dollars(data["cost"])
    paid = f"{', '.join(models) or 'a model that failed'}, {price}"
    by = paid if models or data["cost"] else "by rules, without a model"
    yield f"{saved} saved, {waiting} waiting in the inbox; {by}"
    if waiting:
        yield "decide with: reverie inbox"


def _session_lines(data: dict[str, Any]) -> Iterator[str]:
    saves, waits = ("would save", "would wait in") if data["dry_run"] else ("saved", "waits in")
    for row in data["sessions"]:
        lines = [f"{saves}: {saved}" for saved in row["saved"]]
        lines += [f"{waits} the inbox: {text}" for text in row["waiting"]]
        lines += [f"left out, as learning.md says never: {text}" for text in row["left"]]
        lines = [*(lines or ["nothing to remember"]), *row["troubles"]]
        yield from (f"{row['session']}: {line}" for line in lines)
    for one in data["skipped"]:
        yield f"{one['session']}: nothing to remember ({one['why']})"


TEMPLATE = """\
# What to learn

What should be remembered here, in your own words. A model that learns or dreams reads all of it.

## Always keep

## Never keep

"""


@reverie_command(name="learning")
@click.option("--edit", is_flag=True, help="Open it in your editor ($VISUAL, $EDITOR).")
@click.option("--here", is_flag=True, help="The one for this project's memory alone.")
def learning(frame: Invocation, edit: bool, here: bool) -> None:
    """Show or edit what you want remembered and what never, in your own words.

    There is one file for all projects and one for this project's memory, both among Reverie's own
    files, so that a repository cannot change them. Models that learn or dream read them. Short
    lines of plain words under a heading with "never" also apply without a model: text that contains
    such a phrase is not remembered.

    \b
    reverie learning
    reverie learning --edit
    reverie learning --edit --here
    """
    from reverie.learning.service import instructions_for, learning_files

    app = frame.app()
    memory = app.memory()
    everywhere, only_here = learning_files(app.settings, memory).values()
    if edit:
        _open(only_here if here else everywhere)
    instructions = instructions_for(app.settings, memory)
    data = {
        "files": [{"path": str(path), "text": _text(path)} for path in (everywhere, only_here)],
        "never": list(instructions.never),
        "notes": list(instructions.notes),
    }
    frame.show(data, _learning_lines(data))


def _open(path: Path) -> None:
    from reverie.files.atomic import make_private

    make_private(path.parent)
    fresh = not path.exists()
    if fresh:
        path.touch(mode=0o600)
        path.write_text(TEMPLATE, "utf-8")
    problem = open_editor(path)
    # An unchanged template would only cost tokens.
    if fresh and path.exists() and path.read_text("utf-8", "replace") == TEMPLATE:
        path.unlink()
    if problem:
        raise InputError(f"{problem}; {path} is as you left it")


def _text(path: Path) -> str | None:
    return path.read_text("utf-8", "replace") if path.is_file() else None


def _learning_lines(data: dict[str, Any]) -> Iterator[str]:
    for one in data["files"]:
        yield one["path"]
        yield "  (not written yet)" if one["text"] is None else one["text"].rstrip()
    phrases = ", ".join(f"“{phrase}”" for phrase in data["never"]) or "none"
    yield f"Phrases that also apply without a model: {phrases}"
    yield from (f"note: {one}" for one in data["notes"])
    yield "change it with: reverie learning --edit [--here]"
