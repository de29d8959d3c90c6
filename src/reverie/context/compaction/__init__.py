"""Layer 4: compaction replaces a conversation by a summary and restores what is still needed.

plan        whether compaction is due, what is summarised and what stays verbatim
parts       the text of a summary, its sizes, and what is put back after it: obligations, files, skills
summarize   the nine parts, from a model or without one
tail        how the window is shared, and how the verbatim messages are cut to fit
run         all steps, with a fallback for each failure
lean        compaction by price, long before the window is full; `record` is what it leaves
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from reverie.context import user_messages
from reverie.context.compaction.parts import (
    Obligations,
    ReadFile,
    cut_sections,
    fitting,
    render,
    render_obligations,
    restored,
    wanted,
    worded,
)
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
from reverie.context.compaction.summarize import (
    ApartSummarizer,
    NoSummary,
    Summarizer,
    Task,
    extract,
    summarize,
)
from reverie.context.compaction.tail import Shares, copied, rate, share
from reverie.context.facts import read_facts
from reverie.context.facts.outcomes import Facts
from reverie.context.user_messages import is_request
from reverie.core.messages import Attachment, Block, Message, Text, new_message
from reverie.core.window import block_tokens, message_tokens, text_tokens
from reverie.events import Announce, TroubleNoted, no_listener

# Renders the summary within a number of tokens.
RenderSummary: TypeAlias = Callable[[int], str]

# The nine headings alone take much of this; a shorter summary is not worth its room.
_SHORTEST_SUMMARY = 200
_NO_ROOM = "There was no room for a summary."

DROPPED: How = "dropped rounds"

# Attachments that the session sends once and does not repeat.
_CARRIED = ("date",)


@dataclass(frozen=True, slots=True)
class SummaryContent:
    """The summary and its attachments: all `obligations`, and as much of `restored` as fits."""

    how: How
    render: RenderSummary
    obligations: tuple[Attachment, ...] = ()
    restored: tuple[Attachment, ...] = ()


def compose(
    situation: Situation, plan: Plan, shares: Shares, content: SummaryContent
) -> Compaction | Failed:
    """Build the new start of the conversation; fails if it does not fit or saves nothing."""
    room = summary_room(situation, shares)
    body, how = (content.render(room), content.how) if room else (_NO_ROOM, DROPPED)
    blocks: list[Block] = [Text(worded(body, situation.transcript))]
    if shares.user_texts:
        blocks.append(user_messages.render(shares.user_texts))
    blocks += [*sent_once(plan), *content.obligations]
    # Restored content must not use up what was saved.
    saved = sum(map(message_tokens, plan.compacted)) - sum(map(block_tokens, blocks))
    blocks += fitting(content.restored, min(shares.restored, saved // 2))
    after = plan.compacted[-1]
    summary = new_message("user", *blocks, after=after, at=situation.at, origin="reverie")
    return _outcome(situation, plan, shares, how, (summary,))


def summary_room(situation: Situation, shares: Shares) -> int:
    """Tokens for the summary's own text; 0 when there are too few for a useful summary."""
    room = shares.summary - text_tokens(worded("", situation.transcript))
    return room if room >= _SHORTEST_SUMMARY else 0


def cut_only(situation: Situation, plan: Plan, shares: Shares) -> Compaction | Failed:
    """Cut a conversation that is one long unanswered round, where nothing can be summarised."""
    if shares.kept == plan.kept:
        return Failed("all of it still waits for an answer, and none of it is too long")
    return _outcome(situation, plan, shares, DROPPED, ())


def open_obligations(
    situation: Situation, plan: Plan, facts: Facts, room: int
) -> tuple[Attachment, ...]:
    """Open obligations that the kept messages do not already contain."""
    requests = list(filter(is_request, user_messages.carried(plan.compacted)))
    request_is_kept = any(map(is_request, user_messages.carried(plan.kept)))
    questions = (facts.open_question,) if facts.open_question and not plan.kept else ()
    found = render_obligations(
        Obligations(
            "" if request_is_kept or not requests else requests[-1],
            facts.todos if situation.todos is None else situation.todos,
            situation.running,
            questions,
        ),
        room,
    )
    return () if found is None else (found,)


def sent_once(plan: Plan) -> list[Attachment]:
    """Attachments that are sent only once, unless the kept messages contain them."""
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
    "record": "a record of the old messages",
}


def no_files(path: str) -> str | None:
    """A `ReadFile` for conversations without files."""
    return None


