"""Remember, supersede, pin, forget: each is one transaction, and says what it did.

A "no" is a value with its reason (`Declined`), not an error: what was asked for is not memory, is
already known, or holds a secret that must not be shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

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
)
from reverie.memory.changes.handles import Missing, close_to, explained
from reverie.memory.changes.judging import ImportBatch, Neighbours
from reverie.memory.changes.pointers import moved, pointed, refreshed, unpointed
from reverie.memory.format import age, exclusions, topic
from reverie.memory.format.frontmatter import ABSENT, writable
from reverie.memory.format.index import Index
from reverie.memory.format.manifest import ManifestEntry
from reverie.memory.format.paths import Refused, check_name, file_name
from reverie.memory.format.revisions import Author, Drop, Put, Revision
from reverie.memory.format.topic import Topic
from reverie.ports import Clock, Scrubber, Stored, TopicStore
from reverie.text.dates import DateChange, absolute_dates
from reverie.text.validity import validity

__all__ = ["Declined", "Keeper", "NewMemory", "Outcome", "Prepared", "Remembered", "pointed"]


# How often a name may be taken by somebody else between looking and saving.
_TRIES = 5


class Keeper:
    """The one way to change a memory directory."""

    def __init__(
        self,
        store: TopicStore,
        clock: Clock,
        scrubber: Scrubber,
        *,
        instructions: Callable[[], Mapping[str, str]] = dict,
        shared: bool = False,
    ) -> None:
        self.store = store
        self._clock = clock
        self._scrubber = scrubber
        self._instructions = instructions
        self._shared = shared

    def remember(self, wish: NewMemory, author: Author) -> Outcome:
        """Save a memory and its pointer, unless it should not be or is already there.

        One that is to replace another and was saved before replaces it without a second file.
        """
        if wish.supersedes is not None and (saved := self._saved_before(wish)) is not None:
            return self.retire(wish.supersedes, saved, author)
        for _ in range(_TRIES):
            prepared = self.prepare(wish)
            if isinstance(prepared, Declined):
                return prepared
            fresh = prepared.topic
            try:
                revision = self._save(fresh, prepared.replaces, author)
            except WriteConflict as conflict:
                # Somebody took this name a moment ago: judge anew, beside what they saved.
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

    def prepare(self, wish: NewMemory, beside: ImportBatch | None = None) -> Prepared | Declined:
        """What would be saved, or why not; `beside` are memories about to be saved with it."""
        pile = ImportBatch() if beside is None else beside
        refusal = self._excluded(wish)
        if refusal is not None:
            return refusal
        text, dates = self._dated(wish)
        made, kinds = self._drafted(text, wish)

        def taken(name: str) -> bool:
            return pile.has(name) or (not pile.is_whole and self.store.has(name))

        # The name first: what is saved between the two looks is then known, or a conflict.
        free = self._name(made, wish, taken)
        near = self._neighbours(made, wish, pile)
        refusal = self._team_refusal(made, kinds) or near.same
        if refusal is not None:
            return refusal
        wish = replace(self._limited(wish, text), supersedes=near.replaces)
        if wish.original is None:
            fresh = self._topic(made, wish, free)
        else:
            fresh, more = self._taken_in(wish.original, made, wish, free)
            kinds = tuple(dict.fromkeys((*kinds, *more)))
        refusal = judging.too_large(fresh) or self._team_refusal(made, kinds)
        return refusal or Prepared(fresh, dates, kinds, near.related, near.replaces)

    def near(
        self, wish: NewMemory, entries: Sequence[ManifestEntry], body_of: Callable[[str], str]
    ) -> Neighbours:
        """How a wish relates to memories that are kept elsewhere."""
        made, _ = self._drafted(self._dated(wish)[0], wish)
        return judging.neighbours(made, entries, body_of)

    def retire(self, file: str, by: str, author: Author) -> Outcome:
        """Let a memory that is there replace another; both are kept."""
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

    def restore(self, file: str, author: Author) -> Revision | None:
        """Let a memory that was retired hold again; what had replaced it stays as well."""
        old = self.require(file)
        successor = old.topic.superseded_by
        if successor is None:
            raise InputError(f"{old.topic.file} was not replaced by anything")
        again = old.topic.with_(superseded_by=None, valid_until=None)
        puts = [Put(again.file, topic.render(again), old.version)]
        if (newer := self.store.read(successor)) is not None:
            rest = tuple(one for one in newer.topic.supersedes if one != old.topic.file)
            kept = newer.topic.with_(supersedes=rest or None)
            puts.append(Put(kept.file, topic.render(kept), newer.version))
        return self.store.apply(
            puts, author, f"restore {again.name}", lambda index: pointed(index, again)
        )

    def prepare_all(self, wishes: Iterable[NewMemory]) -> list[Prepared | Declined]:
        """What of a pile would be saved; each is judged beside those before it."""
        outcomes: list[Prepared | Declined] = []
        # Looked at once for all of them; many are asked for those that a wish may be like.
        pile = ImportBatch(None if self.store.large else self.store.entries())
        for wish in wishes:
            found = self.prepare(wish, pile)
            outcomes.append(found)
            if isinstance(found, Prepared):
                pile.add(found.topic)
        return outcomes

    def save_all(
        self, prepared: Sequence[Prepared], author: Author, summary: str
    ) -> Revision | None:
        """Save a pile in one transaction, so that one undo takes it back."""
        fresh = [one.topic for one in prepared]
        puts = [Put(memory.file, topic.render(memory)) for memory in fresh]

        def edit(index: Index) -> Index:
            for memory in fresh:
                index = pointed(index, memory)
            return index

        return self.store.apply(puts, author, summary, edit) if puts else None

    def create(self, file: str, text: str, author: Author, summary: str = "") -> Topic:
        """A memory under a name its writer chose, word for word; its own frontmatter is kept.

        Neither what it is about nor what else is known is judged: raises WriteConflict when the name
        is taken.
        """
        given = topic.parse(writable(text).encode("utf-8", "surrogateescape"), file)
        fresh = self._stamped(given) if given.problem == ABSENT else given
        clean = self._clean(fresh)
        put = Put(file, topic.render(clean))
        said = summary or f"create {clean.name}"
        self.store.apply((put,), author, said, lambda index: pointed(index, clean))
        return clean

    def secrets_in(self, text: str) -> tuple[str, ...]:
        """The kinds of secret that would be taken out of a text."""
        return self._scrubber.scrub(text).kinds

    def change(self, stored: Stored, fresh: Topic, author: Author, summary: str) -> Revision | None:
        """Write a changed topic back, based on the version that was read."""
        clean = self._clean(fresh)
        put = Put(fresh.file, topic.render(clean), stored.version)
        old = stored.topic
        return self.store.apply((put,), author, summary, lambda index: refreshed(index, old, clean))

    def rename(self, names: Mapping[str, str], author: Author) -> Revision | None:
        """Memories under other names, all in one transaction."""
        found = [(self.require(old), new) for old, new in names.items()]
        moved = [(old, topic.parse(topic.render(old.topic), new)) for old, new in found]
        drops = [Drop(old.topic.file, old.version) for old, _ in moved]
        puts = [Put(fresh.file, topic.render(fresh)) for _, fresh in moved]

        def edit(index: Index) -> Index:
            for old, fresh in moved:
                index = pointed(unpointed(index, old.topic.file), fresh)
            return index

        summary = f"rename {', '.join(f'{old} to {new}' for old, new in names.items())}"
        return self.store.apply((*drops, *puts), author, summary, edit)

    def pin(self, file: str, author: Author, *, pinned: bool = True) -> Revision | None:
        stored = self.require(file)
        verb = "pin" if pinned else "unpin"
        changed = stored.topic.with_(pinned=True if pinned else None)
        put = Put(changed.file, topic.render(self._clean(changed)), stored.version)
        entries = [
            replace(entry, pinned=pinned) if entry.file == stored.topic.file else entry
            for entry in self.store.entries()
        ]
        return self.store.apply(
            (put,),
            author,
            f"{verb} {stored.topic.name}",
            lambda index: moved(refreshed(index, stored.topic, changed), changed.file, entries),
        )

    def forget(self, file: str, author: Author) -> Revision | None:
        """Remove a memory and its pointer; history still has it."""
        return self.forget_all((file,), author)

    def forget_all(
        self, files: Iterable[str], author: Author, summary: str = ""
    ) -> Revision | None:
        """Remove memories in one transaction, so that one undo brings them all back."""
        found = [self.require(file) for file in files]
        drops = [Drop(stored.topic.file, stored.version) for stored in found]

        def edit(index: Index) -> Index:
            for drop in drops:
                index = unpointed(index, drop.file)
            return index

        said = summary or f"forget {', '.join(stored.topic.name for stored in found)}"
        return self.store.apply(drops, author, said, edit)

    def require(self, file: str) -> Stored:
        """A memory by its file name, or an error that names what is close to it."""
        name = file if file.endswith(".md") else f"{file}.md"
        stored = self.store.read(name)
        if stored is None:
            close = close_to(file, self.store.entries())
            raise InputError(explained(file, Missing(close)))
        return stored

    def _stamped(self, given: Topic) -> Topic:
        """A text without frontmatter as a memory; its own words stay exactly as they are."""
        made = draft(given.body)
        name = made.name or given.file.removesuffix(".md")
        return topic.new(
            name,
            made.description or name,
            made.type,
            "",
            file=given.file,
            created=self._now(),
            origin="assistant",
        ).with_(body=given.body)

    def _clean(self, fresh: Topic) -> Topic:
        """Without secrets; where memory is shared, one is a reason to refuse."""
        scrubbed = self._scrubber.scrub(topic.render(fresh).decode("utf-8", "surrogateescape"))
        if scrubbed.kinds and self._shared:
            raise InputError(judging.secret_in_team(scrubbed.kinds).reason)
        data = scrubbed.text.encode("utf-8", "surrogateescape")
        return topic.parse(data, fresh.file)

    def _excluded(self, wish: NewMemory) -> Declined | None:
        if not wish.text.strip():
            return Declined("there is nothing to remember", "say what, in a sentence")
        if wish.supersedes is not None:
            old = self.require(wish.supersedes).topic
            if (again := judging.replaced(old)) is not None:
                return again
        if wish.allow_excluded:
            return None
        found = exclusions.check(wish.text, self._instructions())
        return Declined(found.reason, found.advice) if found else None

    def _dated(self, wish: NewMemory) -> tuple[str, tuple[DateChange, ...]]:
        """Relative dates count from the day it was said; of an import nobody knows that day."""
        if wish.said is None and wish.origin == "import":
            return wish.text, ()
        return absolute_dates(wish.text, wish.said or self._today())

    def _limited(self, wish: NewMemory, text: str) -> NewMemory:
        """With the days its words name as its limits; what a caller gave stays as it was given."""
        given = wish.original or wish
        if given.valid_from or given.valid_until or wish.valid_from or wish.valid_until:
            return wish
        if wish.said is None and wish.origin == "import":
            return wish
        found = validity(text, wish.said or self._today())
        first, last = (
            day.isoformat() if day else None for day in (found.valid_from, found.valid_until)
        )
        return replace(wish, valid_from=first, valid_until=last)

    def _drafted(self, text: str, wish: NewMemory) -> tuple[Draft, tuple[str, ...]]:
        """Scrubbed before it is cut: half a secret is one that no scanner knows."""
        body, name, description = (
            self._scrubber.scrub(part or "") for part in (text, wish.name, wish.description)
        )
        made = draft(
            body.text,
            type_=wish.type,
            name=name.text or None,
            description=description.text or None,
        )
        return made, tuple(dict.fromkeys((*body.kinds, *name.kinds, *description.kinds)))

    def _team_refusal(self, made: Draft, kinds: Sequence[str]) -> Declined | None:
        return judging.not_for_team(made.type, kinds) if self._shared else None

    def _neighbours(self, made: Draft, wish: NewMemory, pile: ImportBatch) -> Neighbours:
        """What is there already, as far as the wish leaves that open."""
        if wish.supersedes:
            return Neighbours(replaces=self.require(wish.supersedes).topic.file)
        if wish.original is not None and not wish.original.listed:
            # History is not news: it is known only when the very same memory is here.
            here = next(iter(self.store.some([wish.original.file])), None)
            same = here is not None and here.description == made.description
            return Neighbours(Declined(f"{wish.original.file} is already here") if same else None)
        found = judging.neighbours(made, self._alike(made, pile), self._body)
        if wish.even_if_known:
            return Neighbours(related=found.related)
        if wish.replace and found.same is None:
            chosen = found.replaces or judging.newest_value(found.related)
            refusal = None if chosen else judging.nothing_to_replace(found.related)
            return Neighbours(refusal, chosen, found.related)
        if wish.origin == "import":
            # Where several come at once, the words of one do not retire another.
            twin = judging.twin(made, pile.alike(made.claim))
            return Neighbours(found.same or twin, related=found.related)
        return found

    def _alike(self, made: Draft, pile: ImportBatch) -> list[ManifestEntry]:
        """The memories among which its like must be."""
        find = pile.known if pile.is_whole else self.store.alike
        texts = dict.fromkeys((made.claim, made.description))
        return list(dict.fromkeys(entry for text in texts for entry in find(text)))

    def _saved_before(self, wish: NewMemory) -> str | None:
        """The memory, other than the one to be replaced, that says just this."""
        if self._excluded(wish) is not None:
            return None
        old = self.require(wish.supersedes).topic.file if wish.supersedes else ""
        text, _ = self._dated(wish)
        made = draft(text)
        others = [entry for entry in self._alike(made, ImportBatch()) if entry.file != old]
        same = judging.neighbours(made, others, self._body).same
        return None if same is None else same.existing

    def _body(self, file: str) -> str:
        stored = self.store.read(file)
        return "" if stored is None else stored.topic.body

    def _name(self, made: Draft, wish: NewMemory, taken: Callable[[str], bool]) -> str:
        """A free file name: its own for a memory from elsewhere, if that is possible."""
        if wish.original is None:
            return file_name(f"{made.type} {made.name}", taken)
        name = wish.original.file
        refused = isinstance(check_name(name), Refused) or taken(name)
        return file_name(made.name, taken) if refused else name

    def _topic(self, made: Draft, wish: NewMemory, file: str) -> Topic:
        now = self._now()
        old = None if wish.supersedes is None else self.require(wish.supersedes).topic.file
        return topic.new(
            made.name,
            made.description,
            made.type,
            made.body,
            file=file,
            created=now,
            origin=wish.origin,
            source=wish.source,
            supersedes=(old,) if old else (),
            valid_from=wish.valid_from or (now if old else None),
            valid_until=wish.valid_until,
        )

    def _taken_in(
        self, original: Topic, made: Draft, wish: NewMemory, file: str
    ) -> tuple[Topic, tuple[str, ...]]:
        """A memory from elsewhere with all its keys; only what it lacks is drafted."""
        named = original.document.entry("name") is not None
        changed = original.with_(
            name=original.name if named else made.name,
            description=original.description or made.description,
            type=original.type or made.type,
            origin=wish.origin,
            valid_from=original.valid_from or wish.valid_from,
            valid_until=original.valid_until or wish.valid_until,
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
            raise InputError(f"{fresh.file} is already there, word for word")
        return made

    def _supersede(self, old: Stored, fresh: Topic, put: Put, author: Author) -> Revision | None:
        """Both stay: the old one says by what and since when, and leaves the index."""
        closed = old.topic.with_(
            superseded_by=fresh.file, valid_until=age.day_before(fresh.valid_from)
        )
        kept = Put(old.topic.file, topic.render(closed), old.version)
        return self.store.apply(
            (put, kept),
            author,
            f"{fresh.name} supersedes {old.topic.name}",
            lambda index: pointed(unpointed(index, old.topic.file), fresh),
        )

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock.now(), UTC).isoformat(timespec="seconds")

    def _today(self) -> date:
        return datetime.fromtimestamp(self._clock.now()).astimezone().date()
