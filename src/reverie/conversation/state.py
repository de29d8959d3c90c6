"""A session's state, rebuilt from its records: the same records give the same state and requests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import assert_never

from reverie.conversation.records import (
    AgentHired,
    AgentLeft,
    Branched,
    CacheEdited,
    Compacted,
    CompactionFailed,
    DateChanged,
    Extracted,
    Folded,
    HeadFrozen,
    MemoriesShown,
    NotesTaken,
    Opened,
    Record,
    Redacted,
    Replaced,
    Rewound,
    Said,
    TodosSet,
    ToolResultsCleared,
    Unfolded,
    Unknown,
    Used,
)
from reverie.core.messages import Attachment, Block, Message, ToolResult
from reverie.core.request import Head, head_segments, tool_tokens
from reverie.core.usage import Usage
from reverie.core.window import (
    Measured,
    block_tokens,
    context_tokens,
    freed,
    measured,
    substituted,
    text_tokens,
)
from reverie.memory.format.attachment import LABEL as RECALL


@dataclass(slots=True)
class SessionState:
    """Everything that is needed to resume a session.

    `messages` are the original messages; `shown` is how they are sent.
    """

    session: str = ""
    project: str = ""
    opened_at: float = 0.0
    head: Head | None = None
    messages: list[Message] = field(default_factory=list)
    usages: list[Used] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)
    cleared: dict[str, str] = field(default_factory=dict)
    cache_edits: list[CacheEdited] = field(default_factory=list)
    folds: list[Folded] = field(default_factory=list)
    compactions: list[Compacted] = field(default_factory=list)
    compaction_failures: int = 0
    notes: NotesTaken | None = None
    memories_shown: tuple[MemoriesShown, ...] = ()
    todos: tuple[tuple[str, str], ...] = ()
    extracted_up_to: str | None = None
    date: str | None = None
    branched: Branched | None = None
    # Sub-agents that were hired, and those that ended.
    hired: dict[str, AgentHired] = field(default_factory=dict)
    left: dict[str, AgentLeft] = field(default_factory=dict)
    # Messages whose text was changed in the transcript, and why; "" outside messages.
    redacted: dict[str, str] = field(default_factory=dict)
    unknown: list[Unknown] = field(default_factory=list)
    _measured: Measured | None = None
    # Tokens removed from the measured part since it was measured.
    _freed: int = 0
    # Messages that are sent in a changed form, by id.
    _changed: dict[str, Message] = field(default_factory=dict)
    # `shown` as it was last built; None after a record that may change it.
    _shown: list[Message] | None = field(default=None, compare=False, repr=False)
    _shown_for: list[Message] = field(default_factory=list, compare=False, repr=False)
    _head_size: int | None = field(default=None, compare=False, repr=False)

    @classmethod
    def replay(cls, records: Iterable[Record]) -> SessionState:
        state = cls()
        for record in records:
            state.apply(record)
        return state

    def branch(self) -> SessionState:
        """An independent copy of the conversation, without its usage."""
        return replace(
            self,
            messages=self.messages.copy(),
            usages=[],
            replaced=self.replaced.copy(),
            cleared=self.cleared.copy(),
            cache_edits=self.cache_edits.copy(),
            folds=self.folds.copy(),
            compactions=self.compactions.copy(),
            unknown=[],
            _changed=self._changed.copy(),
            _shown=self._shown,
        )

    @property
    def shown(self) -> list[Message]:
        """The conversation as it is sent: results replaced or cleared, spans folded.

        It is built once and kept until a record changes it; callers must not change it.
        """
        if self._shown is None or self._shown_for != self.messages:
            changed = self._changed
            shown = [changed.get(message.id, message) for message in self.messages]
            for fold in self.folds:
                shown = _folded(shown, fold)
            self._shown, self._shown_for = shown, self.messages.copy()
        return self._shown

    @property
    def rewritten(self) -> str | None:
        """Why the messages differ from those that were sent; None when they do not."""
        there = {message.id for message in self.messages} | {""}
        causes = [cause for message, cause in self.redacted.items() if message in there]
        return "; ".join(dict.fromkeys(causes)) or None

    @property
    def measured(self) -> bool:
        """Whether a provider reported the size since the conversation was last rewritten."""
        return self._measured is not None

    @property
    def tokens(self) -> int:
        """The size of the conversation: the last measurement plus an estimate of what came since."""
        tokens = context_tokens(self.shown, self._measured)
        if self._measured is None:
            return tokens + self.head_tokens
        return max(0, tokens - self._freed)

    @property
    def usage(self) -> Usage:
        return sum((used.usage for used in self.usages), Usage())

    @property
    def calls(self) -> int:
        """The number of requests to the main model."""
        return sum(used.purpose == "main" for used in self.usages)

    def apply(self, record: Record) -> None:  # noqa: C901, PLR0912, PLR0915 - one case a record kind
        if isinstance(record, _CHANGES_WHAT_IS_SHOWN):
            self._shown = None
        match record:
            case Opened(session, at, project):
                self.session, self.opened_at, self.project = session, at, project
            case HeadFrozen(head):
                self.head, self._head_size = head, None
            case Said(message):
                self.messages.append(message)
            case Used():
                self._used(record)
            case Replaced(tool_use_id, text):
                # The first decision stands: a result that was sent is never sent differently.
                if self.replaced.setdefault(tool_use_id, text) == text:
                    self._substitute({tool_use_id: text})
            case CacheEdited():
                self.cache_edits.append(record)
            case ToolResultsCleared(texts):
                self.cleared |= texts
                self._substitute(dict(texts))
            case Compacted():
                self._compacted(record)
            case CompactionFailed():
                self.compaction_failures += 1
            case Folded():
                self._fold(record)
            case Unfolded(marker):
                self.folds = [fold for fold in self.folds if fold.marker.id != marker]
                self._measured = None
            case Rewound(first):
                self._rewind(first)
            case NotesTaken():
                self.notes = record
            case MemoriesShown():
                self.memories_shown = (*self.memories_shown, record)
            case TodosSet(todos):
                self.todos = todos
            case Branched():
                self.branched = record
            case Extracted(up_to):
                self.extracted_up_to = up_to
            case DateChanged(date):
                self.date = date
            case AgentHired(name):
                self.hired[name] = record
            case AgentLeft(name):
                self.left[name] = record
            case Redacted(message, cause):
                self.redacted[message] = cause
                self._measured = None
            case Unknown():
                self.unknown.append(record)
            case _:
                assert_never(record)

    @property
    def head_tokens(self) -> int:
        """The size of system prompt and tools, estimated once for each head."""
        if self._head_size is None:
            segments = head_segments(self.head) if self.head else ()
            self._head_size = sum(segment.tokens for segment in segments)
        return self._head_size

    def _used(self, used: Used) -> None:
        self.usages.append(used)
        # Some local servers, and the offline model, report no usage.
        if used.purpose == "main" and used.usage.context:
            self._measured = measured(used.response, used.usage)
            self._freed = 0

    def _substitute(self, texts: dict[str, str]) -> None:
        """Replace the texts of these results as they are sent, searching from the newest message."""
        waiting = set(texts)
        behind = self._measured is not None
        for message in reversed(self.messages):
            if self._measured is not None and message.response == self._measured.response:
                behind = False
            found = waiting & {result.tool_use_id for result in message.tool_results}
            if found:
                before = self._changed.get(message.id, message)
                after = substituted(before, texts)
                self._changed[message.id] = after
                self._freed += 0 if behind else freed(before, after)
                waiting -= found
            if not waiting:
                break

    def _fold(self, record: Folded) -> None:
        before = context_tokens(self.shown)
        self.folds.append(record)
        self._shown = None
        self._freed += max(0, before - context_tokens(self.shown))

    def _compacted(self, record: Compacted) -> None:
        if self.folds:
            # Compaction works on the conversation as it was sent, markers included.
            self.messages, self.folds = list(self.shown), []
            self._shown = None
        ids = [message.id for message in self.messages]
        kept = ids.index(record.kept_from) if record.kept_from in ids else len(ids)
        earlier = ids.index(record.kept_up_to) + 1 if record.kept_up_to in ids else 0
        if self.extracted_up_to in ids[kept - 1 : kept] and record.start:
            # Extraction has read the removed messages; it continues after the summary.
            self.extracted_up_to = record.start[-1].id
        self.messages = [*self.messages[:earlier], *record.start, *self.messages[kept:]]
        # Drop the messages of earlier compactions, so that a long session does not keep them all.
        self.compactions = [replace(done, start=()) for done in self.compactions] + [record]
        self._forget_what_is_gone()
        self.compaction_failures = 0
        self.memories_shown = ()
        self._measured = None
        self._freed = 0
        self._shown = None
        if self.notes is not None:
            # Count growth from the new, smaller size.
            self.notes = replace(self.notes, tokens=self.tokens)

    def _rewind(self, first: str | None) -> None:
        """Drop a message and all after it, together with the decisions about them."""
        cut = _place(self.messages, first)
        gone = self.messages[cut:]
        del self.messages[cut:]
        self._forget_what_is_gone()
        left = {message.id for message in self.messages}
        self.cache_edits = [edit for edit in self.cache_edits if edit.after_message in left]
        self.folds = [fold for fold in self.folds if fold.last in left]
        shown = len(self.memories_shown) - sum(map(_shows_memories, gone))
        self.memories_shown = self.memories_shown[: max(0, shown)]
        if self.notes is not None and self.notes.up_to not in left:
            self.notes = None
        self._measured = None
        self._freed = 0

    def _forget_what_is_gone(self) -> None:
        ids = {message.id for message in self.messages}
        self._changed = {id_: m for id_, m in self._changed.items() if id_ in ids}
        results = {result.tool_use_id for m in self.messages for result in m.tool_results}
        self.replaced = {id_: text for id_, text in self.replaced.items() if id_ in results}
        self.cleared = {id_: text for id_, text in self.cleared.items() if id_ in results}


_CHANGES_WHAT_IS_SHOWN = (
    Said,
    Replaced,
    ToolResultsCleared,
    Compacted,
    Folded,
    Unfolded,
    Rewound,
)


def _place(messages: list[Message], id_: str | None) -> int:
    """The index of a message: 0 for None, and the end when it is not found."""
    if id_ is None:
        return 0
    return next((i for i, message in enumerate(messages) if message.id == id_), len(messages))


def _shows_memories(message: Message) -> bool:
    return any(isinstance(block, Attachment) and block.label == RECALL for block in message.blocks)


def _folded(messages: list[Message], fold: Folded) -> list[Message]:
    """The messages with one span replaced by its marker; unchanged when the span is gone."""
    ids = [message.id for message in messages]
    if fold.first not in ids or fold.last not in ids:
        return messages
    first, last = ids.index(fold.first), ids.index(fold.last)
    return [*messages[:first], fold.marker, *messages[last + 1 :]]


# How the memory section begins in the system prompt, and the label of recall's attachments.
MEMORY_HEADING = "# Memory"
RECALL_LABEL = "recall"


@dataclass(frozen=True, slots=True)
class Fill:
    """Tokens by category; scaled to the provider's count when there is one."""

    parts: dict[str, int]
    measured: bool

    @property
    def total(self) -> int:
        return sum(self.parts.values())


