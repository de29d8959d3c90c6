"""Attempts of one tenant on another's data: every endpoint, and SQL as the application role."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from reverie.server.routes import ENDPOINTS

if TYPE_CHECKING:
    from tests.postgres.running import Fleet, Tenant
    from tests.postgres.serving import Running

TABLES = [
    "organisations",
    "spaces",
    "projects",
    "keys",
    "grants",
    "contents",
    "revisions",
    "changes",
    "topics",
    "passages",
    "conversations",
    "messages",
    "episodes",
    "dreams",
    "proposals",
    "promotions",
    "leases",
    "caps",
    "ledger",
    "answers",
    "effects",
    "secret",
]
_HOLE = re.compile(r"{(\w+)(?::path)?}")


@dataclass
class Victim:
    """A tenant with one of everything, and the words that only it knows."""

    tenant: Tenant
    name: str
    ids: dict[str, list[str]] = field(default_factory=dict)

    @property
    def marker(self) -> str:
        return f"zebra{self.name}"

    @property
    def secret(self) -> str:
        """Words of its memory that no attempt sends."""
        return f"The {self.marker} release happens"

    def settle(self, running: Running) -> Victim:
        """Fill it with a memory, a key, a promotion, a lease, a reservation and a proposal."""
        ask = running.ask
        admin, word = self.tenant.admin, self.marker
        spaces = {s["name"]: str(s["space"]) for s in self.tenant.tenancy.spaces()}
        mine = ask(admin, "PUT", f"/v1/spaces/ada/projects/{word}")[1]["project"]
        team = ask(admin, "PUT", f"/v1/spaces/everyone/projects/{word}")[1]["project"]
        at = f"/v1/projects/{mine}"
        text = f"The {word} release happens on Friday with make ship."
        saved = ask(admin, "POST", f"{at}/remember", {"text": text}, Idempotency_Key=word)[1]
        asked = ask(
            admin, "POST", f"{at}/promotions", {"file": saved["file"], "space": "everyone"}
        )[1]
        key = ask(admin, "POST", "/v1/keys", {"label": word, "spaces": {"ada": "read"}})[1]["token"]
        ask(admin, "PUT", f"{at}/leases/dream", {"holder": word, "seconds": 600})
        ticket = ask(admin, "POST", "/v1/ledger", {"purpose": word, "ceiling": 0.5})[1]["ticket"]
        ask(admin, "PUT", f"{at}/proposals/{word}", {"text": text})
        said = [{"role": "user", "content": f"Remember that {text}"}]
        ask(admin, "POST", f"{at}/conversations/{word}", {"messages": said})
        revision = ask(admin, "GET", f"{at}/revisions")[1]["revisions"][0]["id"]
        version = ask(admin, "GET", f"{at}/memories")[1]["memories"][0]["version"]
        self.ids = {
            "project": [mine, team],
            "space": ["ada", *spaces.values()],
            "name": [word, "dream"],
            "file": [saved["file"], "MEMORY.md", "new.md"],
            "id": [str(asked["id"]), word],
            "key": [key.split(".")[0]],
            "ticket": [ticket],
            "revision": [revision],
            "version": [version],
            "session": [word],
        }
        return self


def requests(victim: Victim) -> Iterator[tuple[str, str, Any, dict[str, str]]]:
    """Every endpoint with every combination of the victim's ids."""
    ids = victim.ids
    bodies: tuple[Any, ...] = (
        {},
        {
            "text": "an intruder was here",
            "question": victim.marker,
            "messages": [{"role": "user", "content": "an intruder was here"}],
            "dream_hours": 1,
            "decision": "approve",
            "state": "approved",
            "holder": victim.marker,
            "seconds": 1,
            "file": ids["file"][0],
            "space": "everyone",
            "cost": 0,
            "day": 0,
            "key": ids["key"][0],
            "summary": "intruder",
            "changes": [{"file": ids["file"][0], "data": None, "base": ids["version"][0]}],
        },
    )
    for endpoint in ENDPOINTS:
        holes = _HOLE.findall(endpoint.path)
        for values in product(*(ids[hole] for hole in holes)):
            path = endpoint.path
            for hole, value in zip(holes, values, strict=True):
                path = re.sub(rf"{{{hole}(?::path)?}}", value, path)
            for body in bodies[: 1 if endpoint.method == "GET" else 2]:
                for headers in ({}, {"If_Match": ids["version"][0]}, {"If_None_Match": "*"}):
                    yield endpoint.method, path, body, headers


