"""`forget`: taken out of sight, or out of the world."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.cli.memories import AUDIT, PERSON, TESTS, asked, contents, directory, remembered
from tests.cli.run import data, done, failed, run
from tests.place import Place


@pytest.fixture(autouse=True)
def fixed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: place.clock)


def test_a_file_leaves_the_directory_and_the_index(place: Place):
    file = remembered(AUDIT)["file"]
    text = done("forget", file)
    assert text.startswith(f"Forgot {file}: {AUDIT}\n  undo with: reverie undo ")
    assert data("list") == []
    assert data("index")["text"] == ""
    done("undo")
    assert [row["file"] for row in data("list")] == [file]
    assert file in data("index")["text"]


def test_the_way_to_forget_it_everywhere_is_printed_and_works(place: Place):
    file = remembered(AUDIT)["file"]
    command = done("forget", file).splitlines()[-1].strip()
    assert command == f"reverie forget {file} --everywhere"
    assert f"Forgot {file} everywhere" in done(*command.split()[1:], "--yes")


def test_words_mean_every_memory_that_holds_them_all(place: Place):
    files = [remembered(text)["file"] for text in (AUDIT, TESTS, PERSON)]
    message = failed("forget", "A", "DATABASE migration")
    assert message == f"reverie: this would forget {files[1]}; confirm with --yes\n"
    assert "no memory contains 'flying saucer'" in failed("forget", "flying", "saucer", "--yes")
    assert [row["file"] for row in data("forget", "a", "DATABASE migration", "--yes")] == [files[1]]
    done("forget", "e", "--yes")
    assert data("list") == []


def test_a_mistyped_file_is_no_search(place: Place):
    file = remembered(AUDIT)["file"]
    assert f"did you mean {file}?" in failed("forget", f"x{file}", "--yes")
    assert "no memory 'nope.md'" in failed("forget", file, "nope.md", "--yes")
    assert len(data("list")) == 1


def traces(place: Place, *words: str) -> list[str]:
    """Files under our home that hold a word, packed git objects looked into."""
    found = []
    for name, held in contents(place.home).items():
        if any(word.encode() in held for word in words):
            found.append(name)
    state = place.app().memory_location.state
    listed = subprocess.run(
        ["git", "--git-dir", state / "history.git", "cat-file", "--batch-all-objects", "--batch"],
        capture_output=True, check=True,
    ).stdout  # fmt: skip
    return found + [f"git: {word}" for word in words if word.encode() in listed]


def test_everywhere_leaves_no_trace_and_prints_a_receipt(place: Place):
    kept = remembered(TESTS)["file"]
    gone = remembered("Zebra", "--description", "The zebra project is called off, says Okapi")[
        "file"
    ]
    done("pin", gone)
    state = place.app().memory_location.state
    notes = state / "sessions" / "s1" / "notes.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("a line\nThe zebra project is called off, says Okapi\n")
    (state / "inbox").mkdir()
    (state / "inbox" / "1.md").write_text(f"see {gone}")
    (state / "inbox" / "2.md").write_text("something else")
    (state / "index.sqlite").write_bytes(b"Okapi")
    (state / "drafts").mkdir()
    (state / "drafts" / gone).write_text("Okapi, not saved")
    place.app().memory().uses.record([gone, kept], "used")
    assert "confirm with --yes" in failed("forget", gone, "--everywhere")
    rows = {
        row["place"]: row["done"]
        for row in data("forget", gone, "--everywhere", "--yes")[0]["receipt"]
    }
    assert rows == {
        f"memory/{gone}": "removed, with its pointer in MEMORY.md",
        "other memories": "0 linked to it; the links were removed",
        "daily logs": "0 held it and were cleaned",
        "transcripts": "0 of 0 held it and were cleaned",
        "stored tool results": "0 of 0 held it and were cleaned",
        "other files": "0 of 1 held it and were cleaned",
        "history.git": "rewritten: 2 revisions no longer hold it",
        "search indexes": "dropped; they are rebuilt from the files",
        "session notes": "1 of 1 held it and were cleaned",
        "inbox": "1 of 2 proposals held it and were removed",
        "unsaved edits": "1 of 1 held it and were removed",
        "reports of dreams": "0 of 0 held it and were cleaned",
        "branches of dreams": "0 of 0 held it and were removed",
        "use counts": "1 lines spoke of it and were removed",
    } | {"history.git": rows["history.git"]}
    assert traces(place, "Zebra", "zebra", "Okapi", gone) == []
    assert notes.read_text() == "a line\n"
    assert [row["file"] for row in data("list")] == [kept]
    assert place.app().memory().uses.counts("used") == {kept: 1}
    assert "no change to it in history" in failed("log", gone)


def forgotten(file: str) -> dict[str, str]:
    """The receipt of forgetting everywhere, by place."""
    [row] = data("forget", file, "--everywhere", "--yes")
    return {one["place"]: f"{one['done']} {one['remains']}".strip() for one in row["receipt"]}


def test_everywhere_cleans_the_reports_of_dreams_and_keeps_the_rest(place: Place):
    zebra = 'Okapi says "the zebra project is called off" — für immer'
    remembered(zebra)
    gone = remembered(zebra, "--even-if-known")["file"]
    remembered(TESTS)
    remembered(TESTS, "--even-if-known")
    made = data("dream", "--force", "--review")
    assert [change["kind"] for change in made["changes"]] == ["merge", "merge", "re-index"]
    dreams = place.app().memory_location.state / "dreams"
    (dreams / "torn.json").write_text(f'{{"why": "{gone}')
    left = dreams / "branches" / "dead" / "memory"
    left.mkdir(parents=True)
    (left / gone).write_text("a copy")
    (left / "link.md").symlink_to(directory(place) / gone)
    rows = forgotten(gone)
    assert rows["reports of dreams"] == "3 of 3 held it and were cleaned"
    assert rows["branches of dreams"] == "1 of 1 held it and were removed"
    names = {path.name for path in dreams.rglob("*")}
    assert names == {"branches", f"{made['id']}.json", "status.json"}
    [kept] = data("dream", "--last")["changes"]
    assert kept["kind"] == "merge"
    assert "never_mock" in kept["files"][0]["file"]
    for path in dreams.glob("*.json"):
        assert not any(word in path.read_text() for word in (gone, "zebra", "Okapi"))


def test_a_dream_under_way_is_told_to_stop(place: Place):
    file = remembered(AUDIT)["file"]
    dreams = place.app().memory_location.state / "dreams"
    dreams.mkdir()
    running = {"id": "d1", "state": "running", "turns": [{"text": "", "files": [file]}]}
    (dreams / "status.json").write_text(json.dumps(running))
    rows = forgotten(file)
    assert "was told to stop: run this again when it has ended" in rows["reports of dreams"]
    assert (dreams / "stop").read_text() == "d1"
    assert json.loads((dreams / "status.json").read_text()) == running | {"turns": []}


def test_one_that_was_forgotten_before_still_leaves_history(place: Place):
    file = remembered(AUDIT)["file"]
    remembered(PERSON)
    done("forget", file)
    text = done("forget", file, "--everywhere", "--yes")
    assert "had been removed before" in text
    assert traces(place, AUDIT) == []


def test_everywhere_reaches_the_project_of_an_adopted_directory(place: Place):
    theirs = place.base / "theirs"
    theirs.mkdir()
    done("adopt", theirs)
    gone = remembered("The zebra project is called off, says Okapi")["file"]
    notes = place.app().project.folder / "sessions" / "s1" / "notes.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("The zebra project is called off, says Okapi\n")
    done("forget", gone, "--everywhere", "--yes")
    assert notes.read_text() == ""
    assert traces(place, "Okapi") == []


def test_on_a_terminal_it_asks_first(place: Place):
    file = remembered(AUDIT)["file"]
    code, output = asked(place, "n", "forget", file)
    assert code != 0
    assert f"{file}  {AUDIT}" in output
    assert "Forget this memory?" in output
    assert Path(directory(place) / file).exists()
    code, output = asked(place, "y", "forget", "audit", "--everywhere")
    assert (code, "Forget this memory for good, with its history?" in output) == (0, True)
    assert not Path(directory(place) / file).exists()


def test_quiet_is_quiet(place: Place):
    file = remembered(AUDIT)["file"]
    assert run("forget", file, "-q").output == ""
