"""`doctor` checks memory: broken, missing and leftover files."""

import shutil

import pytest
from tests.cli.memories import AUDIT, TESTS, directory, remembered
from tests.cli.run import data, done, run
from tests.place import Place


@pytest.fixture(autouse=True)
def fixed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: place.clock)


def findings(*options: object) -> dict[str, tuple[str, str]]:
    import json

    rows = json.loads(run("doctor", "--json", *options).stdout)
    return {row["what"]: (row["state"], row["advice"]) for row in rows}


def found(part: str, *options: object) -> tuple[str, str]:
    [one] = [about for what, about in findings(*options).items() if part in what]
    return one


def test_all_is_well(place: Place):
    remembered(AUDIT)
    lines = done("doctor").splitlines()
    assert any(line.endswith("/memory: 1 memory") for line in lines)
    assert all(line.startswith("✓") for line in lines)


def test_files(place: Place):
    remembered(AUDIT)
    folder = directory(place)
    (folder / "broken.md").write_text("---\nname: x\n")
    (folder / "link.md").symlink_to("/etc/passwd")
    assert found("broken.md: the frontmatter") == ("wrong", "reverie edit broken.md")
    assert found("link.md is not read")[0] == "note"
    assert run("doctor").exit_code == 1
    for number in range(12):
        (folder / f"b{number}.md").write_text("---\nname: x\n")
    assert found("3 more broken files") == ("wrong", "reverie list --problems")


def test_the_index(place: Place):
    gone, kept = remembered(AUDIT)["file"], remembered(TESTS)["file"]
    folder = directory(place)
    (folder / gone).rename(folder / "renamed.md")
    assert found(f"MEMORY.md leads nowhere: {gone}") == ("wrong", "reverie index --rebuild")
    assert found("MEMORY.md does not list renamed.md")[0] == "note"
    lines = "".join(f"- [x]({kept})\n" for _ in range(250))
    (folder / "MEMORY.md").write_text(lines)
    assert found("MEMORY.md is over 200 lines: 50 pointers are hidden")[0] == "wrong"
    done("index", "--rebuild")
    assert {state for state, _ in findings().values()} == {"ok"}


def test_history_and_leftovers(place: Place):
    from reverie.memory.format.revisions import Author

    file = remembered(AUDIT)["file"]
    memory = place.app().memory()
    memory.history.begin({file: b"half written"}, Author("extract"), "died")
    (directory(place) / ".reverie-tmp-0a0b").write_text("half")
    (memory.place.state / "history.git.old").mkdir()
    assert found("a write was interrupted")[1] == "the next change completes it by itself"
    assert found("left by a writer that died: .reverie-tmp-0a0b")[0] == "note"
    assert found("left by an interrupted forgetting")[1] == "remove it"
    remembered(TESTS)
    assert not [what for what in findings() if "interrupted:" in what or "writer" in what]
    assert data("show", file)["text"] == "half written"


def test_a_history_that_cannot_be_read(place: Place):
    remembered(AUDIT)
    git_dir = place.app().memory_location.history
    shutil.rmtree(git_dir / "objects")
    (git_dir / "objects").mkdir()
    state, advice = found("history cannot be read")
    assert state == "wrong"
    assert str(git_dir) in advice


def test_memory_that_is_off(place: Place):
    assert found("memory is off", "--set", "memory.enabled=false")[0] == "note"


def test_projects_that_are_gone(place: Place):
    other = place.base / "other"
    other.mkdir()
    remembered(AUDIT, "--project", other)
    other.rmdir()
    state, advice = found(f"the project {other} is gone, its memory is not")
    assert state == "note"
    assert "if it moved: reverie adopt --from" in advice
