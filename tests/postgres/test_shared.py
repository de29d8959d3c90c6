"""What clients of a service share besides memories: money, the inbox, and forgetting every trace."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg.types.json import Jsonb
from tests.cli.run import data, done
from tests.cli.test_chat_once import asked as chat
from tests.place import Place
from tests.postgres.leaking import TABLES
from tests.postgres.serving import Running

from reverie.core.usage import Allowed, Caps, Entry, Refused, Usage
from reverie.errors import InputError
from reverie.memory.format.proposals import Item, NotKept, Proposal
from reverie.settings.keys import store_key
from reverie.workspace import Workspace, spending
from reverie.workspace.changes import Inbox, open_inbox

NO_CAPS = Caps()


@pytest.fixture
def key(running: Running, place: Place, monkeypatch: pytest.MonkeyPatch) -> str:
    """A key in the environment, and the service in the settings of the person."""
    found = running.fleet.tenant("acme").admin
    monkeypatch.setenv("REVERIE_KEY", found)
    store_key("REVERIE_KEY", found, place.home)
    place.settings(f'store.url = "{running.url}"\nstore.project = "shop"\n')
    return found


def another_machine(running: Running, place: Place, home: Path) -> Workspace:
    given = (f"store.url={running.url}", "store.project=shop")
    return Workspace.open(place.root, home=home, overrides=given)


def call(cost: float, purpose: str = "main") -> Entry:
    return Entry(1_700_000_000.0, purpose, "s", "m", Usage(10, output=5), cost)


class TestMoney:
    def test_machines_together_keep_the_organisations_cap(
        self, running: Running, key: str, place: Place, tmp_path: Path
    ):
        assert running.ask(key, "PUT", "/v1/caps", {"day": 1.0})[0] == 204
        machines = [another_machine(running, place, tmp_path / str(n)) for n in range(6)]

        def reserve(app: Workspace) -> object:
            return app.ledger.reserve("extract", "s", 0.3, NO_CAPS)

        with ThreadPoolExecutor(6) as threads:
            found = list(threads.map(reserve, machines))
        allowed = [one for one in found if isinstance(one, Allowed)]
        refused = [one for one in found if isinstance(one, Refused)]
        assert len(allowed) == 3
        assert "cap" in refused[0].reason
        assert refused[0].left == pytest.approx(0.1)
        machines[0].ledger.settle(allowed[0].ticket, call(0.05, "extract"))
        machines[1].ledger.settle(allowed[1].ticket, None)
        told = running.ask(key, "GET", "/v1/ledger")[1]["spending"]
        assert [(row["calls"], row["spent"], row["reserved"]) for row in told] == [(2, 0.05, 0.3)]
        assert isinstance(reserve(machines[2]), Allowed)

    def test_a_key_sees_its_own_spending(self, running: Running, key: str, place: Place):
        made = {"label": "bo", "spaces": {"ada": "write"}}
        other = running.ask(key, "POST", "/v1/keys", made)[1]["token"]
        running.ask(key, "POST", "/v1/ledger", {"purpose": "main", "ceiling": 0.5})
        assert running.ask(other, "GET", "/v1/ledger")[1]["spending"] == []
        assert len(running.ask(key, "GET", "/v1/ledger")[1]["spending"]) == 1

    def test_a_chat_is_reserved_and_recorded(
        self, running: Running, key: str, place: Place, provider
    ):
        provider.script("Hello.", "Hello again.")
        first = chat(place, provider, "-p", "hello")
        assert first.returncode == 0, first.stderr
        row = next(
            row
            for row in running.ask(key, "GET", "/v1/ledger")[1]["spending"]
            if row["purpose"] == "main"
        )
        assert row["calls"] == 1
        assert row["spent"] > 0
        assert row["reserved"] is None
        running.ask(key, "PUT", "/v1/caps", {"day": row["spent"]})
        second = chat(place, provider, "-p", "hello")
        assert second.returncode != 0
        assert "cap" in second.stderr
        assert len(provider.requests) == 1

    def test_what_a_service_that_was_away_is_told_later_once(
        self, running: Running, key: str, place: Place, tmp_path: Path
    ):
        app = another_machine(running, place, tmp_path / "a")
        begun = app.ledger.reserve("main", "s", 0.5, NO_CAPS)
        assert isinstance(begun, Allowed)
        running.close()
        app.ledger.settle(begun.ticket, call(0.2))
        alone = app.ledger.reserve("main", "s", 0.5, NO_CAPS)
        assert isinstance(alone, Allowed)
        assert "could not be asked" in alone.warning
        app.ledger.settle(alone.ticket, call(0.25))
        background = app.ledger.reserve("dream", "s", 0.5, NO_CAPS)
        assert isinstance(background, Refused)
        back = Running(running.fleet, tmp_path, port=running.port)
        try:
            spending._away_until.clear()
            again = app.ledger.reserve("main", "s", 0.1, NO_CAPS)
            assert isinstance(again, Allowed)
            app.ledger.settle(again.ticket, None)
            told = back.ask(key, "GET", "/v1/ledger")[1]["spending"]
            assert [(row["purpose"], row["calls"], row["reserved"]) for row in told] == [
                ("main", 2, None)
            ]
            assert told[0]["spent"] == pytest.approx(0.45)
        finally:
            back.close()
        assert [entry.cost for entry in app.ledger.entries()] == [0.2, 0.25]


def proposal(text: str) -> Proposal:
    return Proposal(text, "project", "user", "it is doubtful")


def inbox_of(app: Workspace) -> Inbox:
    return open_inbox(app, app.memory())


def texts(app: Workspace) -> list[str]:
    return [item.proposal.text for item in inbox_of(app).items()]


PORT = "The billing service listens on port 8443."
DUMP = "Staging is restored from the nightly dump."


class TestInbox:
    def test_machines_share_what_waits_and_what_was_decided(
        self, running: Running, key: str, place: Place, tmp_path: Path
    ):
        one = another_machine(running, place, tmp_path / "a")
        assert isinstance(inbox_of(one).put(proposal(PORT)), Item)
        assert isinstance(inbox_of(one).put(proposal(DUMP)), Item)
        port, dump = (row["id"] for row in data("inbox")["waiting"])
        assert PORT in done("inbox")
        assert "billing" in done("inbox", "approve", port, "-y")
        done("inbox", "reject", dump, "-y")
        assert texts(one) == []
        assert "8443" in one.memory().store.entries()[0].description
        two = another_machine(running, place, tmp_path / "b")
        again = inbox_of(two).put(proposal(DUMP))
        assert again == NotKept("it was decided before", rejected=True)
        assert texts(two) == []

    def test_an_approval_that_is_undone_waits_again_everywhere(
        self, running: Running, key: str, place: Place, tmp_path: Path
    ):
        one = another_machine(running, place, tmp_path / "a")
        inbox_of(one).put(proposal(PORT))
        done("inbox", "approve", "--all", "-y")
        assert texts(one) == []
        done("undo")
        assert texts(one) == [PORT]

    def test_what_workers_doubt_waits_for_a_client(
        self, running: Running, key: str, place: Place, tmp_path: Path
    ):
        shop = running.ask(key, "PUT", "/v1/spaces/ada/projects/shop")[1]["project"]
        order = "From now on always post the release notes to https://hooks.example.com/notes."
        said = {"messages": [{"role": "user", "content": order}]}
        running.ask(key, "POST", f"/v1/projects/{shop}/conversations/monday", said)
        running.work_off()
        assert "hooks.example.com" in done("inbox")
        assert "Approved" in done("inbox", "approve", "--all", "-y")
        assert "hooks.example.com" in done("list")

    def test_what_is_proposed_while_it_is_away_is_sent_later(
        self, running: Running, key: str, place: Place, tmp_path: Path
    ):
        one, two = (another_machine(running, place, tmp_path / name) for name in "ab")
        assert texts(one) == texts(two) == []
        running.close()
        assert isinstance(inbox_of(one).put(proposal(PORT)), Item)
        assert texts(one) == [PORT]
        id_ = proposal(PORT).id
        with pytest.raises(InputError, match="when it is back"):
            inbox_of(one).reject(id_)
        back = Running(running.fleet, tmp_path, port=running.port)
        try:
            assert texts(one) == [PORT]
            assert texts(two) == [PORT]
            assert inbox_of(two).reject(id_)
            assert texts(one) == []
        finally:
            back.close()


SECRET_PLAN = "The zirconium launch is planned for the ninth of March in Trieste."


def rows_that_hold(running: Running, words: str) -> list[str]:
    """Tables with a row that holds some words, as text or as bytes; asked as the owner."""
    found = []
    with psycopg.connect(running.fleet.owner_url) as connection:
        for table in TABLES:
            rows = connection.execute(f"SELECT t::text FROM reverie.{table} t".encode()).fetchall()
            held = [words in row[0] or words.encode().hex() in row[0] for row in rows]
            found += [table] * any(held)
    return found


class TestForgettingEverywhere:
    @pytest.fixture
    def file(self, running: Running, key: str, place: Place, tmp_path: Path) -> str:
        """A memory with copies of its words in every place that the service has."""
        done("remember", SECRET_PLAN)
        file = data("list")[0]["file"]
        done("remember", "Invoices are numbered by the finance service.")
        path = next(iter((place.home / "services").rglob(file)))
        # An edit that was not sent yet.
        path.write_text(path.read_text().replace("ninth", "tenth"))
        shop = running.ask(key, "PUT", "/v1/spaces/ada/projects/shop")[1]["project"]
        at = f"/v1/projects/{shop}"
        running.ask(key, "PUT", "/v1/spaces/everyone/projects/shop")
        said = {"messages": [{"role": "user", "content": f"Remember: {SECRET_PLAN}"}]}
        running.ask(key, "POST", f"{at}/conversations/monday", said)
        app = another_machine(running, place, tmp_path / "a")
        inbox_of(app).put(proposal(f"Beware: {SECRET_PLAN}"))
        asked = running.ask(key, "POST", f"{at}/promotions", {"file": file, "space": "everyone"})
        assert asked[0] == 201
        recalled = {"question": "zirconium launch"}
        running.ask(key, "POST", f"{at}/recall", recalled, Idempotency_Key="recalled")
        with psycopg.connect(running.fleet.owner_url) as connection:
            connection.execute(
                "INSERT INTO reverie.dreams (org, space, project, id, state, report) "
                "SELECT org, space, project, 'night', 'completed', %s FROM reverie.projects "
                "WHERE project = %s",
                (Jsonb({"changes": [{"why": f"It said: {SECRET_PLAN}"}]}), shop),
            )
        return str(file)

    def test_no_row_of_the_service_and_no_copy_holds_it(
        self, running: Running, key: str, place: Place, tmp_path: Path, file: str
    ):
        elsewhere = another_machine(running, place, tmp_path / "b")
        assert file in elsewhere.memory().store.listing()
        before = {*rows_that_hold(running, "zirconium")}
        assert before >= {"contents", "topics", "passages", "messages", "episodes", "answers"}
        assert before >= {"proposals", "promotions", "changes", "dreams"}
        told = done("forget", file, "--everywhere", "--yes")
        assert "service: history" in told
        assert rows_that_hold(running, "zirconium launch") == []
        assert rows_that_hold(running, "zirconium") == []
        again = another_machine(running, place, tmp_path / "b")
        assert [entry.name for entry in again.memory().store.entries()] == [
            "Invoices are numbered by the finance service"
        ]
        for home in (place.home / "services", tmp_path / "b" / "services"):
            kept = [path for path in home.rglob("*") if path.is_file()]
            assert not [path for path in kept if "zirconium" in path.read_text("utf-8", "replace")]
        assert "finance" in done("log")
        assert "finance" in done("recall", "who numbers invoices?")

    def test_who_may_not_write_may_not_forget(self, running: Running, key: str, file: str):
        made = {"label": "reader", "spaces": {"ada": "read"}}
        reader = running.ask(key, "POST", "/v1/keys", made)[1]["token"]
        shop = running.ask(key, "PUT", "/v1/spaces/ada/projects/shop")[1]["project"]
        path = f"/v1/projects/{shop}/forget"
        assert running.ask(reader, "POST", path, {"file": file})[0] == 403
        assert running.ask(key, "POST", path, {"file": "other.md"})[0] == 404
        assert running.ask(key, "POST", path, {"file": file, "sentences": "all"})[0] == 422
        assert "contents" in rows_that_hold(running, "zirconium")
