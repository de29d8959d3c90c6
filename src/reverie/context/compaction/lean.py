"""Lean compaction: by price, long before the window is full, without a model.

Most of what a long session pays for is old tool traffic that is read from the cache again with every
request. When that costs more than writing a short conversation again, the old messages are replaced
by a record of them (`record`), the user's words and the files being worked on; the last rounds
stay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reverie.context import NotDue, user_messages
from reverie.context.compaction import open_obligations, sent_once
from reverie.context.compaction.parts import ReadFile, is_summary, whole_files, worded
from reverie.context.compaction.plan import (
    Compaction,
    Due,
    Failed,
    NoPlan,
    Plan,
    Situation,
    unanswered,
)
from reverie.context.compaction.record import attached, record_of, spoken_names, worked_on
from reverie.context.compaction.tail import rate
from reverie.context.facts import read_facts
from reverie.core.messages import Attachment, Block, Message, Text, Thinking, new_message
from reverie.core.transcript import rounds, safe_cuts
from reverie.core.usage import PER_MILLION, Prices
from reverie.core.window import message_tokens, text_tokens

_OBLIGATIONS = 2_000
# A file counts as named if one of the last texts, up to this many, contains its name.
_NAMED_IN = 6
# Estimate of the requests still to come: at most this multiple of those made, at least this many.
_AHEAD = 2
_FEWEST_CALLS = 4
# A shorter excerpt of a file is of little use.
_SHORTEST_EXCERPT = 300
# Number of texts whose names indicate where in a file the next change may be.
_WORDS = 30


@dataclass(frozen=True, slots=True)
class LeanPolicy:
    """Sizes in tokens, and how a compaction is weighed.

    At least `tail` tokens and `rounds` rounds stay verbatim; `record` is the most the record may
    take. Up to `files` files whose next edit is at least `likely` share `room`; a file that is sure
    to be edited gets at most `file`, the others less in proportion.

    It is worth it when `calls` requests save `margin` times its cost, including `rereads` tokens
    that are read again, and when the requests since the last one have paid `patience` times that
    for what it frees. After the cache has lapsed it costs only the re-reads and happens at once. A
    conversation under `least` tokens is left alone. `budget` is the most a compaction may cost, in
    dollars, and `share` the most as a share of what the session has paid so far: a session that
    ends right afterwards has lost no more than that.
    """

    on: bool = True
    tail: int = 8_000
    rounds: int = 6
    record: int = 20_000
    files: int = 12
    room: int = 16_000
    file: int = 100_000
    likely: float = 0.2
    calls: int = 20
    margin: float = 1.0
    rereads: int = 15_000
    patience: float = 0.0
    least: int = 15_000
    budget: float = math.inf
    share: float = math.inf

    def allowed(self, spent: float | None) -> float:
        """The dollars that one compaction may cost in a session that has paid `spent`."""
        return self.budget if spent is None else min(self.budget, self.share * spent)


@dataclass(frozen=True, slots=True)
class Moment:
    """The conditions before a request: its prices, and whether the cache lapsed.

    `done` requests were made so far, for `spent` dollars; None where they are not counted. `sizes` are
    the prompts since the last compaction in tokens, oldest first.
    """

    rates: Prices | None
    lapsed: bool = False
    done: int | None = None
    spent: float | None = None
    sizes: Sequence[int] = ()

    def carried(self, freed: int) -> int:
        """How many of the tokens that would be freed now were read by requests since the last compaction."""
        return sum(max(0, freed - (self.sizes[-1] - size)) for size in self.sizes)


def worth_it(before: int, after: int, moment: Moment, policy: LeanPolicy) -> Due | NotDue:
    """Whether replacing `before` tokens of conversation with `after` saves more than it costs."""
    rates = moment.rates
    if rates is None or not rates.input:
        return NotDue("prices are not known")
    freed = before - after
    read, write = rates.cache_read, rates.cache_write_5m
    calls = expected_calls(moment, policy)
    again = policy.rereads * write
    if moment.lapsed:
        saved, cost = freed * (write + calls * read), again
    else:
        at_once = after * (write - read)
        if at_once > (most := policy.allowed(moment.spent)) * PER_MILLION:
            return NotDue(f"compacting may cost at most ${most:.3f} now")
        saved, cost = freed * calls * read, at_once + again
    if saved <= policy.margin * cost:
        return NotDue(f"keeping {freed:,} old tokens costs less than compacting")
    if not moment.lapsed and moment.carried(freed) * read < policy.patience * cost:
        return NotDue(f"keeping {freed:,} old tokens has not cost enough yet")
    when = "the cache has lapsed, and " if moment.lapsed else ""
    return Due(f"{when}{freed:,} old tokens cost more than a short conversation written anew")


def expected_calls(moment: Moment, policy: LeanPolicy) -> int:
    """The number of requests that a saving is counted for: few in a young session."""
    if moment.done is None:
        return policy.calls
    return min(policy.calls, max(_AHEAD * moment.done, _FEWEST_CALLS))


def due(size: int, moment: Moment, policy: LeanPolicy) -> Due | NotDue:
    """Whether a compaction of `size` tokens of conversation could pay; `compact` weighs it exactly."""
    if not policy.on:
        return NotDue("compaction by price is off (context.profile)")
    if size < policy.least:
        return NotDue(f"{size:,} tokens of conversation are left alone")
    return worth_it(size, policy.tail, moment, policy)


def plan(messages: Sequence[Message], policy: LeanPolicy) -> Plan | NoPlan:
    """Keep the last rounds that fit the tail, and all that waits for an answer.

    Earlier records stay where they are, so that the cache still holds them, until they are too long.
    """
    safe = set(safe_cuts(messages))
    first = max((i for i, message in enumerate(messages, 1) if is_summary(message)), default=0)
    cut = unanswered(messages)
    position, kept = len(messages), 0
    for number, group in enumerate(reversed(rounds(messages))):
        position -= len(group)
        kept += sum(map(message_tokens, group))
        if (kept > policy.tail and number >= policy.rounds) or position <= first:
            break
        if position in safe:
            cut = min(cut, position)
    if cut <= first:
        return NoPlan("only the last rounds are left")
    before = first if sum(map(message_tokens, messages[:first])) <= policy.record else 0
    return Plan(tuple(messages[:before]), tuple(messages[before:cut]), tuple(messages[cut:]))


def compact(
    situation: Situation, moment: Moment, policy: LeanPolicy, read_file: ReadFile
) -> Compaction | Failed:
    """The conversation with its old part replaced by a record; fails if that does not pay."""
    planned = plan(situation.messages, policy)
    if isinstance(planned, NoPlan):
        return Failed(planned.reason)
    start = _start(situation, planned, policy, read_file)
    kept = _tokens(planned.kept)
    before, after = _tokens(planned.compacted) + kept, _tokens(start) + kept
    factor = rate(situation)
    verdict = worth_it(int(before * factor), int(after * factor), moment, policy)
    if isinstance(verdict, NotDue):
        return Failed(verdict.reason, int(after * factor))
    return Compaction(
        start=start,
        kept_from=planned.kept[0].id if planned.kept else None,
        kept_up_to=planned.before[-1].id if planned.before else None,
        trigger=situation.trigger,
        how="record",
        tokens_before=situation.tokens,
        tokens_after=int((situation.overhead + _tokens(planned.before) + after) * factor),
        last_compacted=planned.compacted[-1].id,
        why=verdict.reason,
    )


def _start(
    situation: Situation, planned: Plan, policy: LeanPolicy, read_file: ReadFile
) -> tuple[Message, ...]:
    """The record with the user's words, and a message with the files being worked on, which is soon outdated."""
    body = record_of(planned.compacted, policy.record, planned.before)
    texts = user_messages.carried(planned.compacted)
    facts = read_facts(planned.compacted)
    said: list[Block] = [Text(worded(body, situation.transcript, follows=bool(planned.before)))]
    said += [user_messages.render(texts)] if texts else []
    record = new_message(
        "user", *said, after=planned.compacted[-1], at=situation.at, origin="reverie"
    )
    now: list[Block] = [
        *sent_once(planned),
        *open_obligations(situation, planned, facts, _OBLIGATIONS),
        *_files(planned, policy, read_file),
    ]
    if not now:
        return (record,)
    return (record, new_message("user", *now, after=record, at=situation.at, origin="reverie"))


