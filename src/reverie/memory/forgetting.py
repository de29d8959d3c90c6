"""Forget a memory everywhere: in the files, the history, the indexes and every copy of its words.

Each place is cleaned separately and reports what was done. Cleaning can be repeated: the memory and
its history are removed last, so that after a crash the same command finds what remains to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from reverie.errors import InputError
from reverie.memory.cleaning import Cleaned, _text
from reverie.memory.format import index as indexes
from reverie.memory.format import topic as topics
from reverie.memory.format.manifest import INDEX_FILE
from reverie.memory.format.prompt import LOG_PATTERN
from reverie.memory.format.revisions import Author, Change, Drop, Put, version
from reverie.memory.format.topic import Topic
from reverie.memory.format.traces import MARK, Traces
from reverie.ports import History, TopicStore

LOGS = LOG_PATTERN.partition("/")[0]


class RewritableHistory(History, Protocol):
    """A history from which something can be removed."""

    @property
    def is_empty(self) -> bool: ...

    def rewrite(
        self, change: Callable[[str, bytes], bytes | None], message: Callable[[str], str]
    ) -> int:
        """Change every revision's files and message; how many revisions changed."""
        ...


class RewritableStore(TopicStore, Protocol):
    """A store whose history can be rewritten."""

    @property
    def history(self) -> RewritableHistory: ...

    def exclusively(self) -> AbstractContextManager[None]: ...


def versions_of(file: str, store: RewritableStore) -> list[Topic]:
    """The current and all former versions of a memory."""
    contents = {store.current(file)} | {
        store.history.read(file, revision.id) for revision in store.history.log(file)
    }
    return [topics.parse(data, file) for data in contents if data is not None]


# --- the memory itself, other memories, and history ---


@dataclass(frozen=True, slots=True)
class MemoryForgetter:
    """Removes a memory from its directory and history; `titles` are all titles it ever had."""

    store: RewritableStore
    traces: Traces
    titles: frozenset[str]
    author: Author
    now: str
    # The names of the daily logs.
    logs: Sequence[str] = ()

    @property
    def file(self) -> str:
        return self.traces.file

    def from_directory(self) -> list[Cleaned]:
        """Remove the file, its pointer, links to it and log entries, in one transaction."""
        stored = self.store.read(self.file)
        drops = [] if stored is None else [Drop(self.file, stored.version)]
        others, problems = self._unlinked_others()
        logs = [change for name in self.logs if (change := self._clean_log(name)) is not None]
        changes: list[Change] = [*drops, *others, *logs]
        self.store.apply(changes, self.author, "forget", lambda index: index.without(self.file))
        done = "removed, with its pointer in MEMORY.md" if drops else "had been removed before"
        return [
            Cleaned(f"memory/{self.file}", done, len(drops)),
            Cleaned(
                "other memories",
                f"{len(others)} linked to it; the links were removed",
                len(others),
                self._remaining(problems),
            ),
            Cleaned("daily logs", f"{len(logs)} held it and were cleaned", len(logs)),
        ]

    def from_history(self) -> Cleaned:
        """Rewrite every revision; the old objects are deleted with their repository."""
        spared = {entry.file for entry in self.store.entries() if self._quotes_it(entry.file)}
        # Short titles count, too: summaries of revisions name the memory by its title.
        titles = sorted(self.titles | {self.file})
        named = re.compile("|".join(rf"(?<!\w){re.escape(t)}(?!\w)" for t in titles))

        def message(text: str) -> str:
            summary, _, rest = text.partition("\n")
            mentioned = named.search(summary) or self.traces.holds(summary)
            return f"(forgotten)\n{rest}" if mentioned else text

        def change(name: str, data: bytes) -> bytes | None:
            return None if name == self.file else self._former(name, data, spared)

        with self.store.exclusively():
            count = 0
            if not self.store.history.is_empty:
                count = self.store.history.rewrite(change, message)
        return Cleaned("history.git", f"rewritten: {count} revisions no longer hold it", count)

    def _former(self, name: str, data: bytes, spared: set[str]) -> bytes:
        """A former version of another file, without links to the memory and quotes of it."""
        if name == INDEX_FILE:
            return indexes.render(indexes.parse(data).without(self.file))
        if name.startswith(f"{LOGS}/"):
            return self._text_without(data)
        fresh = self._unlinked(topics.parse(data, name))
        kept = data if fresh is None else topics.render(fresh)
        return kept if name in spared else self._text_without(kept)

    def _text_without(self, data: bytes) -> bytes:
        found = self.traces.redacted(data.decode("utf-8", "surrogateescape"))
        return found.text.encode("utf-8", "surrogateescape") if found.count else data

    def _unlinked_others(self) -> tuple[list[Put], list[str]]:
        changes: list[Put] = []
        problems: list[str] = []
        for entry in self.store.entries():
            if entry.file == self.file or (stored := self.store.read(entry.file)) is None:
                continue
            try:
                fresh = self._unlinked(stored.topic)
            except InputError as error:
                problems.append(str(error))
                continue
            if fresh is not None:
                changes.append(Put(entry.file, topics.render(fresh), stored.version))
        return changes, problems

    def _unlinked(self, memory: Topic) -> Topic | None:
        """Another memory without its links to this one; None if it had none.

        Memories that this one superseded stay archived: the user forgot the newer fact and did not
        say that the older one is valid again.
        """
        names = self.titles | {self.file, self.file.removesuffix(".md")}
        links = tuple(link for link in memory.links if link not in names)
        older = tuple(file for file in memory.supersedes if file != self.file)
        body = _linked(names).sub(MARK, memory.body)
        changes: dict[str, Any] = {}
        changes |= {"links": links or None} if links != memory.links else {}
        changes |= {"supersedes": older or None} if older != memory.supersedes else {}
        if memory.superseded_by == self.file:
            changes |= {"superseded_by": None, "archived": memory.archived or self.now}
        changes |= {"body": body} if body != memory.body else {}
        return memory.with_(**changes) if changes else None

    def _quotes_it(self, file: str) -> bool:
        data = self.store.current(file)
        return file != self.file and data is not None and self.traces.holds(_text(data))

    def _remaining(self, problems: list[str]) -> str:
        quoting = [entry.file for entry in self.store.entries() if self._quotes_it(entry.file)]
        advice = f"the same words are in {', '.join(quoting)}: forget that, too"
        return "; ".join([*([advice] if quoting else []), *problems])

    def _clean_log(self, name: str) -> Put | None:
        data = self.store.current(name)
        clean = None if data is None else self._text_without(data)
        return (
            None
            if data is None or clean is None or clean == data
            else Put(name, clean, version(data))
        )


def logs_in(root: Path) -> list[str]:
    """The names of the daily logs of a directory."""
    found = (root / LOGS).rglob("*.md")
    return sorted(path.relative_to(root).as_posix() for path in found)


def _linked(names: Iterable[str]) -> re.Pattern[str]:
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    wiki = rf"\[\[\s*(?:{known})\s*(?:[#|][^\[\]\r\n]*)?\]\]"
    return re.compile(rf"{wiki}|\[[^\[\]\n]*\]\((?:\./)?(?:{known})\)")


# --- files beside the memory ---
