"""Learning on workers: extraction from posted conversations, dreams under a lease, search in episodes."""

import asyncio
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from tests.place import Place
from tests.postgres.running import Tenant
from tests.postgres.serving import Running
from tests.postgres.test_api import project

from reverie import Memory
from reverie.context import NotDue
from reverie.learning.dreaming.dream import Branch, Dreamt, tidy_dreamer
from reverie.learning.dreaming.service import DreamOptions, dream
from reverie.memory.postgres import sharing
from reverie.memory.postgres.database import Database
from reverie.memory.secrets.scrubber import SecretScrubber
from reverie.server.dreams import LEASE, Dreaming
from reverie.server.dreams import dream as dream_job
from reverie.server.learning import Learner
from reverie.server.worker import JobRun

DEPLOYS = "Remember that we deploy the shop with make ship every Friday."
TALK = [
    {"role": "user", "content": DEPLOYS},
    {"role": "assistant", "content": "Noted: make ship, on Fridays."},
    {"role": "user", "content": "Why is the checkout page slow in Safari?"},
    {"role": "assistant", "content": "The web font blocks rendering; load it asynchronously."},
]


def post(running: Running, tenant: Tenant, at: str, session: str, messages=TALK):
    body = {"messages": messages}
    return running.ask(tenant.admin, "POST", f"{at}/conversations/{session}", body)


def memories(running: Running, tenant: Tenant, at: str) -> list[str]:
    found = running.ask(tenant.admin, "GET", f"{at}/memories")[1]["memories"]
    return [one["description"] for one in found]


def jobs(running: Running, kind: str) -> int:
    with psycopg.connect(running.fleet.owner_url) as connection:
        row = connection.execute("SELECT count(*) FROM pgqueuer WHERE entrypoint = %s", (kind,))
        return row.fetchone()[0]


def test_a_posted_conversation_becomes_memories_once(running: Running):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant)
    status, told, _ = post(running, tenant, at, "monday")
    assert (status, told["added"]) == (202, 4)
    assert memories(running, tenant, at) == []
    # The whole conversation again, with two new messages: only those are added and learnt from.
    more = [{"role": "user", "content": "Remember that staging is rebuilt every night."}]
    assert post(running, tenant, at, "monday", [*TALK, *more])[1]["added"] == 1
    assert post(running, tenant, at, "monday")[:2] == (200, {"session": "monday", "added": 0})
    assert jobs(running, "extract") == 2
    running.work_off()
    found = memories(running, tenant, at)
    assert len(found) == 2
    assert any("make ship" in one for one in found)
    read = running.ask(tenant.admin, "GET", f"{at}/conversations/monday")[1]
    assert (read["count"], read["learnt"], len(read["messages"])) == (5, 5, 5)
    [newest, *_] = running.ask(tenant.admin, "GET", f"{at}/revisions")[1]["revisions"]
    assert newest["author"]["writer"] == "extract"
    assert newest["author"]["session"] == "monday"


def test_what_cannot_be_posted(running: Running):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant)
    assert post(running, tenant, at, "x", [])[0] == 422
    assert "messages[0].role" in post(running, tenant, at, "x", [{"role": "?"}])[1]["detail"]
    team = project(running, tenant, space="everyone")
    assert "private" in post(running, tenant, team, "x")[1]["title"]
    secret = "My key is sk-ant-api03-" + "a1B2c3D4" * 12
    post(running, tenant, at, "secret", [{"role": "user", "content": secret}])
    with psycopg.connect(running.fleet.owner_url) as connection:
        rows = connection.execute("SELECT record::text FROM reverie.messages").fetchall()
        rows += connection.execute("SELECT body FROM reverie.episodes").fetchall()
    assert rows
    assert "a1B2c3D4a1B2" not in str(rows)


def test_what_the_space_keeps_out_is_not_learnt(running: Running):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant)
    rules = {"learning": "## Never keep\n\n- make ship\n", "dream_sessions": 2}
    status, told, _ = running.ask(tenant.admin, "PATCH", "/v1/spaces/ada", rules)
    assert (status, told["dream_sessions"], told["dream_hours"]) == (200, 2, 24.0)
    assert running.ask(tenant.admin, "PATCH", "/v1/spaces/ada", {"dream_hours": "x"})[0] == 422
    post(running, tenant, at, "monday")
    running.work_off()
    assert memories(running, tenant, at) == []