def _tokens(messages: Sequence[Message]) -> int:
    return sum(map(message_tokens, messages))


def _files(planned: Plan, policy: LeanPolicy, read_file: ReadFile) -> Iterator[Attachment]:
    """The files likely to be edited next, as they are now; the likelier an edit, the longer the excerpt."""
    everything = (*planned.compacted, *planned.kept)
    there = whole_files(planned.kept)
    words = tuple(_last_words(everything, _WORDS))
    asked_for = _last_request(everything)
    likely = {
        file: file.likelihood(
            named=any(file.name in text for text in words[:_NAMED_IN]),
            asked_for=file.name in asked_for,
        )
        for file in worked_on(everything)
        if file.path not in there
    }
    chosen = sorted((f for f in likely if likely[f] >= policy.likely), key=lambda f: -likely[f])
    texts = {f: text for f in chosen[: policy.files] if (text := read_file(f.path)) is not None}
    names = spoken_names(words)
    room, weight = policy.room, sum(likely[file] for file in texts)
    for file, text in texts.items():
        most = max(int(policy.file * likely[file]), _SHORTEST_EXCERPT)
        share = min(int(room * likely[file] / weight), most)
        shown = attached(file.path, text, file.places, share, names)
        room -= text_tokens(shown.text)
        weight -= likely[file]
        yield shown


def _last_request(messages: Sequence[Message]) -> frozenset[str]:
    """The names of files in the person's last request that names any."""
    texts = (text for message in reversed(messages) for text in user_messages.said(message)[::-1])
    found = (frozenset(user_messages.named_files(text)) for text in texts)
    return next(filter(None, found), frozenset())


def _last_words(messages: Sequence[Message], most: int) -> Iterator[str]:
    """The latest texts of the person and the assistant, thinking included, newest first."""
    for message in reversed(messages):
        if most <= 0:
            return
        blocks = message.blocks if message.role == "assistant" else ()
        said = [b.text for b in blocks if isinstance(b, Text | Thinking)]
        for text in (*said, *user_messages.said(message)):
            if text.strip():
                most -= 1
                yield text
