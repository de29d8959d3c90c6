"""What a journal line can say. Unknown kinds are kept: a newer Reverie may have written them."""

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
    """Layer 1 decided: this tool result is sent as `text`, for ever."""

    tool_use_id: str
    text: str


@dataclass(frozen=True, slots=True)
class CacheEdited:
    """Layer 2 asked the provider to drop these results; the request repeats it in place."""

    tool_use_ids: tuple[str, ...]
    after_message: str


@dataclass(frozen=True, slots=True)
class ToolResultsCleared:
    """Layer 2 decided: from here on these tool results are sent as these texts."""

    texts: Mapping[str, str]
    why: str


@dataclass(frozen=True, slots=True)
class Compacted:
    """From here on the conversation is `start`, then the messages from `kept_from` on.

    Messages up to `kept_up_to` stay before `start`. `how` names the way the summary was made,
    `last` the last message it stands for.
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
    """Layer 4 could not do its work; three in a row end its tries for the session."""

    why: str


@dataclass(frozen=True, slots=True)
class Folded:
    """A span of messages is sent as `marker`: dropped for good ("snip"), or until unfolded."""

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
    """Messages from `first` on were never said, or not like this; None: all of them."""

    first: str | None


@dataclass(frozen=True, slots=True)
class NotesTaken:
    """Layer 3 has noted everything up to this message, at this size of the conversation."""

    up_to: str
    tokens: int


@dataclass(frozen=True, slots=True)
class MemoriesShown:
    """Recall gave these memories, and so many bytes of them."""

    files: tuple[str, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class TodosSet:
    """The agent's list as it stands: pairs of text and status."""

    todos: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Branched:
    """This is a side transcript: it goes on where `session` stood after message `after`."""

    session: str
    after: str
    purpose: str


@dataclass(frozen=True, slots=True)
class Extracted:
    """Layer 5 has read everything up to this message."""

    up_to: str


@dataclass(frozen=True, slots=True)
class DateChanged:
    date: str


@dataclass(frozen=True, slots=True)
class AgentHired:
    """Another agent was given a task; its own conversation is in `transcript`."""

    name: str
    agent_type: str
    how: str
    summary: str
    by: str
    transcript: str
    at: float


@dataclass(frozen=True, slots=True)
class AgentLeft:
    """That agent is no longer there: "done", or what ended it, and what it used."""

    name: str
    why: str
    tokens: int
    at: float


@dataclass(frozen=True, slots=True)
class Redacted:
    """The text of this message here is not what was said; `cause` tells why. "": of no message."""

    message: str
    cause: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A record this version does not know, kept word for word."""

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