def test_facts_about_the_person_go_to_their_own_memory(running: Running):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant)
    said = "Remember that I prefer short answers without bullet points."
    post(running, tenant, at, "monday", [{"role": "user", "content": said}])
    running.work_off()
    assert memories(running, tenant, at) == []
    person = project(running, tenant, name="person")
    assert len(memories(running, tenant, person)) == 1


def test_conversations_are_searched(running: Running):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant)
    post(running, tenant, at, "monday")
    other = [{"role": "user", "content": "The cat of our neighbour is called Minka."}]
    post(running, tenant, at, "tuesday", other)
    for worked_off in (False, True):
        body = {"question": "what makes the checkout slow in Safari?", "scope": "episodes"}
        found = running.ask(tenant.admin, "POST", f"{at}/search", body)[1]
        assert set(found) == {"episodes"}
        # The answer does not say Safari; it is found by the question beside it.
        assert [hit["session"] for hit in found["episodes"][:2]] == ["monday", "monday"]
        assert "Safari" in found["episodes"][0]["text"]
        if not worked_off:
            running.work_off()
    narrow = {"question": "session:tuesday Minka role:user", "scope": "both"}
    found = running.ask(tenant.admin, "POST", f"{at}/search", narrow)[1]
    assert [hit["session"] for hit in found["episodes"]] == ["tuesday"]
    assert found["memories"]
    listed = running.ask(tenant.admin, "GET", f"{at}/conversations?limit=1")[1]
    assert (len(listed["conversations"]), listed["cursor"]) == (1, "1")
    assert running.ask(tenant.admin, "DELETE", f"{at}/conversations/monday")[0] == 204
    found = running.ask(tenant.admin, "POST", f"{at}/search", body)[1]
    assert {hit["session"] for hit in found["episodes"]} <= {"tuesday"}


# --- dreams ---

TWICE = "---\nname: Ship\ndescription: We deploy with make ship.\ntype: project\ncreated: {}\n---\nWe deploy with make ship.\n"


def two_of_a_kind(running: Running, tenant: Tenant, at: str) -> None:
    for n in (1, 2):
        data = TWICE.format(f"2026-01-0{n}").encode()
        assert (
            running.ask(tenant.admin, "PUT", f"{at}/memories/ship_{n}.md", data, If_None_Match="*")[
                0
            ]
            == 200
        )


def test_a_dream_is_scheduled_when_enough_was_said(running: Running):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant)
    running.ask(tenant.admin, "PATCH", "/v1/spaces/ada", {"dream_sessions": 2})
    post(running, tenant, at, "one")
    assert jobs(running, "dream") == 0
    post(running, tenant, at, "two")
    post(running, tenant, at, "three")
    assert jobs(running, "dream") == 1
    two_of_a_kind(running, tenant, at)
    running.work_off()
    [dream] = running.ask(tenant.admin, "GET", f"{at}/dreams")[1]["dreams"]
    assert dream["state"] == "completed", dream
    assert dream["report"]["changes"]
    post(running, tenant, at, "four")
    post(running, tenant, at, "five", [{"role": "user", "content": "Good morning!"}])
    with psycopg.connect(running.fleet.owner_url) as connection:
        [(late,)] = connection.execute(
            "SELECT execute_after > now() + interval '20 hours' FROM pgqueuer WHERE entrypoint = 'dream'"
        ).fetchall()
    assert late
    assert running.ask(tenant.admin, "POST", f"{at}/dreams")[1] == {"enqueued": False}


@pytest.fixture
def dreaming(running: Running, tmp_path: Path):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant)
    two_of_a_kind(running, tenant, at)
    row = tenant.tenancy.row(at.rpartition("/")[2])
    database = Database(running.fleet.worker_url).open()
    learner = Learner(running.clock, SecretScrubber(tmp_path / "allowed"), None)

    def job(number: int) -> JobRun:
        place = {"org": row.org, "space": row.space, "project": row.project}
        return JobRun(database, place, f"dream/{number}")

    yield tenant, at, learner, job
    database.close()


def revisions(running: Running, tenant: Tenant, at: str) -> list[str]:
    found = running.ask(tenant.admin, "GET", f"{at}/revisions")[1]["revisions"]
    return [one["author"]["writer"] for one in found]


