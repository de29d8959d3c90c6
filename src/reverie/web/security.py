"""Who may use the page: a one-time token, a cookie, Host and Origin, a CSRF token, and a strict CSP."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
OPENING = "/open"
CSRF = "csrf"

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        "object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # With `no-referrer` a browser would send forms with the Origin `null`.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_CHANGES = frozenset({"POST", "PUT", "PATCH", "DELETE"})

# The cookie is SameSite=Strict: a redirect that began on another site would come without it.
_WELCOME = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Reverie</title>'
    '<link rel="icon" href="/static/icon.svg">'
    '<meta http-equiv="refresh" content="0;url=/"><p><a href="/">Open Reverie</a></p></html>'
)


@dataclass(slots=True)
class Access:
    """The tokens of one running page. The opening token works once."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    _cookies: set[str] = field(default_factory=set)
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    @property
    def cookie(self) -> str:
        """The cookie's name; browsers share cookies between the ports of a host."""
        return f"reverie_{self.port}"

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}{OPENING}?token={self.token}"

    @property
    def hosts(self) -> tuple[str, ...]:
        return (f"{HOST}:{self.port}", f"localhost:{self.port}")

    def opened(self, token: str) -> str | None:
        """The value of a new cookie for the one-time token; None when the token is wrong or used."""
        if not self.token or not hmac.compare_digest(token.encode(), self.token.encode()):
            return None
        self.token = ""
        made = secrets.token_urlsafe(32)
        self._cookies.add(made)
        return made

    def knows(self, cookie: str) -> bool:
        return any(hmac.compare_digest(cookie.encode(), one.encode()) for one in self._cookies)

    def csrf(self, cookie: str) -> str:
        """The token that every change sent by this cookie's pages must carry."""
        return hmac.new(self._key, cookie.encode(), hashlib.sha256).hexdigest()

    def allows_change(self, cookie: str, given: str) -> bool:
        return hmac.compare_digest(self.csrf(cookie), given)


class Gate:
    """Middleware: refuses what does not come from our own page, and sets the headers of every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = self._answer(Request(scope))
        await (answer or self._app)(scope, receive, _with_headers(send))

    def _answer(self, request: Request) -> Response | None:
        """A refusal, or the answer to the opening address; None: the app may answer."""
        headers = Headers(scope=request.scope)
        if headers.get("host") not in self._access.hosts:
            return PlainTextResponse("this page answers only to its own address\n", 421)
        origins = {f"http://{host}" for host in self._access.hosts}
        if request.method in _CHANGES and headers.get("origin") not in origins:
            return PlainTextResponse("changes are taken from this page alone\n", 403)
        if request.url.path == OPENING:
            return self._open(request)
        if not self._access.knows(request.cookies.get(self._access.cookie, "")):
            return PlainTextResponse(
                "open the address that `reverie ui` printed; it works once, then start it again\n",
                403,
            )
        return None

    def _open(self, request: Request) -> Response:
        known = self._access.knows(request.cookies.get(self._access.cookie, ""))
        value = self._access.opened(request.query_params.get("token", ""))
        if value is None and not known:
            why = "this address was used before or is wrong; start `reverie ui` again\n"
            return PlainTextResponse(why, 403)
        answer = HTMLResponse(_WELCOME)
        if value is not None:
            answer.set_cookie(self._access.cookie, value, httponly=True, samesite="strict")
        return answer


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return sending
