"""Words taken out of a journal: ids and structure stay, and the break it causes is registered. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from reverie.core.codec import dump
from reverie.memory.traces import Traces
from reverie.session.records import Redacted, render

WHY = "a memory was forgotten, and its words were taken out of the transcript"

# How the first line of a journal of ours begins; other transcripts get no record of ours.
_OURS = frozenset({"session", "branch"})


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A transcript's new bytes, and how often words were taken out of them."""

    data: bytes
    count: int


def redacted(data: bytes, traces: Traces, at: float) -> Cleaned:
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
    record = Redacted(WHY, tuple(dict.fromkeys(messages)), at)
    return Cleaned(clean + joint + dump(render(record)) + b"\n", count)


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
