"""`log`, `diff`, `blame`, `undo`: earlier states of memory, and undoing changes."""

import pytest
from tests.cli.memories import AUDIT, PERSON, TESTS, directory, remembered
from tests.cli.run import data, done, failed, run
from tests.place import Place

from reverie.memory.changes.keeper import NewMemory
from reverie.memory.format.revisions import Author


@pytest.fixture(autouse=True)
def fixed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: place.clock)


def learnt(place: Place, text: str, author: Author) -> str:
    """Save a memory as a session or a dream."""
    outcome = place.app().memory().keeper.remember(NewMemory(text, origin="assistant"), author)
    return outcome.revision.id  # type: ignore[union-attr]


def test_the_log(place: Place):
    first = remembered(AUDIT)
    session = Author("extract", session="0442a060-77", messages=("m1", "m2"), model="claude")
    learnt(place, TESTS, session)
    (directory(place) / first["file"]).write_text("---\nname: by hand\n---\nx\n")
    rows = data("log")
    assert [row["summary"] for row in rows] == [
        f"edited by hand: {first['file']}",
        f"remember {TESTS[:69].rpartition(' ')[0]}…",
        f"remember {AUDIT}",
    ]
    assert rows[1] | {"revision": "", "files": [], "summary": ""} == {
        "revision": "",
        "at": "2025-06-15T11:00:00Z",
        "writer": "extract",
        "session": "0442a060-77",
        "messages": ["m1", "m2"],
        "model": "claude",
        "dream": "",
        "undoes": [],
        "summary": "",
        "files": [],
    }
    lines = done("log").splitlines()
    assert lines[0].split() == ["revision", "when", "who", "what"]
    assert "extract 0442a060" in lines[2]
    assert lines[1].startswith(rows[0]["revision"][:10])
    assert len(data("log", "-n", "1")) == 1
    assert [row["revision"] for row in data("log", first["file"])] == [
        rows[0]["revision"],
        rows[2]["revision"],
    ]


def test_no_history_yet(place: Place):
    assert done("log") == "Nothing has changed in this memory yet.\n"
    assert "no history yet" in failed("diff")
    assert "nothing to undo" in failed("undo")
    assert "no memory 'x', and no change to it in history" in failed("log", "x")
    assert not place.home.exists()


def test_diff(place: Place):
    file = remembered(AUDIT)["file"]
    remembered(TESTS)
    (directory(place) / file).write_text("---\nname: changed\n---\nx\n")
    last = data("diff")
    assert last["diff"].startswith(f"diff --git a/{file}")
    assert "+name: changed" in done("diff")
    assert data("diff", file)["diff"] == last["diff"]
    assert data("diff", "HEAD~1")["diff"] == last["diff"]
    whole = data("diff", "HEAD~2", "HEAD")["diff"]
    assert "MEMORY.md" in whole
    assert data("diff", "HEAD~2", "HEAD", file)["diff"] == last["diff"]
    assert done("diff", "HEAD", "HEAD") == "No difference.\n"
    assert data("diff", "HEAD~2", "HEAD~1", file)["diff"] == ""
    assert data("diff", "HEAD~2", "MEMORY.md")["diff"].startswith("diff --git a/MEMORY.md")


def test_blame(place: Place):
    file = remembered(AUDIT)["file"]
    path = directory(place) / file
    path.write_text(path.read_text() + "by hand\x0cand more\n")
    rows = data("blame", file)
    assert rows[0]["text"] == "---"
    assert rows[-1]["text"] == "by hand\x0cand more"
    assert [row["line"] for row in rows] == list(range(1, len(rows) + 1))
    assert rows[0]["revision"] != rows[-1]["revision"]
    assert done("blame", file).splitlines()[-1].endswith(r"user  by hand\x0cand more")
    assert "no memory 'nope'" in failed("blame", "nope")


def test_undo_the_last_change_and_do_it_again(place: Place):
    file = remembered(AUDIT)["file"]
    text = done("undo")
    assert text.splitlines()[0].endswith(f": remember {AUDIT}")
    assert data("list") == []
    done(*text.splitlines()[-1].split("reverie ")[1].split())
    assert [row["file"] for row in data("list")] == [file]


def test_undo_one_in_the_middle_keeps_what_came_later(place: Place):
    first, second = remembered(AUDIT), remembered(TESTS)
    output = data("undo", first["revision"][:10])
    assert [one["revision"] for one in output["undone"]] == [first["revision"]]
    assert [row["file"] for row in data("list")] == [second["file"]]
    assert second["file"] in data("index")["text"]
    assert "nothing to undo: memory is already as it was" in failed("undo", first["revision"])


def test_undo_what_a_session_or_a_dream_did(place: Place):
    remembered(PERSON)
    learnt(place, AUDIT, Author("extract", session="s1"))
    learnt(place, TESTS, Author("extract", session="s1"))
    learnt(place, "Complaints are tracked in Linear", Author("dream", dream="d1"))
    assert len(data("undo", "--session", "s1")["undone"]) == 2
    assert [row["type"] for row in data("list")] == ["reference", "user"]
    done("undo", "--dream", "d1")
    assert [row["type"] for row in data("list")] == ["user"]
    assert "session 'nope' changed nothing" in failed("undo", "--session", "nope")
    assert "no dream 'nope'" in failed("undo", "--dream", "nope")


def test_a_conflict_names_the_file(place: Place):
    file = remembered(AUDIT)["file"]
    (directory(place) / file).write_text("---\nname: changed\n---\nx\n")
    assert f"cannot undo: {file} changed since" in failed("undo", data("log")[-1]["revision"])


def test_files_that_were_there_before_are_not_undone(place: Place):
    folder = directory(place)
    folder.mkdir(parents=True)
    (folder / "theirs.md").write_text("theirs")
    remembered(AUDIT)
    found = data("log")[-1]
    assert found["summary"] == "found 1 file"
    assert "where this history begins" in failed("undo", found["revision"])
    assert (folder / "theirs.md").exists()


USAGE = [
    ["undo", "HEAD", "--session", "x"],
    ["undo", "--dream", "x", "--session", "x"],
    ["diff", "a", "b", "c"],
    ["diff", "x.md", "HEAD"],
    ["log", "-n", "0"],
    ["blame"],
    ["edit"],
    ["forget"],
    ["pin"],
    ["remember"],
    ["import"],
    ["import", "no-such-file"],
    ["remember", "x", "--type", "mood"],
    ["list", "--type", "mood"],
    ["show", "x", "--as-of", "soon"],
    ["export", "--format", "xml"],
    ["adopt", "claude-code", "--undo"],
    ["team", "remote"],
    ["team", "sync", "url"],
]


@pytest.mark.parametrize("typed", USAGE, ids=" ".join)
def test_wrong_usage(place: Place, typed: list[str]):
    result = run(*typed)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Usage: reverie" in result.stderr
