"""What the parts of `fleet.py` share, and its part with many tenants: recall and writes over HTTP.

Not a benchmark of its own: `python benchmarks/fleet.py recall`.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from reverie.memory.format.revisions import Author, Put
from reverie.memory.postgres.database import APP, Database, EmbeddedPostgres, migrate, with_role
from reverie.memory.postgres.store import PostgresStore
from reverie.memory.postgres.tenants import Tenancy
from reverie.memory.service.connection import ServiceConnection
from reverie.server.running import embedder
from reverie.server.search import embed_pending, index_files
from reverie.workspace import SystemClock

TEAMS = ("billing", "search", "checkout", "mobile", "platform", "data", "support", "growth")
THINGS = (
    "deploys with make ship on {day}",
    "keeps its invoices in the {day} bucket",
    "rotates the on-call pager every {day}",
    "restores staging from the dump of {day}",
    "reviews pull requests on {day} mornings",
    "pins its dependencies and updates them on {day}",
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


@contextmanager
def database(*, safe: bool = True) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(Path(tempfile.mkdtemp(prefix="reverie-bench-")), safe=safe)
    server.start()
    migrate(server.url())
    try:
        yield server
    finally:
        server.delete()


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def told(name: str, data: Mapping[str, Any]) -> None:
    print(json.dumps({"benchmark": name, **data}), flush=True)


# --- recall: many tenants in one database ---


def facts(count: int) -> list[str]:
    return [
        f"The {TEAMS[n % len(TEAMS)]} team number {n} "
        + THINGS[n % len(THINGS)].format(day=DAYS[(n // 7) % len(DAYS)])
        + f", and the project code is K{n * 37 % 9973}."
        for n in range(count)
    ]


def fill(server: EmbeddedPostgres, tenants: int, memories: int) -> tuple[str, list[str]]:
    """One tenant through the store; the others as copies of its rows. Returns a token per tenant."""
    owner = server.url()
    with psycopg.connect(owner, autocommit=True) as connection:
        made = connection.execute(
            "SELECT reverie.create_organisation('tenant ' || n) FROM generate_series(1, %s) n",
            (tenants,),
        )
        tokens = [row[0] for row in made]
    pool = Database(with_role(owner, APP)).open()
    tenancy = Tenancy(pool, tokens[0])
    tenancy.create_space("all", "private")
    row = tenancy.project("all", "shop")
    store = PostgresStore(pool, tokens[0], row, SystemClock(), index_files)
    for start in range(0, memories, 100):
        puts = [
            Put(
                f"fact_{n}.md",
                f"---\nname: Fact {n}\ndescription: {fact}\ntype: project\n"
                f"created: 2026-01-01\n---\n{fact}\n".encode(),
            )
            for n, fact in enumerate(facts(memories))
            if start <= n < start + 100
        ]
        store.apply(puts, Author("user"), "load")
    model = embedder()
    if model is not None:
        with pool.entered(tokens[0]) as (connection, _):
            while embed_pending(connection, row.project, model, 200):
                pass
    pool.close()
    _copy(owner, row.project)
    return row.name, tokens


# Made again after the rows are there, which is quicker than keeping them up with each row.
INDEXES = ("changes_of_file", "topics_folded", "topics_newest", "passages_of_file")


def _copy(owner: str, source: str) -> None:
    with psycopg.connect(owner, autocommit=True) as connection:
        # Rows that are copies of checked ones are not checked again.
        connection.execute("SET session_replication_role = replica")
        connection.execute("SET maintenance_work_mem = '1GB'")
        made = [
            row[0]
            for row in connection.execute(
                "SELECT indexdef FROM pg_indexes WHERE indexname = ANY (%s)", (list(INDEXES),)
            )
        ]
        for name in INDEXES:
            connection.execute(f"DROP INDEX reverie.{name}".encode())
        connection.execute(
            "INSERT INTO reverie.spaces (org, name, kind) SELECT org, 'all', 'private' "
            "FROM reverie.organisations ON CONFLICT DO NOTHING"
        )
        connection.execute(
            "INSERT INTO reverie.projects (org, space, name, seq, head, linear) "
            "SELECT s.org, s.space, p.name, p.seq, p.head, p.linear FROM reverie.spaces s, "
            "reverie.projects p WHERE p.project = %s ON CONFLICT DO NOTHING",
            (source,),
        )
        for table in ("contents", "revisions", "changes", "topics", "passages"):
            names = _columns(connection, table)
            connection.execute(
                f"INSERT INTO reverie.{table} (org, space, project, {names}) "
                f"SELECT p.org, p.space, p.project, {_prefixed(names)} FROM reverie.projects p "
                f"JOIN reverie.{table} t ON t.project = %s WHERE p.project <> %s".encode(),
                (source, source),
            )
        for definition in made:
            connection.execute(definition.encode())
        connection.execute("VACUUM (ANALYZE, FREEZE) reverie.passages, reverie.topics")
        connection.execute("ANALYZE")
        connection.execute("CHECKPOINT")


def _columns(connection: psycopg.Connection[Any], table: str) -> str:
    rows = connection.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'reverie' "
        "AND table_name = %s AND column_name NOT IN ('org', 'space', 'project') "
        "AND NOT (table_name = 'passages' AND column_name = 'id') ORDER BY ordinal_position",
        (table,),
    ).fetchall()
    return ", ".join(row[0] for row in rows)


def _prefixed(names: str) -> str:
    return ", ".join(f"t.{name}" for name in names.split(", "))


@contextmanager
def serving(server: EmbeddedPostgres) -> Iterator[tuple[int, int]]:
    """A service as a process: its port and its id."""
    home = tempfile.mkdtemp(prefix="reverie-bench-home-")
    command = [sys.executable, "-m", "reverie", "serve", "--port", "0", "--home", home]
    process = subprocess.Popen(
        [*command, "--database", server.url(), "--workers", "0"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    try:
        yield int(line.split("://")[1].split(":")[1].split(";")[0]), process.pid
    finally:
        process.terminate()
        process.wait()


@contextmanager
def working(server: EmbeddedPostgres, count: int) -> Iterator[None]:
    """So many workers, each a process."""
    command = [sys.executable, "-m", "reverie", "worker", "--database", server.url()]
    processes = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def recall(options: argparse.Namespace) -> None:
    with database(safe=False) as server:
        begun = time.perf_counter()
        _, tokens = fill(server, options.tenants, options.memories)
        filled = time.perf_counter() - begun
        # From here on every write waits for the disk, but not for what was loaded.
        server.stop()
        os.sync()
        server = EmbeddedPostgres(server.folder)
        server.start()
        with serving(server) as (port, pid), working(server, options.beside):
            chance = random.Random(11)
            chosen = chance.sample(tokens, min(len(tokens), 200))
            url = f"http://127.0.0.1:{port}"
            paths = {token: _project(url, token) for token in chosen}
            everything = facts(options.memories)
            cost = ProcessorTime(pid, server)
            reads = _load(
                port, options, cost, lambda n: _recall_call(chance, chosen, paths, everything, n)
            )
            writes = _load(
                port, options, cost, lambda n: _write_call(chance, chosen, paths, n), rate=10
            )
        size = _size(server)
    told(
        "recall",
        {
            "tenants": options.tenants,
            "memories_each": options.memories,
            "workers_beside": options.beside,
            "fill_s": round(filled, 1),
            "database_gb": round(size / 1e9, 2),
            "recall": reads,
            "write": writes,
        },
    )


def _size(server: EmbeddedPostgres) -> int:
    with psycopg.connect(server.url()) as connection:
        row = connection.execute("SELECT pg_database_size('postgres')").fetchone()
    return int(row[0]) if row else 0


def _project(url: str, token: str) -> str:
    found = ServiceConnection(url, token).send("PUT", "/v1/spaces/all/projects/shop", {}).data
    return f"/v1/projects/{found['project']}"


Call = tuple[str, str, str, dict[str, Any]]


def _recall_call(
    chance: random.Random,
    tokens: Sequence[str],
    paths: Mapping[str, str],
    known: Sequence[str],
    n: int,
) -> Call:
    token = chance.choice(tokens)
    team = chance.choice(TEAMS)
    question = f"On which day does the {team} team number {chance.randrange(len(known))} deploy?"
    return token, "POST", f"{paths[token]}/recall", {"question": question, "limit": 5}


def _write_call(
    chance: random.Random, tokens: Sequence[str], paths: Mapping[str, str], n: int
) -> Call:
    token = chance.choice(tokens)
    text = (
        f"Decision {n}: the {chance.choice(TEAMS)} team moved its window to {chance.choice(DAYS)}."
    )
    return token, "POST", f"{paths[token]}/remember", {"text": text, "even_if_known": True}


class ProcessorTime:
    """What the service and its database used, in milliseconds; other work on the machine aside."""

    def __init__(self, service: int, server: EmbeddedPostgres) -> None:
        self._service = service
        self._postmaster = int((server.data / "postmaster.pid").read_text().split()[0])

    def __call__(self) -> tuple[float, float]:
        children = [
            int(path.name)
            for path in Path("/proc").iterdir()
            if path.name.isdecimal() and _parent(path) == self._postmaster
        ]
        return _used(self._service), sum(map(_used, children))


def _stat(path: Path) -> list[str]:
    try:
        return (path / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _parent(path: Path) -> int:
    return int((_stat(path) or ["", "0"])[1])


def _used(pid: int) -> float:
    try:
        # Linux's clock of another process (clock_getcpuclockid), to the nanosecond.
        return time.clock_gettime((~pid << 3) | 2) * 1e3
    except OSError:
        return 0.0


def _load(
    port: int,
    options: argparse.Namespace,
    cost: ProcessorTime,
    call: Any,
    rate: float | None = None,
) -> dict[str, Any]:
    """Requests at a fixed rate, late ones counted from when they were due."""
    rate = rate or options.rate
    count = int(rate * options.seconds)
    calls = [call(n) for n in range(count)]
    local = threading.local()
    failures: list[str] = []

    def once(n: int) -> float:
        due = start + n / rate
        time.sleep(max(0.0, due - time.perf_counter()))
        connection = getattr(local, "connection", None)
        if connection is None:
            connection = local.connection = http.client.HTTPConnection(
                "127.0.0.1", port, timeout=30
            )
        token, method, path, body = calls[n]
        connection.request(method, path, json.dumps(body), {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        data = answer.read()
        if answer.status >= 300:
            failures.append(data.decode())
        return time.perf_counter() - due

    # The first calls load models and fill caches.
    start = time.perf_counter()
    for n in range(min(20, count)):
        once(n)
    before = cost()
    start = time.perf_counter() + 0.1
    with ThreadPoolExecutor(32) as pool:
        seconds = list(pool.map(once, range(count)))
    used = [(now - then) / count for now, then in zip(cost(), before, strict=True)]
    return {
        "service_cpu_ms": round(used[0], 1),
        "postgresql_cpu_ms": round(used[1], 1),
        "per_second": rate,
        "requests": count,
        "failed": len(failures),
        "p50_ms": round(percentile(seconds, 0.5) * 1e3, 1),
        "p95_ms": round(percentile(seconds, 0.95) * 1e3, 1),
        "p99_ms": round(percentile(seconds, 0.99) * 1e3, 1),
    }
