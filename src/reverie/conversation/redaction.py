"""What is taken out of a transcript, and how that is registered: secrets, and forgotten memories.

The running process goes on with what was said: it was sent, and the prefix must not change under it.
What is written down is another text, so a resumed conversation sends other bytes from there on; the
record `Redacted` behind the message registers that break. The same record says that a memory was
forgotten and its words were taken out of a closed transcript.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from reverie.conversation.record_json import render
from reverie.conversation.records import Json, Record, Redacted
from reverie.core.codec import dump, message_from_json, message_to_json
from reverie.core.messages import Message
from reverie.memory.format.traces import Traces
from reverie.ports import Scrubber

# Ids, proofs and media: nothing a person typed, and useless with one character changed.
_AS_THEY_ARE = frozenset(
    {"type", "id", "parent", "at", "role", "origin", "response", "bound_to", "tool_use_id", "message"}
    | {"signature", "data", "media_type", "encrypted_content", "session", "first", "last", "kept_from"}
)  # fmt: skip
# Texts that are JSON themselves, and must stay it.
_JSON_TEXTS = frozenset({"arguments", "payload", "schema"})
_SHORTEST = 4


def lines(record: Record, scrubber: Scrubber | None) -> Iterator[Json]:
    """What is written for a record; a `Redacted` follows for each message that lost a secret."""
    row = render(record)
    if scrubber is None:
        yield row
        return
    work = _Work(scrubber)
    yield work.cleaned(row)
    for message, kinds in work.found.items():
        yield render(Redacted(message, f"secret: {', '.join(kinds)}"))


def clean_message(message: Message, scrubber: Scrubber) -> Message:
    """The message as a transcript of ours would have it: what is quoted from it may be cut anywhere."""
    work = _Work(scrubber)
    made = work.cleaned(message_to_json(message))
    return message_from_json(made) if work.found else message


def without_secrets(entry: Json, scrubber: Scrubber) -> Json:
    """A line of another agent's transcript, by the same rules."""
    return _Work(scrubber).cleaned(entry)


@dataclass(slots=True)
class _Work:
    """One record's walk; `found` holds the kinds of secret by message, "" for what is no message."""

    scrubber: Scrubber
    found: dict[str, dict[str, None]] = field(default_factory=dict)
    message: str = ""

    def cleaned(self, value: Json) -> Json:
        """The same object, without secrets in any text that somebody wrote."""
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
                # Its signature holds for these very words: without one of them it would be refused.
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
        # A number was taken out, or an escape cut: its strings are cleaned one by one.
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
                # Its name tells as much as the value itself.
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

# How the first line of a journal of ours begins; other transcripts get no record of ours.
_OURS = frozenset({"session", "branch"})


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A transcript's new bytes, and how often words were taken out of them."""

    data: bytes
    count: int


def redacted(data: bytes, traces: Traces) -> Cleaned:
    """A transcript without a memory's words. Lines that hold none of them keep their bytes.

    Resuming sends other bytes than were sent before: a record at the end says so, and why.
    """
    made: list[bytes] = []
    messages: list[str] = []
    count = 0
    lines = data.splitlines(keepends=True)
    for raw in lines:
        line = raw.decode("utf-8", "surrogateescape")
        found = traces.redacted_line(line)
        count += found.count
        made.append(_encoded(found.text) if found.count else raw)
        messages += _message_ids(line) if found.count else ()
    if not count:
        return Cleaned(data, 0)
    clean = b"".join(made)
    if not _is_ours(lines[0]):
        return Cleaned(clean, count)
    joint = b"" if clean.endswith(b"\n") else b"\n"
    records = [Redacted(message, WHY) for message in dict.fromkeys(messages or [""])]
    return Cleaned(clean + joint + b"".join(dump(render(one)) + b"\n" for one in records), count)


def _encoded(text: str) -> bytes:
    """Bytes that were no UTF-8 come back as they were; halves of characters survive as in a journal."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


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
