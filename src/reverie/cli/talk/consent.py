"""The question before a tool runs: the whole command, or the change as a diff."""

from __future__ import annotations

import re

from rich.text import Text

from reverie.agent.kit.files import compact_diff
from reverie.agent.permissions import Asked, Call
from reverie.cli.formatting import printable
from reverie.cli.talk import render
from reverie.cli.talk.terminal import Question

_MOST_LINES = 40
# Marks that reverse the direction of text, and characters without a width.
_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def question(call: Call, asked: Asked) -> Question:
    """The call with everything the user needs to judge it."""
    by = [render.aside(f"{asked.by} asks:")] if asked.by else []
    title = render.call_line(call.tool.name, call.headline)
    details = _details(call)
    where = [render.line(str(path), "dim", lead="  ") for path in call.paths]
    return Question((*by, title, *where, *details), _covered(call, asked.scope))


def _covered(call: Call, scope: str) -> str:
    """What "always" covers, in words; a single call is shown above, not repeated as JSON."""
    one_call = scope.startswith(f"{call.tool.name}: ")
    return f"this same {call.tool.name} call" if one_call else scope


def _details(call: Call) -> list[Text]:
    match dict(call.arguments):
        case {"command": str(command)}:
            return _block(command)
        case {"old_text": str(old), "new_text": str(new)}:
            return _change(*_edited(call, old, new))
        case {"content": str(content)}:
            return _change(_content(call), content)
        case _:
            return []


def _edited(call: Call, old: str, new: str) -> tuple[str, str]:
    """The whole file before and after, so that the diff has line numbers; else the two texts."""
    before = _content(call)
    if old not in before:
        return old, new
    times = -1 if call.arguments.get("replace_all") else 1
    return before, before.replace(old, new, times)


def _change(before: str, after: str) -> list[Text]:
    added = [f"+{row}" for row in after.splitlines()]
    rows = compact_diff(before, after).split("\n") if before else added
    return render.diff_lines([_visible(row) for row in rows], _MOST_LINES, whole=True)


def _block(text: str) -> list[Text]:
    """The text, wrapped rather than cut: the user must see what they allow."""
    rows = _visible(text).split("\n")
    shown = [Text(f"    {row}", "yellow") for row in rows[:_MOST_LINES]]
    more = len(rows) - _MOST_LINES
    return (
        [*shown, render.line(f"… {more:,} more lines", "red", lead="    ")] if more > 0 else shown
    )


def _visible(text: str) -> str:
    """Escape characters that reverse or hide text: the user must see what they allow."""
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), printable(text))


def _content(call: Call) -> str:
    """The file's current text; empty if it is missing or unreadable."""
    try:
        return call.paths[0].read_text("utf-8", "replace") if call.paths else ""
    except OSError:
        return ""
