"""Layer 3 in a session: writes the notes in the background, ready for compaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from reverie.agent.fork import Forks, Task
from reverie.agent.permissions import only
from reverie.agent.processes import Background
from reverie.context import NotDue, compaction
from reverie.context.compaction.parts import is_summary
from reverie.context.facts import FactCollector
from reverie.context.session_notes.draft import as_summary
from reverie.context.session_notes.update import Notebook, NotesState, due, run
from reverie.conversation.conversation import Conversation
from reverie.conversation.records import NotesTaken
from reverie.core.messages import Message
from reverie.events import Announce, NotesUpdated

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

    def for_compaction(self) -> compaction.Notes | None:
        """The notes as a summary of what they cover; None when they are off or empty."""
        taken = self.conversation.state.notes
        if taken is None or not (self.on("session_notes") and self.on("notes_compaction")):
            return None
        text = as_summary(self.notebook.read(), self.notebook.file.path)
        return compaction.Notes(text, taken.up_to, self.notebook.file.path) if text else None

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
        self.remember(self._new())
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

    def _new(self) -> list[Message]:
        return _after(self.conversation.state.messages, self._seen)


def _after(messages: list[Message], id_: str | None) -> list[Message]:
    """The messages after the one with this id; all of them when it is not there."""
    found: list[Message] = []
    for message in reversed(messages):
        if message.id == id_:
            break
        found.append(message)
    return found[::-1]
