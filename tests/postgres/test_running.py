"""The service as a process, jobs that come twice or fail, and a database that restarts."""

import asyncio
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
import yaml
from tests.cli.run import data, failed, hears_signals
from tests.place import Place
from tests.postgres.running import Fleet, empty_database, fresh_database, server
from tests.postgres.serving import Running

from reverie.memory.format.revisions import Author, Put
from reverie.memory.postgres.database import APP, WORKER, Database, migrate, with_role
from reverie.memory.postgres.tenants import create_organisation
from reverie.memory.service.connection import ServiceConnection
from reverie.server.worker import Worker

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_serve_as_a_process(place: Place, fleet: Fleet):
    key = fleet.tenant("acme").admin
    command = [sys.executable, "-m", "reverie", "serve", "--port", "0", "--home", str(place.home)]
    process = subprocess.Popen(
        [*command, "--database", fleet.owner_url],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(place.person)},
        preexec_fn=hears_signals,
    )
    try:
        line = process.stderr.readline()
        assert line.startswith("Reverie serves on http://127.0.0.1:"), line
        url = line.split()[3].rstrip(";")
        connection = ServiceConnection(url, key)
        assert connection.get("/v1/whoami").data["admin"] is True
        connection.close()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode in (0, -signal.SIGTERM)


def test_tenants_by_command(place: Place, monkeypatch: pytest.MonkeyPatch):
    url = fresh_database()
    at = ["--database", url]
    monkeypatch.setenv("REVERIE_KEY", data("tenants", "organisation", "acme", *at)["token"])
    assert "already" in failed("tenants", "organisation", "acme", *at)
    data("tenants", "space", "ada", *at)
    token = data("tenants", "create", "laptop", "--write", "ada", *at)["token"]
    assert "no such space" in failed("tenants", "create", "x", "--read", "nowhere", *at)
    [first, second] = data("tenants", "list", *at)["keys"]
    assert (first["admin"], second["spaces"]) == (True, {"ada": "write"})
    assert token not in str(data("tenants", "list", *at))
    fresh = data("tenants", "rotate", second["key"], *at)["token"]
    assert fresh != token
    data("tenants", "revoke", second["key"], *at)
    assert "no key" in failed("tenants", "revoke", second["key"], *at)
    monkeypatch.setenv("REVERIE_KEY", fresh)
    assert "unknown, expired or revoked" in failed("tenants", "list", *at)
    assert "cannot be used" in failed(
        "tenants", "list", "--database", "postgresql://x@127.0.0.1:1/x"
    )


def test_migrations_run_once_and_never_back():
    url = fresh_database()
    assert migrate(url) == ()
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO reverie_migrations (name) VALUES ('9999_future')")
    with pytest.raises(Exception, match="install the newer Reverie"):
        migrate(url)


def test_a_job_that_comes_twice_works_once(fleet: Fleet):
    project = fleet.tenant("acme").store().project
    database = Database(fleet.worker_url).open()
    done = []
    worker = Worker(database, {"count": lambda connection, detail: done.append(detail["n"])})
    payload = f'{{"org": "{project.org}", "space": "{project.space}", "n": 1}}'.encode()
    for _ in range(3):
        worker._once("count", 7, payload)
    assert done == [1]
    database.close()


def test_a_poison_job_is_set_aside_with_its_reason(fleet: Fleet):
    project = fleet.tenant("acme").store().project
    with psycopg.connect(fleet.owner_url, autocommit=True) as connection:
        for kind in ("poison", "stop"):
            detail = f'{{"org": "{project.org}", "space": "{project.space}"}}'.encode()
            connection.execute(
                "INSERT INTO pgqueuer (priority, entrypoint, payload, status) "
                "VALUES (%s, %s, %s, 'queued')",
                (1 if kind == "poison" else 0, kind, detail),
            )

    async def work() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()

        def poison(connection, detail):
            raise ValueError("this memory cannot be embedded")

        effects = {
            "poison": poison,
            "stop": lambda connection, detail: loop.call_soon_threadsafe(stop.set) and None,
        }
        database = Database(fleet.worker_url).open()
        await asyncio.wait_for(Worker(database, effects).run(stop), 60)
        database.close()

    asyncio.run(work())
    with psycopg.connect(fleet.owner_url) as connection:
        [(kind, status)] = connection.execute("SELECT entrypoint, status FROM pgqueuer").fetchall()
        assert (kind, status) == ("poison", "failed")
        reasons = connection.execute("SELECT traceback FROM pgqueuer_log WHERE status = 'failed'")
        assert "cannot be embedded" in str(reasons.fetchall())


