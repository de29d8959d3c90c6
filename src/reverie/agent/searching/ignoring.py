"""What version control ignores: the rules of .gitignore files, as git reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reverie.agent.searching.patterns import PathPattern

# Later files win over earlier ones.
_FILES = (".gitignore", ".ignore", ".rgignore")
_LARGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class Rule:
    pattern: PathPattern
    ignores: bool = True
    folders_only: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one folder; its path as components."""

    base: tuple[str, ...]
    rules: tuple[Rule, ...]


def parse_rule(line: str) -> Rule | None:
    """One line of a .gitignore; None for blank lines and comments."""
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if not text or text.startswith("#"):
        return None
    ignores = not text.startswith("!")
    text = text if ignores else text[1:]
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    if not text:
        return None
    anchored = "/" in text
    return Rule(PathPattern.parse(text if anchored else f"**/{text}"), ignores, folders_only)


def rules_in(folder: Path) -> Rules:
    """What a folder's own files say, weakest first."""
    lines = [line for name in _FILES for line in _lines(folder / name)]
    if (folder / ".git").is_dir():
        lines = [*_lines(folder / ".git" / "info" / "exclude"), *lines]
    found = (parse_rule(line) for line in lines)
    return Rules(folder.parts, tuple(rule for rule in found if rule))


def rules_above(folder: Path) -> tuple[Rules, ...]:
    """The rules of the folders that lead here, from the repository's root."""
    chain: list[Rules] = []
    inside = folder
    while not (inside / ".git").exists() and inside != inside.parent:
        inside = inside.parent
        chain.append(rules_in(inside))
    return tuple(rules for rules in reversed(chain) if rules.rules)


def ignored(path: Sequence[str], layers: Iterable[Rules], *, folder: bool) -> bool:
    """The last rule that matches decides; `layers` go from the outermost folder inwards."""
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
