"""Reads a reply (text, calls and usage) from the bytes of a response as they pass.

Nothing is held back: the client gets each piece before it is read here. An unreadable reply is not
recorded, and the client does not notice.
"""

from __future__ import annotations

import json
import logging
import zlib
from typing import Any, Protocol

from reverie.core.request import Reply
from reverie.core.usage import Usage
from reverie.core.window import text_tokens
from reverie.errors import ReverieError
from reverie.proxy.dialects import Dialect
from reverie.proxy.upstream import Headers, header

log = logging.getLogger(__name__)

# A longer event or body is not read.
LARGEST_PART = 32 * 1024 * 1024


class _Decompressor(Protocol):
    def decompress(self, data: bytes, /) -> bytes: ...


class _Plain:
    def decompress(self, data: bytes) -> bytes:
        return data


class ReplyReader:
    """Reads one response."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._accumulator = dialect.accumulator()
        self._decompressor: _Decompressor | None = None
        self._streamed = False
        self._rest = bytearray()
        self._ended = False
        self._first: dict[str, Any] | None = None
        self._received = 0
        self.problem = ""

    def hear(self, status: int, headers: Headers) -> None:
        if status != 200:
            self.problem = f"status {status}"
            return
        self._streamed = header(headers, b"content-type").startswith("text/event-stream")
        encoding = header(headers, b"content-encoding").strip().lower()
        self._decompressor = _decompressor(encoding)
        if self._decompressor is None:
            self.problem = f"the response is encoded as {encoding!r}"

    def feed(self, chunk: bytes) -> None:
        """Read a piece; it never raises."""
        if self.problem or self._decompressor is None:
            return
        try:
            self._rest += self._decompressor.decompress(chunk)
            if self._streamed:
                self._events()
            if len(self._rest) > LARGEST_PART:
                self.problem = "the response is too long"
                self._rest.clear()
        except Exception as error:  # noqa: BLE001 - a reply that cannot be read must still pass
            self.problem = repr(error)

    def reply(self) -> Reply | None:
        """The whole reply, once complete; None if it cannot be read."""
        if self.problem or self._decompressor is None:
            return None
        try:
            if not self._streamed:
                return self._dialect.whole_reply(json.loads(bytes(self._rest)))
            # The last event may lack the blank line after it.
            self._rest += b"\n\n"
            self._events()
            return self._accumulator.reply()
        except (ReverieError, ValueError, LookupError, TypeError, AttributeError) as error:
            self.problem = repr(error)
            return None

    def partial_usage(self) -> Usage | None:
        """The least usage of a broken-off stream; None if unknown."""
        usage = _find_usage(self._first) if self._first else None
        return None if usage is None else Usage(*usage, output=max(1, self._received))

    def _events(self) -> None:
        data = bytes(self._rest)
        *events, rest = data.replace(b"\r\n", b"\n").split(b"\n\n")
        if len(events):
            self._rest = bytearray(rest)
        for event in events:
            self._event(event)

    def _event(self, event: bytes) -> None:
        lines = [line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:")]
        data = b"\n".join(lines)
        if not data or data == b"[DONE]":
            return
        value = json.loads(data)
        if not isinstance(value, dict):
            return
        self._first = self._first or value
        for item in self._accumulator.feed(value):
            self._received += text_tokens(getattr(item, "text", ""))


def _find_usage(first: dict[str, Any]) -> tuple[int, int, int, int] | None:
    """Anthropic's first event has the size of the prompt."""
    raw = (first.get("message") or {}).get("usage")
    if not isinstance(raw, dict):
        return None
    written = int(raw.get("cache_creation_input_tokens") or 0)
    hour = int((raw.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0)
    read = int(raw.get("cache_read_input_tokens") or 0)
    return int(raw.get("input_tokens") or 0), read, written - hour, hour


def _decompressor(encoding: str) -> _Decompressor | None:
    if encoding in ("", "identity"):
        return _Plain()
    if encoding in ("gzip", "x-gzip", "deflate"):
        return zlib.decompressobj(zlib.MAX_WBITS | 32)
    if encoding == "zstd":
        return _zstd_decompressor()
    return None


def _zstd_decompressor() -> _Decompressor | None:
    try:
        import zstandard
    except ImportError:
        return None
    return zstandard.ZstdDecompressor().decompressobj()


def decoded(body: bytes, encoding: str, most: int) -> bytes | None:
    """A request's body without its encoding; None if it cannot be read."""
    if encoding in ("", "identity"):
        return body
    try:
        if encoding == "gzip":
            return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body, most)
        if encoding == "zstd":
            import zstandard

            reader = zstandard.ZstdDecompressor().stream_reader(body)
            return bytes(reader.read(most))
    except (ImportError, zlib.error, ValueError, RuntimeError) as error:
        log.info("a request is not read: %r", error)
    except Exception as error:  # noqa: BLE001 - zstandard's own error is known only where it is installed
        log.info("a request is not read: %r", error)
    return None


def encoded(body: bytes, encoding: str) -> bytes:
    """The body with the encoding that the request's headers name."""
    if encoding == "gzip":
        packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
        return packer.compress(body) + packer.flush()
    if encoding == "zstd":
        import zstandard

        return zstandard.ZstdCompressor().compress(body)
    return body