def test_writers_go_on_when_the_database_restarts(running: Running):
    tenant = running.fleet.tenant("acme")
    store = tenant.store()

    def write(number: int) -> None:
        text = f"---\nname: {number}\n---\n{number}\n".encode()
        store.apply([Put(f"m{number}.md", text)], Author("user"), "write")

    with ThreadPoolExecutor(4) as pool:
        running_writes = [pool.submit(write, number) for number in range(12)]
        server().stop()
        server().start()
        for one in running_writes:
            one.result()
    assert len(store.entries()) == 12


def example_steps() -> dict[str, list[tuple[list[str], set[str]]]]:
    """The commands of both examples in their order, with the variables they are given."""
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    objects = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
    containers = [
        container
        for one in objects
        if "template" in one["spec"]
        for container in one["spec"]["template"]["spec"]["containers"]
    ]
    return {
        "compose": [
            (compose[name]["command"].split(), set(compose[name]["environment"]))
            for name in ("migrate", "service", "worker")
        ],
        "kubernetes": [
            (one["args"], {variable["name"] for variable in one["env"]}) for one in containers
        ],
    }


@pytest.mark.parametrize("example", ["compose", pytest.param("kubernetes", marks=pytest.mark.slow)])
def test_the_examples_run(example: str, place: Place):
    """Each with its own role's address: the schema first, then the service, then a worker."""
    url = server().url(database=empty_database())
    roles = {
        "migrate": url,
        "serve": with_role(url, APP, "pw"),
        "worker": with_role(url, WORKER, "pw"),
    }
    processes = []
    try:
        for arguments, variables in example_steps()[example]:
            kind = "migrate" if "--migrate-only" in arguments else arguments[0]
            given = {"REVERIE_DATABASE": roles[kind], "REVERIE_DATABASE_PASSWORD": "pw"}
            assert variables <= set(given)
            more = ["--port", "0"] if kind == "serve" else []
            process = subprocess.Popen(
                [sys.executable, "-m", "reverie", *arguments, *more, "--home", str(place.home)],
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, **{name: given[name] for name in variables}},
                preexec_fn=hears_signals,
            )
            if kind == "migrate":
                told = process.communicate(timeout=60)[1]
                assert process.returncode == 0, told
                key = create_organisation(url, "acme")
            else:
                processes.append(process)
            if kind == "serve":
                line = process.stderr.readline()
                connection = ServiceConnection(line.split()[3].rstrip(";"), key)
                connection.send("POST", "/v1/spaces", {"name": "ada", "kind": "private"})
                found = connection.send("PUT", "/v1/spaces/ada/projects/shop", {}).data
                path = f"/v1/projects/{found['project']}"
                said = [{"role": "user", "content": "Remember that we deploy with make ship."}]
                connection.send("POST", f"{path}/conversations/one", {"messages": said})
        # The worker learns from what was posted to the service; the queue tells of every change.
        with psycopg.connect(url, autocommit=True) as queue:
            queue.execute("LISTEN ch_pgqueuer")
            while not (memories := connection.get(f"{path}/memories").data["memories"]):
                assert list(queue.notifies(timeout=60, stop_after=1))
        assert [one["description"] for one in memories] == ["We deploy with make ship."]
        connection.close()
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0, 0]
