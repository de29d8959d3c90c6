"""Memory about the person on the command line: shown, chosen, moved, and in every history command."""

from pathlib import Path

import pytest
from tests.cli.memories import AUDIT, PERSON, TRACKER, directory, remembered
from tests.cli.run import data, done, failed, run
from tests.place import Place

from reverie.memory.locations import person_location

SHORT = "I prefer short answers"
FILE = "person/user_i_prefer_short_answers.md"


@pytest.fixture(autouse=True)
def fixed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: place.clock)


@pytest.fixture
def there(place: Place) -> list[object]:
    """Another project of the same person."""
    folder = place.base / "there"
    folder.mkdir()
    return ["--project", folder]


def test_what_is_about_you_is_told(place: Place, there: list[object]):
    text = done("remember", SHORT)
    assert "  about you: known in every project\n" in text
    assert f"reverie move {FILE} --scope project" in text
    assert "~/.reverie/person/memory/user_i_prefer_short_answers.md" in text
    assert [row["file"] for row in data("list", *there)] == [FILE]
    assert data("recall", "how short should answers be", *there)["hits"][0]["scope"] == "person"
    assert data("search", "short answers", *there)[0]["key"] == FILE
    assert "about you" not in done("remember", AUDIT)
    assert "already says so" in failed("remember", SHORT, *there)
    assert FILE in failed("remember", SHORT, *there)


def test_it_can_be_chosen(place: Place, there: list[object]):
    assert remembered(SHORT, "--scope", "project")["file"] == FILE.removeprefix("person/")
    assert remembered(AUDIT, "--scope", "person")["scope"] == "person"
    assert [row["scope"] for row in data("list", *there)] == ["person"]
    assert "about you is off" in failed(
        "remember", "I like tea", "--scope", "person", "--set", "memory.person=false"
    )


def test_what_replaces_it_goes_to_where_it_is(place: Place):
    remembered(SHORT)
    fresh = remembered("Answers may be long from now on", "--supersedes", FILE)
    assert (fresh["scope"], fresh["supersedes"]) == ("person", FILE)
    message = failed("remember", "So be it", "--supersedes", FILE, "--scope", "project")
    assert f"reverie move {FILE} --scope project" in message


def test_moving(place: Place, there: list[object]):
    remembered(SHORT)
    text = done("move", FILE, "--scope", "project")
    assert text.startswith(f"Moved {FILE} to user_i_prefer_short_answers.md\n")
    assert data("list", *there) == []
    assert (directory(place) / "user_i_prefer_short_answers.md").is_file()
    moved = data("move", "user_i_prefer_short_answers", "--scope", "person")
    assert moved == {"from": "user_i_prefer_short_answers.md", "file": FILE, "scope": "person"}
    assert [row["file"] for row in data("list", *there)] == [FILE]
    assert "already" in failed("move", FILE, "--scope", "person")
    assert "no memory" in failed("move", "nothing.md", "--scope", "person")


def test_moving_to_the_team(place: Place):
    place.settings("features.team = true")
    file = remembered(TRACKER)["file"]
    assert "shared with the team" in done("move", file, "--scope", "team")
    assert [row["file"] for row in data("list")] == [f"team/{file}"]
    assert "always private" in failed("move", remembered(SHORT)["file"], "--scope", "team")
    assert "team memory is off" in failed(
        "move", FILE, "--scope", "team", "--set", "features.team=false"
    )


def test_every_history_command_reaches_it(place: Place, there: list[object]):
    made = remembered(SHORT)
    place.clock.advance(60)
    remembered(AUDIT)
    rows = data("log")
    assert [row["summary"] for row in rows] == [f"remember {AUDIT}", f"remember {SHORT}"]
    assert FILE in rows[1]["files"]
    assert [row["summary"] for row in data("log", "--scope", "person")] == [f"remember {SHORT}"]
    assert [row["summary"] for row in data("log", FILE)] == [f"remember {SHORT}"]
    assert len(data("log", *there)) == 1
    assert SHORT in data("diff", FILE)["diff"]
    assert SHORT in data("diff", "--scope", "person")["diff"]
    assert SHORT in data("show", made["revision"])["diff"]
    assert {line["revision"] for line in data("blame", FILE)} == {made["revision"]}
    assert "about you, in every project" in done("show", FILE)
    assert data("undo", made["revision"])["undone"][0]["revision"] == made["revision"]
    assert [row["scope"] for row in data("list")] == ["project"]
    place.clock.advance(60)
    assert "nothing to undo: no change is left" in failed("undo", "--scope", "person")
    done("redo", "--scope", "person")
    assert [row["scope"] for row in data("list", *there)] == ["person"]


