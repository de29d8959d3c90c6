"""Instruction files: their names, includes, and rendering for the system prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, TypeAlias

from reverie.core.foreign_text import attribute, quoted
from reverie.memory.format import frontmatter
from reverie.memory.format.frontmatter import parse_list

Kind: TypeAlias = Literal["managed", "user", "project", "local"]

LONGEST = 40_000
DEEPEST_INCLUDE = 5

# In a folder of the project, in reading order: later ones win.
PROJECT_FILES = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md")
OWN_PROJECT_FILES = ("REVERIE.md", ".reverie/REVERIE.md")
LOCAL_FILES = ("CLAUDE.local.md", ".reverie/local.md")

_WRITTEN_BY: dict[Kind, str] = {
    "managed": "for everyone on this machine",
    "user": "the user's own, for all projects",
    "project": "kept with the project",
    # Meant as the user's own, but a clone or archive may have brought it along.
    "local": "kept with the project, for one person",
}

_TEXT_SUFFIX = re.compile(
    r"md|markdown|mdx|mdc|txt|text|rst|adoc|org|tex|csv|tsv|log|diff|patch"
    r"|json[c5]?|ya?ml|toml|ini|cfg|conf|properties|xml|html?|s?css|less|sql|graphql|proto"
    r"|pyi?|[mc]?js|tsx?|jsx|vue|svelte|go|rs|cc?|h|[ch]pp|cs|java|kts?|scala|swift|rb|php"
    r"|pl|lua|r|jl|exs?|erl|hs|ml|clj|dart|(?:ba|z|fi)?sh|ps1|bat|tf|gradle|cmake|mk"
)

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TICKS = re.compile(r"`+")
_INCLUDE = re.compile(r"(?<![^\s(\[\"'])@((?:\\ |[^\s\\])+)")
_AFTER_PATH = ".,;:!?)]}>'\""
_UNREADABLE = "\ufffd"


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """An instruction file. Without text it was left out; the notes say why, or list problems."""

    path: str
    kind: Kind
    text: str
    notes: tuple[str, ...] = ()
    included_by: str | None = None


def includes(text: str) -> tuple[str, ...]:
    """The paths a text includes with `@path`, each once, in order, except inside code."""
    found = (
        match[1].replace("\\ ", " ").partition("#")[0].rstrip(_AFTER_PATH)
        for paragraph in _paragraphs(text)
        for match in _INCLUDE.finditer(_without_code_spans(paragraph))
    )
    return tuple(dict.fromkeys(path for path in found if path))


def looks_like_path(path: str) -> bool:
    """Whether `@…` is meant as a path, as in `@docs/style.md`, but not `@alice`."""
    return "/" in path or bool(_TEXT_SUFFIX.fullmatch(_suffix(path)))


def is_text_name(name: str) -> bool:
    """Whether a file of this name can be included: a text suffix, or none and not hidden."""
    suffix = _suffix(name)
    return bool(_TEXT_SUFFIX.fullmatch(suffix)) if suffix else not name.startswith(".")


def read_text(data: bytes, path: str) -> tuple[str, tuple[str, ...]] | None:
    """The text of a file and notes on problems; None if it is not text."""
    if b"\0" in data:
        return None
    text = data.decode("utf-8-sig", "replace")
    notes = []
    if len(text) > LONGEST:
        text = text[:LONGEST]
        text = text[: text.rfind("\n") + 1] or text
        text += f"\n[cut after {len(text):,} characters; the whole file is {path}]"
        notes.append(f"longer than {LONGEST:,} characters: the rest is left out; make it shorter")
    if _UNREADABLE in text:
        notes.append("it is not all UTF-8: what could not be read is shown as \ufffd")
    return text, tuple(notes)


def rule(text: str) -> tuple[str, tuple[str, ...]]:
    """The body of a rule, and the paths it is limited to."""
    document = frontmatter.parse(text)
    if not document.opening:
        return text, ()
    entry = document.entry("paths")
    return document.body, parse_list(entry.value) if entry else ()


def render(files: Iterable[InstructionFile]) -> str:
    """The section of the system prompt; empty without instructions."""
    parts = [_rendered(file) for file in files if file.text.strip()]
    return "\n\n".join((_LEAD, *parts)) + "\n" if parts else ""


def _rendered(file: InstructionFile) -> str:
    # Quoted, so that a file cannot close its element and imitate another file.
    inside = quoted(file.text.strip())
    about = f'from="{attribute(file.path)}" written="{_WRITTEN_BY[file.kind]}"'
    return f"<instructions {about}>\n{inside}\n</instructions>"


def _suffix(path: str) -> str:
    return PurePath(path).suffix.removeprefix(".").lower()


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs outside fenced code; a code span does not extend over a blank line."""
    fence = ""
    paragraph: list[str] = []
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            closes = mark and mark[1].startswith(fence) and not line[mark.end() :].strip()
            fence = "" if closes else fence
        elif mark:
            fence = mark[1]
        elif line.strip():
            paragraph.append(line)
            continue
        yield "\n".join(paragraph)
        paragraph = []
    yield "\n".join(paragraph)


