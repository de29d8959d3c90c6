"""A session's state, rebuilt from its records: the same records give the same state and bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from reverie.core.messages import Message
from reverie.core.request import Head
from reverie.core.tokens import Measured, context_tokens, measured
from reverie.core.usage import Usage
from reverie.session.records import (
    CacheEdited,
    Compacted,
    DateChanged,
    Extracted,
    HeadFrozen,
    Opened,
    Record,
    Replaced,
    Said,
    Unknown,
    Used,
)


@dataclass(slots=True)
class SessionState:
    """Everything a session needs to go on where it stopped."""

    session: str = ""
    project: str = ""
    opened_at: float = 0.0
    head: Head | None = None
    messages: list[Message] = field(default_factory=list)
    usages: list[Used] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)
    cache_edits: list[CacheEdited] = field(default_factory=list)
    compactions: list[Compacted] = field(default_factory=list)
    extracted_up_to: str | None = None
    date: str | None = None
    unknown: list[Unknown] = field(default_factory=list)
    _measured: Measured | None = None

    @classmethod
    def replay(cls, records: Iterable[Record]) -> SessionState:
        state = cls()
        for record in records:
            state.apply(record)
        return state

    @property
    def measured(self) -> bool:
        """Did a provider report the size since the conversation was last rewritten?"""
        return self._measured is not None

    @property
    def tokens(self) -> int:
        """The size of the conversation, by the last measurement and what came since."""
        return context_tokens(self.messages, self._measured)

    @property
    def usage(self) -> Usage:
        return sum((used.usage for used in self.usages), Usage())

    def apply(self, record: Record) -> None:  # noqa: C901, PLR0912 - one case a record kind
        match record:
            case Opened(session, at, project):
                self.session, self.opened_at, self.project = session, at, project
            case HeadFrozen(head):
                self.head = head
            case Said(message):
                self.messages.append(message)
            case Used():
                self._used(record)
            case Replaced(tool_use_id, text):
                # The first decision stands: what was sent once is never sent otherwise.
                self.replaced.setdefault(tool_use_id, text)
            case CacheEdited():
                self.cache_edits.append(record)
            case Compacted():
                self._compacted(record)
            case Extracted(up_to):
                self.extracted_up_to = up_to
            case DateChanged(date):
                self.date = date
            case Unknown():
                self.unknown.append(record)
            case _:
                assert_never(record)

    def _used(self, used: Used) -> None:
        self.usages.append(used)
        if used.purpose == "main":
            self._measured = measured(used.response, used.usage)

    def _compacted(self, record: Compacted) -> None:
        ids = [message.id for message in self.messages]
        kept = ids.index(record.kept_from) if record.kept_from in ids else len(ids)
        self.messages = [*record.start, *self.messages[kept:]]
        self.compactions.append(record)
        self._measured = None
