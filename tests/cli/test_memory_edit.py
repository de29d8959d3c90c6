"""`edit`: whatever happens, the person's text is saved or lies in a file they are told about."""

import json
from pathlib import Path

import pytest
from tests.cli.memories import AUDIT, TESTS, asked, directory, editor, remembered
from tests.cli.run import data, done, failed, run
from tests.place import Place

from reverie.errors import SettingsError
from reverie.settings.neighbours import editor as chosen_editor

KEY = "AKIA" + "QYLPMN5HHHFPZAM2"


class Desk:
    """One memory, and an editor that does as it is told."""

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
def desk(place: Place, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: place.clock)
    return Desk(place, monkeypatch)


def test_a_change_is_saved_with_its_pointer(desk: Desk):
    desk.will("sed -i 's/^description:.*/description: No deploys from 2026-12-20/' \"$1\"")
    text = done("edit", desk.file)
    assert text.startswith(f"Saved {desk.file}\n  undo with: reverie undo ")
    assert "No deploys from 2026-12-20" in (directory(desk.place) / "MEMORY.md").read_text()
    assert data("log")[0]["summary"] == f"edit {AUDIT}"
    assert desk.drafts == []


def test_nothing_changed(desk: Desk):
    desk.will("true")
    assert done("edit", desk.file) == "Nothing changed.\n"
    assert data("edit", desk.file)["saved"] is False
    assert len(data("log")) == 1
    assert desk.drafts == []


