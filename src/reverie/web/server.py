"""The page's server on loopback: routes, the worker that runs every page, errors as pages."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import FormData, Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from reverie import http_server
from reverie.errors import InputError, ReverieError
from reverie.web import change_pages, memory_actions, memory_pages, session_pages
from reverie.web.open_project import OpenProject, PageRequest, page

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
    """Middleware that refuses requests not from our own page, and sets the headers of every answer."""

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


Page = Callable[[OpenProject, PageRequest], Response]

STATIC = Path(__file__).parent / "static"
DEFAULT_PORT = 7349
# A form holds one memory, or the marks of a page of them.
_LARGEST_FORM = 1024 * 1024
_SHUTDOWN_SECONDS = 1

PAGES: dict[str, Page] = {
    "/memory": memory_pages.listing,
    "/memory/{label:path}": memory_pages.one,
    "/source": memory_pages.source,
    "/receipt/{key}": memory_actions.receipt,
    "/history": change_pages.history_list,
    "/history/{revision}": change_pages.history_detail,
    "/inbox": change_pages.inbox_list,
    "/inbox/{id}": change_pages.inbox_detail,
    "/dreams": change_pages.dream_list,
    "/dreams/{id}": change_pages.dream_detail,
    "/sessions": session_pages.listing,
    "/sessions/{id}": session_pages.one,
    "/sessions/{id}/series": session_pages.series,
    "/spend": session_pages.spend,
    "/impact": session_pages.impact,
    "/health": session_pages.health,
    "/keys": session_pages.keys,
}
CHANGES: dict[str, Page] = {
    "/memory": memory_actions.bulk,
    "/memory/{label:path}": memory_actions.change,
    "/history/{revision}": change_pages.undo,
    "/inbox": change_pages.decide_proposal,
    "/inbox/{id}": change_pages.decide_proposal,
    "/dreams/{id}": change_pages.decide_change,
}


def make_app(project: OpenProject, access: Access) -> Starlette:
    """The page as an ASGI app; everything but the static files runs on one worker thread."""
    worker = ThreadPoolExecutor(1, thread_name_prefix="page")

    @asynccontextmanager
    async def living(app: Starlette) -> AsyncIterator[None]:
        # Otherwise the first search would wait for the index and the model.
        asyncio.get_running_loop().run_in_executor(worker, project.warm_up)
        yield
        await asyncio.get_running_loop().run_in_executor(worker, project.close)
        worker.shutdown()

    def route(path: str, handler: Page, method: str) -> Route:
        async def endpoint(request: Request) -> Response:
            asked = await _page_request(request, access)
            if isinstance(asked, Response):
                return asked
            work = partial(_answered, handler, project, asked)
            return await asyncio.get_running_loop().run_in_executor(worker, work)

        return Route(path, endpoint, methods=[method])

    async def start(request: Request) -> Response:
        return RedirectResponse("/memory", 303)

    routes = [
        Route("/", start),
        Mount("/static", StaticFiles(directory=STATIC)),
        *(route(path, handler, "GET") for path, handler in PAGES.items()),
        *(route(path, handler, "POST") for path, handler in CHANGES.items()),
    ]
    layers = [Middleware(Gate, access), Middleware(GZipMiddleware, minimum_size=1000)]
    return Starlette(routes=routes, middleware=layers, lifespan=living)


async def _page_request(request: Request, access: Access) -> PageRequest | Response:
    """The request as a page sees it; a change without its CSRF token is refused."""
    cookie = request.cookies.get(access.cookie, "")
    form = FormData()
    if request.method == "POST":
        length = request.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > _LARGEST_FORM:
            return PlainTextResponse("this form is too large\n", 413)
        form = await request.form(max_files=0)
        given = form.get(CSRF)
        if not isinstance(given, str) or not access.allows_change(cookie, given):
            return PlainTextResponse("this form is from another run; reload the page\n", 403)
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return PageRequest(
        request.path_params, request.query_params, form, access.csrf(cookie), here, request.method
    )


def _answered(handler: Page, project: OpenProject, request: PageRequest) -> Response:
    """The page's answer; errors that a person can fix are shown as a page."""
    try:
        return handler(project, request)
    except InputError as error:
        status = 404 if request.method == "GET" else 400
        return page(project, request, "problem.html", status=status, message=str(error))
    except ReverieError as error:
        return page(project, request, "problem.html", status=409, message=str(error))


def listen(port: int | None) -> socket.socket:
    """A socket on loopback: the given port, or the usual one, or any when that is taken."""
    return http_server.listen(HOST, *((DEFAULT_PORT, 0) if port is None else (port,)))


def serve(
    project: OpenProject, opened: socket.socket, access: Access, ready: Callable[[], None]
) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called once a browser can connect."""
    config = uvicorn.Config(
        make_app(project, access),
        ws="none",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    http_server.serve(config, opened, ready)
