"""Every command takes a memory by its id, its file name, or words of its title."""

import json

import pytest
from tests.cli.memories import AUDIT, PERSON, TESTS, TRACKER, directory, editor, remembered
from tests.cli.run import data, done, failed, process, run
from tests.place import Place


@pytest.fixture(autouse=True)
def fixed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: place.clock)


def names_of(file: str) -> list[list[str]]:
    """All the ways to name the memory about the audit."""
    id_ = next(row["id"] for row in data("list", "--all") if row["file"] == file)
    return [[id_], [file], [file.removesuffix(".md")], ["because", "audit"], [AUDIT]]


@pytest.mark.parametrize("way", range(5))
def test_every_command_takes_every_name(place: Place, way: int, monkeypatch: pytest.MonkeyPatch):
    file = remembered(AUDIT)["file"]
    remembered(TESTS)
    name = names_of(file)[way]
    monkeypatch.setenv("EDITOR", editor(place, 'echo more >> "$1"'))
    assert data("show", *name)["file"] == file
    assert data("edit", *name)["file"] == file
    assert data("pin", *name)["file"] == file
    assert data("pin", *name, "--off")["file"] == file
    assert data("blame", *name)[-1]["text"] == "more"
    assert {f for row in data("log", *name) for f in row["files"]} >= {file}
    if len(name) == 1:
        assert data("diff", *name)["file"] == file
    assert [row["file"] for row in data("forget", *name, "--yes")] == [file]
    done("undo")
    new = remembered("Deploys are free again", "--supersedes", " ".join(name))
    assert new["supersedes"] == file


def test_several_are_listed_and_nothing_happens(place: Place):
    files = [remembered(text)["file"] for text in (AUDIT, "The audit is by Okapi and Partners")]
    for typed in (["show"], ["pin"], ["edit"], ["blame"], ["remember", "x y", "--supersedes"]):
        message = failed(*typed, "audit")
        assert "'audit' fits 2 memories; give the id of one:" in message
        for row in data("list"):
            assert f"\n  {row['id']}  {row['file']}  {row['name']}\n" in f"{message}\n"
    assert {row["file"] for row in data("list")} == set(files)


def test_a_memory_that_is_gone_keeps_its_id(place: Place):
    file = remembered(AUDIT)["file"]
    [row] = data("list")
    done("forget", row["id"])
    assert len(data("log", row["id"])) == 2
    assert [row["file"] for row in data("forget", row["id"], "--everywhere", "--yes")] == [file]


def test_words_mean_a_revision_or_session_first(place: Place):
    remembered("HEAD of the department is Okapi")
    assert data("show", "HEAD")["kind"] == "revision"
    assert data("show", "--kind", "memory", "head")["kind"] == "memory"
    assert data("show", "department")["kind"] == "memory"


def test_prefixed_names(place: Place):
    place.settings("features.team = true")
    mine = remembered(AUDIT)["file"]
    theirs = remembered(TRACKER, "--team")["file"]
    assert theirs.startswith("team/")
    for name in ([theirs], [theirs.removeprefix("team/")], ["complaints", "linear"]):
        assert data("show", *name)["file"] == theirs
    ids = {row["file"]: row["id"] for row in data("list")}
    assert data("show", ids[theirs])["file"] == theirs
    assert data("pin", ids[theirs])["file"] == theirs
    assert "is shared: replace it with --team" in failed("remember", "x", "--supersedes", "linear")
    assert set(ids) == {mine, theirs}


# --- the list ---


@pytest.mark.parametrize("width", [50, 80, 120])
def test_the_list_fits(place: Place, width: int):
    old = remembered(AUDIT)["file"]
    new = remembered("Deploys freeze on 2027-01-15 because of the merger", "--supersedes", old)
    done("pin", new["file"])
    remembered(f"{TESTS} and {TESTS}", "--name", "Tests")
    remembered(PERSON)
    result = process(place, "list", "--all", COLUMNS=str(width))
    assert result.returncode == 0, result.stderr
    *lines, last = result.stdout.splitlines()
    assert max(map(len, lines)) <= width
    assert last.startswith("4 memories in ")
    for row in json.loads(process(place, "list", "--all", "--json").stdout):
        assert f"{row['id']}  {row['type']}" in result.stdout
    words = " ".join(result.stdout.split())
    assert "(pinned) Deploys freeze on 2027-01-15" in words or width < 80
    assert "…" not in result.stdout


def test_the_list_marks_what_is_over(place: Place):
    old = remembered("The service listens on 8080")["file"]
    new = remembered("The service listens on 8443", "--supersedes", old)["file"]
    path = directory(place) / "trial.md"
    path.write_text("---\nname: The trial licence\nvalid_until: 2025-01-31\n---\nx\n")
    rows = {row["file"]: row for row in data("list", "--all")}
    assert rows[old]["superseded_by"] == new
    assert rows["trial.md"]["term"] == "expired 2025-01-31"
    assert rows[new]["term"] is None
    text = done("list", "--all")
    assert f"(replaced by {new}) The service listens on 8080" in text
    assert "(expired 2025-01-31) The trial licence" in text


def test_one_is_one(place: Place):
    remembered(AUDIT)
    assert done("list").splitlines()[-1].startswith("1 memory in ")
    assert "memory: 1 memory\n" in run("doctor").stdout
    assert done("export", place.base / "x.zip").startswith("Exported 1 memory to ")
