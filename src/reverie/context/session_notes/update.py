"""When and how the notes are updated: the file, the prompt for the fork, and updates in the background."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

from reverie.agent.fork import Forks, Task
from reverie.agent.permissions import only
from reverie.agent.processes import Background
from reverie.context import NotDue
from reverie.context.compaction.parts import is_summary
from reverie.context.compaction.plan import Notes as CompactionNotes
from reverie.context.facts import FactCollector
from reverie.context.facts.outcomes import Facts
from reverie.context.session_notes import (
    SECTION_TOKENS,
    TEMPLATE,
    TOTAL_TOKENS,
    Notes,
    Template,
    as_summary,
    parse,
    refreshed,
    render,
    salvage,
    substituted,
    warnings,
)
from reverie.conversation.conversation import Conversation
from reverie.conversation.records import NotesTaken
from reverie.core.foreign_text import MARKS, quoted
from reverie.core.messages import Message
from reverie.errors import ReverieError
from reverie.events import Announce, NotesUpdated, TroubleNoted, no_listener

# Variables: notes_path, notes, warnings, section_tokens, total_tokens.
UPDATE = """\
This message is not from the user and is no part of the conversation. Leave the work where it is: for \
this one reply you keep the notes of this session, in the file {{notes_path}}.

Someone will have to go on with this work from these notes alone, with the conversation above gone. \
Write what they would need and could not find out by looking at the files: what the user wants and has \
ruled out, where the work stands, what failed and why, exact names, paths, commands, numbers.

The file as it is now:

<notes>
{{notes}}
</notes>

How to do it:

- Use the Edit tool on {{notes_path}} and nothing else. Make all edits in this one reply, one for each \
section that changes; then stop. No other words are needed.
- The lines that begin with “# ” and the line in italics under each are the frame. They stay exactly as \
they are, in this order; nothing is added to them and no new section is made. Only the text under them is yours.
- Bring “Current State” up to date every time: it is read first.
- Change what is no longer true instead of adding to it. Say each thing once. A section with nothing to \
say stays empty: no filler, no “none yet”.
- Text under a line “<!-- drafted … -->” was made from the tool calls by a program. Put what matters of \
it into your own words and remove the rest together with that line; where it says all there is to say, leave it.
- Nothing about these notes or this request belongs into the notes, and nothing that the project's own \
instruction files say already.
- No section longer than {{section_tokens}} tokens, not more than {{total_tokens}} in all.
{{warnings}}"""

FIRST_TOKENS = 10_000
GROWTH_TOKENS = 5_000
ENOUGH_CALLS = 3

_WHERE = "session notes"


@dataclass(frozen=True, slots=True)
class NotesState:
    """The last message that the notes cover, and the conversation's size and calls at that point."""

    covered: str | None = None
    tokens: int = 0
    tool_calls: int = 0


@dataclass(frozen=True, slots=True)
class Due:
    reason: str


def due(state: NotesState, *, tokens: int, tool_calls: int, paused: bool) -> Due | NotDue:
    """Whether to update now; `paused`: the last assistant turn made no tool call."""
    if state.covered is None:
        if tokens < FIRST_TOKENS:
            return NotDue(f"{tokens:,} of {FIRST_TOKENS:,} tokens before the first notes")
        return Due(f"the conversation reached {FIRST_TOKENS:,} tokens")
    grown = tokens - state.tokens
    if grown < GROWTH_TOKENS:
        return NotDue(f"grown by {grown:,} of {GROWTH_TOKENS:,} tokens")
    calls = tool_calls - state.tool_calls
    if calls >= ENOUGH_CALLS:
        return Due(f"grown by {grown:,} tokens and {calls} tool calls")
    if paused:
        return Due(f"grown by {grown:,} tokens, and the work pauses")
    return NotDue(f"in the middle of the work: {calls} of {ENOUGH_CALLS} tool calls")


def plan(notes: Notes, path: str, prompt: str = UPDATE) -> str:
    """The prompt for the fork; `prompt` is a template, possibly the user's own."""
    return substituted(
        prompt,
        {
            "notes_path": path,
            "notes": quoted(render(notes).rstrip(), marks=(*MARKS, "notes")),
            "warnings": "\n".join(f"- {warning}" for warning in warnings(notes)),
            "section_tokens": f"{SECTION_TOKENS:,}",
            "total_tokens": f"{TOTAL_TOKENS:,}",
        },
    ).rstrip()


class NotesFile(Protocol):
    """The file that holds the notes. Failures are `ReverieError`s."""

    @property
    def path(self) -> str: ...

    def read(self) -> str | None: ...

    def write(self, text: str) -> None: ...


