"""The notes file: a fixed frame of headings, each with an italic hint, and a text per section."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from reverie.core.window import text_tokens

TITLE = "Session Title"
STATE = "Current State"
TASK = "Task specification"
FILES = "Files and Functions"
WORKFLOW = "Workflow"
ERRORS = "Errors & Corrections"
DOCUMENTATION = "Codebase and System Documentation"
LEARNINGS = "Learnings"
RESULTS = "Key results"
WORKLOG = "Worklog"

_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_HEADING = re.compile(r"#[ \t]+\S.*")
_ITALIC = re.compile(r"_[^_\n].*_|\*[^*\n].*\*")


@dataclass(frozen=True, slots=True)
class Section:
    """The heading and the hint, exactly as in the file."""

    heading: str
    hint: str

    @property
    def title(self) -> str:
        return self.heading.lstrip("#").strip()


@dataclass(frozen=True, slots=True)
class Template:
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Unusable:
    """A template that cannot be used, and why."""

    reason: str


def substituted(text: str, variables: Mapping[str, str]) -> str:
    """Replace every known `{{variable}}` in one pass; inserted text is not expanded again."""
    return _VARIABLE.sub(lambda found: variables.get(found[1], found[0]), text)


def parse_template(text: str) -> Template | Unusable:
    """Parse a template by the user: each section is a `# Heading` with an italic line under it."""
    lines = [line.rstrip() for line in text.splitlines()]
    sections = tuple(
        Section(heading, hint)
        for heading, hint in pairwise(lines)
        if _HEADING.fullmatch(heading) and _ITALIC.fullmatch(hint)
    )
    if not sections:
        return Unusable("it has no section: a line '# Title' and under it a line '_what it holds_'")
    headings = [section.heading for section in sections]
    twice = next((heading for heading in headings if headings.count(heading) > 1), None)
    if twice is not None:
        return Unusable(f"it has the section {twice!r} twice: give each a title of its own")
    return Template(sections)


def _section(title: str, hint: str) -> Section:
    return Section(f"# {title}", f"_{hint}_")


TEMPLATE = Template(
    (
        _section(TITLE, "Five to ten words that tell this session from any other."),
        _section(STATE, "What is being done at this moment, what is left, and the very next step."),
        _section(TASK, "What was asked for, in the words it was asked in; what was agreed since."),
        _section(FILES, "The files and functions that matter here, and what each is for."),
        _section(WORKFLOW, "Commands that are run, in their order, and how to read their output."),
        _section(ERRORS, "What went wrong, what put it right, and what the user corrected."),
        _section(DOCUMENTATION, "The parts of the system, and how they fit together."),
        _section(LEARNINGS, "What proved to work, what did not, and what to keep away from."),
        _section(RESULTS, "The exact answer, table or text the user asked for, if they did."),
        _section(WORKLOG, "What was done, one short line a step."),
    )
)

SECTION_TOKENS = 2_000
TOTAL_TOKENS = 12_000

# Also several carriage returns: removing one must not leave another line end.
_LINE_END = re.compile(r"\r+\n")


@dataclass(frozen=True, slots=True)
class Notes:
    """One text per section of the template; empty where nothing is known yet."""

    template: Template
    texts: tuple[str, ...]

    @classmethod
    def blank(cls, template: Template = TEMPLATE) -> Notes:
        return cls(template, ("",) * len(template.sections))

    @property
    def is_blank(self) -> bool:
        return not any(text.strip() for text in self.texts)

    @property
    def sections(self) -> tuple[tuple[Section, str], ...]:
        return tuple(zip(self.template.sections, self.texts, strict=True))

    def text(self, title: str) -> str:
        """The text of a section; empty when the template has no such section."""
        return next((text for section, text in self.sections if section.title == title), "")

    def with_texts(self, texts: Sequence[str]) -> Notes:
        return replace(self, texts=tuple(_LINE_END.sub("\n", text).strip() for text in texts))


def render(notes: Notes) -> str:
    headings = {section.heading for section in notes.template.sections}
    parts = []
    for section, text in notes.sections:
        body = f"\n{_guarded(text, headings)}\n" if text else ""
        parts.append(f"{section.heading}\n{section.hint}\n{body}")
    return "\n".join(parts)


def parse(text: str, template: Template = TEMPLATE) -> Notes | None:
    """Parse the notes in a file; None when its frame differs from the template."""
    lines = _LINE_END.sub("\n", text).split("\n")
    pairs = {(section.heading, section.hint): section for section in template.sections}
    found = [(at, pairs[pair]) for at, pair in enumerate(pairwise(lines)) if pair in pairs]
    if tuple(section for _, section in found) != template.sections:
        return None
    starts = [at for at, _ in found]
    if any(line.strip() for line in lines[: starts[0]]):
        return None
    ends = [*starts[1:], len(lines)]
    texts = ("\n".join(lines[at + 2 : end]) for at, end in zip(starts, ends, strict=True))
    return Notes.blank(template).with_texts(tuple(texts))


def salvage(text: str, template: Template = TEMPLATE) -> Notes:
    """Recover notes from a file with a broken frame: the text under intact headings."""
    headings = {section.heading: at for at, section in enumerate(template.sections)}
    texts: list[list[str]] = [[] for _ in template.sections]
    current: int | None = None
    for line in _LINE_END.sub("\n", text).split("\n"):
        if line.strip() in headings:
            current = headings[line.strip()]
        elif current is not None and line != template.sections[current].hint:
            texts[current].append(line)
    return Notes.blank(template).with_texts(["\n".join(lines) for lines in texts])


def warnings(notes: Notes) -> tuple[str, ...]:
    """One sentence for each section that is too long, and for the whole."""
    found = [
        f"“{section.title}” has about {size:,} tokens, and {SECTION_TOKENS:,} is the most: shorten it."
        for section, text in notes.sections
        if (size := text_tokens(text)) > SECTION_TOKENS
    ]
    total = text_tokens(render(notes))
    if total > TOTAL_TOKENS:
        found.append(
            f"The notes have about {total:,} tokens in all, and {TOTAL_TOKENS:,} is the most: "
            "shorten what matters least now."
        )
    return tuple(found)


def cut_sections(notes: Notes, path: str) -> Notes:
    """Cut the notes to their limits; a cut section says where the rest is."""
    most = _section_limit([text_tokens(text) for text in notes.texts])
    return notes.with_texts(
        [
            _cut(text, most, path, from_start=section.title == WORKLOG)
            for section, text in notes.sections
        ]
    )


def _section_limit(sizes: Sequence[int]) -> int:
    """The largest size per section at which all sections stay within the total."""
    left, count = TOTAL_TOKENS, len(sizes)
    for size in sorted(sizes):
        if size * count > left:
            return min(SECTION_TOKENS, left // count)
        left -= size
        count -= 1
    return SECTION_TOKENS


def _cut(text: str, most: int, path: str, *, from_start: bool) -> str:
    """Whole lines up to a size. A log is cut at its beginning, any other section at its end."""
    if text_tokens(text) <= most:
        return text
    mark = f"[cut here; the whole section is in {path}]"
    room = max(most - text_tokens(mark), 0)
    lines = text.split("\n")
    if from_start:
        return "\n".join((mark, *(last_lines(lines, room) or [lines[-1][-room:]])))
    return "\n".join((*(first_lines(lines, room) or [lines[0][:room]]), mark))


def first_lines(lines: Sequence[str], most: int) -> list[str]:
    """As many whole lines from the start as fit into `most` tokens."""
    kept: list[str] = []
    for line in lines:
        most -= text_tokens(line + "\n")
        if most < 0:
            break
        kept.append(line)
    return kept


def last_lines(lines: Sequence[str], most: int) -> list[str]:
    return first_lines(lines[::-1], most)[::-1]


def _guarded(text: str, headings: set[str]) -> str:
    """Escape lines that would be taken for a heading of the frame."""
    return "\n".join(f"\\{line}" if line in headings else line for line in text.split("\n"))
