"""Patterns over paths, as in a shell or a .gitignore: `*`, `?`, `[…]`, `{a,b}` and `**`."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

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
    def parse(cls, text: str) -> PathPattern:
        return cls(tuple(_components(one) for one in _alternatives(text)))

    def matches(self, parts: Parts) -> bool:
        return any(len(steps) in _reached(steps, parts) for steps in self.alternatives)

    def leads_below(self, folder: Parts) -> bool:
        """Could something inside this folder match?"""
        return any(
            any(step < len(steps) for step in _reached(steps, folder))
            for steps in self.alternatives
        )


def is_magic(component: str) -> bool:
    """Is it a pattern, rather than a name?"""
    return _MAGIC.search(component) is not None


def _reached(steps: Sequence[re.Pattern[str] | None], parts: Parts) -> set[int]:
    """How far into the pattern the parts can lead; all ways at once, so that none takes long."""
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
    """`**` may stand for nothing."""
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
        # What ends in `**` means everything inside, not the folder itself.
        parts.append("*")
    return tuple(None if part == "**" else _component(part) for part in parts)


@lru_cache(maxsize=4_096)
def _component(text: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(_STEPS.sub(_in_fnmatch, text)))


def _in_fnmatch(found: re.Match[str]) -> str:
    """Escapes and negation as `fnmatch` writes them."""
    if found[1] is None:
        return "[!"
    return f"[{found[1]}]" if found[1] in "*?[" else found[1]


def _alternatives(text: str) -> list[str]:
    """The pattern without braces, once for each choice; too many choices are left as they stand."""
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