# Lets a model edit the notes file, and nothing else; failures are `ReverieError`s.
EditNotes: TypeAlias = Callable[[str], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Updated:
    """The new notes, the last message they cover, and whether a model edited them."""

    notes: Notes
    covered: str | None
    refined: bool
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Notebook:
    """The notes file, its template and the prompt, all fixed for a session."""

    file: NotesFile
    template: Template = TEMPLATE
    prompt: str = UPDATE
    announce: Announce = no_listener

    def read(self) -> Notes:
        """Read the notes; from a file with a broken frame, what can be recovered."""
        text = self._text()
        if text is None:
            return Notes.blank(self.template)
        return parse(text, self.template) or salvage(text, self.template)

    def edited(self, drafted: Notes) -> Notes | None:
        """The notes after a model's edit, with lost text restored; None when it broke the frame."""
        text = self._text()
        if text is None:
            return None
        found = parse(text, self.template)
        if found is None:
            self.note("the update changed the headings, so it was not kept")
            return None
        pairs = zip(found.texts, drafted.texts, strict=True)
        return found.with_texts([now or earlier for now, earlier in pairs])

    def write(self, notes: Notes) -> None:
        try:
            self.file.write(render(notes))
        except ReverieError as error:
            self.note(str(error))

    def note(self, what: str) -> None:
        self.announce(TroubleNoted(_WHERE, what))

    def _text(self) -> str | None:
        try:
            return self.file.read()
        except ReverieError as error:
            self.note(str(error))
            return None


async def run(notebook: Notebook, facts: Facts, edit: EditNotes | None) -> Updated:
    """Draft the notes from facts, let the model refine them, and keep the valid result.

    Without a model, or when it fails or breaks the frame, the notes are the draft and the earlier
    refined text.
    """
    notes = refreshed(notebook.read(), facts, everywhere=False)
    notebook.write(notes)
    refined = False
    if edit is not None:
        answered = await _ask(edit, plan(notes, notebook.file.path, notebook.prompt), notebook)
        edited = notebook.edited(notes)
        refined = answered and edited is not None
        notes = edited or notes
    if not refined:
        notes = refreshed(notes, facts, everywhere=True)
    notebook.write(notes)
    return Updated(notes, facts.last_message, refined, warnings(notes))


async def _ask(edit: EditNotes, directive: str, notebook: Notebook) -> bool:
    try:
        await edit(directive)
    except ReverieError as error:
        notebook.note(f"no model could update them: {error}")
        return False
    return True


NAME = "notes"
EDIT = "Edit"

# Enough for an edit of every section, and one to correct a mistake.
_MOST_TURNS = 6


def always(tokens: int) -> bool:
    return True


@dataclass(slots=True)
class NoteTaker:
    """Keeps the notes of one conversation.

    Rules write them whenever they are due. `refine` says from which size on a model edits them: its
    fork reads the whole conversation, so that pays only shortly before a compaction.
    """

    conversation: Conversation
    notebook: Notebook
    background: Background
    announce: Announce
    on: Callable[[str], bool]
    forks: Forks | None = None
    refine: Callable[[int], bool] = always
    _facts: FactCollector = field(default_factory=FactCollector)
    _seen: str | None = None

    def start_when_due(self) -> None:
        """Update the notes in the background if the conversation has grown enough."""
        if not self.on("session_notes"):
            return
        verdict = due(
            self._covered(),
            tokens=self.conversation.state.tokens,
            tool_calls=self._calls_since(),
            paused=not self.conversation.state.messages[-1].tool_uses,
        )
        if not isinstance(verdict, NotDue):
            self.background.start(NAME, self._update())

    def for_compaction(self) -> CompactionNotes | None:
        """The notes as a summary of what they cover; None when they are off or empty."""
        taken = self.conversation.state.notes
        if taken is None or not (self.on("session_notes") and self.on("notes_compaction")):
            return None
        text = as_summary(self.notebook.read(), self.notebook.file.path)
        return CompactionNotes(text, taken.up_to, self.notebook.file.path) if text else None

    def remember(self, messages: Iterable[Message]) -> None:
        """Add messages from before this process, or since the last call."""
        for message in messages:
            if not is_summary(message):
                self._facts.add(message)
            self._seen = message.id

    def start_over(self) -> None:
        """Read the conversation again from its beginning, after it was rewritten."""
        self._facts, self._seen = FactCollector(), None

    async def _update(self) -> None:
        self.remember(_after(self.conversation.state.messages, self._seen))
        state = self.conversation.state
        up_to, tokens, compactions = state.messages[-1].id, state.tokens, len(state.compactions)
        edit = self._edit if self.forks and self.refine(tokens) else None
        updated = await run(self.notebook, self._facts.facts(), edit)
        if len(state.compactions) != compactions:
            # The conversation was rewritten meanwhile: growth counts from its new size.
            tokens = state.tokens
        self.conversation.record(NotesTaken(up_to, tokens))
        self.announce(NotesUpdated(up_to, "model" if updated.refined else "rules"))

    async def _edit(self, directive: str) -> None:
        """Let a fork edit the notes file and nothing else."""
        if self.forks is not None:
            notes = Path(self.notebook.file.path)
            may = only((EDIT,), [notes])
            await self.forks.run(Task(NAME, directive, may, _MOST_TURNS, shown=(notes,)))

    def _covered(self) -> NotesState:
        taken = self.conversation.state.notes
        return NotesState() if taken is None else NotesState(taken.up_to, taken.tokens)

    def _calls_since(self) -> int:
        taken = self.conversation.state.notes
        after = _after(self.conversation.state.messages, taken.up_to if taken else None)
        return sum(len(message.tool_uses) for message in after)


def _after(messages: list[Message], id_: str | None) -> list[Message]:
    """The messages after the one with this id; all of them when it is not there."""
    found: list[Message] = []
    for message in reversed(messages):
        if message.id == id_:
            break
        found.append(message)
    return found[::-1]
