"""The new start of a conversation, put together from its parts. Pure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from reverie.context import user_messages
from reverie.context.compaction import parts, restore
from reverie.context.compaction import restore as obligations
from reverie.context.compaction.extractive import extract
from reverie.context.compaction.parts import cut_sections, worded
from reverie.context.compaction.plan import (
    Compaction,
    Covered,
    Failed,
    How,
    NoPlan,
    Plan,
    Situation,
    Whole,
    plan,
)
from reverie.context.compaction.restore import Obligations, ReadFile
from reverie.context.compaction.summarize import (
    ApartSummarizer,
    NoSummary,
    Summarizer,
    Task,
    summarize,
)
from reverie.context.compaction.tail import Shares, copied, rate, share
from reverie.context.facts import Facts, read_facts
from reverie.context.user_messages import is_request
from reverie.core.messages import Attachment, Block, Message, Text, new_message
from reverie.core.tokens import block_tokens, message_tokens, text_tokens
from reverie.events import Announce, TroubleNoted, unheard

# The summary, in at most so many tokens.
Tell: TypeAlias = Callable[[int], str]

# Nine headings take a good part of this; with less, no summary is worth its room.
_SHORTEST_SUMMARY = 200
_NO_ROOM = "There was no room for a summary."

DROPPED: How = "dropped rounds"

# Told once and never again by whoever told it.
_CARRIED = ("date",)


@dataclass(frozen=True, slots=True)
class Told:
    """A summary, how it was made, and what stands beside it: all that is owed, what fits of `found`."""

    how: How
    tell: Tell
    owed: tuple[Attachment, ...] = ()
    found: tuple[Attachment, ...] = ()


def compose(situation: Situation, plan: Plan, shares: Shares, told: Told) -> Compaction | Failed:
    """The outcome, if it fits and is shorter than what was."""
    room = summary_room(situation, shares)
    body, how = (told.tell(room), told.how) if room else (_NO_ROOM, DROPPED)
    blocks: list[Block] = [Text(worded(body, situation.transcript))]
    if shares.said:
        blocks.append(user_messages.render(shares.said))
    blocks += [*_carried(plan), *told.owed]
    # What comes back must not eat up what was saved.
    saved = sum(map(message_tokens, plan.compacted)) - sum(map(block_tokens, blocks))
    blocks += restore.fitting(told.found, min(shares.restored, saved // 2))
    after = plan.compacted[-1]
    summary = new_message("user", *blocks, after=after, at=situation.at, origin="reverie")
    return _outcome(situation, plan, shares, how, (summary,))


def summary_room(situation: Situation, shares: Shares) -> int:
    """Tokens for what the summary says; 0 when they are too few to say anything."""
    room = shares.summary - text_tokens(worded("", situation.transcript))
    return room if room >= _SHORTEST_SUMMARY else 0


def cut_only(situation: Situation, plan: Plan, shares: Shares) -> Compaction | Failed:
    """For a conversation that is one long unanswered round: nothing to summarise, much to cut."""
    if shares.kept == plan.kept:
        return Failed("all of it still waits for an answer, and none of it is too long")
    return _outcome(situation, plan, shares, DROPPED, ())


def owed_text(situation: Situation, plan: Plan, facts: Facts, room: int) -> tuple[Attachment, ...]:
    """Live obligations, as far as they do not stand in what is kept."""
    said = list(filter(is_request, user_messages.carried(plan.compacted)))
    stands = any(map(is_request, user_messages.carried(plan.kept)))
    asked = (facts.open_question,) if facts.open_question and not plan.kept else ()
    found = obligations.render(
        Obligations(
            "" if stands or not said else said[-1],
            facts.todos if situation.todos is None else situation.todos,
            situation.running,
            asked,
        ),
        room,
    )
    return () if found is None else (found,)


def _carried(plan: Plan) -> list[Attachment]:
    """What was told once and is still true, unless it was told again in what is kept."""
    latest: dict[str, Attachment] = {}
    for message in plan.compacted:
        for block in message.blocks:
            if isinstance(block, Attachment) and block.label in _CARRIED:
                latest[block.label] = block
    again = {b.label for m in plan.kept for b in m.blocks if isinstance(b, Attachment)}
    return [block for label, block in latest.items() if label not in again]


def _outcome(
    situation: Situation, plan: Plan, shares: Shares, how: How, start: tuple[Message, ...]
) -> Compaction | Failed:
    cut = shares.kept != plan.kept
    if cut:
        start = (*start, *copied(shares.kept, start[-1] if start else None))
    stays = () if cut else plan.kept
    size = sum(map(message_tokens, (*start, *stays)))
    if size > shares.room:
        return Failed(f"what must stay takes {size:,} tokens, and {shares.room:,} are free")
    before = sum(map(message_tokens, (*plan.compacted, *plan.kept)))
    if size >= before:
        return Failed("the summary would be no shorter than what it stands for")
    whole = situation.overhead + size + sum(map(message_tokens, plan.before))
    gone = (*plan.compacted, *plan.kept) if cut else plan.compacted
    return Compaction(
        start=start,
        kept_from=stays[0].id if stays else None,
        kept_up_to=plan.before[-1].id if plan.before else None,
        trigger=situation.trigger,
        how=how,
        tokens_before=situation.tokens,
        tokens_after=int(whole * rate(situation)),
        last_compacted=gone[-1].id,
        why="; ".join([_HOW[how], *shares.losses]),
    )


_HOW: dict[How, str] = {
    "notes": "the session notes are the summary",
    "summary": "the model wrote the summary",
    "extractive": "the summary was made without a model",
    "dropped rounds": "there was no room for a summary",
}


def no_files(path: str) -> str | None:
    """For conversations without files."""
    return None


@dataclass(frozen=True, slots=True)
class CompactionTools:
    """What a compaction may use: a model to ask, files to read, someone to tell."""

    ask: Summarizer | None = None
    ask_apart: ApartSummarizer | None = None
    read_file: ReadFile = no_files
    announce: Announce = unheard


async def run(situation: Situation, means: CompactionTools) -> Compaction | Failed:
    """Compact the conversation; the outcome fits the window and leaves room to go on."""
    noted = await _from_notes(situation, means)
    return noted if isinstance(noted, Compaction) else await _in_full(situation, means)


async def _from_notes(situation: Situation, means: CompactionTools) -> Compaction | Failed | NoPlan:
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


async def _in_full(situation: Situation, means: CompactionTools) -> Compaction | Failed:
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
    return shares if isinstance(shares, Failed) else cut_only(situation, everything, shares)


@dataclass(frozen=True, slots=True)
class _Making:
    """One compaction, once it is known what goes, what stays and how much room there is."""

    situation: Situation
    plan: Plan
    shares: Shares
    facts: Facts

    async def summarized(self, means: CompactionTools) -> Compaction | Failed:
        """By the model; what it leaves out, or all of it when it fails, comes from the transcript."""
        room = summary_room(self.situation, self.shares)
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

    async def compose(self, how: How, tell: Tell, means: CompactionTools) -> Compaction | Failed:
        owed = owed_text(self.situation, self.plan, self.facts, self.shares.obligations)
        reading = _Reading(means.read_file)
        found = await asyncio.to_thread(self._restored, reading)
        for trouble in reading.troubles:
            means.announce(TroubleNoted("compaction.restore", trouble))
        return compose(self.situation, self.plan, self.shares, Told(how, tell, owed, found))

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
