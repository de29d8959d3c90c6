"""The inbox put together: beside the project, before the keeper, under the person's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.errors import InputError, WriteConflict
from reverie.keeper.inbox import Decision, needs_nobody
from reverie.keeper.inbox import approve as agree
from reverie.keeper.wishes import Declined
from reverie.memory.proposals import Item, NotKept, Proposal
from reverie.memory.revisions import Author
from reverie.stores.inbox import FOLDER, Contents, Inbox

if TYPE_CHECKING:
    from reverie.app import App
    from reverie.app.memory import OpenMemory
    from reverie.settings import Settings

__all__ = ["Approved", "Contents", "Inbox", "approve", "offer", "open_inbox"]


@dataclass(frozen=True, slots=True)
class Approved:
    """A proposal that needed no person, and what came of it."""

    item: Item
    decision: Decision


def open_inbox(app: App, memory: OpenMemory) -> Inbox:
    return Inbox(memory.beside / FOLDER, app.clock, memory.scrubber)


def offer(
    inbox: Inbox, memory: OpenMemory, settings: Settings, proposal: Proposal
) -> Item | NotKept | Approved:
    """Put a proposal before the person, unless their settings decide it for them."""
    item = inbox.put(proposal)
    if isinstance(item, NotKept):
        return item
    policy = str(settings[f"inbox.auto_approve.{item.proposal.type}"])
    if not needs_nobody(item.proposal, policy):
        return item
    by = item.proposal.by
    decision = approve(inbox, item, memory, Author("user" if by == "import" else by))
    return Approved(item, decision)


def approve(
    inbox: Inbox,
    item: Item,
    memory: OpenMemory,
    author: Author,
    *,
    even_if_known: bool = False,
    supersedes: str | None = None,
) -> Decision:
    """Do what was proposed; it waits on when the keeper declines."""
    try:
        decision = agree(
            item, memory.keeper, author, even_if_known=even_if_known, supersedes=supersedes
        )
    except (InputError, WriteConflict) as error:
        decision = Declined(str(error))
    if not isinstance(decision, Declined):
        inbox.settle(item.id)
    return decision
