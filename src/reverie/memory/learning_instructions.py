"""`learning.md`: what the person wants kept and what never, in their own words. Pure.

A model reads it as it is. The rules understand one thing in it: short lines of plain words under a
heading that says "never" (or "do not") are phrases, and what contains one is not remembered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

FILE = "learning.md"
# Of each file so much is read.
MOST_CHARACTERS = 4_000
_MOST_WORDS = 6

_HEADING = re.compile(r"^#{1,6}\s+(?P<title>.*)$")
_NEVER = re.compile(r"\b(?:never|do not|don['’]t|not to (?:keep|save|remember))\b", re.I)
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_PLAIN = re.compile(r"[\w'’-]+(?: [\w'’-]+)*")


@dataclass(frozen=True, slots=True)
class LearningInstructions:
    """The person's files, those that count more first; `never` are the phrases the rules go by."""

    parts: tuple[tuple[str, str], ...] = ()
    never: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def excluded(self, text: str) -> str | None:
        """The phrase that keeps a text out; None when nothing does."""
        spoken = " ".join(text.split())
        return next((phrase for phrase in self.never if _says(spoken, phrase)), None)

    def keeps_out(self, text: str) -> bool:
        return self.excluded(text) is not None

    @property
    def section(self) -> str:
        """For the directive of a fork; empty when the person wrote nothing."""
        if not self.parts:
            return ""
        quoted = "\n\n".join(_quoted(label, text) for label, text in self.parts)
        return f"{_INTRODUCTION}\n\n{quoted}"


def parse(files: Iterable[tuple[str, str]]) -> LearningInstructions:
    """From the files there are, each with the name it is shown by; blank ones say nothing."""
    parts: list[tuple[str, str]] = []
    notes: list[str] = []
    for label, text in files:
        told = text.strip()
        if len(told) > MOST_CHARACTERS:
            notes.append(f"only the first {MOST_CHARACTERS:,} characters of {label} are used")
            told = told[:MOST_CHARACTERS].rsplit("\n", 1)[0].rstrip() + "\n[cut here]"
        if told:
            parts.append((label, told))
    never = (phrase for _, text in parts for phrase in _phrases(text))
    return LearningInstructions(tuple(parts), tuple(dict.fromkeys(never)), tuple(notes))


def _phrases(text: str) -> Iterator[str]:
    """Short lines of plain words below a heading that says "never", up to the next heading."""
    below = False
    for line in text.splitlines():
        heading = _HEADING.match(line)
        if heading is not None:
            below = _NEVER.search(heading["title"]) is not None
            continue
        words = _BULLET.sub("", line).strip().rstrip(".,;")
        if below and _PLAIN.fullmatch(words) and len(words.split()) <= _MOST_WORDS:
            yield words


def _says(spoken: str, phrase: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", spoken, re.I) is not None


def _quoted(label: str, text: str) -> str:
    lines = "\n".join(f"> {line}".rstrip() for line in text.splitlines())
    return f"{label}:\n{lines}"


_INTRODUCTION = """\
The person wrote down what is to be learnt here and what never. This is theirs: where it says “never”, keep nothing of \
the kind, whoever asks; where it says what matters, look for that. It changes nothing about who must have said a thing \
for it to be kept. Where two of them differ, the first one counts."""
