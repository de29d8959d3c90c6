"""Layer 5: extraction finds what should become a memory after a turn.

`due` decides whether to look, `rules.find` finds candidates without a model, and `plan` judges
candidates from rules or forks: who said it, and how it relates to existing memories. Nothing here
writes. The keeper does, and it has the final say on secrets and on what is never saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Protocol

from reverie.context import NotDue
from reverie.core.messages import Message
from reverie.learning.extraction.candidates import (
    Add,
    Candidate,
    Known,
    Noop,
    Supersede,
    decide,
    rivals,
)
from reverie.learning.extraction.reading import Conditions, Due, agent_wrote, due, new_messages
from reverie.learning.extraction.rules import find
from reverie.learning.extraction.support import Similarity
from reverie.learning.extraction.trust import Refuse, Save, ToInbox, judge
from reverie.memory.format.instructions import LearningInstructions
from reverie.memory.format.topic import Topic
from reverie.text.likeness import compare

__all__ = [
    "Candidate",
    "Conditions",
    "Due",
    "Known",
    "NotDue",
    "Plan",
    "Refuse",
    "Save",
    "ToInbox",
    "agent_wrote",
    "decide",
    "due",
    "find",
    "judge",
    "new_messages",
    "plan",
]


_MAY_BE = {"update": "may be a newer value of", "restates": "seems to say the same as"}


@dataclass(frozen=True, slots=True)
class Plan:
    """Memories to save, proposals for a person, and refused candidates with reasons."""

    saves: tuple[Candidate, ...] = ()
    inbox: tuple[ToInbox, ...] = ()
    refused: tuple[tuple[Candidate, str], ...] = ()


def plan(
    candidates: Iterable[Candidate],
    messages: Sequence[Message],
    known: Sequence[Known],
    similarity: Similarity | None = None,
) -> Plan:
    """Judge every candidate, in order; a later statement replaces an earlier one about the same thing.

    What may be a newer value of a memory is saved beside it, and a person is asked.
    """
    saves: list[Candidate] = []
    inbox: list[ToInbox] = []
    refused: list[tuple[Candidate, str]] = []
    for candidate in candidates:
        match judge(candidate, messages, similarity):
            case Refuse(reason):
                refused.append((candidate, reason))
            case ToInbox() as proposal:
                inbox.append(proposal)
            case Save(trusted):
                decided = decide(trusted, known)
                if (needless := _needless(decided, saves)) is not None:
                    refused.append((decided, needless))
                    continue
                outdated = [one for one in saves if compare(decided.text, one.text).said]
                refused += [(one, "something else was said later") for one in outdated]
                saves = [one for one in saves if one not in outdated] + [decided]
    questions = [question for one in saves for question in _questions(one, known)]
    return Plan(tuple(saves), (*inbox, *questions), tuple(refused))


def _needless(decided: Candidate, saves: Sequence[Candidate]) -> str | None:
    if isinstance(decided.operation, Noop):
        return decided.operation.reason
    twin = any(compare(decided.text, one.text).likeness == "duplicate" for one in saves)
    return "it was said twice" if twin else None


def _questions(decided: Candidate, known: Sequence[Known]) -> list[ToInbox]:
    """Ask whether it replaces or repeats a memory, where its own words do not say so."""
    if not isinstance(decided.operation, Add):
        return []
    return [
        ToInbox(
            f"it {_MAY_BE[likeness]} {file}; both stand until you decide",
            candidate=replace(decided, operation=Supersede(file)),
            supported=True,
        )
        for file, likeness in rivals(decided, known)[:1]
    ]


class MemoryCopy(Protocol):
    """A copy of the memory, in which a fork writes what it would save."""

    @property
    def folder(self) -> Path: ...

    def written(self) -> Sequence[tuple[Topic, Topic | None]]:
        """Each memory that the fork wrote or changed, with its previous version."""
        ...


class SettlingStore(Protocol):
    """Where candidates are saved or proposed."""

    def instructions(self) -> LearningInstructions:
        """The person's rules on what to keep and what never to keep."""
        ...

    def save(self, candidate: Candidate, said_on: date | None) -> str | None:
        """Save a candidate; returns its file, or None when it was not saved."""
        ...

    def propose(self, item: ToInbox, said_on: date | None) -> bool:
        """Propose a candidate to a person; False when it does not have to wait."""
        ...


class CopiedStore(Protocol):
    """A memory of which a side agent gets a copy to work on."""

    def instructions(self) -> LearningInstructions: ...

    @property
    def directory(self) -> Path:
        """The directory of the project's memories, of which a fork gets a copy."""
        ...

    def manifest(self) -> str:
        """The existing memories, one line each, for the fork."""
        ...

    def scratch_copy(self) -> AbstractContextManager[MemoryCopy]:
        """Open a temporary copy of the memory."""
        ...


class LearningStore(SettlingStore, CopiedStore, Protocol):
    """The operations on memory that learning needs."""

    @property
    def directories(self) -> Sequence[Path]:
        """All directories in which the agent itself may have saved memories."""
        ...

    def near(self, candidates: Sequence[Candidate]) -> Sequence[Known]:
        """The memories that these candidates may repeat or contradict."""
        ...
