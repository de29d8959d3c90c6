"""What was asked: every request as it came in, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from tests.provider.blocks import Json

_SECRET = frozenset({"authorization", "x-api-key", "api-key", "cookie"})


@dataclass(frozen=True, slots=True)
class Registration:
    """The test's word that a coming request will not extend an earlier one."""

    kind: Literal["break", "conversation"]
    reason: str
    # How many requests had been recorded by then.
    since: int = 0
    # How many requests, at most, until it happens.
    within: int = 1


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One HTTP request. Status, usage and reply are filled in when the response begins."""

    index: int
    # Such as "anthropic.messages"; None for an address nobody serves.
    api: str | None
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    json: Json
    status: int | None = None
    usage: Json | None = None
    reply: Json | None = None


@dataclass(frozen=True, slots=True)
class Violation:
    """A documented rule that a request broke."""

    rule: str
    message: str
    request: int

    def __str__(self) -> str:
        return f"request {self.request} broke [{self.rule}]: {self.message}"


def redacted(headers: Mapping[str, str]) -> dict[str, str]:
    return {
        name.lower(): "[redacted]" if name.lower() in _SECRET else value
        for name, value in headers.items()
    }


@dataclass(slots=True)
class Ledger:
    """Requests in order of arrival."""

    requests: list[RecordedRequest] = field(default_factory=list)

    def open(self, request: RecordedRequest) -> RecordedRequest:
        self.requests.append(request)
        return request

    def close(
        self, index: int, status: int, usage: Json | None = None, reply: Json | None = None
    ) -> None:
        self.requests[index] = replace(
            self.requests[index], status=status, usage=usage, reply=reply
        )
