"""Which memories are about a file: by their `paths:`, by their anchors, or because they name it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from reverie.agent.searching.patterns import PathPattern
from reverie.memory.format.manifest import ManifestEntry
from reverie.memory.format.topic import Anchor, Topic
from reverie.ports import TopicReader

# A path, or the name of a file with an ending.
_NAMED = re.compile(r"(?<![\w/@-])(?:(?:[\w.@+-]+/)+[\w.@+-]+|[\w@+-][\w.@+-]*\.\w{1,8})")
# Names that many files share: only their whole path says which one is meant.
_COMMON = frozenset(
    [
        "readme.md",
        "changelog.md",
        "__init__.py",
        "__main__.py",
        "main.py",
        "index.js",
        "index.ts",
        "index.html",
        "main.go",
        "mod.rs",
        "lib.rs",
        "main.rs",
        "setup.py",
        "conftest.py",
        "package.json",
        "tsconfig.json",
        "makefile",
        "dockerfile",
        "settings.py",
        "config.py",
        "utils.py",
        "types.ts",
        "test.py",
        "models.py",
        "views.py",
    ]
)


@dataclass(frozen=True, slots=True)
class Mentions:
    """The files one memory is about."""

    patterns: tuple[PathPattern, ...]
    names: frozenset[str]

    @classmethod
    def of(cls, topic: Topic) -> Mentions:
        anchors = (Anchor.parse(text).target.partition("::")[0] for text in topic.anchors)
        said = _NAMED.findall(f"{topic.name}\n{topic.description}\n{topic.body}")
        names = (name.rstrip(".").removeprefix("./").casefold() for name in (*anchors, *said))
        patterns = tuple(PathPattern.parse(glob.removeprefix("./")) for glob in topic.paths)
        return cls(patterns, frozenset(name for name in names if len(name) > 3))

    def include(self, path: str) -> bool:
        """Is this memory about a file, given by its path in the project?"""
        if any(pattern.matches(PurePosixPath(path).parts) for pattern in self.patterns):
            return True
        folded = path.casefold()
        parts = folded.split("/")
        tails = {"/".join(parts[start:]) for start in range(len(parts) - 1)}
        if parts[-1] not in _COMMON:
            tails.add(parts[-1])
        return not self.names.isdisjoint({folded} | tails)


@dataclass(slots=True)
class FileMentions:
    """What the memories of a store are about; a memory that did not change is not read again."""

    store: TopicReader
    _known: dict[str, tuple[ManifestEntry, Mentions]] = field(default_factory=dict)

    def about(self, path: str) -> tuple[str, ...]:
        """The memories about a file of the project, newest first; of a large store the likely ones."""
        entries = self.store.alike(path) if self.store.large else self.store.entries()
        holding = [entry for entry in entries if not entry.archived and not entry.superseded]
        return tuple(entry.file for entry in holding if self._mentions(entry).include(path))

    def warm_up(self) -> None:
        """Read what is not known yet."""
        entries: Sequence[ManifestEntry] = () if self.store.large else self.store.entries()
        for entry in entries:
            self._mentions(entry)

    def _mentions(self, entry: ManifestEntry) -> Mentions:
        known = self._known.get(entry.file)
        if known is not None and known[0] == entry:
            return known[1]
        stored = self.store.read(entry.file)
        found = Mentions((), frozenset()) if stored is None else Mentions.of(stored.topic)
        self._known[entry.file] = (entry, found)
        return found
