"""Who gets how much of the window after a compaction, so that the outcome always fits. Pure.

The user's words come first: they are cut only when they leave less than a quarter of the room to
everything else. Then what stays word for word: half of what is left, tool traffic cut to fit. Of the
rest the summary may take a quarter, obligations an eighth, what is restored three eighths; a
quarter stays free, or the next request would compact again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reverie.core.messages import Message
from reverie.core.tokens import block_tokens, message_tokens, text_tokens
from reverie.layers import user_messages
from reverie.layers.clipping import clipped, level
from reverie.layers.compaction.plan import Plan
from reverie.layers.compaction.situation import Failed, Situation
from reverie.layers.compaction.tail import shortened_tail, shortened_words, words_of

# No estimate is off by more than this; a figure beyond it is not believed.
_MOST_RATE = 2.0

# A message cut below this says nothing any more; the lines that tell of a cut are quoted as well.
_SHORTEST = 64
_NOTE = 2


@dataclass(frozen=True, slots=True)
class Shares:
    """The user's words and what is kept, as they will be sent, and the room for the rest."""

    said: tuple[str, ...]
    kept: tuple[Message, ...]
    room: int
    summary: int
    obligations: int
    restored: int
    losses: tuple[str, ...] = ()


def rate(situation: Situation) -> float:
    """How much larger the provider found the conversation than we estimate it; at least 1."""
    estimated = situation.overhead + sum(map(message_tokens, situation.messages))
    return min(max(situation.tokens / max(estimated, 1), 1.0), _MOST_RATE)


def share(situation: Situation, plan: Plan, *, may_cut: bool) -> Shares | Failed:
    """The shares. What must stay is cut to fit where it `may_cut`, else it must fit as it is."""
    threshold = int(situation.window.compaction / rate(situation))
    room = threshold - situation.overhead - _tokens(plan.before)
    if room < threshold // 8:
        return Failed(
            f"system prompt, tools and the {len(plan.before)} messages before the summary alone take "
            f"{threshold - room:,} of {threshold:,} tokens"
        )
    whole = f"it is in {situation.transcript}" if situation.transcript else ""
    kept, said = plan.kept, user_messages.carried(plan.compacted)
    if may_cut:
        kept, said = _fitting_words(kept, said, room * 3 // 4, whole)
        kept = shortened_tail(kept, (room - _words(kept) - _carried_tokens(said)) // 2, whole)
    rest = room - _words(kept) - _carried_tokens(said)
    left = rest - (_tokens(kept) - _words(kept))
    if rest < room // 4 or left < rest // 4:
        return Failed(f"what stays word for word takes {room - left:,} of {room:,} tokens")
    losses = _losses(plan, kept, said)
    return Shares(said, kept, room, left // 4, left // 8, left * 3 // 8, losses)


def _fitting_words(
    kept: tuple[Message, ...], said: tuple[str, ...], room: int, whole: str
) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """All the user's words, if they fit; else the longest are cut, wherever they stand."""
    if _words(kept) + _carried_tokens(said) <= room:
        return kept, said
    texts = [text_tokens(text) for text in said]
    frame = _carried_tokens(said) - sum(texts)
    lengths = [*texts, *(length for message in kept for length in words_of(message))]
    cap = max(level(lengths, room - frame - _NOTE * len(lengths)), _SHORTEST)
    kept = shortened_words(kept, cap, whole)
    cut = [clipped(text, cap, whole) for text in said]
    return kept, _newest_words(cut, room - _words(kept), whole)


def _newest_words(texts: Sequence[str], room: int, whole: str) -> tuple[str, ...]:
    """As many of the messages as fit, the newest; in the place of the others, where they are."""
    if _carried_tokens(texts) <= room:
        return tuple(texts)
    gone = f"[Earlier messages of the user do not fit here{f'; {whole}' if whole else ''}]"
    first = len(texts)
    left = room - _carried_tokens((gone,))
    while first and (size := _quoted_tokens(texts[first - 1])) <= left:
        first -= 1
        left -= size
    return (gone, *texts[first:])


def _quoted_tokens(text: str) -> int:
    """What one message takes among others, quoted line by line under its number."""
    number = 8
    return text_tokens(text) + text.count("\n") + number


def _carried_tokens(texts: Sequence[str]) -> int:
    return block_tokens(user_messages.render(texts)) if texts else 0


def _losses(plan: Plan, kept: Sequence[Message], said: Sequence[str]) -> tuple[str, ...]:
    cut = (
        (plan.kept != kept, "what waits for an answer was too long and was cut"),
        (
            user_messages.carried((*plan.compacted, *plan.kept))
            != (*said, *user_messages.carried(kept)),
            "the user's messages alone were too long, and some were cut",
        ),
    )
    return tuple(what for happened, what in cut if happened)


def _words(messages: Sequence[Message]) -> int:
    return sum(sum(words_of(message)) for message in messages)


def _tokens(messages: Sequence[Message]) -> int:
    return sum(map(message_tokens, messages))
