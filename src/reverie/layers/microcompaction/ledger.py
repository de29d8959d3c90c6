"""Which tool results stand in a conversation as it is sent, how large they are and where.

Fed with the whole conversation before each request, it looks only at what is new. When something
earlier changed (a compaction, results cleared), it starts over, which is rare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reverie.core.incremental import shared_length
from reverie.core.messages import Message, Text, ToolResult
from reverie.core.tokens import block_tokens, text_tokens
from reverie.layers.microcompaction.names import compactable
from reverie.layers.stand_ins import path_of

# About what the marker takes that is left behind.
MARKER_TOKENS = 60


@dataclass(frozen=True, slots=True)
class Held:
    """A result that stands with its text and may be cleared.

    `tokens` is its text as it is sent, `gain` what clearing it frees, `place` how many tokens stand
    before it, `mark` where the last request before it ended: what a provider that caches at marks
    can still find of the prefix.
    """

    result: ToolResult
    tokens: int
    gain: int
    place: int
    mark: int
    at: float
    path: str = ""

    @property
    def id(self) -> str:
        return self.result.tool_use_id


class ToolResultLedger:
    """The tool results of one conversation."""

    def __init__(self, declared: frozenset[str] = frozenset()) -> None:
        """`declared` are tools that say of themselves that their results may be cleared."""
        self._declared = declared
        self._forget()

    def _forget(self) -> None:
        self._messages: tuple[Message, ...] = ()
        self._names: dict[str, str] = {}
        self._cleared = 0
        self._response: str | None = None
        self.held: list[Held] = []
        self.gain = 0
        self.tokens = 0
        self.start = 0
        # Up to here the model has seen it: where the last answered request ended.
        self.seen = 0
        self.replied_at: float | None = None

    @property
    def last(self) -> str:
        """The id of the newest message."""
        return self._messages[-1].id if self._messages else ""

    def follow(
        self,
        messages: Sequence[Message],
        replaced: Mapping[str, str],
        cleared: Mapping[str, str],
    ) -> None:
        """Bring the ledger up to the conversation as it stands now.

        `messages` hold results as they came; `replaced` and `cleared` the texts sent for them.
        """
        kept = shared_length(self._messages, messages)
        if kept < len(self._messages) or len(cleared) != self._cleared:
            self._forget()
            kept = 0
        for message in messages[kept:]:
            self._add(message, replaced, cleared)
        self._messages = tuple(messages)
        self._cleared = len(cleared)

    def _add(
        self, message: Message, replaced: Mapping[str, str], cleared: Mapping[str, str]
    ) -> None:
        if message.role == "assistant":
            self._replied(message)
        for block in message.blocks:
            if isinstance(block, ToolResult):
                self._add_result(block, message.at, replaced, cleared)
            else:
                self.tokens += block_tokens(block)
        self.start = self.start or self.tokens

    def _replied(self, message: Message) -> None:
        """A new response answered everything so far; one recorded in pieces is still the same."""
        piece = self._response is not None and message.response == self._response
        if not piece:
            self.seen = self.tokens
        self._response = message.response
        self.replied_at = message.at
        self._names |= {use.id: use.name for use in message.tool_uses}

    def _add_result(
        self, result: ToolResult, at: float, replaced: Mapping[str, str], cleared: Mapping[str, str]
    ) -> None:
        id_ = result.tool_use_id
        others = sum(block_tokens(part) for part in result.content if not isinstance(part, Text))
        sent = cleared.get(id_) or replaced.get(id_)
        text = text_tokens(result.text if sent is None else sent)
        name = self._names.get(id_, "")
        if text and id_ not in cleared and compactable(name, self._declared):
            path = path_of(replaced.get(id_, ""))
            gain = max(0, text - MARKER_TOKENS)
            self.held.append(Held(result, text, gain, self.tokens, self.seen, at, path))
            self.gain += gain
        self.tokens += others + text