def test_the_last_change_is_the_last_of_both(place: Place):
    remembered(AUDIT)
    place.clock.advance(60)
    remembered(SHORT)
    place.clock.advance(60)
    assert f"changed {FILE}" in done("undo")
    place.clock.advance(60)
    remembered(PERSON)
    assert len(data("list")) == 2


def test_undo_goes_on_over_both_and_redo_comes_back(place: Place):
    for text in (AUDIT, SHORT, TRACKER):
        place.clock.advance(60)
        remembered(text)
    before = [row["file"] for row in data("list")]
    for left in (2, 1, 0):
        place.clock.advance(60)
        done("undo")
        assert [row["file"] for row in data("list")] == before[3 - left :]
    place.clock.advance(60)
    done("redo"), done("redo")
    assert sorted(row["scope"] for row in data("list")) == ["person", "project"]
    place.clock.advance(60)
    assert done("redo").startswith("Redid")
    assert {row["file"] for row in data("list")} == set(before)


def test_one_name_for_all_of_them(place: Place):
    """A short id and a title reach what is about you, in every command."""
    remembered(SHORT)
    [row] = data("list")
    for name in (row["id"], "short answers", FILE.removeprefix("person/"), SHORT):
        assert data("show", name)["file"] == FILE
    moved = data("move", row["id"], "--scope", "project")["file"]
    assert moved == FILE.removeprefix("person/")
    [row] = data("list")
    assert data("move", *SHORT.split(), "--scope", "person")["file"] == FILE
    newer = remembered("I like long answers", "--scope", "person")["file"]
    output = data("retire", "short", "answers", "--by", "long answers")
    assert (output["file"], output["by"]) == (FILE, newer)
    rows = {row["file"]: row for row in data("list", "--all")}
    assert rows[FILE]["superseded_by"] == newer
    assert data("retire", rows[FILE]["id"], "--off")["file"] == FILE
    assert data("forget", rows[newer]["id"])[0]["file"] == newer


def test_the_index_shows_both(place: Place):
    remembered(AUDIT)
    remembered(SHORT)
    text = done("index")
    assert "About you, in every project (person/MEMORY.md):\n- [I prefer short answers]" in text
    assert [*data("index")["others"]] == ["person"]
    assert data("index", "--scope", "person")["pointers"] == 1
    assert "[I prefer short answers]" in done("index", "--scope", "person", "--rebuild")


@pytest.mark.parametrize("form", ["backup", "backup.zip", "backup.json"])
def test_there_and_back_again(place: Place, form: str):
    remembered(AUDIT)
    remembered(SHORT)
    path = place.base / form
    assert done("export", path).startswith("Exported 2 memories")
    assert data("export", place.base / f"own-{form}", "--scope", "project")["memories"] == 1
    home = ["--home", place.base / "elsewhere"]
    output = data("import", path, *home)
    assert FILE in [row["file"] for row in output["imported"]]
    assert len(output["revisions"]) == 2
    assert {row["scope"] for row in data("list", *home)} == {"project", "person"}
    off = ["--home", place.base / "off", "--set", "memory.person=false"]
    assert len(data("import", path, *off)["imported"]) == 2
    assert {row["scope"] for row in data("list", *off)} == {"project"}


def test_forgetting(place: Place, there: list[object]):
    remembered(SHORT)
    assert "Forgot person/" in done("forget", "short answers", "--yes", *there)
    assert data("list") == []
    place.clock.advance(60)
    done("undo")
    receipt = data("forget", FILE, "--everywhere", "--yes", *there)
    assert receipt[0]["everywhere"]
    left = [path for path in person_location(place.home).state.rglob("*") if path.is_file()]
    assert [path for path in left if SHORT.encode() in path.read_bytes()] == []


def test_pinning_and_editing(place: Place):
    remembered(SHORT)
    assert data("pin", FILE)["file"] == FILE
    assert data("list")[0]["pinned"]
    path: Path = person_location(place.home).directory / FILE.removeprefix("person/")
    assert "pinned: true" in path.read_text()
    assert data("show", str(path))["file"] == FILE


def test_the_list_says_where_they_are(place: Place):
    remembered(AUDIT)
    remembered(SHORT)
    last = done("list").splitlines()[-1]
    assert last.startswith("2 memories in ~/.reverie/projects/")
    assert last.endswith(", 1 of them about you (in every project)")
    assert done("list", "--scope", "person").splitlines()[-1] == (
        "1 memory in ~/.reverie/person/memory"
    )


def test_the_doctor_looks_at_it(place: Place):
    remembered(SHORT)
    path = person_location(place.home).directory / "broken.md"
    path.write_text("---\nname: x\n")
    assert "person/broken.md: the frontmatter" in run("doctor").output
    folder = directory(place) / "person"
    folder.mkdir(parents=True)
    (folder / "old.md").write_text("Something from before.\n")
    assert "is not read: person/ stands for memory about you" in run("doctor").output
