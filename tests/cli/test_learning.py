"""`reverie learning`, and the effect of its phrases."""

import sys
from pathlib import Path

import pytest
from tests.cli.run import data, done, failed
from tests.conversation.build import user
from tests.place import NOON, Place

from reverie.conversation.records import Opened, Said


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An editor that appends the text of one file to the file it opens."""
    wanted = tmp_path / "wanted"
    script = tmp_path / "editor.py"
    script.write_text(
        "import sys, pathlib\n"
        f"text = pathlib.Path({str(wanted)!r})\n"
        "path = pathlib.Path(sys.argv[-1])\n"
        "path.write_text(path.read_text() + (text.read_text() if text.exists() else ''))\n"
    )
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    monkeypatch.delenv("VISUAL", raising=False)
    return wanted


def test_nothing_is_written_yet(place: Place) -> None:
    assert "(not written yet)" in done("learning")
    assert [one["text"] for one in data("learning")["files"]] == [None, None]


def test_it_is_edited_for_all_projects_or_for_one(place: Place, editor: Path) -> None:
    editor.write_text("- salaries\n")
    output = data("learning", "--edit")
    assert output["never"] == ["salaries"]
    assert (place.home / "learning.md").read_text().endswith("- salaries\n")
    editor.write_text("- bonuses\n")
    output = data("learning", "--edit", "--here")
    assert output["never"] == ["salaries", "bonuses"]
    assert (place.app().memory_location.state / "learning.md").is_file()


def test_an_unchanged_template_is_not_kept(place: Place, editor: Path) -> None:
    done("learning", "--edit")
    assert not (place.home / "learning.md").exists()


def test_an_editor_that_is_not_there(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "/nowhere/ed")
    monkeypatch.delenv("VISUAL", raising=False)
    assert "set VISUAL or EDITOR" in failed("learning", "--edit")


def test_a_repository_has_no_say_in_it(place: Place) -> None:
    for folder in (place.root, place.root / ".reverie"):
        folder.mkdir(exist_ok=True)
        (folder / "learning.md").write_text("## Never\n- salaries\n")
    assert data("learning")["never"] == []


def test_what_contains_a_phrase_is_not_remembered(place: Place) -> None:
    place.home.mkdir(parents=True, exist_ok=True)
    (place.home / "learning.md").write_text("## Never\n- salaries\n")
    text = "Remember that salaries are paid on Fridays."
    place.journal("s1", Opened("s1", NOON), Said(user(text, at=NOON)))
    output = done("extract", "s1")
    assert "left out, as learning.md says never: Salaries are paid on Fridays." in output
    assert place.app().memory().store.entries() == ()
