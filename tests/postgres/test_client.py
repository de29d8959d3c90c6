"""`Memory.open("http://…", key=…)` and `store.url`: the same class, the same results, also offline."""

import socket
from pathlib import Path

import pytest
from tests.cli.run import data, done, run
from tests.place import FixedClock, Place
from tests.postgres.serving import Running

from reverie import Memory
from reverie.memory.service.connection import ServiceAway, ServiceConnection

FACTS = (
    "We deploy the shop with make ship every Friday.",
    "The office plant is a ficus called Bert.",
    "Invoices are numbered by the finance service, never by hand.",
    "The staging database is restored from last night's dump at six.",
)
QUESTIONS = ("when do we deploy?", "what plant is in the office?", "who numbers invoices?", "dumps")


@pytest.fixture
def key(running: Running) -> str:
    return running.fleet.tenant("acme").admin


def test_the_same_results_as_files(running: Running, key: str, tmp_path: Path, place: Place):
    clock = FixedClock()
    files = Memory.open(place.root, home=tmp_path / "a", clock=clock)
    remote = Memory.open(
        f"{running.url}/github.com/acme/shop", home=tmp_path / "b", clock=clock, key=key
    )
    with files, remote:
        for memory in (files, remote):
            for fact in FACTS:
                memory.remember(fact, strict=True)
        assert [entry.file for entry in remote] == [entry.file for entry in files]
        for question in QUESTIONS:
            expected = [(hit.file, hit.score, hit.text) for hit in files.recall(question)]
            assert [(h.file, h.score, h.text) for h in remote.recall(question)] == expected
        first = next(iter(remote)).file
        assert remote.read(first).body == files.read(first).body
        assert [r.summary for r in remote.history()] == [r.summary for r in files.history()]
        remote.undo()
        files.undo()
        assert [entry.file for entry in remote] == [entry.file for entry in files]
        remote.redo()
        remote.forget(first)
        assert first not in [entry.file for entry in remote]


def test_two_machines_see_each_other(running: Running, key: str, tmp_path: Path, place: Place):
    address = f"{running.url}/shop"
    one = Memory.open(address, home=tmp_path / "a", key=key)
    two = Memory.open(address, home=tmp_path / "b", key=key)
    one.remember(FACTS[0])
    assert [hit.text for hit in two.recall(QUESTIONS[0])][:1] == [FACTS[0]]
    one.close()
    two.close()


def test_recall_goes_on_while_the_service_is_away(
    running: Running, key: str, tmp_path: Path, place: Place, caplog: pytest.LogCaptureFixture
):
    clock = FixedClock()
    address = f"{running.url}/shop"
    with Memory.open(address, home=tmp_path / "a", clock=clock, key=key) as memory:
        memory.remember(FACTS[0])
        assert memory.recall(QUESTIONS[0])
    running.close()
    clock.advance(7_200)
    with Memory.open(address, home=tmp_path / "a", clock=clock, key=key) as memory:
        with caplog.at_level("INFO"):
            assert [hit.text for hit in memory.recall(QUESTIONS[0])][:1] == [FACTS[0]]
        assert "memory is as of 2 hours ago" in caplog.text
    with pytest.raises(ServiceAway, match="does not answer"):
        Memory.open(address, home=tmp_path / "new", key=key).recall("anything")


def test_every_command_works_on_a_service(
    running: Running, key: str, place: Place, monkeypatch: pytest.MonkeyPatch
):
    place.settings(f'store.url = "{running.url}"')
    assert f"no key for {running.url} in REVERIE_KEY" in run("list").stderr
    monkeypatch.setenv("REVERIE_KEY", key)
    file = data("remember", FACTS[0])["file"]
    assert [row["file"] for row in data("list")] == [file]
    assert "services" in done("list").splitlines()[-1]
    assert FACTS[0] in done("show", file)
    assert data("log", file)[0]["files"]
    assert FACTS[0] in done("diff")
    assert done("blame", file)
    assert file in done("recall", QUESTIONS[0])
    done("undo")
    assert data("list") == []
    done("redo")
    edited = place.app().memory().path_of(file)
    edited.write_text(edited.read_text().replace("Friday", "Monday"))
    assert "edited by hand" in data("log")[0]["summary"]
    assert "Monday" in done("show", file)
    monkeypatch.setenv("REVERIE_KEY", "rev1.wrong")
    assert "does not accept this key" in run("list").stderr


def test_what_is_listed_says_how_old_it_is(
    running: Running, key: str, place: Place, monkeypatch: pytest.MonkeyPatch
):
    place.settings(f'store.url = "{running.url}"')
    monkeypatch.setenv("REVERIE_KEY", key)
    file = data("remember", FACTS[0])["file"]
    assert run("list").stderr == ""
    running.close()
    for command in (("list",), ("show", file)):
        assert "the service is away; memory is as of" in run(*command).stderr


def test_a_project_cannot_name_a_service(place: Place, running: Running):
    place.settings(f'store.url = "{running.url}"', "project")
    assert "store.url" in run("list").stderr


def test_a_conflicting_hand_edit_keeps_both(running: Running, key: str, tmp_path: Path):
    memories = [
        Memory.open(f"{running.url}/shop", home=tmp_path / name, key=key) for name in ("a", "b")
    ]
    file = memories[0].remember(FACTS[0]).topic.file
    for memory in memories:
        list(memory)
    for memory, day in zip(memories, ("Monday", "Tuesday"), strict=True):
        path = memory.directory / file
        path.write_text(path.read_text().replace("Friday", day))
    for memory in memories:
        memory.history()
    texts = [memories[1].read(entry.file).body for entry in memories[1]]
    assert sorted("Monday" in text for text in texts) == [False, True]
    assert any("Tuesday" in text for text in texts)
    memories[0].forget(file, everywhere=True)
    # Opened again it asks at once; a memory that is open asks every few seconds.
    again = Memory.open(f"{running.url}/shop", home=tmp_path / "b", key=key)
    assert file not in [entry.file for entry in again]
    for memory in (*memories, again):
        memory.close()


def test_recall_of_the_service_agrees_with_files(
    running: Running, key: str, tmp_path: Path, place: Place
):
    """Search in PostgreSQL has the same judge and fusion: the best hit agrees, and nearly its chance."""
    address = f"{running.url}/shop"
    with Memory.open(address, home=tmp_path / "a", key=key) as memory:
        for fact in FACTS:
            memory.remember(fact, strict=True)
        running.embed(key)
        path = memory._memory.store.path
        for question in QUESTIONS:
            body = {"question": question, "limit": 3}
            hits = running.ask(key, "POST", f"{path}/recall", body)[1]["hits"]
            expected = memory.recall(question, limit=3)
            assert hits[0]["file"] == expected[0].file
            assert hits[0]["score"] == pytest.approx(expected[0].score, abs=0.05)


def test_a_connection_that_the_service_closed_is_not_an_absence(running: Running, key: str):
    service = ServiceConnection(running.url, key)
    assert service.get("/v1/whoami").data["admin"] is True
    [kept] = service._idle
    # As the service does with one that was idle for some seconds.
    kept.sock.shutdown(socket.SHUT_RDWR)
    assert service.get("/v1/whoami").data["admin"] is True
    running.close()
    with pytest.raises(ServiceAway):
        service.get("/v1/whoami")
    service.close()
