"""`edit`: the user's text is always saved, or kept in a file that is named."""

import json
from pathlib import Path

import pytest
from tests.cli.memories import AUDIT, TESTS, asked, directory, editor, remembered
from tests.cli.run import data, done, failed, run
from tests.place import Place

from reverie.errors import SettingsError
from reverie.settings.projects import editor as chosen_editor

KEY = "AKIA" + "QYLPMN5HHHFPZAM2"


class Editing:
    """One memory, and an editor that runs a script."""

    def __init__(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = place
        self._monkeypatch = monkeypatch
        self.file: str = remembered(AUDIT)["file"]
        self.path = directory(place) / self.file

    def will(self, script: str) -> None:
        self._monkeypatch.setenv("VISUAL", editor(self.place, script))

    @property
    def drafts(self) -> list[Path]:
        return sorted((self.place.app().memory_location.state / "drafts").glob("[!.]*"))


@pytest.fixture
def editing(place: Place, monkeypatch: pytest.MonkeyPatch) -> Editing:
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: place.clock)
    return Editing(place, monkeypatch)


def test_a_change_is_saved_with_its_pointer(editing: Editing):
    editing.will("sed -i 's/^description:.*/description: No deploys from 2026-12-20/' \"$1\"")
    text = done("edit", editing.file)
    assert text.startswith(f"Saved {editing.file}\n  undo with: reverie undo ")
    assert "No deploys from 2026-12-20" in (directory(editing.place) / "MEMORY.md").read_text()
    assert data("log")[0]["summary"] == f"edit {AUDIT}"
    assert editing.drafts == []


def test_name_and_description_follow_a_changed_body(editing: Editing):
    editing.will("sed -i '$s/.*/Deploys freeze on 2027-01-04. Not the docs./' \"$1\"")
    done("edit", editing.file)
    [row] = data("list")
    assert row["name"] == "Deploys freeze on 2027-01-04"
    assert row["description"] == "Deploys freeze on 2027-01-04. Not the docs."
    pointer = f"- [Deploys freeze on 2027-01-04]({editing.file}) — Not the docs.\n"
    assert (directory(editing.place) / "MEMORY.md").read_text().endswith(pointer)


def test_nothing_changed(editing: Editing):
    editing.will("true")
    assert done("edit", editing.file) == "Nothing changed.\n"
    assert data("edit", editing.file)["saved"] is False
    assert len(data("log")) == 1
    assert editing.drafts == []


