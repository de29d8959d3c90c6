"""Many clients of one service, while PostgreSQL restarts: they try again, and nothing is lost or doubled."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.postgres.running import server
from tests.postgres.serving import Running
from tests.postgres.test_api import project

from reverie.errors import WriteConflict
from reverie.memory.service.connection import ServiceConnection

pytestmark = pytest.mark.slow

START = b"---\nname: Shared\n---\nstart\n"


def test_clients_go_on_when_the_database_restarts(running: Running):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant)
    half = 40

    def say(number: int) -> int:
        service = ServiceConnection(running.url, tenant.admin, seconds=60)
        text = f"Machine number {number} of the plant makes part {number * 7} on line {number % 5}."
        body = {"text": text, "even_if_known": True}
        saved = service.send("POST", f"{at}/remember", body).data
        said = [{"role": "user", "content": f"Remember that {text}"}]
        service.send("POST", f"{at}/conversations/c{number}", {"messages": said})
        service.close()
        return number if saved["saved"] else -1

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(say, range(half)))
        later = [pool.submit(say, number) for number in range(half, 2 * half)]
        server().stop()
        server().start()
        done += [one.result() for one in later]
    assert done == list(range(2 * half))
    running.work_off()
    listed = running.ask(tenant.admin, "GET", f"{at}/memories?limit=500")[1]["memories"]
    assert len(listed) == 2 * half
    talks = running.ask(tenant.admin, "GET", f"{at}/conversations?limit=500")[1]["conversations"]
    assert len(talks) == 2 * half
    # Every conversation was learnt from once: what it says was known.
    assert all(one["learnt"] == one["messages"] == 1 for one in talks)


def test_sixteen_writers_on_one_memory(running: Running):
    tenant = running.fleet.tenant("acme")
    path = f"{project(running, tenant)}/memories/shared.md"
    running.ask(tenant.admin, "PUT", path, START, If_None_Match="*")

    def write(number: int) -> int:
        refused = 0
        for turn in range(5):
            while True:
                _, data, headers = running.ask(tenant.admin, "GET", path)
                fresh = data + f"{number}/{turn}\n".encode()
                status = running.ask(tenant.admin, "PUT", path, fresh, If_Match=headers["etag"])[0]
                if status == 200:
                    break
                assert status == 409
                refused += 1
        return refused

    with ThreadPoolExecutor(16) as pool:
        refused = sum(pool.map(write, range(16)))
    lines = running.ask(tenant.admin, "GET", path)[1].decode().split("start\n")[1].split()
    assert sorted(lines) == sorted(f"{n}/{turn}" for n in range(16) for turn in range(5))
    assert refused > 0
    history = running.ask(tenant.admin, "GET", f"{path.partition('/memories')[0]}/revisions")[1]
    assert len(history["revisions"]) == 81


def test_a_conflict_names_the_file(running: Running):
    tenant = running.fleet.tenant("acme")
    at = project(running, tenant)
    running.ask(tenant.admin, "PUT", f"{at}/memories/shared.md", START, If_None_Match="*")
    service = ServiceConnection(running.url, tenant.admin)
    change = {"file": "shared.md", "data": "eA==", "base": None}
    with pytest.raises(WriteConflict, match=r"shared\.md"):
        service.send("POST", f"{at}/changes", {"changes": [change], "summary": "", "author": {}})
    service.close()
