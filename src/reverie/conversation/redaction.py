"""Removes secrets and forgotten memories from transcripts, and records that they were removed.

The running process keeps the original text, as it was sent and the prefix must not change. The
transcript gets another text, so that a resumed conversation sends other bytes from there on; the
record `Redacted` after the message registers that break. The same record is written when the words of
a forgotten memory are removed from a closed transcript.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from reverie.conversation.record_json import render
from reverie.conversation.records import Json, Record, Redacted
from reverie.core.messages import Message, dump, message_from_json, message_to_json
from reverie.memory.format.traces import Traces, encoded
from reverie.ports import Scrubber

# Ids, signatures and media: not typed by a person, and useless with one character changed.
_AS_THEY_ARE = frozenset(
    {"type", "id", "parent", "at", "role", "origin", "response", "bound_to", "tool_use_id", "message"}
    | {"signature", "data", "media_type", "encrypted_content", "session", "first", "last", "kept_from"}
)  # fmt: skip
# Texts that are JSON themselves, and must stay valid.
_JSON_TEXTS = frozenset({"arguments", "payload", "schema"})
_SHORTEST = 4


def lines(record: Record, scrubber: Scrubber | None) -> Iterator[Json]:
    """The lines to write for a record; with a `Redacted` for each message that had a secret."""
    row = render(record)
    if scrubber is None:
        yield row
        return
    work = _Work(scrubber)
    yield work.cleaned(row)
    for message, kinds in work.found.items():
        yield render(Redacted(message, f"secret: {', '.join(kinds)}"))


def clean_message(message: Message, scrubber: Scrubber) -> Message:
    """The message without secrets, as our transcript would have it."""
    work = _Work(scrubber)
    made = work.cleaned(message_to_json(message))
    return message_from_json(made) if work.found else message


def without_secrets(entry: Json, scrubber: Scrubber) -> Json:
    """A line of another client's transcript without secrets, by the same rules."""
    return _Work(scrubber).cleaned(entry)


@dataclass(slots=True)
class _Work:
    """Walks one record; `found` has the kinds of secret by message id, "" outside messages."""

    scrubber: Scrubber
    found: dict[str, dict[str, None]] = field(default_factory=dict)
    message: str = ""

    def cleaned(self, value: Json) -> Json:
        """The same object without secrets in its texts."""
        before = self.message
        if isinstance(value.get("blocks"), list):
            self.message = str(value.get("id", ""))
        made = {key: self._value(key, item) for key, item in value.items()}
        if isinstance(made.get("blocks"), list):
            made["blocks"] = made["blocks"] or [_NOTHING]
        self.message = before
        return made

    def _value(self, key: str, value: Any) -> Any:
        match value:
            case str():
                if key in _AS_THEY_ARE or len(value) < _SHORTEST:
                    return value
                return self._json_text(value) if key in _JSON_TEXTS else self._text(value)
            case list() | tuple():
                made = ((self._value(key, item), item) for item in value)
                return [new for new, old in made if new is not None or old is None]
            case {"type": "thinking", "text": str(text)} | {
                "type": "thinking",
                "thinking": str(text),
            }:
                # The signature covers the exact text: changed thinking would be refused.
                return value if self._text(text) == text else None
            case dict():
                return self.cleaned(value)
            case _:
                return value

    def _text(self, text: str) -> str:
        done = self.scrubber.scrub(text)
        if done.kinds:
            self.found.setdefault(self.message, {}).update(dict.fromkeys(done.kinds))
        return done.text

    def _json_text(self, text: str) -> str:
        clean = self._text(text)
        if clean == text or _is_json(clean) or not _is_json(text):
            return clean
        # Cleaning broke the JSON (a number or half an escape was removed): clean each string.
        return dump(self._strings(json.loads(text), "")).decode("utf-8", "surrogatepass")

    def _strings(self, value: Any, name: str) -> Any:
        match value:
            case dict():
                return {key: self._strings(item, str(key)) for key, item in value.items()}
            case list():
                return [self._strings(item, name) for item in value]
            case None | bool():
                return value
            case _:
                # The key helps the scrubber to recognise a secret value.
                before = f"{name}: "
                clean = self._text(f"{before}{value}")
                return value if clean == f"{before}{value}" else clean.removeprefix(before)


_NOTHING: Json = {"type": "text", "text": "(all that was said here was a secret)"}


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


# --- a memory that is forgotten everywhere ---

WHY = "a memory was forgotten, and its words were taken out of the transcript"

# Types of the first line of our journals; transcripts of other clients get no record.
_OURS = frozenset({"session", "branch"})


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A transcript's new bytes, and the number of removals."""

    data: bytes
    count: int


def redacted(data: bytes, traces: Traces) -> Cleaned:
    """A transcript without a memory's words. Lines without them keep their bytes.

    Resuming sends other bytes than before: a record at the end says so, and why.
    """
    made: list[bytes] = []
    messages: list[str] = []
    count = 0
    lines = data.splitlines(keepends=True)
    for raw in lines:
        line = raw.decode("utf-8", "surrogateescape")
        found = traces.redacted_line(line)
        count += found.count
        made.append(encoded(found.text) if found.count else raw)
        messages += _message_ids(line) if found.count else ()
    if not count:
        return Cleaned(data, 0)
    clean = b"".join(made)
    if not _is_ours(lines[0]):
        return Cleaned(clean, count)
    joint = b"" if clean.endswith(b"\n") else b"\n"
    records = [Redacted(message, WHY) for message in dict.fromkeys(messages or [""])]
    return Cleaned(clean + joint + b"".join(dump(render(one)) + b"\n" for one in records), count)


def _is_ours(line: bytes) -> bool:
    with suppress(ValueError, RecursionError):
        value = json.loads(line)
        return isinstance(value, dict) and value.get("type") in _OURS
    return False


def _message_ids(line: str) -> Iterator[str]:
    with suppress(ValueError, RecursionError):
        value = json.loads(line)
        if isinstance(value, dict) and value.get("type") == "message":
            yield str(value.get("id", ""))
