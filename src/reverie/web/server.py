"""The page's server on loopback: routes, the worker that runs every page, errors as pages."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import FormData
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from reverie import http_server
from reverie.errors import InputError, ReverieError
from reverie.web import change_pages, memory_actions, memory_pages, session_pages
from reverie.web.open_project import OpenProject, PageRequest
from reverie.web.rendering import page
from reverie.web.security import CSRF, HOST, Access, Gate

if TYPE_CHECKING:
    from starlette.requests import Request

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
        # The first search would wait for the index and the model to be read.
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
    """The page's answer; what a person can mend is shown as a page of its own."""
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
