"""The frame of the notes: headings and the italic line under each, which nobody changes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

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
    """Two lines, exactly as they stand in the file."""

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
    """A template that cannot serve as a frame, and why."""

    reason: str


def substituted(text: str, variables: Mapping[str, str]) -> str:
    """Every known `{{variable}}` replaced, in one pass: what was put in is not looked at again."""
    return _VARIABLE.sub(lambda found: variables.get(found[1], found[0]), text)


def parse_template(text: str, variables: Mapping[str, str] | None = None) -> Template | Unusable:
    """The sections of a template the user wrote: each a `# Heading` with an italic line under it."""
    lines = [line.rstrip() for line in substituted(text, variables or {}).splitlines()]
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
