"""Drafts the notes from facts, without a model, and keeps the drafted parts up to date.

Drafted text is below a mark. Text above the mark, or in a section without one, was written by the
model or a person and is never changed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reverie.context.facts import Command, Facts, FileTouch, Trouble
from reverie.context.facts.calls import only_looks, shortened
from reverie.context.session_notes.notes import (
    ERRORS,
    FILES,
    SECTION_TOKENS,
    STATE,
    TASK,
    TEMPLATE,
    TITLE,
    WORKFLOW,
    WORKLOG,
    Notes,
    Template,
    cut_sections,
    first_lines,
    last_lines,
)
from reverie.context.user_messages import is_request
from reverie.core.window import text_tokens

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