def window_fill(state: SessionState) -> Fill:
    parts = dict.fromkeys(
        ("system", "tools", "memory index", "recalled memories", "messages", "tool results"), 0
    )
    for section in state.head.system if state.head else ():
        name = "memory index" if section.text.startswith(MEMORY_HEADING) else "system"
        parts[name] += text_tokens(section.text)
    parts["tools"] = sum(tool_tokens(tool) for tool in state.head.tools) if state.head else 0
    for message in state.shown:
        for block in message.blocks:
            parts[_category(block)] += block_tokens(block)
    return _scaled(parts, state)


def _category(block: Block) -> str:
    if isinstance(block, ToolResult):
        return "tool results"
    if isinstance(block, Attachment) and block.label == RECALL_LABEL:
        return "recalled memories"
    return "messages"


def _scaled(parts: dict[str, int], state: SessionState) -> Fill:
    """Scale our estimated shares to the provider's total."""
    estimate = sum(parts.values())
    if not state.measured or not estimate:
        return Fill(parts, measured=False)
    if state.head is None:
        # Transcripts of other clients do not record the head: the rest is the system prompt.
        return Fill(parts | {"system": max(0, state.tokens - estimate)}, measured=True)
    scale = state.tokens / estimate
    return Fill({name: round(count * scale) for name, count in parts.items()}, measured=True)
