"""Full compaction: from the notes, else by the model, else from the transcript alone.

Each way that fails gives way to the next, and says so; none of them raises for a model's failure.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from reverie.core.messages import Attachment
from reverie.events import Announce, TroubleNoted, unheard
from reverie.layers.compaction import outcome, parts, restore
from reverie.layers.compaction.extractive import extract
from reverie.layers.compaction.notes import cut_sections
from reverie.layers.compaction.outcome import Tell, Told
from reverie.layers.compaction.plan import Covered, NoPlan, Plan, Whole, plan
from reverie.layers.compaction.restore import ReadFile
from reverie.layers.compaction.shares import Shares, share
from reverie.layers.compaction.situation import Compaction, Failed, How, Situation
from reverie.layers.compaction.summarize import (
    ApartSummarizer,
    NoSummary,
    Summarizer,
    Task,
    summarize,
)
from reverie.layers.facts import Facts, read_facts


def no_files(path: str) -> str | None:
    """For conversations without files."""
    return None


@dataclass(frozen=True, slots=True)
class Means:
    """What a compaction may use: a model to ask, files to read, someone to tell."""

    ask: Summarizer | None = None
    ask_apart: ApartSummarizer | None = None
    read_file: ReadFile = no_files
    announce: Announce = unheard


async def run(situation: Situation, means: Means) -> Compaction | Failed:
    """Compact the conversation; the outcome fits the window and leaves room to go on."""
    noted = await _from_notes(situation, means)
    return noted if isinstance(noted, Compaction) else await _in_full(situation, means)


async def _from_notes(situation: Situation, means: Means) -> Compaction | Failed | NoPlan:
    """Without any model call; but notes cannot follow instructions, nor stand for a part."""
    notes = situation.notes
    if notes is None or situation.instructions or not isinstance(situation.mode, Whole):
        return NoPlan("there are no notes that could be the summary")
    planned = plan(situation.messages, situation.window, Covered(notes.covered))
    if isinstance(planned, NoPlan):
        return planned
    shares = share(situation, planned, may_cut=False)
    if isinstance(shares, Failed):
        return shares
    made = _Making(situation, planned, shares, read_facts(planned.compacted))
    return await made.compose(
        "notes", lambda room: cut_sections(notes.text, room, notes.path), means
    )


async def _in_full(situation: Situation, means: Means) -> Compaction | Failed:
    planned = plan(situation.messages, situation.window, situation.mode)
    whole = isinstance(situation.mode, Whole)
    if isinstance(planned, NoPlan):
        return _cut(situation) if whole else Failed(planned.reason)
    shares = share(situation, planned, may_cut=whole)
    if isinstance(shares, Failed):
        return shares
    made = _Making(situation, planned, shares, read_facts(planned.compacted))
    return await made.summarized(means)


def _cut(situation: Situation) -> Compaction | Failed:
    """Everything waits for an answer: all that can be done is to cut what is too long in it."""
    everything = Plan((), (), situation.messages)
    shares = share(situation, everything, may_cut=True)
    return shares if isinstance(shares, Failed) else outcome.cut_only(situation, everything, shares)


@dataclass(frozen=True, slots=True)
class _Making:
    """One compaction, once it is known what goes, what stays and how much room there is."""

    situation: Situation
    plan: Plan
    shares: Shares
    facts: Facts

    async def summarized(self, means: Means) -> Compaction | Failed:
        """By the model; what it leaves out, or all of it when it fails, comes from the transcript."""
        room = outcome.summary_room(self.situation, self.shares)
        # No money for a summary that nobody could read.
        ask = means.ask if room else None
        task = Task(self.plan, room, self.situation.instructions)
        extracted = extract(self.plan.compacted, self.facts, self.situation.todos)
        told = await summarize(task, ask, means.ask_apart)
        how: How = "summary"
        if isinstance(told, NoSummary):
            if ask is not None:
                what = f"{told.reason}; the summary is made without a model"
                means.announce(TroubleNoted("compaction.summary", what))
            told, how = extracted, "extractive"
        complete = told.completed(extracted)
        whole = self.situation.transcript
        return await self.compose(how, lambda room: parts.render(complete, room, whole), means)

    async def compose(self, how: How, tell: Tell, means: Means) -> Compaction | Failed:
        owed = outcome.owed(self.situation, self.plan, self.facts, self.shares.obligations)
        reading = _Reading(means.read_file)
        found = await asyncio.to_thread(self._restored, reading)
        for trouble in reading.troubles:
            means.announce(TroubleNoted("compaction.restore", trouble))
        return outcome.compose(self.situation, self.plan, self.shares, Told(how, tell, owed, found))

    def _restored(self, read: ReadFile) -> tuple[Attachment, ...]:
        paths = restore.wanted(self.facts.files, self.shares.kept)
        return restore.restored(paths, self.situation.extras, read, self.situation.window)


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reading files, where one that cannot be read is only left out."""

    read_file: ReadFile
    troubles: list[str] = field(default_factory=list)

    def __call__(self, path: str) -> str | None:
        try:
            return self.read_file(path)
        except (OSError, ValueError) as error:
            self.troubles.append(f"{path}: {error!r}")
            return None
