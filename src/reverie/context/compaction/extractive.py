"""A summary in nine parts without a model, made from the transcript and earlier summaries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reverie.context.compaction.parts import Parts, body_of, is_summary, parse
from reverie.context.facts import Facts, FileTouch, Todo, Trouble
from reverie.context.facts.calls import command_parts, only_looks, shortened
from reverie.context.user_messages import is_request
from reverie.core.messages import Message

_LONGEST_LINE = 400
_LONGEST_WORDS = 1_500
_LAST_STEPS = 12
_MOST_PROGRAMS = 20


def extract(
    messages: Sequence[Message], facts: Facts, todos: Sequence[Todo] | None = None
) -> Parts:
    """Build the nine parts from `facts` (those of `messages`) and from earlier summaries.

    Of pending tasks, current work and the next step only the latest is kept.
    """
    earlier = earlier_parts(messages)
    waiting = [todo for todo in (facts.todos if todos is None else todos) if todo.open]
    gathered = zip(
        earlier.texts[:6],
        (
            _requests(facts),
            _concepts(facts),
            _lines(_file(touch) for touch in facts.files),
            _lines(_trouble(trouble) for trouble in facts.troubles),
            _lines([*facts.decisions, *([f"The plan:\n{facts.plan}"] if facts.plan else [])]),
            "",
        ),
        strict=True,
    )
    latest = zip(
        (_lines(todo.text for todo in waiting), _work(facts), _next(facts, waiting)),
        earlier.texts[6:],
        strict=True,
    )
    texts = (
        *(_merged(old, new) for old, new in gathered),
        *(new or old for new, old in latest),
    )
    return Parts(texts, earlier.overview)


def earlier_parts(messages: Iterable[Message]) -> Parts:
    """Merge the earlier summaries among these messages."""
    found = Parts()
    for message in messages:
        if is_summary(message):
            parts = parse(body_of(message))
            texts = (_merged(o, n) for o, n in zip(found.texts, parts.texts, strict=True))
            found = Parts(tuple(texts), _merged(found.overview, parts.overview))
    return found


def _requests(facts: Facts) -> str:
    asked = [text for text in facts.user_messages if is_request(text)]
    ends = dict.fromkeys((*asked[:1], *asked[-1:]))
    return _lines(
        f"{when}: {shortened(text, _LONGEST_LINE)}"
        for when, text in zip(("Asked first", "Asked last"), ends, strict=False)
    )


def _concepts(facts: Facts) -> str:
    programs = dict.fromkeys(
        program
        for command in facts.commands
        if not only_looks(command.line)
        for program in sorted(command_parts(command.line))
    )
    kinds = dict.fromkeys(_suffix(touch.path) for touch in facts.files)
    named = (("Programs in use", programs), ("Kinds of files", kinds))
    return _lines(
        f"{name}: {', '.join([item for item in found if item][-_MOST_PROGRAMS:])}"
        for name, found in named
        if any(found)
    )


def _suffix(path: str) -> str:
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    return dot + suffix if stem else ""


def _file(touch: FileTouch) -> str:
    counts = (("read", touch.reads), ("edited", touch.edits), ("written", touch.writes))
    done = ", ".join(f"{verb} {times}×" for verb, times in counts if times)
    return f"{touch.path} ({done})"


def _trouble(trouble: Trouble) -> str:
    line = f"{trouble.call} failed ({trouble.times}×): {' / '.join(trouble.lines)}"
    changed = f", after changes to {', '.join(trouble.changed)}" if trouble.changed else ""
    mended = f"; mended by {trouble.fixed_by}{changed}" if trouble.fixed_by else "; not mended"
    return line + mended


def _work(facts: Facts) -> str:
    steps = _lines(facts.work_log[-_LAST_STEPS:])
    words = shortened(facts.last_words, _LONGEST_WORDS)
    said = f"The assistant's last words: {words}" if words else ""
    return "\n".join(text for text in (steps, said) if text)


def _next(facts: Facts, waiting: Sequence[Todo]) -> str:
    if facts.open_question:
        return f"The user has not answered yet: {facts.open_question}"
    under_way = [todo for todo in waiting if todo.status in ("in_progress", "doing")] or waiting
    if under_way:
        return under_way[0].text
    if facts.last_request:
        return f"Go on with the last request: {shortened(facts.last_request, _LONGEST_LINE)}"
    return ""


def _lines(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items if item)


def _merged(old: str, new: str) -> str:
    """The old lines, then the new ones; a newer line about the same subject replaces the older."""
    found: dict[str, str] = {}
    for line in (*_entries(old), *_entries(new)):
        subject = line.partition(" (")[0]
        found.pop(subject, None)
        found[subject] = line
    return "\n".join(found.values())


def _entries(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip() and line != "Nothing."]
