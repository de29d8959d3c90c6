"""Opens a project's inbox, offers proposals to it, and carries out approved ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reverie.errors import InputError, WriteConflict
from reverie.memory.changes.draft import Declined
from reverie.memory.changes.inbox import Decision, Forgotten, is_approved_by
from reverie.memory.changes.inbox import approve as agree
from reverie.memory.format.kinds import infer_scope
from reverie.memory.format.proposals import Item, NotKept, Proposal
from reverie.memory.format.revisions import Author
from reverie.memory.inbox import FOLDER, Contents, Inbox

if TYPE_CHECKING:
    from reverie.memory.opening import OpenMemory
    from reverie.settings import Settings
    from reverie.workspace import Workspace

__all__ = [
    "Approved",
    "Contents",
    "Inbox",
    "approve",
    "belongs_to",
    "decided",
    "offer",
    "open_inbox",
]


@dataclass(frozen=True, slots=True)
class Approved:
    """A proposal that the settings approved without a person, and its outcome."""

    item: Item
    decision: Decision


def open_inbox(app: Workspace, memory: OpenMemory) -> Inbox:
    """The inbox beside a memory; where a service keeps the memory, it keeps the inbox, too."""
    if app.service is not None:
        from reverie.memory.service.inbox import ServiceInbox
        from reverie.memory.service.store import ServiceStore

        if isinstance(store := memory.store, ServiceStore):
            folder, path = memory.place.state / FOLDER, lambda: store.path
            return ServiceInbox(folder, app.clock, memory.scrubber, store.service, path)
    return Inbox(memory.beside / FOLDER, app.clock, memory.scrubber)


def offer(
    inbox: Inbox, memory: OpenMemory, settings: Settings, proposal: Proposal
) -> Item | NotKept | Approved:
    """Put a proposal into the inbox, unless the person's settings decide it."""
    item = inbox.put(proposal)
    if isinstance(item, NotKept):
        return item
    policy = str(settings[f"inbox.auto_approve.{item.proposal.type}"])
    if not is_approved_by(item.proposal, policy):
        return item
    by = item.proposal.by
    decision = approve(inbox, item, memory, Author("user" if by == "import" else by))
    return Approved(item, decision)


def belongs_to(memory: OpenMemory, item: Item) -> tuple[OpenMemory, Item]:
    """The memory that a proposal is for, and the proposal with names of that memory."""
    proposal = item.proposal
    if proposal.file:
        part = memory.part(proposal.file)
        if part is None:
            raise InputError(f"{proposal.file} cannot be reached from here; its memory is off")
        return part[0], replace(item, proposal=replace(proposal, file=part[1]))
    scope = infer_scope(proposal.text, proposal.type)
    return next((one for one in memory.parts if one.scope == scope), memory), item


def decided(memory: OpenMemory, decision: Decision) -> Decision:
    """The outcome of a proposal, with names that every command accepts."""
    if isinstance(decision, Forgotten):
        return replace(decision, file=memory.label(decision.file))
    return memory.labelled(decision)


def approve(
    inbox: Inbox,
    item: Item,
    memory: OpenMemory,
    author: Author,
    *,
    even_if_known: bool = False,
    supersedes: str | None = None,
) -> Decision:
    """Carry out a proposal; it keeps waiting when the keeper declines.

    `supersedes` is the label of the memory that it replaces.
    """
    wanted = item
    if supersedes is not None:
        proposal = replace(item.proposal, operation="supersede", file=supersedes)
        wanted = replace(item, proposal=proposal)
    try:
        part, own = belongs_to(memory, wanted)
        decision = decided(part, agree(own, part.keeper, author, even_if_known=even_if_known))
    except (InputError, WriteConflict) as error:
        decision = Declined(str(error))
    if not isinstance(decision, Declined):
        inbox.settle(item.id)
    return decision


def waiting(workspace: Workspace) -> tuple[Item, ...]:
    """The proposals that wait for a person."""
    return open_inbox(workspace, workspace.memory()).items()
