"""Proposed memories and decisions about them, as lines and as JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, assert_never

from reverie.cli.invocation import printable, when
from reverie.cli.memories import undo_hint
from reverie.memory.changes.draft import Declined, Remembered
from reverie.memory.changes.undo import Decision, Forgotten
from reverie.memory.format.attachment import holds, words
from reverie.memory.format.frontmatter import one_line
from reverie.memory.format.proposals import Item, item_to_json

if TYPE_CHECKING:
    from reverie.workspace import Workspace

SHORT = 8

_FIRST_WORDS = 160


def as_json(item: Item) -> dict[str, Any]:
    return {**item_to_json(item), "caution": item.proposal.caution}


def cells(item: Item, app: Workspace) -> tuple[str, ...]:
    proposal = item.proposal
    again = f" (×{item.count})" if item.count > 1 else ""
    return (
        item.id[:SHORT],
        proposal.type,
        "!" if proposal.caution else "",
        printable(_summary(item)[:_FIRST_WORDS]) + again,
        _age(item, app),
        printable(", ".join(session[:SHORT] for session in proposal.sessions[:2])) or "–",
    )


def _summary(item: Item) -> str:
    """A proposal's text and operation in a line; its description could mislead."""
    proposal = item.proposal
    line = one_line(proposal.text)
    match proposal.operation:
        case "add":
            return line
        case "update" | "supersede":
            return f"{proposal.operation} {proposal.file}: {line}"
        case "delete":
            return f"delete {proposal.file}"
        case _:
            assert_never(proposal.operation)


def _age(item: Item, app: Workspace) -> str:
    now = datetime.fromtimestamp(app.clock.now(), UTC).astimezone()
    return words(datetime.fromtimestamp(item.at, UTC), now)


def described(item: Item, app: Workspace) -> list[str]:
    """The full proposal: the user must see everything they approve."""
    proposal = item.proposal
    of = f" {proposal.file}" if proposal.file else ""
    head = f"{item.id} · {proposal.operation}{of} · {proposal.type} · since {_age(item, app)}"
    again = f", {item.count} times" if item.count > 1 else ""
    facts = {
        "warning": proposal.caution,
        "why it waits": proposal.reason,
        "said by": proposal.origin,
        "said on": proposal.said,
        "proposed by": f"{proposal.by}, {when(item.at)}{again}",
        "sources": ", ".join(proposal.sources),
        "name": proposal.name,
        "description": proposal.description,
        "evidence": proposal.evidence,
    }
    lines = [f"{label}: {one_line(value)}" for label, value in facts.items() if value]
    # Indented, so that the text cannot pass for our own output.
    text = [f"  {line}" for line in proposal.text.splitlines()]
    return [printable(line) for line in (head, *lines, "", *text, "")]


def line_of(item: Item) -> str:
    return f"{item.id[:SHORT]}: {_summary(item)[:_FIRST_WORDS]}"


def outcome_lines(item: Item, decision: Decision) -> list[str]:
    match decision:
        case Remembered(saved, revision, dates, secrets, superseded):
            lines = [f"Approved {item.id[:SHORT]} ({saved.type}): {saved.file}"]
            lines += [f"  “{change.before}” became {change.after}" for change in dates]
            held = holds(saved.valid_from, saved.valid_until)
            lines += [f"  {held}"] if held else []
            lines += [f"  removed a secret ({', '.join(secrets)})"] if secrets else []
            lines += [f"  replaces {superseded}, which is kept"] if superseded else []
            return [*lines, f"  {undo_hint(revision)}"]
        case Forgotten(file, forgot):
            undo = [f"  {undo_hint(forgot)}"] if forgot else []
            return [f"Approved {item.id[:SHORT]}: forgot {file}", *undo]
        case Declined():
            return []
        case _:
            assert_never(decision)


def outcome_json(item: Item, decision: Decision) -> dict[str, Any]:
    match decision:
        case Remembered(saved, revision, _, secrets, superseded):
            saved_json = {"file": saved.file, "revision": revision.id, "secrets": list(secrets)}
            return {"id": item.id, "approved": True, **saved_json, "supersedes": superseded}
        case Forgotten(file, forgot):
            gone = {"forgot": file, "revision": forgot.id if forgot else None}
            return {"id": item.id, "approved": True, **gone}
        case Declined(reason, advice, existing):
            no = {"reason": reason, "advice": advice, "existing": existing}
            return {"id": item.id, "approved": False, **no}
        case _:
            assert_never(decision)
