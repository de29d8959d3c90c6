"""Save new memories, alone, in the place of another, or many at once, each in one transaction.

A refusal is a value with its reason (`Declined`), not an error: the text should not be a memory, is
already known, or contains a secret that must not be shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from reverie.errors import InputError, WriteConflict
from reverie.memory.changes import judging
from reverie.memory.changes.draft import (
    Declined,
    Draft,
    NewMemory,
    Outcome,
    Prepared,
    Remembered,
    draft,
    headline,
)
from reverie.memory.changes.judging import ImportBatch, Neighbours
from reverie.memory.changes.upkeep import Upkeep
from reverie.memory.format import attachment, exclusions, topic
from reverie.memory.format import topic as topics
from reverie.memory.format.index import Index, pointed, unpointed
from reverie.memory.format.manifest import ManifestEntry
from reverie.memory.format.paths import Refused, check_name, file_name
from reverie.memory.format.revisions import Author, Put, Revision
from reverie.memory.format.taxonomy import MemoryScope, labelled
from reverie.memory.format.topic import Topic
from reverie.ports import Stored
from reverie.text import cues
from reverie.text.dates import DateChange, absolute_dates
from reverie.text.likeness import MOST_WEIGHED
from reverie.text.validity import validity

__all__ = ["Declined", "Keeper", "NewMemory", "Outcome", "Prepared", "Remembered", "pointed"]


# Attempts if another process takes the file name before the memory is saved.
_TRIES = 5


class Keeper(Upkeep):
    """Makes all changes to a memory directory."""

    def remember(self, new: NewMemory, author: Author) -> Outcome:
        """Save a memory and its pointer, unless it is excluded or already known.

        If it supersedes another and already exists, the existing file replaces the other one.
        """
        if new.supersedes is not None and (saved := self._saved_before(new)) is not None:
            return self.retire(new.supersedes, saved, author)
        for _ in range(_TRIES):
            prepared = self.prepare(new)
            if isinstance(prepared, Declined):
                return prepared
            fresh = prepared.topic
            try:
                revision = self._save(fresh, prepared.replaces, author)
            except WriteConflict as conflict:
                # Another process just took this name: check again, with what it saved.
                if conflict.file != fresh.file:
                    raise
                continue
            return Remembered(
                fresh,
                revision,
                prepared.dates,
                prepared.secrets,
                prepared.replaces,
                tuple(one for one in prepared.related if one.file != prepared.replaces),
            )
        raise WriteConflict(fresh.file, None, None)

    def prepare(self, new: NewMemory, beside: ImportBatch | None = None) -> Prepared | Declined:
        """What would be saved, or why not; `beside` are memories about to be saved with it."""
        batch = ImportBatch() if beside is None else beside
        refusal = self._excluded(new)
        if refusal is not None:
            return refusal
        text, dates = self._dated(new)
        made, kinds = self._drafted(text, new)

        def taken(name: str) -> bool:
            return batch.has(name) or (not batch.is_whole and self.store.has(name))

        # Name first: a memory saved between the two checks is then found, or makes a conflict.
        free = self._name(made, new, taken)
        near = self._neighbours(made, new, batch)
        refusal = self._team_refusal(made, kinds) or near.same
        if refusal is not None:
            return judging.without_secret(refusal) if near.same and kinds else refusal
        new = replace(self._limited(new, text), supersedes=near.replaces)
        if new.original is None:
            fresh = self._topic(made, new, free)
        else:
            fresh, more = self._imported(new.original, made, new, free)
            kinds = tuple(dict.fromkeys((*kinds, *more)))
        refusal = judging.too_large(fresh) or self._team_refusal(made, kinds)
        undated = self._undated(new)
        return refusal or Prepared(fresh, dates, kinds, near.related, near.replaces, undated)

    def near(
        self, new: NewMemory, entries: Sequence[ManifestEntry], body_of: Callable[[str], str]
    ) -> Neighbours:
        """Memories of another scope that are similar to a new one."""
        made, _ = self._drafted(self._dated(new)[0], new)
        return judging.neighbours(made, _headlines(entries), body_of)

    def retire(self, file: str, by: str, author: Author) -> Outcome:
        """Let an existing memory replace another; both files are kept."""
        old, new = self.require(file), self.require(by)
        if old.topic.file == new.topic.file:
            raise InputError(f"{old.topic.file} cannot replace itself; name another memory")
        if (again := judging.replaced(old.topic)) is not None:
            return again
        now = self._now()
        fresh = new.topic.with_(
            supersedes=(*new.topic.supersedes, old.topic.file),
            valid_from=new.topic.valid_from or now,
        )
        put = Put(fresh.file, topic.render(fresh), new.version)
        revision = self._supersede(old, fresh, put, author)
        if revision is None:
            return Declined(f"{by} already replaces {file}", existing=by)
        return Remembered(fresh, revision, superseded=old.topic.file)

    def prepare_all(self, memories: Iterable[NewMemory]) -> list[Prepared | Declined]:
        """What would be saved of an import; each memory is compared with those before it."""
        outcomes: list[Prepared | Declined] = []
        # List the existing memories once; a large store is queried for each new memory instead.
        batch = ImportBatch(None if self.store.large else self.store.entries())
        for new in memories:
            found = self.prepare(new, batch)
            outcomes.append(found)
            if isinstance(found, Prepared):
                batch.add(found.topic)
        return outcomes

    def save_all(
        self, prepared: Sequence[Prepared], author: Author, summary: str
    ) -> Revision | None:
        """Save an import in one transaction, so that one undo reverts it."""
        fresh = [one.topic for one in prepared]
        puts = [Put(memory.file, topic.render(memory)) for memory in fresh]

        def edit(index: Index) -> Index:
            for memory in fresh:
                index = pointed(index, memory)
            return index

        return self.store.apply(puts, author, summary, edit) if puts else None

    def _excluded(self, new: NewMemory) -> Declined | None:
        if not new.text.strip():
            return Declined("there is nothing to remember", "say what, in a sentence")
        given = "\n".join(filter(None, (new.text, new.name, new.description)))
        problem = exclusions.unreadable(given) if new.origin != "import" else None
        if problem is not None:
            return Declined(f"Not saved: {problem}", "give it as plain text in UTF-8")
        if new.supersedes is not None:
            old = self.require(new.supersedes).topic
            if (again := judging.replaced(old)) is not None:
                return again
        if new.allow_excluded:
            return None
        nothing = exclusions.states_nothing(new.text)
        # A title says what a lone word is about.
        if nothing is not None and not (new.name or new.description):
            return Declined(
                f"Not saved: it is {nothing}",
                "say what holds, in a sentence; to save it as it is, give it a title (--name)",
            )
        found = exclusions.check(new.text, {} if new.from_instructions else self._instructions())
        return Declined(found.reason, found.advice) if found else None

    def _dated(self, new: NewMemory) -> tuple[str, tuple[DateChange, ...]]:
        """Make relative dates absolute, from the day it was said; imports without a day stay."""
        if new.said is None and new.origin == "import":
            return new.text, ()
        return absolute_dates(new.text, new.said or self._today())

    def _undated(self, new: NewMemory) -> tuple[str, ...]:
        """Relative dates of an import without a day."""
        if new.said is not None or new.origin != "import":
            return ()
        return tuple(change.before for change in absolute_dates(new.text, self._today())[1])

    def _limited(self, new: NewMemory, text: str) -> NewMemory:
        """Set the period of validity from its words, unless the caller gave one."""
        given = new.original or new
        if given.valid_from or given.valid_until or new.valid_from or new.valid_until:
            return new
        if new.said is None and new.origin == "import":
            return new
        found = validity(text, new.said or self._today())
        first, last = (
            day.isoformat() if day else None for day in (found.valid_from, found.valid_until)
        )
        return replace(new, valid_from=first, valid_until=last)

    def _drafted(self, text: str, new: NewMemory) -> tuple[Draft, tuple[str, ...]]:
        """Draft the memory; scrub it before it is cut: scanners do not recognise half a secret."""
        body, name, description = (
            self._scrubber.scrub(part or "") for part in (text, new.name, new.description)
        )
        made = draft(
            body.text,
            type_=new.type,
            name=name.text or None,
            description=description.text or None,
        )
        return made, tuple(dict.fromkeys((*body.kinds, *name.kinds, *description.kinds)))

    def _team_refusal(self, made: Draft, kinds: Sequence[str]) -> Declined | None:
        return judging.not_for_team(made.type, kinds) if self._shared else None

    def _neighbours(self, made: Draft, new: NewMemory, batch: ImportBatch) -> Neighbours:
        """Similar memories, within what the caller allows (`supersedes`, `replace`, …)."""
        if new.supersedes:
            return Neighbours(replaces=self.require(new.supersedes).topic.file)
        if new.original is not None and not new.original.listed:
            # An outdated memory is a duplicate only of the same outdated memory.
            here = next(iter(self.store.some([new.original.file])), None)
            same = here is not None and here.description == made.description
            file = new.original.file
            known = Declined(f"{file} is already here", existing=file) if same else None
            return Neighbours(known)
        found = judging.neighbours(made, self._alike(made, batch), self._body)
        if new.even_if_known:
            return Neighbours(related=found.related)
        if new.replace and found.same is None:
            chosen = found.replaces or judging.newest_value(found.related)
            refusal = None if chosen else judging.nothing_to_replace(found.related)
            return Neighbours(refusal, chosen, found.related)
        if new.origin == "import":
            # The words of an imported memory do not retire another one.
            twin = judging.twin(made, batch.alike(made.claim))
            return Neighbours(found.same or twin, related=found.related)
        return found

    def _alike(self, made: Draft, batch: ImportBatch) -> list[ManifestEntry]:
        """Candidates for similar memories: those that share words, and if these are few, the newest."""
        find = batch.known if batch.is_whole else self.store.alike
        texts = dict.fromkeys((made.claim, made.description))
        found = dict.fromkeys(entry for text in texts for entry in find(text))
        if not batch.is_whole and len(found) < MOST_WEIGHED:
            found |= dict.fromkeys(self.store.some((), newest=MOST_WEIGHED - len(found)))
        return _headlines(found)

    def _saved_before(self, new: NewMemory) -> str | None:
        """The memory, other than the one to be replaced, that already says the same."""
        if self._excluded(new) is not None:
            return None
        old = self.require(new.supersedes).topic.file if new.supersedes else ""
        text, _ = self._dated(new)
        made = draft(text)
        others = [entry for entry in self._alike(made, ImportBatch()) if entry.file != old]
        same = judging.neighbours(made, others, self._body).same
        return None if same is None else same.existing

    def _body(self, file: str) -> str:
        stored = self.store.read(file)
        return "" if stored is None else stored.topic.body

    def _name(self, made: Draft, new: NewMemory, taken: Callable[[str], bool]) -> str:
        """A free file name; an imported memory keeps its own if possible."""
        if new.original is None:
            return file_name(f"{made.type} {made.name}", taken)
        name = new.original.file
        refused = isinstance(check_name(name), Refused) or taken(name)
        return file_name(made.name, taken) if refused else name

    def _topic(self, made: Draft, new: NewMemory, file: str) -> Topic:
        now = self._now()
        old = None if new.supersedes is None else self.require(new.supersedes).topic.file
        fresh = topic.new(
            made.name,
            made.description,
            made.type,
            made.body,
            file=file,
            created=now,
            origin=new.origin,
            source=new.source,
            supersedes=(old,) if old else (),
            valid_from=new.valid_from or (now if old else None),
            valid_until=new.valid_until,
            cues=cues.given(tuple(self._scrubber.scrub(cue).text for cue in new.cues)),
        )
        return self._clean(fresh.with_metadata(new.metadata)) if new.metadata else fresh

    def _imported(
        self, original: Topic, made: Draft, new: NewMemory, file: str
    ) -> tuple[Topic, tuple[str, ...]]:
        """An imported memory with all its keys; missing ones are taken from the draft."""
        named = original.document.entry("name") is not None
        changed = original.with_(
            name=original.name if named else made.name,
            description=original.description or made.description,
            type=original.type or made.type,
            origin=new.origin,
            valid_from=original.valid_from or new.valid_from,
            valid_until=original.valid_until or new.valid_until,
        )
        if made.body != original.body.strip():
            changed = changed.with_(body=f"{made.body}\n")
        scrubbed = self._scrubber.scrub(topic.render(changed).decode("utf-8", "surrogateescape"))
        data = scrubbed.text.encode("utf-8", "surrogateescape")
        return topic.parse(data, file), scrubbed.kinds

    def _save(self, fresh: Topic, replaces: str | None, author: Author) -> Revision:
        put = Put(fresh.file, topic.render(fresh))
        if replaces is None:
            made = self.store.apply(
                (put,), author, f"remember {fresh.name}", lambda index: pointed(index, fresh)
            )
        else:
            made = self._supersede(self.require(replaces), fresh, put, author)
        if made is None:
            raise InputError(f"{fresh.file} already exists with the same text")
        return made

    def _supersede(self, old: Stored, fresh: Topic, put: Put, author: Author) -> Revision | None:
        """Save the new memory and mark the old one as superseded; it leaves the index."""
        closed = old.topic.with_(
            superseded_by=fresh.file, valid_until=attachment.day_before(fresh.valid_from)
        )
        kept = Put(old.topic.file, topic.render(closed), old.version)
        return self.store.apply(
            (put, kept),
            author,
            f"{fresh.name} supersedes {old.topic.name}",
            lambda index: pointed(unpointed(index, old.topic.file), fresh),
        )


def _headlines(entries: Iterable[ManifestEntry]) -> list[ManifestEntry]:
    """Memories as the judge of likeness compares them: one sentence each."""
    return [replace(one, description=headline(one.name, one.description)) for one in entries]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The source or target of a move: a keeper and its scope."""

    keeper: Keeper
    scope: MemoryScope


def move(file: str, source: Endpoint, target: Endpoint, author: Author) -> str:
    """Move a memory to another scope, with all its keys; return its new label.

    It is written before it is removed, so that a crash in between leaves two copies, not none.
    """
    stored = source.keeper.require(file)
    old = stored.topic
    if target.scope == "team" and old.type is not None:
        refusal = judging.not_for_team(old.type, ())
        if refusal is not None:
            raise InputError(refusal.reason)
    taken = [entry.file for entry in target.keeper.store.entries()]
    name = old.file
    if name.casefold() in map(str.casefold, taken):
        name = file_name(name.removesuffix(".md"), taken)
    text = topics.render(old).decode("utf-8", "surrogateescape")
    there, here = labelled(name, target.scope), labelled(old.file, source.scope)
    target.keeper.create(name, text, author, f"move {here} to {there}")
    for before in old.supersedes:
        replaced = source.keeper.store.read(before)
        if replaced is not None and replaced.topic.superseded_by == old.file:
            fresh = replaced.topic.with_(superseded_by=there)
            source.keeper.change(replaced, fresh, author, f"move {here} to {there}")
    source.keeper.forget_all((old.file,), author, f"move {here} to {there}")
    return there
