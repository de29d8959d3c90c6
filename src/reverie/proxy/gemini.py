"""Gemini's `generateContent`: contents as blocks, our messages as contents, replies and their usage."""

from __future__ import annotations

import json
from typing import Any

from reverie.core.messages import Block, Message, Opaque, Role, Text, Thinking, ToolUse
from reverie.core.request import Reply, StopReason, StreamItem, attachment_text
from reverie.core.usage import Usage
from reverie.errors import InputError, ReplyBroken

Wire = dict[str, Any]

PROVIDER = "gemini"

_STOPS: dict[str, StopReason] = {"MAX_TOKENS": "max_tokens", "SAFETY": "refusal"}


def blocks_of(element: Any) -> tuple[Role, list[Block]]:
    """Role and blocks of a content; calls and their results are kept as they are."""
    if not isinstance(element, dict) or not isinstance(element.get("parts"), list):
        raise InputError("a content is not an object with parts")
    role: Role = "assistant" if element.get("role") == "model" else "user"
    return role, [_block(part) for part in element["parts"]]


def _block(part: Any) -> Block:
    text = part.get("text") if isinstance(part, dict) else None
    if isinstance(text, str) and set(part) <= {"text"}:
        return Text(text)
    return Opaque(PROVIDER, json.dumps(part, ensure_ascii=False))


def written(message: Message) -> list[Wire]:
    """A message of ours as a content."""
    parts = []
    for block in message.blocks:
        if isinstance(block, Text):
            parts.append({"text": block.text})
        elif block.kind == "attachment":
            parts.append({"text": attachment_text(block)})
    role = "model" if message.role == "assistant" else "user"
    return [{"role": role, "parts": parts}] if parts else []


class GeminiAccumulator:
    """Puts the parts of streamed responses together."""

    def __init__(self) -> None:
        self._id = self._model = ""
        self._finish: str | None = None
        self._usage: Wire = {}
        self._blocks: list[Block] = []

    def feed(self, event: Wire) -> list[StreamItem]:
        self._id = event.get("responseId") or self._id
        self._model = event.get("modelVersion") or self._model
        self._usage = event.get("usageMetadata") or self._usage
        for candidate in (event.get("candidates") or [])[:1]:
            self._finish = candidate.get("finishReason") or self._finish
            for part in (candidate.get("content") or {}).get("parts") or []:
                self._add(part)
        return []

    def _add(self, part: Wire) -> None:
        text = part.get("text")
        if isinstance(text, str) and part.get("thought"):
            self._blocks.append(Thinking(text))
        elif isinstance(text, str) and set(part) <= {"text"}:
            last = self._blocks[-1] if self._blocks else None
            if isinstance(last, Text):
                self._blocks[-1] = Text(last.text + text)
            else:
                self._blocks.append(Text(text))
        elif part.get("functionCall"):
            self._blocks.append(Opaque(PROVIDER, json.dumps(part, ensure_ascii=False)))

    def reply(self) -> Reply:
        if self._finish is None:
            raise ReplyBroken("the stream was cut before the reply was complete; try again")
        calls = any(isinstance(block, ToolUse | Opaque) for block in self._blocks)
        stop = "tool_use" if calls else _STOPS.get(self._finish, "end")
        return Reply(self._id, self._model, tuple(self._blocks), stop, usage(self._usage))


def whole_reply(response: Wire) -> Reply:
    """Convert a response that was not streamed."""
    accumulator = GeminiAccumulator()
    accumulator.feed(response)
    return accumulator.reply()


def usage(raw: Wire) -> Usage:
    """Gemini's prompt count includes cached tokens, and its output count excludes thoughts."""
    read = raw.get("cachedContentTokenCount") or 0
    return Usage(
        input=max(0, (raw.get("promptTokenCount") or 0) - read),
        cache_read=read,
        output=(raw.get("candidatesTokenCount") or 0) + (raw.get("thoughtsTokenCount") or 0),
    )
