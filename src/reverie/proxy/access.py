"""Who may use the proxy: programs of this machine, or those that have its token."""

from __future__ import annotations

import hmac
import ipaddress
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from reverie.proxy.upstream import TOKEN_HEADER, Headers, header


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that must not be made, such as one over a spending cap."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use the proxy: this machine's programs, or those with the token."""

    token: str = ""
    # Host names that requests may use; None for any, if a token is required.
    hosts: frozenset[str] | None = frozenset({"localhost"})

    def problem(self, headers: Headers) -> Refusal | None:
        given = header(headers, TOKEN_HEADER)
        if self.token and not hmac.compare_digest(given.encode(), self.token.encode()):
            return Refusal(401, f"send the proxy's token in the header {TOKEN_HEADER.decode()}")
        host = _host_name(header(headers, b"host"))
        if self.hosts is not None and host not in self.hosts and not is_loopback(host):
            return Refusal(403, f"the host {host!r} is not this proxy; use 127.0.0.1 or localhost")
        origin = header(headers, b"origin")
        if origin and not self._is_ours(origin):
            return Refusal(403, f"web pages may not use this proxy (origin {origin!r})")
        return None

    def _is_ours(self, origin: str) -> bool:
        scheme, _, rest = origin.partition("://")
        if scheme not in ("http", "https", "null"):
            # An editor's or a desktop program's own pages.
            return True
        host = _host_name(rest)
        return is_loopback(host) or host in (self.hosts or ())


def _host_name(value: str) -> str:
    """The name in a Host header, without the port."""
    if value.startswith("["):
        return value[1:].partition("]")[0].lower()
    return value.partition(":")[0].lower()


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False