BROKEN = {
    "frontmatter": ("sed -i 's/^type:.*/type/' \"$1\"", "is not 'key: value': 'type'"),
    "never closed": ("printf -- '---\\nname: x\\nmine\\n' > \"$1\"", "never closed"),
    "too large": ("head -c 70000 /dev/zero | tr '\\0' x >> \"$1\"", "a memory holds at most 65,536"),
    "empty": (": > \"$1\"", "to remove a memory: reverie forget"),
    "editor failed": ("echo mine >> \"$1\"; exit 3", "the editor ended with 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_saved_is_kept_and_opened_again(editing: Editing, name: str):
    script, said = BROKEN[name]
    before = editing.path.read_bytes()
    editing.will(script)
    message = failed("edit", editing.file)
    [draft] = editing.drafts
    assert said in message
    assert f"your text is kept in ~/{draft.relative_to(editing.place.person)}" in message
    assert f"continue with: reverie edit {editing.file}" in message
    assert editing.path.read_bytes() == before
    kept = draft.read_bytes()
    assert "an edit was not saved" in done("doctor")
    editing.will(
        f'cmp -s "$1" {draft} && printf -- \'---\\nname: N\\ndescription: D\\n---\\nnow good\\n\' > "$1"'
    )
    result = run("edit", editing.file)
    assert result.exit_code == 0
    assert "which was not saved last time" in result.stderr
    assert editing.path.read_text().endswith("now good\n")
    assert kept != before
    assert editing.drafts == []


def test_on_a_terminal_it_can_be_opened_again_at_once(editing: Editing):
    script = "grep -q '^type$' \"$1\" && sed -i 's/^type$/type: project/' \"$1\" || sed -i 's/^type:.*/type/; $a mine' \"$1\""
    code, output = asked(
        editing.place, "y", "edit", editing.file, EDITOR=editor(editing.place, script), TERM="dumb"
    )
    assert code == 0
    assert "Open it again? [Y/n]:" in output
    assert f"Saved {editing.file}" in output
    assert editing.path.read_text().endswith("mine\n")
    assert editing.drafts == []


def test_a_draft_can_be_dropped(editing: Editing):
    editing.will("echo '---' > \"$1\"")
    failed("edit", editing.file)
    editing.will('echo more >> "$1"')
    done("edit", editing.file, "--fresh")
    assert editing.path.read_text().endswith("audit\nmore\n")


def test_json_of_a_failure_names_the_draft(editing: Editing):
    editing.will("echo '---' > \"$1\"")
    result = run("edit", editing.file, "--json")
    assert result.exit_code == 1
    output = json.loads(result.stdout)
    assert (output["saved"], output["draft"]) == (False, str(editing.drafts[0]))


def test_changes_of_others_are_merged(editing: Editing):
    editing.will(
        f'echo mine >> "$1"; sed -i "s/^description:.*/description: theirs/" {editing.path}'
    )
    done("edit", editing.file)
    text = editing.path.read_text()
    assert "description: theirs" in text
    assert text.endswith("mine\n")
    assert [row["summary"].split(":")[0] for row in data("log")][:2] == [
        f"edit {AUDIT}",
        "edited by hand",
    ]


def test_a_conflict_keeps_both(editing: Editing):
    editing.will(
        f"sed -i 's/^Deploys.*/my words/' \"$1\"; sed -i 's/^Deploys.*/their words/' {editing.path}"
    )
    message = failed("edit", editing.file)
    assert "was changed meanwhile in the same place" in message
    assert editing.path.read_text().endswith("their words\n")
    [draft] = editing.drafts
    assert draft.read_text().endswith("my words\n")
    editing.will("sed -i 's/^my words/my words and their words/' \"$1\"")
    assert "Saved" in done("edit", editing.file)
    assert editing.path.read_text().endswith("my words and their words\n")


def test_a_draft_is_compared_with_what_it_was_made_from(editing: Editing):
    editing.will("sed -i 's/^type:.*/type/; s/^Deploys.*/my words/' \"$1\"")
    failed("edit", editing.file)
    editing.path.write_text(
        editing.path.read_text().replace(
            "Deploys freeze on 2026-12-20 because of the audit\n", "their words\n"
        )
    )
    editing.will("sed -i 's/^type$/type: project/' \"$1\"")
    result = run("edit", editing.file)
    assert (result.exit_code, "was changed meanwhile" in result.stderr) == (1, True)
    assert "their words" in editing.path.read_text()


def test_a_memory_that_was_removed_meanwhile(editing: Editing):
    editing.will(f'echo mine >> "$1"; rm {editing.path}')
    assert "was removed meanwhile" in failed("edit", editing.file)
    assert editing.drafts[0].read_text().endswith("mine\n")


def test_a_secret_is_taken_out(editing: Editing):
    editing.will(f'echo "the key is {KEY}" >> "$1"')
    assert "removed a secret (aws access key)" in done("edit", editing.file)
    assert KEY not in editing.path.read_text()


def test_files_of_others_may_stay_without_frontmatter(editing: Editing):
    loose = directory(editing.place) / "loose.md"
    loose.write_bytes(b"no frontmatter\r\n")
    editing.will('printf "more\\r\\n" >> "$1"')
    done("edit", "loose.md")
    assert loose.read_bytes() == b"no frontmatter\r\nmore\r\n"


def test_a_superseded_memory_stays_out_of_the_index(editing: Editing):
    new = remembered(
        "Deploys freeze on 2026-12-27 because of the audit", "--supersedes", editing.file
    )
    editing.will('echo note >> "$1"')
    done("edit", editing.file)
    done("pin", editing.file)
    assert [line.split("](")[1].split(")")[0] for line in data("index")["text"].splitlines()] == [
        new["file"]
    ]


def test_archived_by_hand_and_brought_back(editing: Editing):
    pointer = data("index")["text"]
    before = editing.path.read_bytes()
    editing.will("sed -i 's/^type:/archived: 2025-06-15\\ntype:/' \"$1\"")
    done("edit", editing.file)
    assert data("index") | {"text": "", "unlisted": []} == data("index")
    assert done("index", "--rebuild").endswith("It was up to date already.\n")
    assert data("list") == []
    [row] = data("list", "--archived")
    assert (row["file"], row["archived"]) == (editing.file, True)
    assert data("list", "--all") == [row]
    assert f"(archived) {row['description']}" in done("list", "--archived")
    assert data("recall", "audit")["hits"] == []
    [hit] = data("recall", "is:archived", "audit")["hits"]
    assert (hit["file"], "archived" in hit["why"]) == (editing.file, True)
    editing.will("sed -i '/^archived:/d' \"$1\"")
    done("edit", editing.file)
    assert editing.path.read_bytes() == before
    assert data("index")["text"] == pointer
    assert done("list", "--archived") == "Nothing is archived.\n"
    assert [hit["file"] for hit in data("recall", "audit")["hits"]] == [editing.file]


def test_what_is_archived_may_be_remembered_anew(editing: Editing):
    assert "already says so" in failed("remember", AUDIT)
    editing.will("sed -i 's/^type:/archived: 2025-06-15\\ntype:/' \"$1\"")
    done("edit", editing.file)
    assert remembered(AUDIT)["file"] != editing.file


def test_a_warning_is_told(editing: Editing):
    editing.will("sed -i 's/^type:.*/type: feeling/' \"$1\"")
    assert "note: type: 'feeling' is not one of user, feedback, project, reference" in done(
        "edit", editing.file
    )


def test_which_editor(place: Place, monkeypatch: pytest.MonkeyPatch):
    assert chosen_editor({"VISUAL": "code --wait", "EDITOR": "vi"}) == ["code", "--wait"]
    assert chosen_editor({"VISUAL": " ", "EDITOR": "vi"}) == ["vi"]
    with pytest.raises(SettingsError, match="set VISUAL or EDITOR"):
        chosen_editor({"PATH": str(place.base)})
    with pytest.raises(SettingsError, match="EDITOR="):
        chosen_editor({"EDITOR": "vi '"})
    file = remembered(TESTS)["file"]
    monkeypatch.setenv("VISUAL", "no-such-editor-here")
    assert "cannot start the editor 'no-such-editor-here'" in failed("edit", file)


def test_a_memory_that_is_not_there(editing: Editing):
    assert f"did you mean {editing.file}?" in failed("edit", f"x{editing.file}")
