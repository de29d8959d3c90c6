"""Lean compaction: by price, long before the window is full, without a model.

Most of what a long session pays for is old tool traffic that is read from the cache again with every
request. When that costs more than writing a short conversation anew, the old messages are replaced
by their record (`record`), the user's words and the files in work; the last rounds stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reverie.context import NotDue, user_messages
from reverie.context.compaction import restore
from reverie.context.compaction.parts import is_summary, worded
from reverie.context.compaction.plan import (
    Compaction,
    Due,
    Failed,
    NoPlan,
    Plan,
    Situation,
    unanswered,
)
from reverie.context.compaction.record import record_of
from reverie.context.compaction.restore import ReadFile
from reverie.context.compaction.run import open_obligations, sent_once
from reverie.context.compaction.tail import rate
from reverie.context.facts import FileTouch, read_facts
from reverie.core.messages import Attachment, Block, Message, Text, new_message
from reverie.core.tokens import message_tokens
from reverie.core.transcript import rounds, safe_cuts
from reverie.core.usage import Prices

_OBLIGATIONS = 2_000


@dataclass(frozen=True, slots=True)
class LeanPolicy:
    """Sizes in tokens, and what a compaction is taken to leave and to cost.

    `tail` stays verbatim, `record` is the most the record may take, `files` in work are restored with
    `file` each. A compaction leaves about `left` and the share `grows` of what there was. It is
    worth it when `calls` requests save more than it costs, `rereads` (read again afterwards)
    included. After a lapse of the cache it costs nothing but those.
    """

    on: bool = True
    tail: int = 10_000
    record: int = 20_000
    files: int = 3
    file: int = 2_500
    left: int = 14_000
    grows: float = 0.08
    calls: int = 20
    rereads: int = 15_000
    least: int = 25_000


@dataclass(frozen=True, slots=True)
class Moment:
    """What is known before a request: its size, that of its head, its prices, and a lapse."""

    tokens: int
    head: int
    rates: Prices | None
    lapsed: bool = False


def due(moment: Moment, policy: LeanPolicy) -> Due | NotDue:
    """Whether a compaction saves more than it costs."""
    if not policy.on:
        return NotDue("compaction by price is off (context.profile)")
    rates = moment.rates
    if rates is None or not rates.input:
        return NotDue("prices are not known")
    size = moment.tokens - moment.head
    if size < policy.least:
        return NotDue(f"{size:,} tokens of conversation are left alone")
    left = policy.left + int(policy.grows * size)
    freed = size - left
    read, write = rates.cache_read, rates.cache_write_5m
    again = policy.rereads * write
    if moment.lapsed:
        saved, cost = freed * (write + policy.calls * read), again
    else:
        saved, cost = freed * policy.calls * read, left * (write - read) + again
    if saved <= cost:
        return NotDue(f"keeping {freed:,} old tokens costs less than compacting")
    when = "the cache has lapsed, and " if moment.lapsed else ""
    return Due(f"{when}{freed:,} old tokens cost more than a short conversation written anew")


def plan(messages: Sequence[Message], policy: LeanPolicy) -> Plan | NoPlan:
    """Keep the last rounds that fit the tail, and all that waits for an answer."""
    safe = set(safe_cuts(messages))
    first = max((i for i, message in enumerate(messages, 1) if is_summary(message)), default=0)
    cut = unanswered(messages)
    position, kept = len(messages), 0
    for group in reversed(rounds(messages)):
        position -= len(group)
        kept += sum(map(message_tokens, group))
        if kept > policy.tail or position <= first:
            break
        if position in safe:
            cut = min(cut, position)
    if cut <= first:
        return NoPlan("only the last rounds are left")
    return Plan((), tuple(messages[:cut]), tuple(messages[cut:]))


def compact(
    situation: Situation, policy: LeanPolicy, read_file: ReadFile, why: str
) -> Compaction | Failed:
    """The conversation with its old part as a record; fails where that saves too little."""
    planned = plan(situation.messages, policy)
    if isinstance(planned, NoPlan):
        return Failed(planned.reason)
    body = record_of(planned.compacted, policy.record)
    texts = user_messages.carried(planned.compacted)
    blocks: list[Block] = [Text(worded(body, situation.transcript))]
    blocks += [user_messages.render(texts)] if texts else []
    facts = read_facts(planned.compacted)
    blocks += [*sent_once(planned), *open_obligations(situation, planned, facts, _OBLIGATIONS)]
    blocks += _files(planned, policy, read_file, facts.files)
    after = planned.compacted[-1]
    summary = new_message("user", *blocks, after=after, at=situation.at, origin="reverie")
    before = sum(map(message_tokens, planned.compacted))
    size = message_tokens(summary)
    if size * 2 > before:
        return Failed(f"a record of {size:,} tokens for {before:,} saves too little")
    whole = situation.overhead + size + sum(map(message_tokens, planned.kept))
    return Compaction(
        start=(summary,),
        kept_from=planned.kept[0].id if planned.kept else None,
        kept_up_to=None,
        trigger=situation.trigger,
        how="record",
        tokens_before=situation.tokens,
        tokens_after=int(whole * rate(situation)),
        last_compacted=after.id,
        why=why,
    )


def _files(
    planned: Plan, policy: LeanPolicy, read_file: ReadFile, touched: Sequence[FileTouch]
) -> Iterator[Attachment]:
    """The files in work, as they are now: changed ones first, the newest first."""
    there = restore.whole_files(planned.kept)
    recent = [touch for touch in reversed(touched) if touch.path not in there]
    changed = [touch.path for touch in recent if touch.changed]
    paths = [*changed, *(touch.path for touch in recent if not touch.changed)]
    for path in paths[: policy.files]:
        text = read_file(path)
        if text is not None:
            yield restore.file(path, text, policy.file)
