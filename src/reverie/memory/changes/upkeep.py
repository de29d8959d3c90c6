"""Change memories that exist: edit, rename, pin, restore and forget, each in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime

from reverie.errors import InputError
from reverie.memory.changes import judging
from reverie.memory.changes.draft import draft, following
from reverie.memory.changes.handles import Missing, close_to, explained
from reverie.memory.format import topic
from reverie.memory.format.exclusions import unreadable
from reverie.memory.format.frontmatter import ABSENT, writable
from reverie.memory.format.index import Index, moved, pointed, refreshed, unpointed
from reverie.memory.format.revisions import Author, Drop, Put, Revision
from reverie.memory.format.topic import Topic
from reverie.ports import Clock, Scrubber, Stored, TopicStore
from reverie.text.dates import absolute_dates


class Upkeep:
    """Changes the existing memories of a directory; `Keeper` adds new ones."""

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

    def restore(self, file: str, author: Author) -> Revision | None:
        """Make a superseded memory valid again; its successor stays, too."""
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

    def create(self, file: str, text: str, author: Author, summary: str = "") -> Topic:
        """Create a memory with this name and text; its frontmatter is kept.

        It is not compared with other memories and not checked for exclusions. Raises WriteConflict if
        the name is taken.
        """
        given = topic.parse(writable(text).encode("utf-8", "surrogateescape"), file)
        fresh = self._stamped(given) if given.problem == ABSENT else given
        clean = self._clean(fresh)
        put = Put(file, topic.render(clean))
        summary = summary or f"create {clean.name}"
        self.store.apply((put,), author, summary, lambda index: pointed(index, clean))
        return clean

    def secrets_in(self, text: str) -> tuple[str, ...]:
        """The kinds of secrets that would be removed from a text."""
        return self._scrubber.scrub(text).kinds

    def change(self, stored: Stored, fresh: Topic, author: Author, summary: str) -> Revision | None:
        """Write a changed topic back, based on the version that was read."""
        clean = self._clean(fresh)
        put = Put(fresh.file, topic.render(clean), stored.version)
        old = stored.topic
        return self.store.apply((put,), author, summary, lambda index: refreshed(index, old, clean))

    def rewritten(self, before: Topic, fresh: Topic, text: str) -> Topic:
        """A memory with a new text, with absolute dates, as a new memory would have it."""
        if (problem := unreadable(text)) is not None:
            raise InputError(f"not saved: {problem}; give it as plain text in UTF-8")
        told, _ = absolute_dates(text.strip(), self._today())
        return self.reworded(before, fresh.with_(body=f"{told}\n"))

    def reworded(self, before: Topic, fresh: Topic) -> Topic:
        """A memory with a changed text, without secrets; what was derived from the old text is derived again."""
        return following(before, self._clean(fresh), self._today())

    def rename(self, names: Mapping[str, str], author: Author) -> Revision | None:
        """Rename memories in one transaction."""
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
        """Remove a memory and its pointer; the history still has it."""
        return self.forget_all((file,), author)

    def forget_all(
        self, files: Iterable[str], author: Author, summary: str = ""
    ) -> Revision | None:
        """Remove memories in one transaction, so that one undo restores all."""
        found = [self.require(file) for file in files]
        drops = [Drop(stored.topic.file, stored.version) for stored in found]

        def edit(index: Index) -> Index:
            for drop in drops:
                index = unpointed(index, drop.file)
            return index

        summary = summary or f"forget {', '.join(stored.topic.name for stored in found)}"
        return self.store.apply(drops, author, summary, edit)

    def require(self, file: str) -> Stored:
        """A memory by its file name; InputError suggests similar names."""
        name = file if file.endswith(".md") else f"{file}.md"
        stored = self.store.read(name)
        if stored is None:
            close = close_to(file, self.store.entries())
            raise InputError(explained(file, Missing(close)))
        return stored

    def _stamped(self, given: Topic) -> Topic:
        """Add frontmatter to a text; the text itself is not changed."""
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
        """The memory without secrets; InputError if it has one and the memory is shared."""
        scrubbed = self._scrubber.scrub(topic.render(fresh).decode("utf-8", "surrogateescape"))
        if scrubbed.kinds and self._shared:
            raise InputError(judging.secret_in_team(scrubbed.kinds).reason)
        data = scrubbed.text.encode("utf-8", "surrogateescape")
        return topic.parse(data, fresh.file)

    def _today(self) -> date:
        return datetime.fromtimestamp(self._clock.now()).astimezone().date()

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock.now(), UTC).isoformat(timespec="seconds")
