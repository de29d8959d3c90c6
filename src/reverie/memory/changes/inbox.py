"""Apply an approved proposal; the keeper checks it like any other change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TypeAlias, assert_never

from reverie.memory.changes import judging
from reverie.memory.changes.draft import Declined, NewMemory, Outcome, Remembered
from reverie.memory.changes.keeper import Keeper
from reverie.memory.format.proposals import Item, Proposal
from reverie.memory.format.revisions import Author, Revision
from reverie.memory.format.topic import Topic
from reverie.ports import Stored
from reverie.text.cues import given

# The `inbox.auto_approve` policy that saves supported proposals without the user.
SUPPORTED = "supported"


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A memory that was removed as proposed; the history still has it."""

    file: str
    revision: Revision | None


Decision: TypeAlias = Outcome | Forgotten


def is_approved_by(proposal: Proposal, policy: str) -> bool:
    """Whether a proposal may be saved without asking the user; never if it is suspicious.

    Only additions: the user decides on changing, replacing or removing a memory.
    """
    harmless = proposal.operation == "add" and not proposal.caution
    return policy == SUPPORTED and proposal.supported and harmless


def approve(
    item: Item,
    keeper: Keeper,
    author: Author,
    *,
    even_if_known: bool = False,
    supersedes: str | None = None,
) -> Decision:
    """Apply a proposal with its origin and sources; `supersedes` makes it replace a memory."""
    proposal = item.proposal
    if supersedes is not None:
        proposal = replace(proposal, operation="supersede", file=supersedes)
    new = replace(_new_memory(item), even_if_known=even_if_known)
    author = _because(proposal, replace(author, proposal=item.id))
    if proposal.operation == "add":
        return keeper.remember(new, author)
    stored = keeper.store.read(proposal.file)
    if stored is None:
        return Declined(f"{proposal.file} no longer exists", "reject it, or remember it anew")
    match proposal.operation:
        case "supersede":
            return keeper.remember(replace(new, supersedes=proposal.file), author)
        case "update":
            return _update(keeper, stored, proposal, new, author)
        case "delete":
            return Forgotten(proposal.file, keeper.forget(proposal.file, author))
        case _:
            assert_never(proposal.operation)


def _new_memory(item: Item) -> NewMemory:
    proposal = item.proposal
    return NewMemory(
        proposal.text,
        proposal.type,
        proposal.name or None,
        proposal.description or None,
        source=proposal.sources,
        origin=proposal.origin,
        said=_day(item),
        cues=proposal.cues,
    )


def _day(item: Item) -> date:
    """The day it was said: relative dates count from it, not from the day of the approval."""
    try:
        return date.fromisoformat(item.proposal.said)
    except ValueError:
        return datetime.fromtimestamp(item.at).astimezone().date()


def _because(proposal: Proposal, author: Author) -> Author:
    """The author, with the session and messages the proposal came from."""
    if author.session or not proposal.sources:
        return author
    session = proposal.sessions[0]
    named = [one.partition("#") for one in proposal.sources]
    messages = tuple(message for of, _, message in named if of == session and message)
    return replace(author, session=session, messages=messages)


def _update(
    keeper: Keeper, stored: Stored, proposal: Proposal, new: NewMemory, author: Author
) -> Outcome:
    """Add the text to a memory and keep what it said before."""
    old = stored.topic
    if (newer := judging.replaced(old)) is not None:
        return newer
    prepared = keeper.prepare(replace(new, even_if_known=True))
    if isinstance(prepared, Declined):
        return prepared
    fresh = _grown(old, prepared.topic, proposal)
    if fresh is None:
        return Declined(f"{old.file} already says so", existing=old.file)
    fresh = keeper.reworded(old, fresh)
    if (refusal := judging.too_large(fresh)) is not None:
        return refusal
    revision = keeper.change(stored, fresh, author, f"update {old.name}")
    if revision is None:
        return Declined(f"{old.file} already says so", existing=old.file)
    return Remembered(fresh, revision, prepared.dates, prepared.secrets)


def _grown(old: Topic, addition: Topic, proposal: Proposal) -> Topic | None:
    was, new = old.body.strip(), addition.body.strip()
    if new in was:
        return None
    return old.with_(
        body=f"{new}\n" if was in new else f"{was}\n\n{new}\n",
        name=addition.name if proposal.name else old.name,
        description=addition.description if proposal.description else old.description,
        # Readers must know that a part of it does not come from the user.
        origin="tool" if proposal.origin == "tool" else old.origin,
        source=tuple(dict.fromkeys((*old.source, *proposal.sources))) or None,
        cues=given((*old.cues, *addition.cues)) or None,
    )