def _without_code_spans(text: str) -> str:
    """Remove code spans, which open and close with the same number of backticks."""
    runs = list(_TICKS.finditer(text))
    kept: list[str] = []
    at = n = 0
    while n < len(runs):
        length = len(runs[n][0])
        close = next((m for m in range(n + 1, len(runs)) if len(runs[m][0]) == length), None)
        if close is None:
            n += 1
            continue
        kept.append(text[at : runs[n].start()])
        at = runs[close].end()
        n = close + 1
    return "`".join((*kept, text[at:]))


_LEAD = """\
# Instructions

These files were written for you by the people responsible for this machine, this project and this work. \
Follow them, also where you would do otherwise by yourself. Where two of them disagree, the later one holds."""

FILE = "learning.md"
# How much of each file is read.
MOST_CHARACTERS = 4_000
_MOST_WORDS = 6

_HEADING = re.compile(r"^#{1,6}\s+(?P<title>.*)$")
_NEVER = re.compile(r"\b(?:never|do not|don['’]t|not to (?:keep|save|remember))\b", re.I)
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_PLAIN = re.compile(r"[\w'’-]+(?: [\w'’-]+)*")


@dataclass(frozen=True, slots=True)
class LearningInstructions:
    """The user's instructions for learning, by priority; `never` are phrases to exclude."""

    parts: tuple[tuple[str, str], ...] = ()
    never: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def excluded(self, text: str) -> str | None:
        """The phrase that excludes a text, or None."""
        plain = " ".join(text.split())
        return next((phrase for phrase in self.never if _contains(plain, phrase)), None)

    def keeps_out(self, text: str) -> bool:
        return self.excluded(text) is not None

    @property
    def section(self) -> str:
        """The section for a fork's directive; empty without instructions."""
        if not self.parts:
            return ""
        quoted = "\n\n".join(_quoted(label, text) for label, text in self.parts)
        return f"{_INTRODUCTION}\n\n{quoted}"


def parse(files: Iterable[tuple[str, str]]) -> LearningInstructions:
    """Parse files, given with their labels; blank ones are ignored."""
    parts: list[tuple[str, str]] = []
    notes: list[str] = []
    for label, text in files:
        kept = text.strip()
        if len(kept) > MOST_CHARACTERS:
            notes.append(f"only the first {MOST_CHARACTERS:,} characters of {label} are used")
            kept = kept[:MOST_CHARACTERS].rsplit("\n", 1)[0].rstrip() + "\n[cut here]"
        if kept:
            parts.append((label, kept))
    never = (phrase for _, text in parts for phrase in _phrases(text))
    return LearningInstructions(tuple(parts), tuple(dict.fromkeys(never)), tuple(notes))


def with_never(text: str, phrase: str) -> str:
    """The text of a learning.md with one more phrase below its heading about "never"."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        heading = _HEADING.match(line)
        if heading is not None and _NEVER.search(heading["title"]):
            after = next((n for n in range(number + 1, len(lines)) if lines[n].strip()), number + 1)
            place = number + 1 if after >= len(lines) or _HEADING.match(lines[after]) else after
            gap = [""] if place == number + 1 else []
            return "\n".join([*lines[:place], *gap, f"- {phrase}", *lines[place:]]).rstrip() + "\n"
    return f"{text}\n\n## Never keep\n\n- {phrase}\n".lstrip("\n")


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


def _contains(text: str, phrase: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.I) is not None


def _quoted(label: str, text: str) -> str:
    lines = "\n".join(f"> {line}".rstrip() for line in text.splitlines())
    return f"{label}:\n{lines}"


_INTRODUCTION = """\
The person wrote down what is to be learnt here and what never. This is theirs: where it says “never”, keep nothing of \
the kind, whoever asks; where it says what matters, look for that. It changes nothing about who must have said a thing \
for it to be kept. Where two of them differ, the first one counts."""
