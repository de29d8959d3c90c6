"""What `reverie doctor` says about the proxy: whether clients reach it, and what went wrong in it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from reverie.cli.formatting import Finding
from reverie.cli.wiring import client_plans
from reverie.clients.files import open_proxied
from reverie.clients.install.base_urls import base_url_files
from reverie.errors import ReverieError
from reverie.files.json_files import read_json

if TYPE_CHECKING:
    from reverie.workspace import Workspace

# Written by `reverie.proxy.running`, which is not imported: it needs packages that may be missing.
STATE = "proxy.json"
STATUS_PATH = "/_reverie/status"
_SECONDS = 2.0


def examine_proxy(app: Workspace) -> Iterator[Finding]:
    """Nothing where no proxy runs and no client is to use one."""
    state = read_json(app.settings.home / STATE)
    told = ask_status(state) if isinstance(state, dict) and "url" in state else None
    installed = client_plans.installations(open_proxied(app))
    for one in installed:
        reached = told is not None and isinstance(state, dict) and state["url"] == one.program
        yield _reaches(one.client, one.program, reached=reached)
        yield from _still_set(app, one.client, one.program, project=one.scope == "project")
    if isinstance(state, dict) and told is None:
        advice = "it ended without cleaning up; start it again with `reverie proxy`"
        yield Finding("note", f"proxy: nothing answers at {state.get('url')}", advice)
    if told is not None and isinstance(state, dict):
        yield from _troubles(str(state["url"]), told)


def _reaches(client: str, url: str, *, reached: bool) -> Finding:
    if reached:
        return Finding("ok", f"proxy: {client} goes through {url}")
    advice = f"start it with `reverie proxy`, or: reverie uninstall {client} --proxy"
    return Finding("wrong", f"proxy: {client} is set to {url}, where no proxy answers", advice)


def _still_set(app: Workspace, client: str, url: str, *, project: bool) -> Iterator[Finding]:
    """Whether the client's file still holds the address."""
    files = open_proxied(app).files
    try:
        for file in base_url_files(client, client_plans.places_of(app), url, project=project):
            if not file.holds(files.read(file.path)):
                advice = f"set it again: reverie install {client} --proxy"
                yield Finding("note", f"proxy: {file.path} has another base URL now", advice)
    except ReverieError as error:
        yield Finding("note", f"proxy: {error}")


def _troubles(url: str, told: Mapping[str, Any]) -> Iterator[Finding]:
    counts: Mapping[str, int] = told.get("counts") or {}
    handled = ", ".join(f"{count} {name}" for name, count in counts.items())
    yield Finding("ok", f"proxy: runs at {url} ({handled or 'no requests yet'})")
    for kind, count in (told.get("troubles") or {}).items():
        latest = [line for line in told.get("latest") or () if line.startswith(f"{kind}: ")]
        what = f"proxy: {count} × {kind}, so the client's own request was sent"
        yield Finding("note", what, latest[-1] if latest else "")


def ask_status(state: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a running proxy tells about itself; None if it does not answer."""
    address = urlsplit(str(state["url"]))
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=_SECONDS)
    try:
        connection.request("GET", STATUS_PATH)
        answer = connection.getresponse()
        told = json.loads(answer.read())
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    if answer.status == 401:
        # It runs behind a token that only its clients have.
        return {"counts": {}, "troubles": {}, "latest": []}
    return told if isinstance(told, dict) and "counts" in told else None
