"""`reverie show`: a memory, a revision or a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import (
    Invocation,
    date_option,
    note,
    patch_lines,
    reverie_command,
    styled,
    when,
)
from reverie.cli.memories import author_of, private, revision_json, tell_age, up_to_date
from reverie.core.messages import (
    Block,
    Message,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    message_to_json,
)
from reverie.errors import InputError
from reverie.memory.format.taxonomy import split

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.memory.format.revisions import Revision
    from reverie.memory.format.topic import Topic
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

_LONG = 2_000


def show_transcript(frame: Invocation, path: Path, *, before_compaction: bool, full: bool) -> None:
    from reverie.conversation import transcripts
    from reverie.conversation.records import Said
    from reverie.conversation.state import SessionState

    loaded = transcripts.load(path)
    if before_compaction:
        messages = [r.message for r in loaded.records if isinstance(r, Said)]
    else:
        messages = SessionState.replay(loaded.records).messages
    for found in loaded.notes:
        note(found)
    data = [message_to_json(message) for message in messages]
    frame.answer(data, _transcript_lines(messages, full=full))


def _transcript_lines(messages: list[Message], *, full: bool) -> Iterator[RenderableType]:
    for message in messages:
        yield styled(f"{message.role} · {message.origin} · {when(message.at)}", "bold")
        yield from (_shortened(_readable(block), full=full) for block in message.blocks)
        yield ""


def _readable(block: Block) -> str:
    match block:
        case Text(text):
            return text
        case Thinking(text, _, _):
            return f"[thinking] {text}"
        case ToolUse(_, name, arguments):
            return f"[{name}] {arguments}"
        case ToolResult():
            return f"[{'error' if block.is_error else 'result'}] {block.text}"
        case _:
            found: Any = getattr(block, "text", "")
            return f"[{block.kind}] {found}"


def _shortened(text: str, *, full: bool) -> str:
    if full or len(text) <= _LONG:
        return text
    return f"{text[:_LONG]}\n… {len(text) - _LONG:,} more characters (--full shows them)"


_WHOSE = {"person": "about you, in every project", "team": "shared by the team"}

KINDS = ("memory", "revision", "session")

Show = Callable[[], None]


@reverie_command(name="show")
@click.argument("words", nargs=-1, required=True, metavar="WHAT")
@click.option("--kind", type=click.Choice(KINDS), help="What WHAT is, when its name fits several.")
@click.option("--as-of", metavar="DATE", callback=date_option, help="The memory as it was then.")
@click.option(
    "--before-compaction", is_flag=True, help="Also what compaction took out of the window."
)
@click.option("--full", is_flag=True, help="Do not shorten long results.")
def command(
    frame: Invocation,
    words: tuple[str, ...],
    kind: str | None,
    as_of: datetime | None,
    before_compaction: bool,
    full: bool,
) -> None:
    """Read a memory, a change to memory, or a session.

    WHAT is tried in this order: a memory by file name, short id (both from `reverie list`) or title,
    a revision (from `reverie log`), a session or the start of its id (from `reverie sessions`), the
    path of a transcript by Reverie or Claude Code, words of a memory's title.

    \b
    reverie show project_audit.md --as-of 2026-03-01
    reverie show HEAD~1
    """
    app = frame.app()
    what = " ".join(words)
    if as_of is not None:
        _show_past(frame, app, what, as_of)
        return
    finders: dict[str, Callable[[], Show]] = {
        "memory": lambda: _memory(frame, app, what, exact=kind is None),
        "revision": lambda: _revision(frame, app, what),
        "session": lambda: _session(frame, app, what, before=before_compaction, full=full),
    }
    tried = (kind,) if kind else ("memory",) if what.endswith(".md") else KINDS
    by_words = partial(_memory, frame, app, what, exact=False)
    _first(what, {name: finders[name] for name in tried}, by_words)()


def _first(what: str, finders: dict[str, Callable[[], Show]], by_words: Callable[[], Show]) -> Show:
    """The first kind that fits, with a note on the others; words of a title are tried last."""
    found: dict[str, Show] = {}
    problems: dict[str, InputError] = {}
    for name, find in finders.items():
        try:
            found[name] = find()
        except InputError as error:
            problems[name] = error
    if not found:
        try:
            if "memory" in finders:
                return by_words()
        except InputError as error:
            problems["memory"] = error
        raise _nothing(what, problems)
    shown, *others = found
    for name in others:
        hint = f"to see that: reverie show --kind {name} {what}"
        note(f"{what} is shown as a {shown}; it is also a {name}, {hint}")
    return found[shown]


def _nothing(what: str, problems: dict[str, InputError]) -> InputError:
    if len(problems) == 1:
        return next(iter(problems.values()))
    several = next((error for error in problems.values() if " fits " in str(error)), None)
    return several or InputError(
        f"no memory, no revision and no session {what!r} here; `reverie sessions` lists them, "
        "`reverie list` and `reverie log` the others"
    )


def _memory(frame: Invocation, app: Workspace, what: str, *, exact: bool) -> Show:
    from reverie.workspace.handles import EXACT, required

    memory, name = required(app, what, ways=EXACT if exact else ())
    stored = memory.keeper.require(name)
    tell_age([memory])
    file = memory.label(stored.topic.file)
    entries = {entry.file: entry.mtime for entry in memory.store.entries()}
    return partial(_show_memory, frame, app, file, stored.topic, entries.get(stored.topic.file))


def _show_past(frame: Invocation, app: Workspace, what: str, as_of: datetime) -> None:
    from reverie.memory.format import topic
    from reverie.workspace.handles import required_or_gone

    memory, name = required_or_gone(app, what)
    day = as_of.strftime("%Y-%m-%d %H:%M")
    revision = up_to_date(memory).history.as_of(as_of)
    if revision is None:
        raise InputError(f"this memory has no history from before {day}; `reverie log` shows it")
    data = memory.history.read(name, revision.id)
    if data is None:
        raise InputError(f"{name} was not there on {day}; `reverie log {name}` shows when it was")
    then = datetime.fromtimestamp(revision.at, UTC)
    _show_memory(frame, app, memory.label(name), topic.parse(data, name), then)


def _show_memory(
    frame: Invocation, app: Workspace, file: str, memory: Topic, changed: datetime | None
) -> None:
    from reverie.memory.format import topic

    text = topic.render(memory).decode("utf-8", "replace")
    data = {
        "kind": "memory",
        "id": _id(app, file),
        "file": file,
        "name": memory.name,
        "description": memory.description,
        "type": memory.type,
        "scope": split(file)[0],
        "pinned": memory.pinned,
        "supersedes": list(memory.supersedes),
        "superseded_by": memory.superseded_by,
        "valid_from": memory.valid_from,
        "valid_until": memory.valid_until,
        "problem": memory.problem,
        "warnings": list(memory.warnings),
        "changed": changed.isoformat(timespec="seconds") if changed else None,
        "text": text,
    }
    frame.answer(data, _memory_lines(app, data, changed))


def _id(app: Workspace, file: str) -> str:
    from reverie.memory.changes.handles import SHORTEST, full_id
    from reverie.workspace.handles import ids_of

    return ids_of(app).get(file) or full_id(file)[:SHORTEST]


def _memory_lines(
    app: Workspace, data: dict[str, Any], changed: datetime | None
) -> Iterator[RenderableType]:
    from reverie.memory.format.attachment import term, words

    now = datetime.fromtimestamp(app.clock.now(), UTC).astimezone()
    about = [data["id"], data["file"], data["type"] or "no type"]
    about += [_WHOSE[data["scope"]]] if data["scope"] in _WHOSE else []
    about += [f"changed {words(changed, now)}"] if changed else []
    about += ["pinned"] if data["pinned"] else []
    about += [f"superseded by {data['superseded_by']}"] if data["superseded_by"] else []
    limits = term(data["valid_from"], data["valid_until"], now)
    about += [limits] if limits and not data["superseded_by"] else []
    yield styled(" · ".join(about), "bold")
    for problem in filter(None, (data["problem"], *data["warnings"])):
        yield styled(f"problem: {problem}", "yellow")
    yield data["text"].rstrip("\n")


def _revision(frame: Invocation, app: Workspace, what: str) -> Show:
    from reverie.memory.opening import with_revision

    memory, found = with_revision(private(app), what)
    return partial(_show_revision, frame, memory, found)


def _show_revision(frame: Invocation, memory: OpenMemory, revision: Revision) -> None:
    patch = memory.history.diff(memory.history.parent(revision), revision.id)
    data = {"kind": "revision", **revision_json(revision), "diff": patch}
    head = f"{revision.short} · {when(revision.at)} · {author_of(revision)} · {revision.summary}"
    frame.answer(data, [styled(head, "bold"), *patch_lines(patch)])


def _session(frame: Invocation, app: Workspace, what: str, *, before: bool, full: bool) -> Show:
    path = app.transcript(what)
    return partial(show_transcript, frame, path, before_compaction=before, full=full)
