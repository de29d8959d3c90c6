"""No tenant reads or changes another's data: over every endpoint, and by SQL as the application."""

import psycopg
import pytest
from tests.postgres.leaking import Victim, leaks_in_sql, leaks_over_http
from tests.postgres.running import Fleet
from tests.postgres.serving import Running

from reverie.errors import InputError
from reverie.memory.postgres.database import Database, NotAllowed


def snapshot(fleet: Fleet, org: str) -> list[object]:
    """Everything of a tenant, as the owner sees it."""
    from tests.postgres.leaking import TABLES

    with psycopg.connect(fleet.owner_url) as connection:
        return [
            connection.execute(
                f"SELECT * FROM reverie.{t} WHERE org = '{org}' ORDER BY 1, 2, 3"
            ).fetchall()
            for t in TABLES
            if t != "secret"
        ]


def org_of(fleet: Fleet, name: str) -> str:
    with psycopg.connect(fleet.owner_url) as connection:
        found = connection.execute("SELECT org FROM reverie.organisations WHERE name = %s", (name,))
        return str(found.fetchone()[0])


def tried(running: Running, one: str, other: str, most: int) -> int:
    fleet = running.fleet
    intruder = fleet.tenant(one)
    Victim(intruder, one).settle(running)
    victim = Victim(fleet.tenant(other), other).settle(running)
    org = org_of(fleet, other)
    before = snapshot(fleet, org)
    by_http, found = leaks_over_http(running, intruder.admin, victim, most)
    by_sql, more = leaks_in_sql(fleet, intruder.admin, victim, org)
    assert found + more == []
    assert snapshot(fleet, org) == before
    return by_http + by_sql


def test_a_tenant_reaches_nothing_of_another(running: Running):
    assert tried(running, "intruder", "victim", 120) > 400


@pytest.mark.slow
def test_thousands_of_attempts(running: Running):
    pairs = [(f"intruder{n}", f"victim{n}") for n in range(6)]
    count = sum(tried(running, *pair, 10_000) for pair in pairs)
    print(f"{count} attempts")
    assert count >= 2_000


def test_the_attempts_would_find_a_leak(running: Running):
    """The victim's own key is an intruder that gets through."""
    victim = Victim(running.fleet.tenant("victim"), "victim").settle(running)
    _, found = leaks_over_http(running, victim.tenant.admin, victim, 60)
    assert found
    org = org_of(running.fleet, "victim")
    _, found = leaks_in_sql(running.fleet, victim.tenant.admin, victim, org)
    assert found


def test_the_service_refuses_a_role_that_could_see_everything(fleet: Fleet):
    with pytest.raises(InputError, match="can get around row-level security"):
        Database(fleet.owner_url).open()


def test_claims_end_with_their_transaction(fleet: Fleet):
    tenant = fleet.tenant("acme")
    tenant.store()
    with psycopg.connect(fleet.app_url, autocommit=True) as connection:
        with connection.transaction():
            connection.execute("SELECT reverie.enter(%s)", (tenant.admin,))
            claims = connection.execute("SELECT current_setting('reverie.claims')").fetchone()[0]
            assert connection.execute("SELECT count(*) FROM reverie.projects").fetchone() == (1,)
        with connection.transaction():
            # What was sealed for one transaction is nothing in the next.
            connection.execute("SELECT set_config('reverie.claims', %s, true)", (claims,))
            assert connection.execute("SELECT count(*) FROM reverie.projects").fetchone() == (0,)


def test_a_worker_sees_one_space_at_a_time(fleet: Fleet):
    one, two = fleet.tenant("one"), fleet.tenant("two")
    mine, theirs = one.store().project, two.store().project
    database = Database(fleet.worker_url).open()
    with database.entered_for(mine.org, mine.space) as connection:
        rows = connection.execute("SELECT project FROM reverie.projects").fetchall()
        assert [str(row["project"]) for row in rows] == [mine.project]
        assert theirs.project not in repr(rows)
    database.close()
    with pytest.raises(NotAllowed), fleet.database.entered_for(mine.org, mine.space):
        pass