def test_a_dream_comes_once_and_not_beside_another(running: Running, dreaming):
    tenant, at, learner, job = dreaming
    lease = f"{at}/leases/{LEASE}"
    other = {"holder": "a laptop", "seconds": 60}
    assert running.ask(tenant.admin, "PUT", lease, other)[0] == 200
    dream_job(learner, job(1))
    assert revisions(running, tenant, at) == ["user", "user"]
    assert running.ask(tenant.admin, "DELETE", f"{lease}?holder=a%20laptop")[0] == 204
    dream_job(learner, job(1))
    made = revisions(running, tenant, at)
    assert made[0] == "dream"
    dream_job(learner, job(1))
    assert revisions(running, tenant, at) == made
    assert len(running.ask(tenant.admin, "GET", f"{at}/dreams")[1]["dreams"]) == 1
    # The lease was given back.
    assert running.ask(tenant.admin, "PUT", lease, other)[0] == 200


def test_a_dream_that_lost_its_lease_changes_nothing(running: Running, dreaming):
    tenant, at, learner, job = dreaming
    mine = job(2)

    async def slow(branch: Branch) -> Dreamt:
        done = await tidy_dreamer()(branch)
        with mine.entered() as connection:
            sharing.give_lease_back(connection, mine.project, LEASE, mine.name)
            assert sharing.take_lease(connection, mine.project, LEASE, "another", 60)
        return done

    Dreaming(learner, mine, "late").run(slow)
    assert revisions(running, tenant, at) == ["user", "user"]
    [report] = running.ask(tenant.admin, "GET", f"{at}/dreams")[1]["dreams"]
    assert report["state"] == "failed"
    assert "took over" in report["report"]["why"]


def test_a_change_meanwhile_is_kept(running: Running, dreaming):
    """The dream works on a copy: what is written meanwhile is merged with, never lost."""
    tenant, at, learner, job = dreaming
    text = "The office plant is a ficus that needs water on Mondays."

    async def slow(branch: Branch) -> Dreamt:
        done = await tidy_dreamer()(branch)
        assert running.ask(tenant.admin, "POST", f"{at}/remember", {"text": text})[0] == 201
        return done

    Dreaming(learner, job(3), "busy").run(slow)
    assert revisions(running, tenant, at)[:2] == ["dream", "user"]
    assert any("ficus" in one for one in memories(running, tenant, at))
    index = running.ask(tenant.admin, "GET", f"{at}/index")[1].decode()
    assert "ficus" in index


def test_dreams_of_clients_take_the_lease(running: Running, tmp_path: Path, place: Place):
    """Two machines do not dream at once, and what a dream writes without its lease is refused."""
    tenant = running.fleet.tenant("acme")
    with Memory.open(f"{running.url}/shop", home=tmp_path / "a", key=tenant.admin) as memory:
        memory.remember("We deploy the shop with make ship every Friday.")
        app, opened = memory._app, memory._memory
        path = f"{opened.store.path}/leases/{LEASE}"
        other = {"holder": "elsewhere", "seconds": 60}
        assert running.ask(tenant.admin, "PUT", path, other)[0] == 200
        refused = asyncio.run(dream(app, opened, DreamOptions(use_model=False)))
        assert isinstance(refused, NotDue)
        assert "another machine" in refused.reason
        running.ask(tenant.admin, "DELETE", f"{path}?holder=elsewhere")

        async def slow(branch: Branch) -> Dreamt:
            assert running.ask(tenant.admin, "PUT", path, other)[0] == 409
            holder = opened.store.lease.told["holder"]
            running.ask(tenant.admin, "DELETE", f"{path}?holder={quote(holder)}")
            assert running.ask(tenant.admin, "PUT", path, other)[0] == 200
            return await tidy_dreamer()(branch)

        lost = asyncio.run(dream(app, opened, dreamer=slow))
        assert (lost.state, opened.store.lease.told) == ("failed", None)
        named = {"name": LEASE, "holder": "someone else"}
        change = {"file": "x.md", "data": "eA==", "base": None}
        body = {"changes": [change], "summary": "x", "author": {}, "lease": named}
        assert running.ask(tenant.admin, "POST", f"{opened.store.path}/changes", body)[0] == 409
        running.ask(tenant.admin, "DELETE", f"{path}?holder=elsewhere")
        assert asyncio.run(dream(app, opened, DreamOptions(use_model=False))).state == "completed"
        assert running.ask(tenant.admin, "PUT", path, other)[0] == 200
