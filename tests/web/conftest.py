"""A running page over a scratch project, on a free port of loopback."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx
import pytest
import uvicorn
from tests.web.store import fill

from reverie.cli.wiring.doctor import examine
from reverie.web.open_project import OpenProject
from reverie.web.server import Access, listen, make_app
from reverie.workspace import Workspace

if TYPE_CHECKING:
    from tests.place import Place


@dataclass
class RunningPage:
    """The page of a project, and a client that opened it."""

    place: Place
    app: Workspace
    access: Access
    opening: str
    client: httpx.Client

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.access.port}"

    def csrf(self) -> str:
        cookie = self.client.cookies[self.access.cookie]
        return self.access.csrf(cookie)

    def post(self, path: str, **form: object) -> httpx.Response:
        """A form as a browser sends it; goes on to the page it leads to."""
        return self.client.post(
            path, data={"csrf": self.csrf(), **form}, headers={"origin": self.base}
        )


def start(app: Workspace) -> Iterator[tuple[Access, str]]:
    listener = listen(0)
    access = Access(listener.getsockname()[1])
    config = uvicorn.Config(make_app(OpenProject(app, examine), access), ws="none", log_config=None)
    server = uvicorn.Server(config)
    listener.listen()
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
    thread.start()
    yield access, access.url
    server.should_exit = True
    thread.join()
    listener.close()


@pytest.fixture
def served(place: Place) -> Iterator[RunningPage]:
    app = fill(place)
    for access, opening in start(app):
        base = f"http://127.0.0.1:{access.port}"
        with httpx.Client(base_url=base, follow_redirects=True, timeout=30) as client:
            client.get(opening)
            yield RunningPage(place, app, access, opening, client)
