"""Which memories are about a file or an error: by their `paths:` and anchors, and by the words they share."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from reverie.agent.patterns import PathPattern
from reverie.memory.format.manifest import ManifestEntry
from reverie.memory.format.topic import Anchor, Topic
from reverie.ports import TopicReader
from reverie.text.words import ENGLISH, fold

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


# Names and codes of errors: ECONNREFUSED, OperationalError, E0308, TS2345.
_CODE = re.compile(
    r"\b(?:[A-Z][A-Z_]{4,}[A-Z0-9]|[A-Za-z]\w*(?:Error|Exception)|[A-Z]{1,4}\d{3,5})\b"
)
# Words used of any failure.
_COMMON_CODES = {
    "AssertionError",
    "Exception",
    "KeyError",
    "RuntimeError",
    "SyntaxError",
    "TypeError",
}
_COMMON_CODES |= {"ValueError", "ERROR", "FAILED", "FAILURE", "WARNING", "ENOENT"}
# This many words of an error in a row, two of them with meaning, are no coincidence.
_RUN = 3


MOST_FILES_OF_COMMAND = 10
_PATH = re.compile(r"[\w./@+~-]*[/.][\w./@+~-]*\w")


def command_files(command: str) -> tuple[str, ...]:
    """The words of a shell command that look like paths of files."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        words = command.split()
    paths = (word for word in words if _PATH.fullmatch(word) and not word.startswith("-"))
    return tuple(dict.fromkeys(paths))[:MOST_FILES_OF_COMMAND]


def error_signs(text: str) -> frozenset[str]:
    """What identifies an error, and a memory about it: codes, and runs of words."""
    words = [fold(word) for word in re.findall(r"\w+", text)]
    runs = (words[at : at + _RUN] for at in range(len(words) - _RUN + 1))
    telling = (run for run in runs if sum(word not in ENGLISH for word in run) > 1)
    codes = (code for code in _CODE.findall(text) if code not in _COMMON_CODES)
    return frozenset(codes) | {" ".join(run) for run in telling}


@dataclass(frozen=True, slots=True)
class Mentions:
    """The files and errors one memory is about."""

    patterns: tuple[PathPattern, ...] = ()
    names: frozenset[str] = frozenset()
    signs: frozenset[str] = frozenset()

    @classmethod
    def of(cls, topic: Topic) -> Mentions:
        anchors = (Anchor.parse(text).target.partition("::")[0] for text in topic.anchors)
        text = f"{topic.name}\n{topic.description}\n{topic.body}"
        said = _NAMED.findall(text)
        names = (name.rstrip(".").removeprefix("./").casefold() for name in (*anchors, *said))
        patterns = tuple(PathPattern.parse(glob.removeprefix("./")) for glob in topic.paths)
        kept = frozenset(name for name in names if len(name) > 3)
        return cls(patterns, kept, error_signs(text))

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
class MemoryMentions:
    """What the memories of a store mention; an unchanged memory is not read again."""

    store: TopicReader
    _known: dict[str, tuple[ManifestEntry, Mentions]] = field(default_factory=dict)

    def about_file(self, path: str) -> tuple[str, ...]:
        """The memories about a file of the project, newest first."""
        return tuple(e.file for e in self._candidates(path) if self._mentions(e).include(path))

    def about_error(self, lines: Sequence[str]) -> tuple[str, ...]:
        """The memories that share a code or a run of words with an error, best first."""
        signs = frozenset[str]().union(*(error_signs(line) for line in lines))
        shared = {
            entry.file: len(signs & self._mentions(entry).signs)
            for entry in (self._candidates(" ".join(lines)) if signs else ())
        }
        return tuple(sorted((f for f, count in shared.items() if count), key=lambda f: -shared[f]))

    def _candidates(self, text: str) -> list[ManifestEntry]:
        """The valid memories; in a large store, only those that share words with a text."""
        entries = self.store.alike(text) if self.store.large else self.store.entries()
        return [entry for entry in entries if entry.listed]

    def warm_up(self) -> None:
        """Read all memories that are not cached yet."""
        entries: Sequence[ManifestEntry] = () if self.store.large else self.store.entries()
        for entry in entries:
            self._mentions(entry)

    def _mentions(self, entry: ManifestEntry) -> Mentions:
        known = self._known.get(entry.file)
        if known is not None and known[0] == entry:
            return known[1]
        stored = self.store.read(entry.file)
        found = Mentions() if stored is None else Mentions.of(stored.topic)
        self._known[entry.file] = (entry, found)
        return found


@dataclass(slots=True)
class NewMentions:
    """Memories about the files and errors of one session, each of which is looked up once."""

    mentions: MemoryMentions
    project: Path
    _met: set[str] = field(default_factory=set)

    def about_files(self, files: Iterable[str], folder: Path | None = None) -> tuple[str, ...]:
        """The memories about these files; relative paths begin at `folder`, else at the project."""
        start = folder or self.project
        paths = {path for file in files if (path := self._inside(start, file))}
        new = sorted(paths - self._met)
        self._met.update(new)
        found = (file for path in new for file in self.mentions.about_file(path))
        return tuple(dict.fromkeys(found))

    def about_error(self, lines: Sequence[str]) -> tuple[str, ...]:
        """The memories about an error, given by its lines."""
        error = "\n".join(lines)
        if not error or error in self._met:
            return ()
        self._met.add(error)
        return self.mentions.about_error(lines)

    def _inside(self, start: Path, file: str) -> str:
        """A file's path in the project, with slashes; empty for one outside of it."""
        path = Path(os.path.normpath(start / Path(file).expanduser()))
        inside = path.is_relative_to(self.project)
        return path.relative_to(self.project).as_posix() if inside else ""