def leaks_over_http(
    running: Running, intruder: str, victim: Victim, most: int
) -> tuple[int, list[str]]:
    """How many attempts were made, and those that told or changed something of the victim."""
    found = []
    count = 0
    every = list(requests(victim))
    # Evenly over all endpoints.
    step = max(1, len(every) // most)
    for method, path, body, headers in every[::step]:
        count += 1
        status, answer, _ = running.ask(intruder, method, path, body, **headers)
        told = (
            answer.decode("utf-8", "replace") if isinstance(answer, bytes) else json.dumps(answer)
        )
        # What was sent comes back in a message; only what was not sent is a leak.
        if (status < 400 and victim.secret in told) or status >= 500:
            found.append(f"{method} {path}: {status} {told[:200]}")
    return count, found


def sql_attempts(
    fleet: Fleet, victim: Victim, token: str, victims_claims: str
) -> Iterator[tuple[str, str]]:
    """Statements as the application role: what they try, and the statement."""
    org = victims_claims
    for table in TABLES:
        yield f"read {table}", f"SELECT * FROM reverie.{table}"
        yield f"count {table}", f"SELECT count(*) FROM reverie.{table} WHERE org = '{org}'"
        yield f"delete {table}", f"DELETE FROM reverie.{table} WHERE org = '{org}'"
        yield f"take {table}", f"UPDATE reverie.{table} SET org = reverie.org() WHERE org = '{org}'"
        yield f"lock {table}", f"SELECT 1 FROM reverie.{table} WHERE org = '{org}' FOR UPDATE"
        yield f"truncate {table}", f"TRUNCATE reverie.{table} CASCADE"
        yield f"policies {table}", f"ALTER TABLE reverie.{table} DISABLE ROW LEVEL SECURITY"
        yield f"own {table}", f"ALTER TABLE reverie.{table} OWNER TO reverie_app"
    project = victim.ids["project"][0]
    forged = json.dumps({"org": org, "key": "x", "admin": True, "read": [], "write": []})
    yield "forge claims", f"SELECT set_config('reverie.claims', '{'0' * 64}.{forged}', true)"
    yield "seal", f"SELECT reverie.seal('{forged}')"
    yield "secret", "SELECT value FROM reverie.secret"
    yield "be a worker", f"SELECT reverie.enter_job('{org}', '{org}')"
    yield "become worker", "SET ROLE reverie_worker"
    yield "become owner", "SET ROLE postgres"
    yield "row security", "SET row_security = off"
    yield "queue", "SELECT * FROM pgqueuer"
    yield "enqueue", f"SELECT reverie.enqueue('embed', '{project}', '{{\"space\": \"{org}\"}}')"
    for space in victim.ids["space"][1:]:
        found = f"reverie.worded('{space}', '{project}', 'a', ARRAY['a'::tsquery], ARRAY[1.0], "
        yield "words", f"SELECT '{project}' FROM {found}true, NULL, NULL, NULL, 9)"
    yield "organisation", "SELECT reverie.create_organisation('mine')"
    yield (
        "write there",
        (
            "INSERT INTO reverie.leases (org, space, project, name, holder, until) SELECT "
            f"'{org}', space, project, 'x', 'x', now() FROM reverie.projects"
        ),
    )


def leaks_in_sql(fleet: Fleet, token: str, victim: Victim, org: str) -> tuple[int, list[str]]:
    """Run each statement in a transaction of the intruder; what showed or changed the victim's rows."""
    found = []
    count = 0
    with psycopg.connect(fleet.app_url) as connection:
        for entered in (True, False):
            for what, statement in sql_attempts(fleet, victim, token, org):
                count += 1
                try:
                    if entered:
                        connection.execute("SELECT reverie.enter(%s)", (token,))
                    done = connection.execute(sql.SQL(statement))  # type: ignore[arg-type]
                    rows = done.fetchall() if done.description else []
                    shown = repr(rows)
                    counts = what.startswith("count") and rows and rows[0][0]
                    wrote = done.description is None and done.rowcount > 0
                    ids = (org, *victim.ids["project"], victim.secret)
                    if what == "forge claims":
                        shown = ""
                    if any(id_ in shown for id_ in ids) or counts or wrote:
                        found.append(f"{what}: {shown[:200]}")
                    if what == "forge claims":
                        seen = connection.execute("SELECT count(*) FROM reverie.topics").fetchone()
                        if seen and seen[0]:
                            found.append("forged claims show rows")
                except psycopg.Error:
                    pass
                connection.rollback()
    return count, found
