"""Fetches over HTTP from public addresses only, also after DNS lookups and redirects.

Every address that a name resolves to is checked, and the connection is made to a checked address, so
that the name cannot point elsewhere between check and use. Proxies are not used.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from reverie.errors import InputError

MOST_BYTES = 4_000_000
MOST_REDIRECTS = 5
SECONDS = 30
_CHUNK = 65_536
_REDIRECTS = (301, 302, 303, 307, 308)
_PORTS = {"http": 80, "https": 443}
_HEADERS = {
    "User-Agent": "reverie",
    "Accept": "text/html, text/plain, text/markdown, application/json;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip, identity",
    "Connection": "close",
}

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Judge: TypeAlias = Callable[[_Address], bool]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A response, with its address after redirects; `cut` when the body was longer."""

    address: str
    status: int
    reason: str
    content_type: str
    charset: str
    body: bytes
    cut: bool


def is_public(address: _Address) -> bool:
    """Whether an address is on the internet, and not a way into a private network."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address.sixtofour or address.teredo or address in _NAT64:
            return False
    return address.is_global and not address.is_multicast


_NAT64 = ipaddress.IPv6Network("64:ff9b::/32")


class Fetching:
    """One fetch, run in a thread; `stop` ends it from another thread."""

    def __init__(self, judge: Judge = is_public) -> None:
        self._judge = judge
        self._stopped = False
        self._socket: socket.socket | None = None

    def stop(self) -> None:
        self._stopped = True
        if self._socket is not None:
            # Closing alone would not wake the reading thread.
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def fetch(self, address: str) -> Fetched:
        """Fetch a page, checking the address again at each redirect."""
        for _ in range(MOST_REDIRECTS + 1):
            url = _checked(address)
            with _explained(url), self._response(url) as response:
                target = response.getheader("Location")
                if response.status not in _REDIRECTS or not target:
                    return _fetched(url, response)
            address = urljoin(url.geturl(), target)
        raise InputError(f"{address}: more than {MOST_REDIRECTS} redirects")

    @contextmanager
    def _response(self, url: SplitResult) -> Iterator[http.client.HTTPResponse]:
        host = _ascii_host(url)
        port = url.port or _PORTS[url.scheme]
        with closing(self._connected(host, port)) as plain:
            self._socket = plain
            if url.scheme == "https":
                context = ssl.create_default_context()
                self._socket = context.wrap_socket(plain, server_hostname=host)
            connection = http.client.HTTPConnection(host, port)
            connection.sock = self._socket
            with closing(connection):
                connection.request("GET", _target(url), headers={"Host": _host(url), **_HEADERS})
                with connection.getresponse() as response:
                    yield response

    def _connected(self, host: str, port: int) -> socket.socket:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [str(where[0]) for *_, where in found]
        for address in addresses:
            if not self._judge(ipaddress.ip_address(address.partition("%")[0])):
                raise InputError(
                    f"{host} is at {address}, which is not a public address; it is not fetched"
                )
        if self._stopped:
            raise InputError(f"{host}: stopped")
        return _first_reachable(addresses, port)


def _first_reachable(addresses: list[str], port: int) -> socket.socket:
    *others, last = addresses
    for address in others:
        with suppress(OSError):
            return socket.create_connection((address, port), timeout=SECONDS / 3)
    return socket.create_connection((last, port), timeout=SECONDS / 3)


def _checked(address: str) -> SplitResult:
    """Parse an http or https address; InputError without a host, or with credentials."""
    try:
        url = urlsplit(address)
        known = url.scheme in _PORTS and bool(url.hostname) and url.port != 0
    except ValueError:
        known = False
    if not known:
        raise InputError(f"{address!r} is not an http or https address")
    if url.username is not None or url.password is not None:
        raise InputError(f"{url.hostname}: addresses with a user name or password are not fetched")
    return url._replace(fragment="")


def _ascii_host(url: SplitResult) -> str:
    host = url.hostname or ""
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise InputError(f"{host!r} is not the name of a host") from error


def _host(url: SplitResult) -> str:
    """The value of the Host header."""
    host = _ascii_host(url)
    named = f"[{host}]" if ":" in host else host
    return f"{named}:{url.port}" if url.port else named


def _target(url: SplitResult) -> str:
    path = quote(url.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = quote(url.query, safe="/%:@!$&'()*+,;=~-._?")
    return f"{path}?{query}" if query else path


def _fetched(url: SplitResult, response: http.client.HTTPResponse) -> Fetched:
    body, cut = _body(response)
    return Fetched(
        address=url.geturl(),
        status=response.status,
        reason=response.reason,
        content_type=response.headers.get_content_type(),
        charset=response.headers.get_content_charset() or "",
        body=body,
        cut=cut,
    )


def _body(response: http.client.HTTPResponse) -> tuple[bytes, bool]:
    """The decompressed body up to the limit, and whether it was cut."""
    packed = response.getheader("Content-Encoding", "identity").strip().lower()
    if packed not in ("identity", "gzip", "x-gzip", ""):
        raise InputError(f"the page is packed as {packed!r}, which cannot be unpacked")
    unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS) if "gzip" in packed else None
    body = b""
    while len(body) <= MOST_BYTES and (chunk := response.read(_CHUNK)):
        body += unpacking.decompress(chunk, MOST_BYTES + 1) if unpacking else chunk
    return body[:MOST_BYTES], len(body) > MOST_BYTES


@contextmanager
def _explained(url: SplitResult) -> Iterator[None]:
    """Turn network errors into InputError with a readable message."""
    try:
        yield
    except TimeoutError:
        raise
    except (OSError, http.client.HTTPException, zlib.error, UnicodeError) as error:
        raise InputError(f"{url.hostname} could not be fetched from: {error or error!r}") from error
