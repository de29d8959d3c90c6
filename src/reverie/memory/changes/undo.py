"""Changes on a person's word: approve a proposal, and undo a revision, a session or a dream. An undo is itself a revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TypeAlias, assert_never

from reverie.errors import InputError
from reverie.memory.changes import judging
from reverie.memory.changes.draft import Declined, NewMemory, Outcome, Remembered
from reverie.memory.changes.keeper import Keeper
from reverie.memory.format.proposals import Item, Proposal
from reverie.memory.format.revisions import FOUND, Author, Revision, Step, plan, standing
from reverie.memory.format.topic import Topic
from reverie.ports import History, Stored, TopicStore
from reverie.text.cues import given


@dataclass(frozen=True, slots=True)
class Undone:
    """The revisions that were undone, newest first, and the revision that undid them."""

    revisions: tuple[Revision, ...]
    made: Revision


def undo(
    store: TopicStore, history: History, revisions: Sequence[Revision], author: Author
) -> Undone:
    """Undo revisions (newest first), all or none; later changes stay."""
    for revision in revisions:
        _require_ours(revision)
    made = take_back(store, history, revisions, author)
    if made is None:
        raise InputError("there is nothing to undo: memory is already as it was before")
    return Undone(tuple(revisions), made)


def undoable(history: History) -> tuple[Revision, ...]:
    """Changes that can be undone, newest first."""
    return tuple(one for one in standing(history.log()).undo if not _was_found(one))


def redoable(history: History) -> tuple[Revision, ...]:
    """Undos that can be redone, newest first."""
    return standing(history.log()).redo


def take_back(
    store: TopicStore, history: History, revisions: Sequence[Revision], author: Author
) -> Revision | None:
    """Restore the files as if these revisions had not been made; None if nothing changes."""
    steps = [_step(history, revision) for revision in revisions]

    def planned() -> Mapping[str, bytes | None]:
        undone = plan(steps, store.current, history.merge)
        if undone.conflicts:
            raise InputError(
                f"cannot undo: {', '.join(undone.conflicts)} changed since in the same place; "
                "undo the later changes first (`reverie log FILE`), or edit it by hand"
            )
        return undone.files

    by = replace(author, undoes=tuple(revision.id for revision in revisions))
    return store.restore(planned, by, _summary(revisions))


def of_session(history: History, session: str) -> list[Revision]:
    """Everything a session changed, newest first; the start of its id is enough."""
    found = [one for one in history.log() if session and one.author.session.startswith(session)]
    exact = [one for one in found if one.author.session == session]
    names = sorted({one.author.session for one in found})
    if not found:
        raise InputError(f"session {session!r} changed nothing in this memory")
    if not exact and len(names) > 1:
        raise InputError(f"{session!r} fits several sessions: {', '.join(names[:5])}")
    return exact or found


def of_dream(history: History, dream: str) -> list[Revision]:
    """Everything a dream changed, newest first."""
    found = [revision for revision in history.log() if revision.author.dream == dream]
    if not found:
        raise InputError(f"no dream {dream!r} changed this memory")
    return found


def _require_ours(revision: Revision) -> None:
    """Refuse to undo the commit of files from before the first write: that would delete them."""
    if _was_found(revision):
        raise InputError(
            f"cannot undo {revision.short}: it is where this history begins, and its files were "
            "there before; remove one with `reverie forget FILE`"
        )


def _was_found(revision: Revision) -> bool:
    return revision.summary.startswith(FOUND) and revision.author == Author("user")


def _step(history: History, revision: Revision) -> Step:
    parent = history.parent(revision)
    before = {name: history.read(name, parent) if parent else None for name in revision.files}
    after = {name: history.read(name, revision.id) for name in revision.files}
    return Step(before, after)


def _summary(revisions: Sequence[Revision]) -> str:
    """The summary of an undo; for an undo of an undo, the original change."""
    if len(revisions) > 1:
        return f"undo {len(revisions)} revisions, {revisions[-1].short} to {revisions[0].short}"
    [only] = revisions
    if not only.author.undoes:
        return f"undo {only.short}: {only.summary}"
    verb, _, about = only.summary.partition(" ")
    return f"{'undo' if verb == 'redo' else 'redo'} {about}"


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
        return Declined(f"{proposal.file} no longer exists", "reject it, or remember it again")
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
