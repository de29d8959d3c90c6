"""Path patterns, .gitignore rules, and a walk over the files below a folder."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

# Rules of later files win.
_FILES = (".gitignore", ".ignore", ".rgignore")
_LARGEST = 1_000_000
# No path has a component "." or "..", and for git "[" without "]" matches nothing.
_MATCHES_NOTHING = re.compile(r"(?:^|/)\.{1,2}(?:/|$)|(?<!\\)\[[^\]]*$")


@dataclass(frozen=True, slots=True)
class Rule:
    pattern: PathPattern
    ignores: bool = True
    folders_only: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one folder, and its path as components."""

    base: tuple[str, ...]
    rules: tuple[Rule, ...]


def parse_rule(line: str) -> Rule | None:
    """Parse one line of a .gitignore; None for blank lines, comments and what matches no path."""
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if not text or text.startswith("#"):
        return None
    ignores = not text.startswith("!")
    text = text if ignores else text[1:]
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    if not text or _MATCHES_NOTHING.search(text):
        return None
    anchored = "/" in text
    pattern = PathPattern.parse(text if anchored else f"**/{text}", braces=False)
    return Rule(pattern, ignores, folders_only)


def rules_in(folder: Path) -> Rules:
    """The rules in a folder's own files, weakest first."""
    lines = [line for name in _FILES for line in _lines(folder / name)]
    if (folder / ".git").is_dir():
        lines = [*_lines(folder / ".git" / "info" / "exclude"), *lines]
    found = (parse_rule(line) for line in lines)
    return Rules(folder.parts, tuple(rule for rule in found if rule))


def rules_above(folder: Path) -> tuple[Rules, ...]:
    """The rules of the folders above, from the repository's root down."""
    chain: list[Rules] = []
    inside = folder
    while not (inside / ".git").exists() and inside != inside.parent:
        inside = inside.parent
        chain.append(rules_in(inside))
    return tuple(rules for rules in reversed(chain) if rules.rules)


def ignored(path: Sequence[str], layers: Iterable[Rules], *, folder: bool) -> bool:
    """Whether a path is ignored: the last matching rule decides; `layers` are outermost first."""
    for layer in reversed(tuple(layers)):
        inner = path[len(layer.base) :]
        for rule in reversed(layer.rules):
            if (folder or not rule.folders_only) and rule.pattern.matches(inner):
                return rule.ignores
    return False


def _lines(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            return file.read(_LARGEST).split("\n")
    except OSError:
        return []


Parts: TypeAlias = Sequence[str]

_MOST_ALTERNATIVES = 256
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MAGIC = re.compile(r"[*?\[{\\]")
_STEPS = re.compile(r"\\(.)|\[\^")


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A pattern, one component at a time; None stands for `**`: any number of components."""

    alternatives: tuple[tuple[re.Pattern[str] | None, ...], ...]

    @classmethod
    def parse(cls, text: str, *, braces: bool = True) -> PathPattern:
        return cls(tuple(_components(one) for one in (_alternatives(text) if braces else [text])))

    def matches(self, parts: Parts) -> bool:
        return any(len(steps) in _reached(steps, parts) for steps in self.alternatives)

    def leads_below(self, folder: Parts) -> bool:
        """Whether a path inside this folder could match."""
        return any(
            any(step < len(steps) for step in _reached(steps, folder))
            for steps in self.alternatives
        )


def is_magic(component: str) -> bool:
    """Whether it is a pattern rather than a name."""
    return _MAGIC.search(component) is not None


def _reached(steps: Sequence[re.Pattern[str] | None], parts: Parts) -> set[int]:
    """The positions in the pattern that the parts can reach; all at once, without backtracking."""
    reached = _with_skipped({0}, steps)
    for part in parts:
        stepped: set[int] = set()
        for at in reached:
            if at == len(steps):
                continue
            step = steps[at]
            if step is None:
                stepped.add(at)
            elif step.match(part):
                stepped.add(at + 1)
        reached = _with_skipped(stepped, steps)
    return reached


def _with_skipped(reached: Iterable[int], steps: Sequence[re.Pattern[str] | None]) -> set[int]:
    """Add the positions reached when `**` matches nothing."""
    found: set[int] = set()
    for start in reached:
        at = start
        found.add(at)
        while at < len(steps) and steps[at] is None:
            at += 1
            found.add(at)
    return found


def _components(text: str) -> tuple[re.Pattern[str] | None, ...]:
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if parts and parts[-1] == "**":
        # A final `**` matches everything inside, not the folder itself.
        parts.append("*")
    return tuple(None if part == "**" else _component(part) for part in parts)


@lru_cache(maxsize=4_096)
def _component(text: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(_STEPS.sub(_in_fnmatch, text)))


def _in_fnmatch(found: re.Match[str]) -> str:
    """Escapes and negation in the syntax of `fnmatch`."""
    if found[1] is None:
        return "[!"
    return f"[{found[1]}]" if found[1] in "*?[" else found[1]


def _alternatives(text: str) -> list[str]:
    """The pattern with braces expanded; those beyond a limit are left as they are."""
    waiting = [text]
    done: list[str] = []
    while waiting:
        one = waiting.pop()
        braces = _BRACES.search(one)
        if braces is None or len(waiting) + len(done) > _MOST_ALTERNATIVES:
            done.append(one)
            continue
        before, after = one[: braces.start()], one[braces.end() :]
        waiting += [before + choice + after for choice in reversed(braces[1].split(","))]
    return done


VERSION_CONTROL = (".git", ".hg", ".jj", ".svn")


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, and its path from the searched folder as components."""

    path: Path
    parts: tuple[str, ...]
    ignored: bool
    link: bool


def files_below(
    folder: Path, enter: Callable[[tuple[str, ...]], bool] = lambda parts: True
) -> Iterator[FoundFile]:
    """Every file, sorted by name; ignored folders are not entered, ignored files are marked.

    `enter` decides which folders are entered. Links are not followed.
    """
    base = Path(os.path.abspath(folder))  # noqa: PTH100 - links above the folder stay as they are
    yield from _below(base, (), rules_above(base), enter)


def _below(
    folder: Path,
    parts: tuple[str, ...],
    above: tuple[Rules, ...],
    enter: Callable[[tuple[str, ...]], bool],
) -> Iterator[FoundFile]:
    own = rules_in(folder)
    layers = (*above, own) if own.rules else above
    for entry in _entries(folder):
        if entry.name in VERSION_CONTROL:
            continue
        inner = (*parts, entry.name)
        path = folder / entry.name
        if not entry.is_dir(follow_symlinks=False):
            skipped = ignored(path.parts, layers, folder=False)
            yield FoundFile(path, inner, skipped, entry.is_symlink())
        elif enter(inner) and not ignored(path.parts, layers, folder=True):
            # A nested repository has its own rules.
            nested = (path / ".git").exists()
            yield from _below(path, inner, () if nested else layers, enter)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
