"""`import` and `export`: memories come and go without a loss."""

import json
from pathlib import Path

import pytest
from tests.cli.memories import AUDIT, PERSON, TESTS, contents, directory, remembered
from tests.cli.run import data, done, failed
from tests.place import Place

from reverie.memory.locations import person_location

KEY = "AKIA" + "QYLPMN5HHHFPZAM2"


@pytest.fixture(autouse=True)
def fixed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: place.clock)


def other(place: Place) -> Path:
    folder = place.base / "other"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.parametrize("form", ["backup", "backup.zip", "backup.json"])
def test_there_and_back_again(place: Place, form: str):
    old = remembered("The service listens on 8080")["file"]
    remembered("The service listens on 8443", "--supersedes", old)
    remembered(PERSON)
    done("pin", data("list")[0]["file"])
    away = directory(place) / remembered(TESTS)["file"]
    away.write_text(away.read_text().replace("type:", "archived: 2025-06-01\ntype:", 1))
    path = place.base / form
    assert done("export", path) == f"Exported 4 memories to {path}\n"
    # Another home: what is about the person is known to all projects of this one.
    there = ["--project", other(place), "--home", place.base / "elsewhere"]
    output = data("import", path, *there)
    assert (len(output["imported"]), output["declined"]) == (4, [])
    person = contents(person_location(place.home).directory)
    ours = contents(directory(place)) | {f"person/{name}": text for name, text in person.items()}
    theirs = {
        row["file"]: data("show", row["file"], *there)["text"]
        for row in data("list", "--all", *there)
    }
    assert theirs == {
        name: text.decode().replace("origin: user", "origin: import").replace("pinned: true\n", "")
        for name, text in ours.items()
        if not name.endswith("MEMORY.md")
    }
    assert [row["pinned"] for row in data("list", *there) if row["type"] == "user"] == [False]
    assert [row["dropped"] for row in output["imported"] if row["dropped"]] == [["pinned"]]
    assert len(data("index", *there)["text"].splitlines()) == 1
    assert len(data("index", *there)["others"]["person"].splitlines()) == 1
    again = data("import", path, *there)
    assert (again["imported"], len(again["declined"]), again["revision"]) == ([], 4, None)


def test_one_undo_takes_an_import_back(place: Place):
    notes = place.base / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Deploys\n\nDeploys are on Mondays, says Mira.\n")
    (notes / "b.md").write_text("Ada likes tea with milk.\n")
    (notes / ".hidden.md").write_text("not this\n")
    text = done("import", notes)
    assert text.startswith("Imported 2 of 2 memories.\n  + project_deploys.md  Deploys\n")
    assert len(data("list")) == 2
    done("undo")
    assert data("list") == []


def test_a_dry_run_changes_nothing(place: Place):
    path = place.base / "mem0.json"
    path.write_text(json.dumps({"results": [{"memory": "Ada likes tea"}, {"memory": 1}]}))
    text = done("import", path, "--dry-run")
    assert text.startswith("Would import 1 of 2 memories.")
    assert "  - mem0.json #2: it has no text under" in text
    assert not place.home.exists()


def test_what_is_declined_is_told(place: Place):
    remembered(TESTS)
    (place.root / "AGENTS.md").write_text("Run the linter before every single commit, please.\n")
    path = place.base / "AGENTS.md"
    path.write_text(
        f"# Rules\n\n- {TESTS}\n- Run the linter before every single commit, please.\n"
        f"- {AUDIT}\n- {AUDIT}\n- The key of the staging account is {KEY}\n"
    )
    output = data("import", path)
    assert [row["reason"].split(":")[0] for row in output["declined"]] == [
        f"{data('list')[-1]['file']} already says so",
        "Not saved",
        "project_deploys_freeze_on_2026_12_20_because_of_the_audit.md, from the same import, already says so",
    ]
    assert [row["secrets"] for row in output["imported"]] == [[], ["aws access key"]]
    assert KEY not in "".join(data("show", row["file"])["text"] for row in data("list"))
    assert {
        data("show", row["file"])["text"].count("origin: import") for row in output["imported"]
    } == {1}


def test_days_are_those_it_was_said_on(place: Place):
    path = place.base / "m.json"
    path.write_text(json.dumps([
        {"memory": "The audit is tomorrow", "created_at": "2024-02-28T12:00:00Z"},
        {"memory": "Mira comes back next week"},
    ]))  # fmt: skip
    assert [row["name"] for row in data("import", path)["imported"]] == [
        "The audit is 2024-02-29",
        "Mira comes back next week",
    ]


def test_what_is_too_large_does_not_stop_the_rest(place: Place):
    notes = place.base / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("word " * 20_000)
    (notes / "b.md").write_text("Ada likes tea with milk.\n")
    output = data("import", notes)
    assert len(output["imported"]) == 1
    assert "a memory holds at most 65,536" in output["declined"][0]["reason"]


def test_keys_of_others_and_taken_names(place: Place):
    notes = place.base / "notes"
    notes.mkdir()
    file = remembered(AUDIT)["file"]
    theirs = "---\n# kept\nname: Tea\nmetadata:\n  type: user\n  x: 1\n---\nAda likes tea.\r\n"
    (notes / file).write_bytes(theirs.encode())
    [row] = data("import", notes)["imported"]
    assert row["file"] == "tea.md"
    assert row["type"] == "user"
    text = (directory(place) / "tea.md").read_bytes().decode()
    assert text.startswith("---\n# kept\nname: Tea\nmetadata:\n  type: user\n  x: 1\n")
    assert text.endswith("---\nAda likes tea.\r\n")


def test_nothing_to_import(place: Place):
    empty = place.base / "empty"
    empty.mkdir()
    assert "there is nothing to import" in failed("import", empty)
    (empty / "x.json").write_text("{")
    assert "x.json is not JSON" in failed("import", empty)


def test_export_overwrites_nothing_and_keeps_secrets(place: Place):
    assert "nothing to export" in failed("export")
    remembered(AUDIT)
    (directory(place) / "hand.md").write_text(f"---\nname: h\n---\nkey {KEY}\n")
    output = data("export")
    assert output["path"] == str(place.root / "project-memory.zip")
    assert output["secrets"] == {"hand.md": ["aws access key"]}
    assert "exists already" in failed("export")
    taken = place.base / "taken"
    taken.mkdir()
    done("export", taken)
    assert KEY.encode() not in b"".join(contents(taken).values())
    assert "exists already" in failed("export", taken)
    (place.base / "file").write_text("")
    assert "cannot write" in failed("export", place.base / "file" / "x")
    assert json.loads(done("export", "--format", "json"))["memories"][0]["file"] == "hand.md"


def test_a_name_of_another_format_is_no_folder(place: Place):
    remembered(AUDIT)
    target = place.base / "x.tar.gz"
    assert "nothing is exported as .gz; name a .zip" in failed("export", target)
    assert not target.exists()
    done("export", target, "--format", "folder")
    assert target.is_dir()


def test_an_import_of_what_is_known_succeeds_again(place: Place):
    path = place.base / "notes.md"
    path.write_text("The gate code changes on Mondays\n")
    done("import", path)
    assert "Imported 0 of 1" in done("import", path)
