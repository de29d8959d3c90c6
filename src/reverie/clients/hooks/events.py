"""What happens in a client's session, and what can be answered: closed unions that every dialect speaks. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

# What the name of a session begins with that only tries the hooks.
TRIAL = "reverie-doctor-"

Source: TypeAlias = Literal["startup", "resume", "compact"]


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """A session begins, goes on after a pause, or was compacted."""

    source: Source


@dataclass(frozen=True, slots=True)
class SessionMet:
    """A session begins or goes on, in a client that is better told of memory beside its first prompt."""

    resumed: bool


@dataclass(frozen=True, slots=True)
class Prompted:
    """A person said something; `opens` where the first prompt is told what a session begins with."""

    text: str
    opens: bool = False


@dataclass(frozen=True, slots=True)
class PromptSeen:
    """A person said something, in a client that lets nothing be put beside it."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool returned.

    `outputs` are the fields of `response` that hold what the model reads and that may be replaced;
    an empty name stands for a response that is text itself.
    """

    name: str
    id: str
    input: Mapping[str, Any]
    response: Any
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AboutToCompact:
    trigger: str
    instructions: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The model said something, and its turn may go on."""

    text: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """A turn is over; `again` when a hook made it go on before."""

    again: bool
    answer: str


@dataclass(frozen=True, slots=True)
class SessionEnded:
    pass


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing of ours, and why."""

    reason: str


InTurn: TypeAlias = Prompted | PromptSeen | ToolFinished | Answered | Stopped

Moment: TypeAlias = SessionStarted | SessionMet | InTurn | AboutToCompact | SessionEnded | Ignored


@dataclass(frozen=True, slots=True)
class HookEvent:
    """A moment, and whose: the client, its session, where it works and where it writes it down.

    `transcript` is None where the client's own is nothing we can read.
    """

    client: str
    session: str
    cwd: str
    moment: Moment
    transcript: Path | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """Text for the model, beside what it already has."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplacedOutput:
    """What the model reads instead of a tool's output, in the shape the tool gave it."""

    tool: str
    response: Any


@dataclass(frozen=True, slots=True)
class Instructions:
    """Text for whoever writes the summary of a compaction."""

    text: str


@dataclass(frozen=True, slots=True)
class Nothing:
    reason: str


Outcome: TypeAlias = Context | ReplacedOutput | Instructions | Nothing

Json = Mapping[str, Any]


def text(data: Json, *names: str) -> str:
    """The first of these fields that holds text; empty when none does."""
    return next((value for name in names if isinstance(value := data.get(name), str)), "")


def table(data: Json, name: str) -> dict[str, Any]:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def transcript(data: Json) -> Path | None:
    """Where the client writes the conversation down: an absolute path of plain JSON lines."""
    value = text(data, "transcript_path")
    plain = value.startswith("/") and value.endswith(".jsonl") and "\0" not in value
    return Path(value) if plain else None


def said(content: object) -> str | None:
    """The text of an MCP result: a text, a list of blocks, or an object that holds one."""
    match content:
        case str():
            return content
        case {"content": inner}:
            return said(inner)
        case list(blocks) if blocks and all(isinstance(block, dict) for block in blocks):
            texts = [block.get("text") for block in blocks]
            return "\n".join(texts) if all(isinstance(text, str) for text in texts) else None
        case _:
            return None


def written(answer: object) -> bytes:
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogatepass")
