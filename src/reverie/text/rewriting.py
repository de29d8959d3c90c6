"""Rewrites a text by many patterns, few of which match any one text.

Each pattern knows letters that every match contains, and a text without them is not searched: of
150 patterns, two or three remain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

_LOOKS = ("?=", "?!", "?<=", "?<!")
_OPTIONAL = ("?", "*", "{")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A pattern, its replacement, and letters of which every match has some."""

    pattern: re.Pattern[str]
    replacement: str
    needed: tuple[str, ...]

    @classmethod
    def of(cls, source: str, replacement: str) -> Rewrite:
        return cls(re.compile(source, re.IGNORECASE), replacement, needed(source))

    def may_fit(self, small: str) -> bool:
        """Whether a lower-case text may match; False only if it cannot."""
        return not self.needed or _has_any(small, self.needed)


def rewritten(text: str, rewrites: Sequence[Rewrite]) -> str:
    """The text after all rewrites, in order."""
    small = _small(text)
    for one in rewrites:
        if small is None or one.may_fit(small):
            changed = one.pattern.sub(one.replacement, text)
            if changed != text:
                text, small = changed, _small(changed)
    return text


def may_match(pattern: re.Pattern[str], text: str) -> bool:
    """Whether a pattern that ignores case may match; False only if it cannot."""
    letters, small = needed(pattern.pattern), _small(text)
    return not letters or small is None or _has_any(small, letters)


def _has_any(text: str, some: tuple[str, ...]) -> bool:
    # A loop, because `any` makes a generator for every pattern and text.
    for one in some:  # noqa: SIM110
        if one in text:
            return True
    return False


def _small(text: str) -> str | None:
    """The text in lower case; None where other letters would match, too, such as the long s."""
    return text.lower() if text.isascii() else None


@lru_cache(maxsize=1_024)
def needed(source: str) -> tuple[str, ...]:
    """Lower-case letters of which every match has at least one; none if that is unknown."""
    found: set[str] = set()
    for branch in _branches(source):
        required = _required(branch)
        best = max(required, key=lambda some: (min(map(len, some)), -len(some)), default=())
        if not best:
            return ()
        found.update(best)
    return tuple(sorted(found))


def _branches(source: str) -> Iterator[str]:
    """The alternatives between the outermost bars."""
    start = depth = 0
    for at, sign in _signs(source):
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and not depth:
            yield source[start:at]
            start = at + 1
    yield source[start:]


def _signs(source: str) -> Iterator[tuple[int, str]]:
    """Each position and its token; an escape, a character class or a count is one token."""
    at = 0
    while at < len(source):
        end = at + 1
        if source[at] == "\\":
            end = at + 2
        elif source[at] == "{":
            end = source.index("}", at) + 1
        elif source[at] == "[":
            # A bracket right after the opening one is a member of the class.
            end = source.index("]", at + 3 if source[at + 1] == "^" else at + 2) + 1
        yield at, source[at:end]
        at = end


def _required(branch: str) -> Iterator[tuple[str, ...]]:
    """The runs of letters that a match of this branch contains, and the choices of its groups."""
    run, depth, opened = "", 0, 0
    for at, sign in _signs(branch):
        after = branch[at + len(sign) :]
        if sign == ")":
            depth -= 1
            inside = branch[opened + 1 : at]
            if not depth and not inside.startswith(_LOOKS) and not after.startswith(_OPTIONAL):
                yield from filter(None, [needed(re.sub(r"^\?(?::|P<\w+>)", "", inside))])
        elif sign == "(":
            opened = opened if depth else at
            depth += 1
        letter = None if depth or sign == ")" else _letter(sign, after)
        if letter is None:
            yield from [(run.lower(),)] if run else []
            run = ""
        else:
            run += letter
    if run:
        yield (run.lower(),)


def _letter(sign: str, after: str) -> str | None:
    """What a token adds to a run of letters; None if the run ends here."""
    if sign in (r"\b", "^", "$"):
        return ""
    letter = sign[1:] if sign[0] == "\\" and not sign[1].isalnum() else sign
    if len(letter) > 1 or sign in (".", "+", "*", "?") or after.startswith(_OPTIONAL):
        return None
    return letter
