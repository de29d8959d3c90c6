"""Events of a client's session and the outcomes to answer with, as closed unions. Pure.

Every dialect parses its client's JSON into these and renders them back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

# Prefix of the session ids that `reverie doctor` uses to try the hooks.
TRIAL = "reverie-doctor-"

Source: TypeAlias = Literal["startup", "resume", "compact"]


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """A session starts, is resumed, or was compacted."""

    source: Source


@dataclass(frozen=True, slots=True)
class SessionMet:
    """A session starts or is resumed, in a client that gets the opening with its first prompt instead."""

    resumed: bool


@dataclass(frozen=True, slots=True)
class Prompted:
    """The person sent a prompt; `opens` if the first prompt carries the session's opening."""

    text: str
    opens: bool = False


@dataclass(frozen=True, slots=True)
class PromptSeen:
    """The person sent a prompt, in a client that lets hooks add nothing to it."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool returned.

    `outputs` are the fields of `response` that hold what the model reads and that may be replaced;
    an empty name stands for a response that is text itself. `files` are the paths it read, changed
    or named; `error` is the message of a failed call.
    """

    name: str
    id: str
    input: Mapping[str, Any]
    response: Any
    outputs: tuple[str, ...]
    files: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class AboutToCompact:
    trigger: str
    instructions: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The model answered; its turn may continue."""

    text: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """A turn ended; `again` if a hook had already continued it."""

    again: bool
    answer: str


@dataclass(frozen=True, slots=True)
class SessionEnded:
    pass


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event that Reverie ignores, and why."""

    reason: str


InTurn: TypeAlias = Prompted | PromptSeen | ToolFinished | Answered | Stopped

Payload: TypeAlias = SessionStarted | SessionMet | InTurn | AboutToCompact | SessionEnded | Ignored


@dataclass(frozen=True, slots=True)
class HookEvent:
    """One event of a client's session: which client, which session, where it runs, and what happened.

    `transcript` is None if Reverie cannot read the client's own transcript.
    """

    client: str
    session: str
    cwd: str
    payload: Payload
    transcript: Path | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """Text to add to the model's context."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplacedOutput:
    """What the model reads in place of a tool's output, in the shape of that tool's response.

    `context` is text to add to the model's context as well.
    """

    tool: str
    response: Any
    context: str = ""


@dataclass(frozen=True, slots=True)
class Instructions:
    """Text for the model that writes the summary of a compaction."""

    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """One line for the person; the model does not see it."""

    text: str


@dataclass(frozen=True, slots=True)
class Nothing:
    reason: str


Outcome: TypeAlias = Context | ReplacedOutput | Instructions | Notice | Nothing

Json = Mapping[str, Any]

_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


def text(data: Json, *names: str) -> str:
    """The first of these fields that is a string; empty if none is."""
    return next((value for name in names if isinstance(value := data.get(name), str)), "")


def table(data: Json, name: str) -> dict[str, Any]:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def patched_files(patch: str) -> tuple[str, ...]:
    """The files that a patch in Codex's own form adds, changes or deletes."""
    return tuple(dict.fromkeys(name.strip() for name in _PATCHED.findall(patch) if name.strip()))


def transcript(data: Json) -> Path | None:
    """The client's transcript, if its path is absolute and names a JSON Lines file."""
    value = text(data, "transcript_path")
    plain = value.startswith("/") and value.endswith(".jsonl") and "\0" not in value
    return Path(value) if plain else None


def result_text(content: object) -> str | None:
    """The text of an MCP result: a string, a list of blocks, or an object with either."""
    match content:
        case str():
            return content
        case {"content": inner}:
            return result_text(inner)
        case list(blocks) if blocks and all(isinstance(block, dict) for block in blocks):
            texts = [block.get("text") for block in blocks]
            return "\n".join(texts) if all(isinstance(text, str) for text in texts) else None
        case _:
            return None


def encoded(answer: object) -> bytes:
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogatepass")
