"""The memory service under load: jobs with dying workers, many tenants, many writers.

    python benchmarks/fleet.py jobs --jobs 20000 --workers 8
    python benchmarks/fleet.py recall --tenants 1000 --memories 1000 --rate 50
    python benchmarks/fleet.py large --rows 60000
    python benchmarks/fleet.py writers

Every part starts a PostgreSQL of its own from the wheel and removes it at the end. The data of all
tenants is the same and made here: 1,000 facts of fifty kinds.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import logging
import multiprocessing
import multiprocessing.process
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg

from reverie.memory.postgres.database import APP, WORKER, Connection, Database, migrate, with_role
from reverie.memory.postgres.embedded import EmbeddedPostgres
from reverie.memory.postgres.store import PostgresStore
from reverie.memory.postgres.tenants import Tenancy, create_organisation
from reverie.memory.service.connection import ServiceConnection
from reverie.server.running import embedder
from reverie.server.search import embed_pending, index_files
from reverie.server.worker import Worker, run_until_signal
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


# --- jobs: workers are killed, PostgreSQL restarts, every effect happens once ---


def probe(connection: Connection, detail: Mapping[str, Any]) -> None:
    connection.execute("INSERT INTO public.probes VALUES (%s)", (detail["n"],))


def run_worker(url: str) -> None:
    logging.disable()
    pool = Database(url, most=4).open()
    worker = Worker(pool, {"probe": probe}, heartbeat=timedelta(seconds=4), batch=25)
    asyncio.run(run_until_signal(worker))
    pool.close()


def jobs(options: argparse.Namespace) -> None:
    with database() as server:
        owner, app = server.url(), with_role(server.url(), APP)
        token = create_organisation(owner, "bench")
        pool = Database(app).open()
        tenancy = Tenancy(pool, token)
        space = str(tenancy.create_space("all", "private")["space"])
        project = tenancy.project("all", "bench").project
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute("CREATE TABLE public.probes (n bigint)")
            connection.execute(f"GRANT INSERT ON public.probes TO {WORKER}".encode())
        begun = time.perf_counter()
        with pool.entered(token) as (connection, _):
            connection.execute(
                "SELECT reverie.enqueue('probe', %s, jsonb_build_object('space', %s::text, 'n', n)) "
                "FROM generate_series(1, %s) n",
                (project, space, options.jobs),
            )
        enqueued = time.perf_counter() - begun
        pool.close()
        figures = _work_off(server, options)
        told("jobs", {"jobs": options.jobs, "enqueue_s": round(enqueued, 2), **figures})


def _work_off(server: EmbeddedPostgres, options: argparse.Namespace) -> dict[str, Any]:
    # Forked, so that a new worker works at once; a killed one is killed as any process is.
    context = multiprocessing.get_context("fork")

    def start() -> multiprocessing.process.BaseProcess:
        made = context.Process(target=run_worker, args=(with_role(server.url(), WORKER),))
        made.start()
        return made

    workers = [start() for _ in range(options.workers)]
    begun = time.perf_counter()
    killed = restarts = 0
    chance = random.Random(7)
    try:
        while True:
            time.sleep(1.0)
            done, left = _state(server)
            if not left:
                break
            if time.perf_counter() - begun > options.most:
                break
            if not restarts and done > options.jobs / 3:
                server.stop()
                server.start()
                restarts += 1
            victim = chance.randrange(len(workers))
            workers[victim].kill()
            workers[victim].join()
            workers[victim] = start()
            killed += 1
        seconds = time.perf_counter() - begun
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join(10)
            worker.kill()
    with psycopg.connect(server.url()) as connection:
        row = connection.execute("SELECT count(*), count(DISTINCT n) FROM public.probes").fetchone()
        failed = connection.execute(
            "SELECT count(*) FROM pgqueuer WHERE status = 'failed'"
        ).fetchone()
    assert row is not None
    assert failed is not None
    return {
        "workers": options.workers,
        "killed": killed,
        "restarts_of_postgresql": restarts,
        "seconds": round(seconds, 1),
        "effects": row[0],
        "distinct": row[1],
        "lost": options.jobs - row[1],
        "doubled": row[0] - row[1],
        "left_in_queue": left,
        "set_aside": failed[0],
    }


def _state(server: EmbeddedPostgres) -> tuple[int, int]:
    with psycopg.connect(server.url()) as connection:
        row = connection.execute(
            "SELECT (SELECT count(*) FROM public.probes), (SELECT count(*) FROM pgqueuer)"
        ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


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
    from reverie.memory.format.revisions import Author, Put  # noqa: PLC0415 - only here

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


def recall(options: argparse.Namespace) -> None:
    with database(safe=False) as server:
        begun = time.perf_counter()
        _, tokens = fill(server, options.tenants, options.memories)
        filled = time.perf_counter() - begun
        # From here on every write waits for the disk.
        server.stop()
        server = EmbeddedPostgres(server.folder)
        server.start()
        with serving(server) as (port, pid):
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
    fields = _stat(Path("/proc") / str(pid))
    ticks = int(fields[11]) + int(fields[12]) if fields else 0
    return ticks * 1e3 / os.sysconf("SC_CLK_TCK")


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


# --- large: one project beyond scanning, by its indexes and by a scan ---


def large(options: argparse.Namespace) -> None:
    from dataclasses import replace  # noqa: PLC0415 - only here

    from reverie.server.large import index_project  # noqa: PLC0415
    from reverie.server.search import PostgresRecall  # noqa: PLC0415
    from reverie.server.worker import JobRun  # noqa: PLC0415

    with database(safe=False) as server:
        _, tokens = fill(server, 1, 1_000)
        pool = Database(with_role(server.url(), APP)).open()
        row = Tenancy(pool, tokens[0]).project("all", "shop")
        _multiply(server.url(), row.project, options.rows)
        begun = time.perf_counter()
        workers = Database(with_role(server.url(), WORKER)).open()
        place = {"org": row.org, "space": row.space, "project": row.project}
        index_project(JobRun(workers, place, "index/1"))
        indexed = time.perf_counter() - begun
        recall = PostgresRecall(SystemClock(), embedder())
        chance = random.Random(5)
        same = shared = 0.0
        spent: dict[str, list[float]] = {"exact": [], "indexed": []}
        cost = ProcessorTime(os.getpid(), server)
        used: dict[str, float] = {"exact": 0.0, "indexed": 0.0}
        for _ in range(options.questions):
            number = chance.randrange(1_000)
            question = f"On which day does the {TEAMS[number % 8]} team number {number} deploy?"
            found: dict[str, list[str]] = {}
            for name, project in (("exact", row), ("indexed", replace(row, large=True))):
                with pool.entered(tokens[0]) as (connection, _):
                    before, start = cost()[1], time.perf_counter()
                    hits = recall(connection, project, question, 10)["hits"]
                    spent[name].append(time.perf_counter() - start)
                    used[name] += cost()[1] - before
                    # Sixty sites say nearly the same: which of them is found first is chance.
                    found[name] = [SITE.sub("team", hit["text"]) for hit in hits]
            same += found["exact"][:1] == found["indexed"][:1]
            shared += len({*found["exact"]} & {*found["indexed"]}) / max(1, len({*found["exact"]}))
        pool.close()
        workers.close()
    told(
        "large",
        {
            "rows": options.rows,
            "questions": options.questions,
            "indexing_s": round(indexed, 1),
            "same_first_hit": round(same / options.questions, 3),
            "shared_of_ten": round(shared / options.questions, 3),
            **{f"{k}_p50_ms": round(percentile(v, 0.5) * 1e3, 1) for k, v in spent.items()},
            **{f"{k}_postgresql_cpu_ms": round(v / options.questions, 1) for k, v in used.items()},
        },
    )


SITE = re.compile(r"team of site \d+")


def _multiply(owner: str, project: str, rows: int) -> None:
    """More passages of the same files, each with a vector that is a little off."""
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO reverie.passages (org, space, project, file, body, words, terms, groups, at, "
            "standing, model, embedding) SELECT org, space, project, file, "
            "replace(body, 'team number', 'team of site ' || n || ' number'), words || "
            "array_to_tsvector(ARRAY['site', n::text]), terms || ' site ' || n, groups, at, standing, "
            "model, (SELECT array_agg(v + (random() - 0.5) * 0.08) FROM "
            "unnest(embedding::vector::real[]) v)::vector::halfvec FROM reverie.passages, "
            "generate_series(2, %s) n WHERE project = %s",
            (rows // 1_000, project),
        )
        connection.execute("ANALYZE reverie.passages")


# --- writers: one memory, PostgreSQL restarts in between ---


def writers(options: argparse.Namespace) -> None:
    from reverie.errors import WriteConflict  # noqa: PLC0415 - only here
    from reverie.memory.format.revisions import Author, Put, version  # noqa: PLC0415

    with database() as server:
        token = create_organisation(server.url(), "bench")
        pool = Database(with_role(server.url(), APP), most=16).open()
        tenancy = Tenancy(pool, token)
        tenancy.create_space("all", "private")
        store = PostgresStore(pool, token, tenancy.project("all", "x"), SystemClock(), index_files)
        store.apply([Put("shared.md", b"start\n")], Author("user"), "start")
        rounds = options.rounds
        conflicts = 0

        def write(number: int) -> None:
            nonlocal conflicts
            for turn in range(rounds):
                while True:
                    data = store.current("shared.md") or b""
                    fresh = data + f"{number}/{turn}\n".encode()
                    try:
                        store.apply(
                            [Put("shared.md", fresh, version(data))], Author("user"), "line"
                        )
                        break
                    except WriteConflict:
                        conflicts += 1

        begun = time.perf_counter()
        with ThreadPoolExecutor(16) as threads:
            running = [threads.submit(write, number) for number in range(16)]
            time.sleep(1.0)
            server.stop()
            server.start()
            for one in running:
                one.result()
        lines = (store.current("shared.md") or b"").decode().split()[1:]
        seconds = time.perf_counter() - begun
        pool.close()
    told(
        "writers",
        {
            "writers": 16,
            "lines_written": 16 * rounds,
            "lines_kept": len(set(lines)),
            "doubled": len(lines) - len(set(lines)),
            "conflicts_told": conflicts,
            "restarts_of_postgresql": 1,
            "seconds": round(seconds, 1),
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("jobs", "recall", "large", "writers"), nargs="?")
    parser.add_argument("--jobs", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--most", type=float, default=300.0, help="give up after so many seconds")
    parser.add_argument("--tenants", type=int, default=20)
    parser.add_argument("--memories", type=int, default=1_000)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    # A benchmark that is told to stop still removes its database.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parts = {"jobs": jobs, "recall": recall, "large": large, "writers": writers}
    for name, part in parts.items():
        if options.part in (None, name):
            part(options)


if __name__ == "__main__":
    main()
