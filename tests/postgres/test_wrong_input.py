"""Wrong input is the caller's error, with a problem that says so, and never one of the service."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.postgres.leaking import Victim
from tests.postgres.serving import Running

from reverie.server.routes import ENDPOINTS

WRONG = (None, True, -1, 1e308, 10**30, "", "\0\ud800", "x" * 3_000, [1], {"a": [1]}, float("nan"))
NUMBERS = ("", "x", "-1", "9" * 30, "%00", "%ff", "%D9%A3")
QUERIES = ("limit", "cursor", "since", "after", "state", "space", "file", "holder")
# What the endpoints take, all in one body.
RIGHT = {
    "text": "The shop opens at nine.",
    "name": "opening",
    "description": "when it opens",
    "type": "project",
    "supersedes": "x.md",
    "even_if_known": True,
    "question": "when does it open?",
    "limit": 3,
    "changes": [{"file": "a.md", "data": "eA==", "base": None}],
    "author": {"writer": "user"},
    "summary": "s",
    "lease": {"name": "dream", "holder": "h"},
    "kind": "private",
    "dream_hours": 1,
    "dream_sessions": 2,
    "learning": "nothing",
    "file": "x.md",
    "sentences": ["abc"],
    "revisions": [],
    "files": {"a.md": {"version": "0" * 40, "changed": 1.5}},
    "state": "waiting",
    "space": "everyone",
    "decision": "approve",
    "reason": "",
    "holder": "h",
    "seconds": 5,
    "messages": [{"role": "user", "content": "hello"}],
    "purpose": "p",
    "ceiling": 0.1,
    "session": "s",
    "entry": {"purpose": "p"},
    "cost": 0.1,
    "key": "k",
    "day": 1,
    "label": "l",
    "spaces": {"ada": "read"},
    "days": 3,
    "scope": "both",
}


@pytest.fixture
def tenant(running: Running) -> Victim:
    return Victim(running.fleet.tenant("acme"), "acme").settle(running)


def paths(tenant: Victim) -> Iterator[tuple[str, str]]:
    for endpoint in ENDPOINTS:
        path = re.sub(r"{(\w+)(?::path)?}", lambda hole: tenant.ids[hole[1]][0], endpoint.path)
        yield endpoint.method, path


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/revisions?cursor=" + "9" * 30, None),
        ("GET", "/memories?limit=" + "9" * 5_000, None),
        ("POST", "/remember", {"text": "The shop opens at nine.", "name": 5}),
        ("POST", "/remember", {"text": "The shop opens at nine.", "supersedes": [1]}),
        ("POST", "/recall", {"question": "\ud800"}),
        ("POST", "/recall", {"question": "when?", "limit": True}),
        ("PUT", "/import", {"files": {"a.md": [1]}}),
        ("PUT", "/leases/dream", {"holder": "\ud800", "seconds": True}),
    ],
)
def test_what_is_no_error_of_the_service(
    running: Running, tenant: Victim, method: str, path: str, body: Any
):
    at = f"/v1/projects/{tenant.ids['project'][0]}"
    status, told, _ = running.ask(tenant.tenant.admin, method, f"{at}{path}", body)
    assert status < 500, told
    assert (status == 422) == (
        path.split("?")[0] != "/revisions" and body != {"question": "\ud800"}
    )


def test_a_key_for_no_time_or_no_right(running: Running, tenant: Victim):
    for wrong in ({"days": -1}, {"days": 1e308}, {"days": True}, {"spaces": {"ada": [1]}}):
        body = {"label": "x", "spaces": {"ada": "read"}, **wrong}
        assert running.ask(tenant.tenant.admin, "POST", "/v1/keys", body)[0] == 422


def test_what_is_not_there_is_not_removed(running: Running, tenant: Victim):
    path = f"/v1/projects/{tenant.ids['project'][0]}/memories/none.md"
    assert running.ask(tenant.tenant.admin, "DELETE", path, If_Match='"x"')[0] == 404


@pytest.mark.slow
def test_every_endpoint_with_every_wrong_value(running: Running, tenant: Victim):
    failed = set()
    count = 0
    for method, path in paths(tenant):
        calls: list[tuple[str, Any]] = [
            (f"{path}?{name}={value}", None if method == "GET" else RIGHT)
            for name in QUERIES
            for value in NUMBERS
        ]
        if method in ("POST", "PUT", "PATCH"):
            calls += [(path, {**RIGHT, name: value}) for name in RIGHT for value in WRONG]
        for where, body in calls:
            data = None if body is None else json.dumps(body).encode()
            status = running.ask(tenant.tenant.admin, method, where, data, If_Match="x")[0]
            count += 1
            if status >= 500:
                failed.add((method, where))
    assert failed == set()
    assert count > 8_000