BROKEN = {
    "frontmatter": ("sed -i 's/^type:.*/type/' \"$1\"", "is not 'key: value': 'type'"),
    "never closed": ("printf -- '---\\nname: x\\nmine\\n' > \"$1\"", "never closed"),
    "too large": ("head -c 70000 /dev/zero | tr '\\0' x >> \"$1\"", "a memory holds at most 65,536"),
    "empty": (": > \"$1\"", "to remove a memory: reverie forget"),
    "editor failed": ("echo mine >> \"$1\"; exit 3", "the editor ended with 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_saved_is_kept_and_opened_again(desk: Desk, name: str):
    script, said = BROKEN[name]
    before = desk.path.read_bytes()
    desk.will(script)
    message = failed("edit", desk.file)
    [draft] = desk.drafts
    assert said in message
    assert f"your text is kept in ~/{draft.relative_to(desk.place.person)}" in message
    assert f"continue with: reverie edit {desk.file}" in message
    assert desk.path.read_bytes() == before
    kept = draft.read_bytes()
    assert "an edit was not saved" in done("doctor")
    desk.will(
        f'cmp -s "$1" {draft} && printf -- \'---\\nname: N\\ndescription: D\\n---\\nnow good\\n\' > "$1"'
    )
    result = run("edit", desk.file)
    assert result.exit_code == 0
    assert "which was not saved last time" in result.stderr
    assert desk.path.read_text().endswith("now good\n")
    assert kept != before
    assert desk.drafts == []


def test_on_a_terminal_it_can_be_opened_again_at_once(desk: Desk):
    script = "grep -q '^type$' \"$1\" && sed -i 's/^type$/type: project/' \"$1\" || sed -i 's/^type:.*/type/; $a mine' \"$1\""
    code, heard = asked(
        desk.place, "y", "edit", desk.file, EDITOR=editor(desk.place, script), TERM="dumb"
    )
    assert code == 0
    assert "Open it again? [Y/n]:" in heard
    assert f"Saved {desk.file}" in heard
    assert desk.path.read_text().endswith("mine\n")
    assert desk.drafts == []


def test_a_draft_can_be_dropped(desk: Desk):
    desk.will("echo '---' > \"$1\"")
    failed("edit", desk.file)
    desk.will('echo more >> "$1"')
    done("edit", desk.file, "--fresh")
    assert desk.path.read_text().endswith("audit\nmore\n")


def test_json_of_a_failure_names_the_draft(desk: Desk):
    desk.will("echo '---' > \"$1\"")
    result = run("edit", desk.file, "--json")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert (told["saved"], told["draft"]) == (False, str(desk.drafts[0]))


def test_changes_of_others_are_merged(desk: Desk):
    desk.will(f'echo mine >> "$1"; sed -i "s/^description:.*/description: theirs/" {desk.path}')
    done("edit", desk.file)
    text = desk.path.read_text()
    assert "description: theirs" in text
    assert text.endswith("mine\n")
    assert [row["summary"].split(":")[0] for row in data("log")][:2] == [
        f"edit {AUDIT}",
        "edited by hand",
    ]


def test_a_conflict_keeps_both(desk: Desk):
    desk.will(
        f"sed -i 's/^Deploys.*/my words/' \"$1\"; sed -i 's/^Deploys.*/their words/' {desk.path}"
    )
    message = failed("edit", desk.file)
    assert "was changed meanwhile in the same place" in message
    assert desk.path.read_text().endswith("their words\n")
    [draft] = desk.drafts
    assert draft.read_text().endswith("my words\n")
    desk.will("sed -i 's/^my words/my words and their words/' \"$1\"")
    assert "Saved" in done("edit", desk.file)
    assert desk.path.read_text().endswith("my words and their words\n")


def test_a_draft_is_compared_with_what_it_was_made_from(desk: Desk):
    desk.will("sed -i 's/^type:.*/type/; s/^Deploys.*/my words/' \"$1\"")
    failed("edit", desk.file)
    desk.path.write_text(
        desk.path.read_text().replace(
            "Deploys freeze on 2026-12-20 because of the audit\n", "their words\n"
        )
    )
    desk.will("sed -i 's/^type$/type: project/' \"$1\"")
    result = run("edit", desk.file)
    assert (result.exit_code, "was changed meanwhile" in result.stderr) == (1, True)
    assert "their words" in desk.path.read_text()


def test_a_memory_that_was_removed_meanwhile(desk: Desk):
    desk.will(f'echo mine >> "$1"; rm {desk.path}')
    assert "was removed meanwhile" in failed("edit", desk.file)
    assert desk.drafts[0].read_text().endswith("mine\n")


def test_a_secret_is_taken_out(desk: Desk):
    desk.will(f'echo "the key is {KEY}" >> "$1"')
    assert "removed a secret (aws access key)" in done("edit", desk.file)
    assert KEY not in desk.path.read_text()


def test_files_of_others_may_stay_without_frontmatter(desk: Desk):
    loose = directory(desk.place) / "loose.md"
    loose.write_bytes(b"no frontmatter\r\n")
    desk.will('printf "more\\r\\n" >> "$1"')
    done("edit", "loose.md")
    assert loose.read_bytes() == b"no frontmatter\r\nmore\r\n"


def test_a_superseded_memory_stays_out_of_the_index(desk: Desk):
    new = remembered("Deploys freeze on 2026-12-27 because of the audit", "--supersedes", desk.file)
    desk.will('echo note >> "$1"')
    done("edit", desk.file)
    done("pin", desk.file)
    assert [line.split("](")[1].split(")")[0] for line in data("index")["text"].splitlines()] == [
        new["file"]
    ]


def test_archived_by_hand_and_brought_back(desk: Desk):
    pointer = data("index")["text"]
    before = desk.path.read_bytes()
    desk.will("sed -i 's/^type:/archived: 2025-06-15\\ntype:/' \"$1\"")
    done("edit", desk.file)
    assert data("index") | {"text": "", "unlisted": []} == data("index")
    assert done("index", "--rebuild").endswith("It was up to date already.\n")
    assert data("list") == []
    [row] = data("list", "--archived")
    assert (row["file"], row["archived"]) == (desk.file, True)
    assert data("list", "--all") == [row]
    assert f"(archived) {row['description']}" in done("list", "--archived")
    assert data("recall", "audit")["hits"] == []
    [hit] = data("recall", "is:archived", "audit")["hits"]
    assert (hit["file"], "archived" in hit["why"]) == (desk.file, True)
    desk.will("sed -i '/^archived:/d' \"$1\"")
    done("edit", desk.file)
    assert desk.path.read_bytes() == before
    assert data("index")["text"] == pointer
    assert done("list", "--archived") == "Nothing is archived.\n"
    assert [hit["file"] for hit in data("recall", "audit")["hits"]] == [desk.file]


def test_what_is_archived_may_be_remembered_anew(desk: Desk):
    assert "already says so" in failed("remember", AUDIT)
    desk.will("sed -i 's/^type:/archived: 2025-06-15\\ntype:/' \"$1\"")
    done("edit", desk.file)
    assert remembered(AUDIT)["file"] != desk.file


def test_a_warning_is_told(desk: Desk):
    desk.will("sed -i 's/^type:.*/type: feeling/' \"$1\"")
    assert "note: type: 'feeling' is not one of user, feedback, project, reference" in done(
        "edit", desk.file
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


def test_a_memory_that_is_not_there(desk: Desk):
    assert f"did you mean {desk.file}?" in failed("edit", f"x{desk.file}")
