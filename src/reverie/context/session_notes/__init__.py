"""Layer 3: a file of notes, kept nearly up to date, so that compaction needs no model call. This module has its frame, and its draft from facts.

Drafted text is below a mark. Text above the mark, or in a section without one, was written by the
model or a person and is never changed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from reverie.context.facts.calls import only_looks, shortened
from reverie.context.facts.outcomes import Command, Facts, FileTouch, Trouble
from reverie.context.user_messages import is_request
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

# Several carriage returns, too: removing one must not leave another line end.
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


MARK = "<!-- drafted from the tool calls, brought up to date automatically -->"

DRAFT_TOKENS = 1_500

_TITLE_WORDS = 10
_LONGEST_REQUEST = 600
_LONGEST_FIRST_REQUEST = 2_000
_LONGEST_WORDS = 1_200
_LONGEST_COMMAND = 160
_LONGEST_PATH = 300


def from_facts(facts: Facts, template: Template = TEMPLATE) -> Notes:
    """Draft notes from facts; sections that need a model stay empty."""
    known = {
        TITLE: _title(facts),
        STATE: _fitting(_state(facts)),
        TASK: _fitting(_task(facts)),
        FILES: _fitting(_files(facts.files)),
        WORKFLOW: "\n".join(last_lines(list(_workflow(facts.commands)), DRAFT_TOKENS)),
        ERRORS: "\n".join(last_lines([_trouble(t) for t in facts.troubles], DRAFT_TOKENS)),
        WORKLOG: "\n".join(last_lines([f"- {line}" for line in facts.work_log], DRAFT_TOKENS)),
    }
    return Notes.blank(template).with_texts(
        [known.get(section.title, "") for section in template.sections]
    )


def refreshed(notes: Notes, facts: Facts, *, everywhere: bool) -> Notes:
    """The notes with their drafted parts renewed.

    Sections written by the model stay unchanged; `everywhere` (no model could update them) adds the
    draft below them, as far as there is room.
    """
    draft = from_facts(facts, notes.template)
    return notes.with_texts(
        [
            _with_draft(text, new, add=everywhere and section.title != TITLE)
            for (section, text), new in zip(notes.sections, draft.texts, strict=True)
        ]
    )


def without_marks(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if line != MARK).strip()


def _with_draft(text: str, draft: str, *, add: bool) -> str:
    lines = text.split("\n")
    marked = MARK in lines
    own = "\n".join(lines[: lines.index(MARK)]).strip() if marked else text
    if not draft or (own and not marked and not add):
        return text
    if not own:
        return f"{MARK}\n{draft}"
    room = SECTION_TOKENS - text_tokens(f"{own}\n\n{MARK}\n")
    fitting = last_lines(draft.split("\n"), room)
    return "\n".join((own, "", MARK, *fitting)) if fitting else own


def _fitting(lines: Iterable[str]) -> str:
    return "\n".join(first_lines(list(lines), DRAFT_TOKENS))


def _title(facts: Facts) -> str:
    first = next((text for text in facts.user_messages if is_request(text)), "")
    line = next((line for line in first.splitlines() if line.strip(" #*")), "")
    words = shortened(line.strip(" #*"), _LONGEST_REQUEST).split()
    return " ".join(words[:_TITLE_WORDS])


def _state(facts: Facts) -> Iterable[str]:
    if facts.last_request:
        yield f"Last request: {shortened(facts.last_request, _LONGEST_WORDS)}"
    if facts.last_words:
        yield f"Last answer: {shortened(facts.last_words, _LONGEST_WORDS)}"
    if facts.open_question:
        yield f"Waiting for the user to answer: {facts.open_question}"
    for todo in facts.todos:
        if todo.open:
            yield f"- [ ] {todo.text} ({todo.status})"


def _task(facts: Facts) -> Iterable[str]:
    requests = [text for text in facts.user_messages if is_request(text)]
    for text in requests[:1]:
        yield f"- {shortened(text, _LONGEST_FIRST_REQUEST)}"
    if facts.plan:
        yield f"Plan that was approved: {shortened(facts.plan, _LONGEST_FIRST_REQUEST)}"
    later = [f"- {shortened(text, _LONGEST_REQUEST)}" for text in requests[1:]]
    decided = [f"- decided: {sentence}" for sentence in facts.decisions]
    yield from last_lines(later, DRAFT_TOKENS // 3)
    yield from last_lines(decided, DRAFT_TOKENS // 6)


def _files(files: Sequence[FileTouch]) -> Iterable[str]:
    """Changed files first, each group newest first, so that the least important ones are cut."""
    recent = files[::-1]
    for touch in (*(f for f in recent if f.changed), *(f for f in recent if not f.changed)):
        counts = (("written", touch.writes), ("edited", touch.edits), ("read", touch.reads))
        done = ", ".join(f"{verb} {count}×" for verb, count in counts if count)
        yield f"- `{shortened(touch.path, _LONGEST_PATH)}`: {done}"


def _workflow(commands: Sequence[Command]) -> Iterable[str]:
    """Each command once, in the order of its last run, without commands that only inspect things."""
    runs: dict[str, list[Command]] = {}
    for command in commands:
        if command.status != "not run" and not only_looks(command.line):
            runs[command.line] = [*runs.pop(command.line, []), command]
    for line, done in runs.items():
        ending = _ending(done[-1])
        times = f"{len(done)}×, last time {ending}" if len(done) > 1 else ending
        yield f"- `{shortened(line, _LONGEST_COMMAND)}`: {times}"


def _ending(command: Command) -> str:
    if command.status == "ok":
        return "ok"
    return "failed" if command.exit is None else f"exit {command.exit}"


def _trouble(trouble: Trouble) -> str:
    said = "; ".join(trouble.lines) or "no message"
    times = f" ({trouble.times}×)" if trouble.times > 1 else ""
    if not trouble.fixed_by:
        return f"- {trouble.call}: {said}{times} → not solved yet"
    changed = ", ".join(shortened(path, _LONGEST_PATH) for path in trouble.changed)
    change = f"changed {changed}, then " if changed else ""
    return f"- {trouble.call}: {said}{times} → {change}{trouble.fixed_by} worked"


def as_summary(notes: Notes, path: str) -> str | None:
    """The notes as a summary, within their limits; None when they are empty.

    Compaction adds the user's messages from the transcript, because a model that edits the notes is
    not trusted to keep them verbatim.
    """
    bare = notes.with_texts([without_marks(text) for text in notes.texts])
    if bare.is_blank:
        return None
    said = (
        f"{section.heading}\n{text}" for section, text in cut_sections(bare, path).sections if text
    )
    return "\n\n".join(said)
