"""What must survive a client's compaction: open obligations and session notes, read from the transcript."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.context import NotDue
from reverie.context.compaction import restore as obligations
from reverie.context.compaction.restore import Obligations
from reverie.context.facts import read_facts
from reverie.context.session_notes.draft import as_summary
from reverie.context.session_notes.update import Notebook, run
from reverie.context.user_messages import clipped
from reverie.conversation.redaction import clean_message
from reverie.errors import TranscriptError
from reverie.learning import extraction
from reverie.learning.extraction import Conditions
from reverie.learning.service import Learnt, learn, spoken

if TYPE_CHECKING:
    from reverie.clients.hooks.session_folder import SessionFolder
    from reverie.context.facts import Facts
    from reverie.events import Announce
    from reverie.workspace import Workspace


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
    block = obligations.render(owed, OWED_TOKENS)
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
