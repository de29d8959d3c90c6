"""Changes by a person, across all memories of a project: approving proposals, editing memories, undoing changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reverie.errors import InputError, WriteConflict
from reverie.memory.changes import undo as keeper
from reverie.memory.changes.draft import Declined
from reverie.memory.changes.undo import Decision, Forgotten, is_approved_by
from reverie.memory.changes.undo import approve as agree
from reverie.memory.format.kinds import infer_scope
from reverie.memory.format.proposals import Item, NotKept, Proposal
from reverie.memory.format.revisions import Author
from reverie.memory.format.topic import LARGEST_FILE, Topic, parse
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
        from reverie.memory.service.opening import ServiceInbox
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


if TYPE_CHECKING:
    from reverie.memory.format.revisions import Author, Revision
    from reverie.memory.opening import OpenMemory
    from reverie.ports import History
    from reverie.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Base:
    """The topic and version an edit started from."""

    topic: Topic
    version: str


@dataclass(frozen=True, slots=True)
class Edited:
    """The memory as it was saved; without a revision if nothing changed."""

    topic: Topic
    revision: Revision | None


def base_of(memory: OpenMemory, file: str, version: str) -> Base:
    """The version an edit started from; if history lacks it, the write will conflict."""
    content = memory.history.content(version) if version else None
    return Base(parse(content or b"", file), version or "unknown")


def save_edit(memory: OpenMemory, base: Base, data: bytes, author: Author) -> Edited:
    """Check an edited text and save it.

    InputError says what is wrong with it; WriteConflict contains the version saved meanwhile.
    """
    fresh = parse(data, base.topic.file)
    problem = _problem(data, fresh, base.topic)
    if problem is not None:
        raise InputError(problem)
    summary = f"edit {fresh.name}"
    whole = memory.keeper.reworded(base.topic, fresh)
    try:
        return Edited(whole, memory.keeper.change(base, whole, author, summary))
    except WriteConflict:
        # The name or description was changed meanwhile: keep it, and save the edit.
        return Edited(fresh, memory.keeper.change(base, fresh, author, summary))


def _problem(data: bytes, fresh: Topic, before: Topic) -> str | None:
    if not data.strip():
        return "the text is empty; to remove a memory: reverie forget"
    if len(data) > LARGEST_FILE:
        return f"{len(data):,} bytes are too many; a memory holds at most {LARGEST_FILE:,}"
    if "\0" in fresh.body and "\0" not in before.body:
        return "not saved: it is not text"
    # A file that was broken before may be saved; a new problem may not be introduced.
    if fresh.problem is not None and fresh.problem != before.problem:
        return f"not saved: {fresh.problem}"
    return None


@dataclass(frozen=True, slots=True)
class UndoResult:
    """The undone revisions of a memory, the revision that undid them, and proposals that wait again."""

    memory: OpenMemory
    revisions: tuple[Revision, ...]
    made: Revision
    waiting: tuple[str, ...] = ()


def undo(
    app: Workspace, memory: OpenMemory, revisions: Sequence[Revision], author: Author
) -> UndoResult:
    """Undo these revisions (newest first), all or none."""
    undone = keeper.undo(memory.store, memory.history, revisions, author)
    return _followed(app, memory, undone.revisions, undone.made)


def undo_last(app: Workspace, memories: Sequence[OpenMemory], author: Author) -> UndoResult:
    """Undo the last change in any memory that is not undone yet; each call goes one change further back."""
    if all(next(memory.history.log(), None) is None for memory in memories):
        raise InputError("there is nothing to undo: this memory has no history yet")
    found = [_Standing(one, keeper.undoable(one.history)) for one in memories]
    made = _first(app, found, _newest_change, author)
    return made or _nothing("undo", "no change is left")


def redo_last(app: Workspace, memories: Sequence[OpenMemory], author: Author) -> UndoResult:
    """Redo the last undo; later changes stay."""
    found = [_Standing(one, keeper.redoable(one.history)) for one in memories]
    made = _first(app, found, _newest_undo, author)
    return made or _nothing("redo", "nothing was undone")


@dataclass(slots=True)
class _Standing:
    """The revisions of a memory that can be undone, next one first."""

    memory: OpenMemory
    left: tuple[Revision, ...]


_Choice = Callable[[list[_Standing]], _Standing]


def _first(
    app: Workspace, found: list[_Standing], choose: _Choice, author: Author
) -> UndoResult | None:
    """Undo the first revision that has an effect; one that was reverted by hand has none."""
    while standing := [one for one in found if one.left]:
        chosen = choose(standing)
        memory, revision = chosen.memory, chosen.left[0]
        made = keeper.take_back(memory.store, memory.history, [revision], author)
        if made is not None:
            return _followed(app, memory, (revision,), made)
        chosen.left = chosen.left[1:]
    return None


def _newest_change(standing: list[_Standing]) -> _Standing:
    """The newest change; for two changes in the same second the person must choose."""
    newest = max(one.left[0].at for one in standing)
    fitting = [one for one in standing if one.left[0].at == newest]
    if len(fitting) > 1:
        changes = (one.left[0] for one in fitting)
        choices = " or ".join(f"{one.short} ({one.summary})" for one in changes)
        raise InputError(f"two changes were made in the same second; say which one: {choices}")
    return fitting[0]


def _newest_undo(standing: list[_Standing]) -> _Standing:
    """The newest undo; of two in the same second, the one that undid the older change."""

    def order(one: _Standing) -> tuple[float, float]:
        undone = [one.memory.history.revision(id_).at for id_ in one.left[0].author.undoes]
        return one.left[0].at, -min(undone, default=0)

    return max(standing, key=order)


def _nothing(verb: str, why: str) -> UndoResult:
    raise InputError(f"there is nothing to {verb}: {why}; `reverie log` shows every change")


def _followed(
    app: Workspace, memory: OpenMemory, revisions: Sequence[Revision], made: Revision
) -> UndoResult:
    """Update the inbox: undoing an approval makes its proposal wait again, redoing settles it."""
    inbox = open_inbox(app, app.memory())
    waiting = []
    for revision in revisions:
        for proposal, agreed in _decided(memory.history, revision):
            if agreed and inbox.bring_back(proposal):
                waiting.append(proposal)
            elif not agreed:
                inbox.settle(proposal)
    named = tuple(map(memory.named, revisions))
    return UndoResult(memory, named, memory.named(made), tuple(waiting))


def _decided(history: History, revision: Revision) -> Iterator[tuple[str, bool]]:
    """The proposals that a revision approved (True), or whose approval it undid (False)."""
    if revision.author.proposal:
        yield revision.author.proposal, True
    for id_ in revision.author.undoes:
        with suppress(InputError):
            for proposal, agreed in _decided(history, history.revision(id_)):
                yield proposal, not agreed
