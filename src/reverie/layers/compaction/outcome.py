"""The new start of a conversation, put together from its parts. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from reverie.core.messages import Attachment, Block, Message, Text, new_message
from reverie.core.tokens import block_tokens, message_tokens, text_tokens
from reverie.layers import user_messages
from reverie.layers.compaction import obligations, restore
from reverie.layers.compaction.obligations import Obligations
from reverie.layers.compaction.plan import Plan
from reverie.layers.compaction.shares import Shares, rate
from reverie.layers.compaction.situation import Compaction, Failed, How, Situation
from reverie.layers.compaction.summary_message import worded
from reverie.layers.compaction.tail import copied
from reverie.layers.facts import Facts
from reverie.layers.user_messages import is_request

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


def owed(situation: Situation, plan: Plan, facts: Facts, room: int) -> tuple[Attachment, ...]:
    """Live obligations, as far as they do not stand in what is kept."""
    said = list(filter(is_request, user_messages.carried(plan.compacted)))
    stands = any(map(is_request, user_messages.carried(plan.kept)))
    asked = (facts.open_question,) if facts.open_question and not plan.kept else ()
    found = obligations.render(
        Obligations(
            "" if stands or not said else said[-1],
            facts.todos if situation.todos is None else situation.todos,
            situation.running,
            tuple(dict.fromkeys((*situation.questions, *asked))),
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
