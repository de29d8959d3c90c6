"""The hybrid index for the pipeline: updated from the files, then searched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from reverie.events import Announce, TroubleNoted, no_listener
from reverie.memory.format.manifest import Changes, ManifestEntry, covered
from reverie.ports import Clock, TopicReader
from reverie.recall import queries
from reverie.recall.documents import Hit, MemoryDoc, Refreshed, Results, Scope, Signature, snippet
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.index import RecallIndex
from reverie.recall.mentions import MemoryMentions
from reverie.recall.pipeline import SHORTLIST, Ranked
from reverie.recall.queries import Query
from reverie.text.words import plain_words, said_once

# How much of a file is searched without an index.
_MOST_READ = 65_536

# How many changes are indexed while a prompt waits, and at once by a command or the daemon.
PROMPT_BATCH = 64
COMMAND_BATCH = 500
# The share of a question's words that a memory must have when it is found by words only.
SURE_BY_WORDS = 0.5


# How many messages are searched for each conversation shown.
_MESSAGES_A_SESSION = 20


def one_a_session(found: Results) -> tuple[Hit, ...]:
    """All memories, and the best message of each conversation: ten hits show ten conversations.

    Conversations have their own order, by all that was said in them.
    """
    best: dict[str, Hit] = {}
    for hit in found.hits:
        if hit.session:
            best.setdefault(hit.session, hit)
    order = [session.session for session in found.sessions if session.session in best]
    ranked = iter([best[session] for session in dict.fromkeys((*order, *best))])
    shown: list[Hit] = []
    seen: set[str] = set()
    for hit in found.hits:
        if not hit.session:
            shown.append(hit)
        elif hit.session not in seen:
            seen.add(hit.session)
            shown.append(next(ranked))
    return tuple(shown)


def no_uses() -> Mapping[str, int]:
    return {}


@dataclass(slots=True)
class Look:
    """The folder as last listed; a changed entry is a new object."""

    entries: dict[str, ManifestEntry] = field(default_factory=dict)
    listing: Mapping[str, Signature] = field(default_factory=dict)
    # Whether a session of this process is indexing past conversations.
    indexing_past: bool = False
    # What the memories mention; read on demand.
    mentions: MemoryMentions | None = None

    def stop_indexing_past(self) -> None:
        """Let another session index past conversations."""
        self.indexing_past = False


@dataclass(frozen=True, slots=True)
class IndexRanker:
    """Ranks the memories of one store; `notes` are remarks on its embedding model."""

    index: RecallIndex
    store: TopicReader
    clock: Clock
    uses: Callable[[], Mapping[str, int]] = field(default=no_uses)
    notes: tuple[str, ...] = ()
    announce: Announce = no_listener
    # How many of the best to consider; None: enough for a selector to choose from.
    reach: int | None = None
    # Whether its model runs on this machine; a remote one is waited for.
    local: bool = True
    # Notes on the memory as it is now, such as the age of a copy.
    caveats: Callable[[], tuple[str, ...]] = tuple
    # Shared by all rankers of an engine.
    look: Look = field(default_factory=Look)

    @property
    def mentions(self) -> MemoryMentions:
        """Which memories are about a file or an error."""
        if self.look.mentions is None:
            self.look.mentions = MemoryMentions(self.store)
        return self.look.mentions

    def rank(self, question: str, entries: Sequence[ManifestEntry] | None) -> Sequence[Ranked]:
        if entries is None:
            return self._rank_all(question)
        wanted = {entry.file for entry in entries}
        limit = self.reach or SHORTLIST + len(wanted) // 10
        done = self.refresh(self._listed(entries))
        return [found for found in self._ranked(question, limit, done) if found.file in wanted]

    def _rank_all(self, question: str) -> list[Ranked]:
        """The best of a large directory; files not indexed yet are found by their words."""
        changes, done = self._follow(PROMPT_BATCH)
        found = self._ranked(question, self.reach or SHORTLIST, done)
        if changes is None or not (changes.more or changes.unread):
            return found
        known = {one.file for one in found}
        likely = [entry for entry in self.store.alike(question) if entry.file not in known]
        missing = self.index.missing([entry.file for entry in likely])
        shares = {e.file: covered(question, f"{e.name} {e.description}") for e in likely}
        extra = [
            Ranked(file, share, sure=share >= SURE_BY_WORDS)
            for file, share in shares.items()
            if file in missing
        ]
        return sorted([*found, *extra], key=lambda one: (not one.sure, -one.score))

    def _ranked(self, question: str, limit: int, done: Refreshed) -> list[Ranked]:
        found = self._found(queries.plain(question), limit, "memories", done)
        for note in found.notes:
            self.announce(TroubleNoted("recall.index", note))
        return [Ranked(hit.key, hit.score, sure=hit.score >= GOOD_MATCH) for hit in found.hits]

    def search(self, question: str | Query, *, limit: int, scope: Scope = "memories") -> Results:
        """The best memories, past conversations or both; one message for each conversation.

        Text is read as `queries.read` does.
        """
        done = self.refresh() if scope != "episodes" else Refreshed()
        query = queries.read(question) if isinstance(question, str) else question
        if scope == "memories" or query.session is not None:
            return self._found(query, limit, scope, done)
        found = self._found(query, limit * _MESSAGES_A_SESSION, scope, done)
        return replace(found, hits=one_a_session(found)[:limit])

    def refresh(self, listing: Mapping[str, Signature] | None = None) -> Refreshed:
        """Follow the files, as they are now or as listed; unchanged ones are not read again."""
        if listing is None and self.store.large:
            return self._follow(PROMPT_BATCH)[1]
        known = self.store.listing() if listing is None else listing

        def document(file: str) -> MemoryDoc | None:
            stored = self.store.read(file)
            return None if stored is None else MemoryDoc.of(stored.topic, known[file])

        return self.index.refresh(known, document)

    def catch_up(self) -> bool:
        """Index a portion of what is new in a large directory; True: there is more."""
        if not self.store.large:
            return False
        changes, done = self._follow(COMMAND_BATCH)
        if changes is None or done.problem is not None:
            return False
        if not changes.more:
            self.index.forget_others(self.store.listing)
        return changes.more

    def _follow(self, most: int) -> tuple[Changes | None, Refreshed]:
        """Index up to this many changes of a large directory, oldest first."""
        changes = self.store.changes(self.index.followed(), most)
        if changes is None:
            return None, Refreshed()

        def document(file: str) -> MemoryDoc | None:
            stored = self.store.read(file)
            return None if stored is None else MemoryDoc.of(stored.topic, changes.changed[file])

        return changes, self.index.follow(changes, document)

    def _listed(self, entries: Sequence[ManifestEntry]) -> Mapping[str, Signature]:
        """The entries are fresh; the folder is listed again only if they differ."""
        look = self.look
        if not all(look.entries.get(entry.file) is entry for entry in entries):
            look.listing = self.store.listing()
            look.entries.update((entry.file, entry) for entry in entries)
        return look.listing

    def _found(self, question: str | Query, limit: int, scope: Scope, done: Refreshed) -> Results:
        found = self.index.search(
            question,
            now=self.clock.now(),
            limit=limit,
            collection=scope,
            use_counts=self.uses(),
        )
        if done.problem and not found.hits:
            return self._by_words(question, limit, f"the index cannot be written: {done.problem}")
        trouble = (f"the index was not updated: {done.problem}",) if done.problem else ()
        return replace(found, notes=(*self.caveats(), *self.notes, *trouble, *found.notes))

    def _by_words(self, question: str | Query, limit: int, trouble: str) -> Results:
        """Without an index (full or read-only disk), rank the files by the share of words in common."""
        query = queries.read(question) if isinstance(question, str) else question
        hits: list[Hit] = []
        for entry in self.store.entries():
            stored = self.store.read(entry.file) if entry.listed else None
            if stored is None:
                continue
            texts = (stored.topic.name, stored.topic.description, stored.topic.body)
            text = said_once(texts, "\n")[:_MOST_READ]
            share = covered(query.text, text)
            if share:
                shown = snippet(text, set(plain_words(query.text)))
                score = round(share * GOOD_MATCH / SURE_BY_WORDS, 4)
                hits.append(Hit(entry.file, "memories", score, {}, shown, "shares words"))
        best = sorted(hits, key=lambda hit: -hit.score)[:limit]
        note = f"{trouble}; answered from the files, by words alone"
        return Results(tuple(best), notes=(*self.caveats(), *self.notes, note))
