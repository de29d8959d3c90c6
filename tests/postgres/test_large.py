"""Projects beyond scanning: indexed by a worker, and found in them what a scan finds."""

from itertools import product

import psycopg
import pytest
from tests.postgres.serving import Running
from tests.postgres.test_api import project

from reverie.memory.format.revisions import Author, Put
from reverie.memory.postgres.database import Connection, Database
from reverie.memory.postgres.store import PostgresStore
from reverie.server import large
from reverie.server.search import index_files
from reverie.server.worker import JobRun

TEAMS = ("billing", "search", "checkout", "mobile", "platform")
DEEDS = (
    "deploys with make ship",
    "keeps invoices in a bucket",
    "rotates its pager",
    "restores staging from a dump",
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
QUESTIONS = (
    "when does the billing team deploy?",
    "who restores staging on Friday?",
    "where are the invoices of mobile?",
    "pager of the platform team on Tuesday",
)


@pytest.fixture
def store(running: Running):
    tenant = running.fleet.tenant("acme")
    row = tenant.tenancy.row(project(running, tenant).rpartition("/")[2])
    made = PostgresStore(running.fleet.database, tenant.admin, row, tenant.clock, index_files)
    puts = []
    for n, (team, deed, day) in enumerate(product(TEAMS, DEEDS, DAYS)):
        text = f"The {team} team {deed} every {day}."
        kind = "reference" if n % 25 == 0 else "project"
        body = f"---\nname: Fact {n}\ndescription: {text}\ntype: {kind}\n---\n{text}\n"
        puts.append(Put(f"fact_{n}.md", body.encode()))
    made.apply(puts, Author("user"), "load")
    running.embed(tenant.admin)
    return tenant, made


def asked(connection: Connection, running: Running, row, question: str, limit: int = 8):
    recall = running.service.parts.recall
    return [(hit["file"], hit["score"]) for hit in recall(connection, row, question, limit)["hits"]]


def test_a_large_project_is_indexed_and_answers_the_same(running: Running, store):
    tenant, memory = store
    with running.fleet.database.entered(tenant.admin) as (connection, _):
        detail = {"project": memory.project.project}
        large.ask_if_large(connection, detail, most=100)
        large.ask_if_large(connection, detail, most=99)
        small = {q: asked(connection, running, memory.project, q) for q in QUESTIONS}
        few = asked(connection, running, memory.project, "type:reference team", 8)
    assert len(few) == 4
    with psycopg.connect(running.fleet.owner_url) as connection:
        waiting = connection.execute("SELECT count(*) FROM pgqueuer WHERE entrypoint = 'index'")
        assert waiting.fetchone() == (1,)
    running.work_off()
    row = tenant.tenancy.row(memory.project.project)
    with running.fleet.database.entered(tenant.admin) as (connection, _):
        marked = connection.execute(
            "SELECT p.large, count(*) FILTER (WHERE s.large) AS rows FROM reverie.projects p "
            "JOIN reverie.passages s USING (project) WHERE p.name <> 'person' GROUP BY p.large"
        ).fetchall()
        assert [(one["large"], one["rows"]) for one in marked] == [(True, 100)]
        # Also when nothing but the vector index may be used.
        for forced in (False, True):
            if forced:
                for way in ("seqscan", "bitmapscan", "sort"):
                    connection.execute(f"SET LOCAL enable_{way} = off".encode())
            found = {q: asked(connection, running, Large(row), q) for q in QUESTIONS}
            for question in QUESTIONS:
                assert found[question][0][0] == small[question][0][0]
                shared = {f for f, _ in found[question]} & {f for f, _ in small[question]}
                assert len(shared) >= 7
            # Few of the rows fit the filter: the scan goes on until it has them.
            assert {
                f for f, _ in asked(connection, running, Large(row), "type:reference team")
            } == {f for f, _ in few}
    # What is added now is in the index at once.
    text = "---\nname: New\ndescription: The legal team signs on Sunday.\n---\nThe legal team signs on Sunday.\n"
    memory.apply([Put("new.md", text.encode())], Author("user"), "add")
    with running.fleet.database.entered(tenant.admin) as (connection, _):
        assert asked(connection, running, Large(row), "who signs on Sunday?")[0][0] == "new.md"


def Large(row):
    from dataclasses import replace

    return replace(row, large=True)


def test_a_job_that_was_killed_goes_on(running: Running, store, monkeypatch: pytest.MonkeyPatch):
    _, memory = store
    monkeypatch.setattr(large, "_PORTION", 30)
    place = memory.project
    database = Database(running.fleet.worker_url).open()
    detail = {"org": place.org, "space": place.space, "project": place.project}
    job = JobRun(database, detail, "index/1")
    with job.entered() as connection:
        assert large._indexed(connection, place.project) == 30
    large.index_project(job)
    large.index_project(job)
    with job.entered() as connection:
        found = connection.execute("SELECT count(*) AS rows FROM reverie.passages WHERE large")
        assert found.fetchone()["rows"] == 100
    database.close()


def test_words_of_a_large_project_are_found_by_its_own_keys_only(running: Running, store):
    tenant, memory = store
    place = memory.project
    database = Database(running.fleet.worker_url).open()
    detail = {"org": place.org, "space": place.space, "project": place.project}
    large.index_project(JobRun(database, detail, "index/1"))
    database.close()
    other = running.fleet.tenant("globex")
    mine = other.tenancy.row(project(running, other).rpartition("/")[2])
    counts = []
    for token, space in (
        (tenant.admin, place.space),
        (other.admin, place.space),
        (other.admin, mine.space),
    ):
        with running.fleet.database.entered(token) as (connection, _):
            found = connection.execute(
                "SELECT count(*) AS rows FROM reverie.worded(%s, %s, 'team', "
                "ARRAY['team'::tsquery], ARRAY[1.0], true, NULL, NULL, NULL, 500)",
                (space, place.project),
            )
            counts.append(found.fetchone()["rows"])
    assert counts == [100, 0, 0]
