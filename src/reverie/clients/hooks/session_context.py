"""The context for another client's session: at its start, and what must survive its compaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.clients.install.plan import Clients
from reverie.context import NotDue
from reverie.context.compaction.parts import Obligations, render_obligations
from reverie.context.facts import read_facts
from reverie.context.session_notes import as_summary
from reverie.context.session_notes.update import Notebook, run
from reverie.context.user_messages import clipped
from reverie.conversation.redaction import clean_message
from reverie.errors import TranscriptError
from reverie.learning import extraction
from reverie.learning.extraction import Conditions
from reverie.learning.runs import alarm_once
from reverie.learning.service import Learnt, learn, spoken
from reverie.memory.format.frontmatter import readable

if TYPE_CHECKING:
    from pathlib import Path

    from reverie.clients.hooks.events import HookEvent
    from reverie.clients.hooks.session_folder import SessionFolder
    from reverie.context.facts.outcomes import Facts
    from reverie.events import Announce
    from reverie.memory.format.index import Index
    from reverie.memory.format.taxonomy import MemoryScope
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace


# --- the start of a session ---


# In characters. Clients cut a hook's output at about 10,000.
ROOM = 9_500

_SECTION = """\
# Memory, kept by Reverie

What is worth knowing in later conversations is kept for you. Memories that fit a message are put beside it in full, \
and so are those about a file you open or an error you meet. The index below lists all of them; to read another one, \
ask the MCP server `reverie` (`recall`, `read_memory`) if you have it.

- What the person asks you to remember, or plainly wants from now on, is saved when the turn ends. Write no file for \
it; the tool `remember` of that server saves at once, `forget` takes something out.
- Never saved: what the code, git or the project's instructions say; the state of a task; passwords and keys.
- A memory is a note from its day. Before you rely on a path, function or flag it names, look whether it is still so; \
where memory and reality disagree, reality is right."""

BESIDE = """\
Reverie looks after the memory directory you already know: what fits a message is put beside it, and what the \
person plainly says should be remembered is saved when a turn ends."""


def opening(app: Workspace, memory: OpenMemory, event: HookEvent, room: int = ROOM) -> str:
    """The section about memory, and as much of the indexes as fits into `room`.

    A client that loads this directory's index by itself gets only what it lacks.
    """
    own = _loads_index_itself(app, memory.place.directory, event)
    parts = [BESIDE if own else _SECTION]
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


def adopt_own(app: Workspace, event: HookEvent) -> bool:
    """Adopt Claude Code's directory for a project without memory, if the person chose that."""
    if event.client != "claude-code" or event.transcript is None or app.adoption.current:
        return False
    chosen = any(row.get("way") == "adopt" for row in Clients(app.settings.home).installed())
    if not chosen or app.settings.memory_directory is not None:
        return False
    store = app.memory("project").store
    # Do not list a large memory just to see that it is not empty.
    if store.large or store.entries():
        return False
    directory = event.transcript.parent / "memory"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    app.adoption.adopt(directory)
    return True


def _loads_index_itself(app: Workspace, directory: Path, event: HookEvent) -> bool:
    """Does the client itself put this directory's index into its prompts?"""
    if event.client != "claude-code":
        return False
    beside = event.transcript.parent / "memory" if event.transcript else None
    places = (beside, app.claude_memory())
    return directory.resolve() in [place.resolve() for place in places if place]


_SCOPE_TITLES: dict[MemoryScope, str] = {
    "project": "of the project",
    "person": "about the person",
    "team": "of the team",
}


def _indexes(memory: OpenMemory, *, own: bool) -> list[tuple[str, Index]]:
    indexes = [] if own else [("MEMORY.md", memory.store.index())]
    for part in memory.others:
        title = f"MEMORY.md {_SCOPE_TITLES[part.scope]}"
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


# --- before and after a compaction ---


OWED_TOKENS = 600
NOTES_TOKENS = 1_000

_KEEP = "Whatever else the summary holds, carry the following into it unchanged."
_NOTES = "Notes on this session so far; all of them are in {path}."


@dataclass(frozen=True, slots=True)
class CarriedOver:
    """The obligations still open, and the session notes; either may be empty."""

    owed: str
    notes: str

    @property
    def for_summary(self) -> str:
        return f"{_KEEP}\n\n{self.owed}" if self.owed else ""

    @property
    def for_model(self) -> str:
        return "\n\n".join(part for part in (self.owed, self.notes) if part)


def read(folder: SessionFolder) -> Facts:
    """The facts in the transcript; summaries are skipped, as they repeat their messages."""
    return read_facts(
        # Before anything is cut: the scanner does not recognize half a secret.
        clean_message(message, folder.scrubber)
        for message in spoken(folder.transcript)
        if message.origin != "reverie"
    )


async def carry_over(
    folder: SessionFolder, facts: Facts, announce: Announce, *, notes: bool
) -> CarriedOver:
    """Bring the notes on disk up to date, if notes are on, and collect what must be carried over."""
    question = (facts.open_question,) if facts.open_question else ()
    owed = Obligations(facts.last_request, facts.todos, questions=question)
    block = render_obligations(owed, OWED_TOKENS)
    written = await _update_notes(folder, facts, announce) if notes else ""
    return CarriedOver("" if block is None else block.text, written)


async def _update_notes(folder: SessionFolder, facts: Facts, announce: Announce) -> str:
    updated = await run(Notebook(folder.notes, announce=announce), facts, None)
    text = as_summary(updated.notes, folder.notes.path)
    if text is None:
        return ""
    return clipped(f"{_NOTES.format(path=folder.notes.path)}\n\n{text}", NOTES_TOKENS)


def learn_new(app: Workspace, folder: SessionFolder) -> Learnt | NotDue:
    """Save or propose memories from the messages since the last call, and remember how far it read."""
    try:
        messages = spoken(folder.transcript)
    except TranscriptError as error:
        return NotDue(str(error))
    new = extraction.new_messages(messages, folder.learnt_up_to())
    verdict = extraction.due(
        Conditions(
            memory_on=app.settings.memory_enabled,
            extract_on=app.switches.on("extract"),
            running=False,
            new_messages=len(new),
        )
    )
    if isinstance(verdict, NotDue):
        return verdict
    folders = (str(part.place.directory) for part in app.memory().parts)
    if extraction.agent_wrote(new, *folders):
        learnt: Learnt | NotDue = NotDue("the agent saved memories itself")
    else:
        learnt = learn(app, folder.name, new, messages[: len(messages) - len(new)])
    folder.keep_learnt(new[-1].id)
    return learnt
