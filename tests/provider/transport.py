"""Sending an answer: whole, in events, or broken in the way the script asks for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from starlette.types import Receive, Scope, Send
from tests.provider.blocks import Json, compact
from tests.provider.gate import Gate
from tests.provider.script import (
    Cut,
    Fault,
    Garbage,
    HttpError,
    Malformed,
    Reply,
    StreamError,
    TooLong,
    Unfinished,
)

BROKEN_EVENT = b'event: content_block_delta\ndata: {"type": "content_block_de\n\n'


@dataclass(frozen=True, slots=True)
class Rendered:
    """One reply in both of its forms."""

    body: Json
    events: tuple[bytes, ...]
    usage: Json
    # How many events at the end say that the reply is complete.
    ending: int = 1


class Family(Protocol):
    """How one provider words its errors."""

    name: str

    def error_body(self, error: HttpError, request_id: str) -> Json: ...

    def error_event(self, error: HttpError) -> bytes: ...

    def too_long(self, fault: TooLong) -> tuple[int, Json]: ...


@dataclass(frozen=True, slots=True)
class Delivery:
    """An ASGI response that can stop short and can wait at a gate."""

    status: int
    headers: Mapping[str, str]
    chunks: tuple[bytes, ...]
    # A response that is not complete leaves the connection broken.
    complete: bool = True
    gate: Gate | None = None
    gate_at: int = 0
    # Runs just before the first byte: the moment a cache entry becomes readable.
    begin: Callable[[], None] = field(default=lambda: None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.gate is not None and self.gate_at == 0:
            await self.gate.passage()
        self.begin()
        headers = [(name.encode(), value.encode()) for name, value in self.headers.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        for index, chunk in enumerate(self.chunks, start=1):
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if self.gate is not None and self.gate_at == index:
                await self.gate.passage()
        if self.complete:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def json_delivery(status: int, body: Json, headers: Mapping[str, str] | None = None) -> Delivery:
    raw = compact(body)
    return Delivery(
        status,
        {"content-type": "application/json", "content-length": str(len(raw)), **(headers or {})},
        (raw,),
    )


def error_delivery(family: Family, error: HttpError, request_id: str) -> Delivery:
    headers = {"request-id": request_id, "x-request-id": request_id}
    if error.retry_after is not None:
        headers["retry-after"] = f"{error.retry_after:g}"
    return json_delivery(error.status, family.error_body(error, request_id), headers)


def whole_fault(family: Family, fault: Fault, request_id: str) -> Delivery | None:
    """The response for a fault that has no reply in it, or None."""
    match fault:
        case HttpError():
            return error_delivery(family, fault, request_id)
        case TooLong():
            status, body = family.too_long(fault)
            return json_delivery(status, body, {"request-id": request_id})
        case Garbage():
            headers = {
                "content-type": fault.content_type,
                "content-length": str(len(fault.body)),
            }
            return Delivery(200, headers, (fault.body,))
        case Cut() | Unfinished() | Malformed() | StreamError():
            return None


def streamed(
    family: Family, rendered: Rendered, answer: Reply | Fault
) -> tuple[tuple[bytes, ...], bool]:
    """The events to send, and whether the stream is then closed properly."""
    events = rendered.events
    match answer:
        case Cut():
            return events[: answer.after], False
        case Unfinished():
            return events[: -rendered.ending], True
        case Malformed():
            return (*events[: answer.after], BROKEN_EVENT, *events[answer.after :]), True
        case StreamError():
            error = HttpError(answer.status, answer.message)
            return (*events[: answer.after], family.error_event(error)), True
        case _:
            return events, True


def reply_delivery(
    family: Family, rendered: Rendered, answer: Reply | Fault, request_id: str, *, stream: bool
) -> Delivery:
    """The response for an answer that has a reply in it."""
    headers = {"request-id": request_id, "x-request-id": request_id}
    if stream:
        chunks, complete = streamed(family, rendered, answer)
        return Delivery(200, {"content-type": "text/event-stream", **headers}, chunks, complete)
    raw = compact(rendered.body)
    headers |= {"content-type": "application/json", "content-length": str(len(raw))}
    match answer:
        case Cut():
            return Delivery(200, headers, (raw[: len(raw) // 2],), complete=False)
        case Unfinished() | Malformed():
            half = raw[: len(raw) // 2]
            return Delivery(200, headers | {"content-length": str(len(half))}, (half,))
        case StreamError():
            return error_delivery(family, HttpError(answer.status, answer.message), request_id)
        case _:
            return Delivery(200, headers, (raw,))
