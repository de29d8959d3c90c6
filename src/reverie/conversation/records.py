"""The records of a journal. Unknown types are kept: a newer version may have written them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from reverie.core.messages import Message
from reverie.core.request import Head
from reverie.core.usage import Usage

FORMAT = 1

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Opened:
    """The first line: which session this is, where and when it began."""

    session: str
    at: float
    project: str = ""
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class HeadFrozen:
    """The head as it was rendered; requests use these bytes until the next such record."""

    head: Head


@dataclass(frozen=True, slots=True)
class Said:
    message: Message


@dataclass(frozen=True, slots=True)
class Used:
    """What one response cost in tokens."""

    response: str
    purpose: str
    model: str
    usage: Usage
    at: float


@dataclass(frozen=True, slots=True)
class Replaced:
    """Layer 1 replaced this tool result with `text`, permanently."""

    tool_use_id: str
    text: str


@dataclass(frozen=True, slots=True)
class CacheEdited:
    """Layer 2 asked the provider to drop these results; later requests repeat the edit in place."""

    tool_use_ids: tuple[str, ...]
    after_message: str


@dataclass(frozen=True, slots=True)
class ToolResultsCleared:
    """Layer 2 replaced these tool results with these texts from here on."""

    texts: Mapping[str, str]
    why: str


@dataclass(frozen=True, slots=True)
class Compacted:
    """From here on the conversation is `start`, then the messages from `kept_from` on.

    Messages up to `kept_up_to` stay before `start`. `how` is how the summary was made, `last` the
    last message it covers.
    """

    start: tuple[Message, ...]
    kept_from: str | None
    trigger: str
    tokens_before: int
    at: float
    kept_up_to: str | None = None
    how: str = ""
    last: str | None = None


@dataclass(frozen=True, slots=True)
class CompactionFailed:
    """Compaction failed; after three failures in a row the session stops trying."""

    why: str


@dataclass(frozen=True, slots=True)
class Folded:
    """A span of messages is sent as `marker`: permanently ("snip"), or until unfolded."""

    first: str
    last: str
    marker: Message
    kind: str


@dataclass(frozen=True, slots=True)
class Unfolded:
    """The span behind this marker is sent again."""

    marker: str


@dataclass(frozen=True, slots=True)
class Rewound:
    """Messages from `first` on were taken back; None: all of them."""

    first: str | None


@dataclass(frozen=True, slots=True)
class NotesTaken:
    """The session notes cover everything up to this message, at this size of the conversation."""

    up_to: str
    tokens: int


@dataclass(frozen=True, slots=True)
class MemoriesShown:
    """Recall showed these memories, with this many bytes in total."""

    files: tuple[str, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class TodosSet:
    """The agent's todo list: pairs of text and status."""

    todos: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Branched:
    """This side transcript continues `session` after the message `after`."""

    session: str
    after: str
    purpose: str


@dataclass(frozen=True, slots=True)
class Extracted:
    """Extraction has read everything up to this message."""

    up_to: str


@dataclass(frozen=True, slots=True)
class DateChanged:
    date: str


@dataclass(frozen=True, slots=True)
class AgentHired:
    """A sub-agent was given a task; its own conversation is in `transcript`."""

    name: str
    agent_type: str
    how: str
    summary: str
    by: str
    transcript: str
    at: float


@dataclass(frozen=True, slots=True)
class AgentLeft:
    """A sub-agent ended: `why` is "done" or what ended it, `tokens` what it used."""

    name: str
    why: str
    tokens: int
    at: float


@dataclass(frozen=True, slots=True)
class Redacted:
    """The text of this message was changed here, because of `cause`. "": not in a message."""

    message: str
    cause: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A record that this version does not know, kept unchanged."""

    raw: Json


Record: TypeAlias = (
    Opened
    | HeadFrozen
    | Said
    | Used
    | Replaced
    | CacheEdited
    | ToolResultsCleared
    | Compacted
    | CompactionFailed
    | Folded
    | Unfolded
    | Rewound
    | NotesTaken
    | MemoriesShown
    | TodosSet
    | Branched
    | Extracted
    | DateChanged
    | AgentHired
    | AgentLeft
    | Redacted
    | Unknown
)
