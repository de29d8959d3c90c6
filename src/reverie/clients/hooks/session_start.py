"""The opening of another client's session: a short section about memory, and the indexes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reverie.learning.runs import alarm_once
from reverie.memory.format.frontmatter import readable

if TYPE_CHECKING:
    from pathlib import Path

    from reverie.clients.hooks.events import HookEvent
    from reverie.memory.format.index import Index
    from reverie.memory.format.taxonomy import MemoryScope
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

# In characters. Clients cut a hook's output at about 10,000.
ROOM = 9_500

_SECTION = """\
# Memory, kept by Reverie

What is worth knowing in later conversations is kept as markdown files in `{directory}`. Memories that fit a message \
are put beside it. When a line of an index below fits what is asked, read that file.

{person}- Four types: `user` (who they are), `feedback` (how they want to work), `project` (aims, decisions, reasons), \
`reference` (where things are found outside the code).
- {saving}
- “Remember this” means now; “forget this” means take it out, file and line.
- Never saved: what the code, git or the project's instructions say; the state of a task; passwords and keys.
- A memory is a note from its day. Before you rely on a path, function or flag it names, look whether it is still so; \
where memory and reality disagree, reality is right."""

_PERSON = """- What holds for this person in every project, and names nothing of this one, is kept in \
`{directory}` instead.
"""

_SAVING = """To save: a file of its own there, with `name`, `description` (one specific line) and `type` between `---` \
lines, then the memory; and a line `- [Title](file.md) — hook` in `MEMORY.md`. If a file covers it, change that file."""

_LOGGING = """To save: append a bullet with the time of day to `logs/YYYY/MM/YYYY-MM-DD.md` there, for today's date."""

_BESIDE = """\
Reverie looks after the memory directory you already know: what fits a message is put beside it, and what the \
person plainly says should be remembered is saved when a turn ends."""


def opening(app: Workspace, memory: OpenMemory, event: HookEvent, room: int = ROOM) -> str:
    """The section about memory, and as much of the indexes as fits into `room`.

    A client that loads this directory's index by itself gets only what it lacks.
    """
    own = _loads_index_itself(app, memory.place.directory, event)
    parts = [_BESIDE if own else _section(app, memory)]
    if guidelines := str(app.settings["memory.extra_guidelines"] or "").strip():
        parts.append(guidelines)
    if app.settings.flag("memory.index_in_prompt"):
        for title, index in _indexes(memory, own=own):
            taken = sum(len(part) + 2 for part in parts)
            parts.append(_cut(f"## {title}", index, room - taken))
    return "\n\n".join(part for part in parts if part)[:room]


def learning_alarm(app: Workspace) -> str:
    """A line for the first session that begins after learning stopped; empty otherwise."""
    alarm = alarm_once(app)
    if alarm is None:
        return ""
    return f"Tell the person, once: Reverie's {alarm.what}; {alarm.advice}."


def _loads_index_itself(app: Workspace, directory: Path, event: HookEvent) -> bool:
    """Does the client itself put this directory's index into its prompts?"""
    if event.client != "claude-code":
        return False
    beside = event.transcript.parent / "memory" if event.transcript else None
    places = (beside, app.claude_memory())
    return directory.resolve() in [place.resolve() for place in places if place]


def _section(app: Workspace, memory: OpenMemory) -> str:
    saving = _LOGGING if app.switches.on("daily_log") else _SAVING
    person = next((part for part in memory.others if part.scope == "person"), None)
    about = "" if person is None else _PERSON.format(directory=person.place.directory)
    return _SECTION.format(directory=memory.place.directory, saving=saving, person=about)


_SCOPE_TITLES: dict[MemoryScope, str] = {
    "project": "of the project",
    "person": "about the person",
    "team": "of the team",
}


def _indexes(memory: OpenMemory, *, own: bool) -> list[tuple[str, Index]]:
    indexes = [] if own else [("MEMORY.md", memory.store.index())]
    for part in memory.others:
        title = f"MEMORY.md {_SCOPE_TITLES[part.scope]}, in `{part.place.directory}`"
        indexes.append((title, part.store.index()))
    return [(title, index) for title, index in indexes if index.lines]


def _cut(heading: str, index: Index, room: int) -> str:
    """As many whole lines of an index as fit, and a count of the rest."""
    lines = [line for text in index.lines if (line := readable(text).rstrip())]
    kept = _fitting(lines, room - len(heading) - 2)
    if len(kept) == len(lines):
        return "\n".join([heading, "", *kept])
    note = f"[{len(lines) - len(kept)} more lines in the file]"
    kept = _fitting(lines, room - len(heading) - len(note) - 8)
    return "\n".join([heading, "", *kept, f"[{len(lines) - len(kept)} more lines in the file]"])


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept
