"""Which memories of a project in PostgreSQL a new one is compared with."""

import pytest
from tests.postgres.running import Tenant
from tests.postgres.serving import Running
from tests.postgres.test_api import project

from reverie.memory.format.revisions import Author, Put
from reverie.memory.postgres.store import PostgresStore
from reverie.server.running import embedder
from reverie.server.search import index_files, meaning_by


def memory(text: str, more: str = "") -> bytes:
    return f"---\nname: x\ndescription: {text}\ntype: project\n{more}---\n{text}\n".encode()


@pytest.fixture
def kept(running: Running) -> tuple[Tenant, PostgresStore]:
    tenant = running.fleet.tenant("acme")
    row = tenant.tenancy.row(project(running, tenant).rpartition("/")[2])
    meaning = meaning_by(embedder())
    database = running.fleet.database
    return tenant, PostgresStore(database, tenant.admin, row, tenant.clock, index_files, meaning)


def test_the_rarest_words_and_the_shortest_text_come_first(kept: tuple[Tenant, PostgresStore]):
    _, store = kept
    files = {f"team_{n}.md": f"The team number {n} meets on Monday." for n in range(30)}
    files["odd.md"] = "Kestrel is the team that meets on Monday."
    files["long.md"] = "Kestrel " + " ".join(f"word{n}" for n in range(40))
    puts = [Put(name, memory(text)) for name, text in files.items()]
    store.apply(puts, Author("user"), "load")
    found = [entry.file for entry in store.alike("Kestrel meets on Monday")]
    assert {"odd.md", "long.md"} <= set(found)
    assert len(found) <= 12
    assert store.alike("zebra") == ()
    assert store.alike("") == ()
    assert store.alike("\ud800'\\ \0") == ()


def test_memories_that_are_no_longer_current_take_no_place(kept: tuple[Tenant, PostgresStore]):
    _, store = kept
    text = "The nightly build of the shop takes forty minutes."
    puts = [Put(f"old_{n}.md", memory(text, "superseded_by: new.md\n")) for n in range(30)]
    puts += [Put("gone.md", memory(text, "archived: 2026-01-01\n")), Put("new.md", memory(text))]
    store.apply(puts, Author("user"), "load")
    assert [entry.file for entry in store.alike(text)] == ["new.md"]


def test_a_like_meaning_in_other_words(running: Running, kept: tuple[Tenant, PostgresStore]):
    tenant, store = kept
    if embedder() is None:
        pytest.skip("the model of meaning is not installed")
    texts = {
        "car.md": "Our car stands in the garage.",
        "tax.md": "Invoices are archived for ten years.",
        "old.md": "Our automobile stood in a parking garage.",
        **{f"n{n}.md": f"Ticket {n} concerns the printer." for n in range(8)},
    }
    puts = [Put(name, memory(text)) for name, text in texts.items()]
    puts[2] = Put("old.md", memory(texts["old.md"], "superseded_by: car.md\n"))
    store.apply(puts, Author("user"), "load")
    question = "The vehicle is parked beside the building"
    assert "car.md" not in {entry.file for entry in store.alike(question)}
    running.embed(tenant.admin)
    found = {entry.file for entry in store.alike(question)}
    assert "car.md" in found
    assert "old.md" not in found


def test_a_statement_is_planned_once_a_connection(kept: tuple[Tenant, PostgresStore]):
    _, store = kept
    with store.connection() as connection:
        for day in ("Monday", "Tuesday", "Friday"):
            store.alike(f"Kestrel meets on {day}")
        plans = connection.execute(
            "SELECT sum(generic_plans) >= 3 AS planned_once, sum(custom_plans) AS planned_again "
            "FROM pg_prepared_statements WHERE statement LIKE '%%reverie.topics t WHERE t.project%%'"
        ).fetchone()
    assert plans == {"planned_once": True, "planned_again": 0}