@dataclass(frozen=True, slots=True)
class CompactionTools:
    """What a compaction may use: models to ask, a file reader, and a listener for events."""

    ask: Summarizer | None = None
    ask_apart: ApartSummarizer | None = None
    read_file: ReadFile = no_files
    announce: Announce = no_listener


async def run(situation: Situation, tools: CompactionTools) -> Compaction | Failed:
    """Compact the conversation; the outcome fits the window and leaves room to continue."""
    from_notes = await _from_notes(situation, tools)
    return from_notes if isinstance(from_notes, Compaction) else await _in_full(situation, tools)


async def _from_notes(situation: Situation, tools: CompactionTools) -> Compaction | Failed | NoPlan:
    """Use the notes as the summary, without a model call.

    Notes cannot follow the user's instructions or summarise only a part.
    """
    notes = situation.notes
    if notes is None or situation.instructions or not isinstance(situation.mode, Whole):
        return NoPlan("there are no notes that could be the summary")
    planned = plan(situation.messages, situation.window, Covered(notes.covered))
    if isinstance(planned, NoPlan):
        return planned
    shares = share(situation, planned, may_cut=False)
    if isinstance(shares, Failed):
        return shares
    compaction_run = _CompactionRun(situation, planned, shares, read_facts(planned.compacted))
    return await compaction_run.compose(
        "notes", lambda room: cut_sections(notes.text, room, notes.path), tools
    )


async def _in_full(situation: Situation, tools: CompactionTools) -> Compaction | Failed:
    planned = plan(situation.messages, situation.window, situation.mode)
    whole = isinstance(situation.mode, Whole)
    if isinstance(planned, NoPlan):
        return _cut(situation) if whole else Failed(planned.reason)
    shares = share(situation, planned, may_cut=whole)
    if isinstance(shares, Failed):
        return shares
    compaction_run = _CompactionRun(situation, planned, shares, read_facts(planned.compacted))
    return await compaction_run.summarized(tools)


def _cut(situation: Situation) -> Compaction | Failed:
    """Cut overlong content when the whole conversation still waits for an answer."""
    everything = Plan((), (), situation.messages)
    shares = share(situation, everything, may_cut=True)
    return shares if isinstance(shares, Failed) else cut_only(situation, everything, shares)


@dataclass(frozen=True, slots=True)
class _CompactionRun:
    """One compaction with its plan, its shares of the window and the facts of what is summarised."""

    situation: Situation
    plan: Plan
    shares: Shares
    facts: Facts

    async def summarized(self, tools: CompactionTools) -> Compaction | Failed:
        """Summarise with the model; parts that it leaves out, or fails to write, are extracted."""
        room = summary_room(self.situation, self.shares)
        # Do not pay for a summary that has no room.
        ask = tools.ask if room else None
        task = Task(self.plan, room, self.situation.instructions)
        extracted = extract(self.plan.compacted, self.facts, self.situation.todos)
        summary = await summarize(task, ask, tools.ask_apart)
        how: How = "summary"
        if isinstance(summary, NoSummary):
            if ask is not None:
                what = f"{summary.reason}; the summary is made without a model"
                tools.announce(TroubleNoted("compaction.summary", what))
            summary, how = extracted, "extractive"
        complete = summary.completed(extracted)
        whole = self.situation.transcript
        return await self.compose(how, lambda room: render(complete, room, whole), tools)

    async def compose(
        self, how: How, render: RenderSummary, tools: CompactionTools
    ) -> Compaction | Failed:
        room = self.shares.obligations
        obligations = open_obligations(self.situation, self.plan, self.facts, room)
        reader = FileReader(tools.read_file)
        back = await asyncio.to_thread(self._restored, reader)
        for trouble in reader.troubles:
            tools.announce(TroubleNoted("compaction.restore", trouble))
        content = SummaryContent(how, render, obligations, back)
        return compose(self.situation, self.plan, self.shares, content)

    def _restored(self, read: ReadFile) -> tuple[Attachment, ...]:
        paths = wanted(self.facts.files, self.shares.kept)
        return restored(paths, self.situation.extras, read, self.situation.window)


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads files; notes and skips those that cannot be read."""

    read_file: ReadFile
    troubles: list[str] = field(default_factory=list)

    def __call__(self, path: str) -> str | None:
        try:
            return self.read_file(path)
        except (OSError, ValueError) as error:
            self.troubles.append(f"{path}: {error!r}")
            return None
