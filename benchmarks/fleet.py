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
import logging
import multiprocessing
import multiprocessing.process
import os
import random
import re
import signal
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
from fleet_tenants import TEAMS, ProcessorTime, database, fill, percentile, recall, told

from reverie.errors import WriteConflict
from reverie.memory.format.revisions import Author, Put, version
from reverie.memory.postgres.database import (
    APP,
    WORKER,
    Connection,
    Database,
    EmbeddedPostgres,
    with_role,
)
from reverie.memory.postgres.store import PostgresStore
from reverie.memory.postgres.tenants import Tenancy, create_organisation
from reverie.server.large import index_project
from reverie.server.running import embedder
from reverie.server.search import PostgresRecall, index_files
from reverie.server.worker import JobRun, Worker, run_until_signal
from reverie.workspace import SystemClock

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


# --- large: one project beyond scanning, by its indexes and by a scan ---


def large(options: argparse.Namespace) -> None:
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
        ask = PostgresRecall(SystemClock(), embedder())
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
                    hits = ask(connection, project, question, 10)["hits"]
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
    parser.add_argument("--beside", type=int, default=0, help="workers beside recall and writes")
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
