"""Forwards requests to a provider: which one, with which headers, and the response."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import httpcore2
import httpx2

from reverie.errors import InputError
from reverie.proxy.connections import new_pool
from reverie.proxy.http1 import CONTROL

if TYPE_CHECKING:
    from reverie.settings import Settings

Family: TypeAlias = Literal["anthropic", "openai", "gemini"]
Headers: TypeAlias = list[tuple[bytes, bytes]]

FAMILIES: tuple[Family, ...] = ("anthropic", "openai", "gemini")

# The header with the proxy's own token; it never reaches a provider.
TOKEN_HEADER = b"x-reverie-token"

# Headers that belong to one connection (RFC 9110, 7.6.1), and those that we write ourselves.
_HOP_BY_HOP = frozenset(
    [
        *(b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate"),
        *(b"proxy-authorization", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    ]
)
_NOT_FORWARDED = _HOP_BY_HOP | {b"host", b"content-length", b"expect", TOKEN_HEADER}

_PREFIXED = re.compile(rb"\A/(anthropic|openai|gemini)(?=/|\Z)")
_ANTHROPIC_PATHS = (b"/v1/messages", b"/v1/complete", b"/api/")
_GEMINI_PATHS = (b"/v1beta", b"/v1alpha", b"/upload/v1beta")
_OPENAI_PATHS = (b"/v1/chat/", b"/v1/responses", b"/v1/completions", b"/v1/embeddings")

CONNECT_SECONDS = 30.0
# As long as the SDKs wait for a provider; a client that waits less closes its connection first.
SILENT_SECONDS = 600.0
# Idle connections are given up before servers with the usual five seconds do so.
KEPT_SECONDS: float | None = 3.0


@dataclass(frozen=True, slots=True)
class Route:
    """Where a request goes: the provider's family, and the target after its address."""

    family: Family
    target: bytes


@dataclass(frozen=True)
class Upstreams:
    """The address of each family, which may be another gateway."""

    addresses: dict[Family, httpx2.URL]

    @classmethod
    def of(cls, settings: Settings) -> Upstreams:
        found: dict[Family, httpx2.URL] = {}
        for family in FAMILIES:
            url = httpx2.URL(str(settings[f"proxy.upstream.{family}"]))
            if url.scheme not in ("http", "https") or not url.host:
                raise InputError(
                    f"proxy.upstream.{family} is {str(url)!r}; give an http:// or https:// address"
                )
            found[family] = url
        return cls(found)

    def request(
        self,
        route: Route,
        method: str,
        headers: Headers,
        content: bytes | AsyncIterator[bytes] | None,
    ) -> httpcore2.Request:
        """The request to the provider, with the same target bytes and headers."""
        host, prefix, make_url = self._places[route.family]
        own = [(b"host", host)]
        if isinstance(content, bytes):
            own.append((b"content-length", b"%d" % len(content)))
        elif content is not None and not header(headers, b"content-length"):
            own.append((b"transfer-encoding", b"chunked"))
        url = make_url(target=prefix + route.target)
        waits = {"connect": CONNECT_SECONDS, "read": SILENT_SECONDS, "write": SILENT_SECONDS}
        return httpcore2.Request(
            method, url, headers=[*own, *headers], content=content, extensions={"timeout": waits}
        )

    @cached_property
    def _places(self) -> dict[Family, tuple[bytes, bytes, Callable[..., httpcore2.URL]]]:
        """The host, the prefix of targets, and the parts of a URL, for each family."""
        return {family: _place(address) for family, address in self.addresses.items()}

    def pools(self) -> dict[Family, httpcore2.AsyncConnectionPool]:
        """Connections to each provider, kept open for the next request."""
        context = httpx2.create_ssl_context()
        return {
            family: new_pool(address, context, KEPT_SECONDS)
            for family, address in self.addresses.items()
        }


def _place(base: httpx2.URL) -> tuple[bytes, bytes, Callable[..., httpcore2.URL]]:
    prefix = base.raw_path.partition(b"?")[0].rstrip(b"/")
    make = partial(httpcore2.URL, scheme=base.raw_scheme, host=base.raw_host, port=base.port)
    return base.netloc, prefix, make


def route(target: bytes, headers: Headers) -> Route:
    """Choose the provider by an explicit prefix, by the path, else by the headers."""
    if found := _PREFIXED.match(target):
        family = found.group(1).decode()
        rest = target[found.end() :]
        chosen = next(one for one in FAMILIES if one == family)
        return Route(chosen, rest if rest.startswith(b"/") else b"/" + rest)
    return Route(_family(target, headers), target)


def _family(target: bytes, headers: Headers) -> Family:
    names = {name for name, _ in headers}
    if target.startswith(_ANTHROPIC_PATHS) or b"anthropic-version" in names:
        return "anthropic"
    if target.startswith(_GEMINI_PATHS) or b"x-goog-api-key" in names:
        return "gemini"
    if target.startswith(_OPENAI_PATHS):
        return "openai"
    agent = next((value.lower() for name, value in headers if name == b"user-agent"), b"")
    return "anthropic" if b"claude" in agent or b"anthropic" in agent else "openai"


def forwarded(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """A client's request headers without those of its connection to us."""
    kept = list(headers)
    left_out = _NOT_FORWARDED | _named_by_connection(kept)
    return [(name, value) for name, value in kept if name.lower() not in left_out]


def returned(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """A provider's response headers without those of its connection to us; they must be legal."""
    kept = [(name.lower(), value) for name, value in headers]
    if any(map(CONTROL.search, (value for _, value in kept))):
        raise httpcore2.RemoteProtocolError("a header of the response holds a control character")
    left_out = _HOP_BY_HOP | _named_by_connection(kept)
    return [(name, value) for name, value in kept if name not in left_out]


def _named_by_connection(headers: Headers) -> frozenset[bytes]:
    values = [value for name, value in headers if name.lower() == b"connection"]
    return frozenset(token.strip().lower() for value in values for token in value.split(b","))


def header(headers: Headers, wanted: bytes) -> str:
    """The value of a header; empty if it is not there."""
    return next((value.decode("latin-1") for name, value in headers if name == wanted), "")
