"""`migrate`: from files to a service and back, without loss."""

from pathlib import Path

import pytest
from tests.cli.run import data, done, failed
from tests.place import Place
from tests.postgres.serving import Running

from reverie import Memory
from reverie.memory.format.revisions import Author
from reverie.memory.history import GitHistory
from reverie.memory.service.opening import to_files
from reverie.memory.store import FileStore
from reverie.workspace import Workspace


def told(store: FileStore) -> tuple[object, object]:
    """Every file with its bytes, and every revision with everything it says and had."""
    history = store.history
    files = {name: store.current(name) for name in history.files()}
    revisions = [
        (r.id, r.at, r.author, r.summary, r.files, history.files(r.id)) for r in history.log()
    ]
    return files, revisions


def test_there_and_back(running: Running, place: Place, monkeypatch: pytest.MonkeyPatch):
    key = running.fleet.tenant("acme").admin
    monkeypatch.setenv("REVERIE_KEY", key)
    assert "nothing to move" in failed("migrate", "files", running.url)
    first = data("remember", "We deploy the shop with make ship every Friday.")["file"]
    data("remember", "The office plant is a ficus called Bert.")
    path = place.app().memory().path_of(first)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n") + b"\xff odd bytes, no newline")
    done("log")
    done("undo")
    before = place.app().memory().store
    expected = told(before)
    assert "all bytes are the same" in done("migrate", "files", running.url)
    remote = place.app(f"store.url={running.url}").memory().store
    assert told(remote) == expected
    assert "has memories already" in failed("migrate", "files", running.url)
    assert "has a memory already" in failed("migrate", running.url, "files")
    # Back, into another home: the same commits, down to their ids.
    home = place.base / "other"
    assert data("migrate", running.url, "files", "--home", home)["renamed"] == 0
    again = Workspace.open(place.root, home=home).memory().store
    assert told(again) == expected
    assert again.notice_hand_edits() is None


def test_revisions_made_by_a_service_become_commits(running: Running, tmp_path: Path, place: Place):
    key = running.fleet.tenant("acme").admin
    with Memory.open(f"{running.url}/shop", home=tmp_path / "a", key=key) as memory:
        memory.remember("We deploy the shop with make ship every Friday.")
        memory.undo()
        source = memory._memory.store
        target = FileStore(tmp_path / "files", GitHistory(tmp_path / "history.git", place.clock))
        moved = to_files(source, target)
        assert (moved.revisions, moved.renamed) == (2, 2)
        [undone, made] = target.history.log()
        assert undone.author == Author("user", undoes=(made.id,))
        assert made.short in undone.summary
        assert {n: target.current(n) for n in target.history.files()} == {
            n: source.current(n) for n in source.history.files()
        }


def test_what_is_wrong_is_said(place: Place):
    assert "not the address of a service" in failed("migrate", "files", "nowhere")
