"""A home that an earlier version wrote is read, searched, continued and undone; nothing is lost.

`homes/0.1.0-before-scopes.tar.gz` was written by that version itself: no scopes, the first format of the search
index, sessions and a ledger with priced calls, and a change that was undone. It was made in /tmp/ada/shop.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.run import data, done

from reverie.files.atomic import project_folder

if TYPE_CHECKING:
    from tests.place import Place

HOMES = Path(__file__).parent / "homes"
FACTS = {
    "project_staging_listens_on_port_8443.md": "Staging listens on port 8443",
    "project_deploys_freeze_on_2026_12_20_because_of_the_audit.md": (
        "Deploys freeze on 2026-12-20 because of the audit"
    ),
    "user_i_prefer_short_answers.md": "I prefer short answers",
}
OLD_SESSION = "20261116-074705-9346cb"


@pytest.fixture
def old(place: Place, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project folder of the old home, as if it had been made for this place."""
    with tarfile.open(HOMES / "0.1.0-before-scopes.tar.gz") as archive:
        archive.extractall(place.person, filter="data")
    [made] = (place.home / "projects").iterdir()
    folder = project_folder(place.home, place.root)
    shutil.move(made, folder)
    identity = json.loads((folder / "project.json").read_text())
    (folder / "project.json").write_text(json.dumps({**identity, "root": str(place.root)}))
    monkeypatch.chdir(place.root)
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in (folder / "memory").glob("*_*.md")}


def test_memories_are_listed_and_found(old: Path) -> None:
    before = contents(old)
    assert {row["file"] for row in data("list")} == set(FACTS)
    for file, fact in FACTS.items():
        assert fact in done("show", file)
    assert "8443" in done("recall", "which port does staging use?")
    assert "2026-12-20" in done("recall", "when do deploys freeze?")
    assert "herons" in done("search", "herons")
    assert contents(old) == before


def test_history_is_kept_and_goes_on(old: Path) -> None:
    summaries = [row["summary"] for row in data("log")]
    assert [one.partition(" ")[0] for one in summaries] == ["undo", *["remember"] * 4]
    # The last change that is not undone is the third memory; the fourth was undone by the old version.
    assert "I prefer short answers" in done("undo")
    assert set(contents(old)) == set(FACTS) - {"user_i_prefer_short_answers.md"}
    done("redo")
    assert set(contents(old)) == set(FACTS)
    done("redo")
    assert "project_ada_owns_billing.md" in contents(old)


def test_a_session_is_resumed(old: Path) -> None:
    listed = data("sessions")
    assert OLD_SESSION in {row["session"] for row in listed}
    answer = done("chat", "-p", "--model", "offline", "--resume", OLD_SESSION, "which port is it?")
    assert answer.strip()
    lines = (old / "sessions" / f"{OLD_SESSION}.jsonl").read_text("utf-8").splitlines()
    assert "please count the herons" in lines[0] + "".join(lines)
    assert "which port is it?" in "".join(lines)


def test_the_ledger_is_counted(old: Path) -> None:
    rows = {row["name"]: row for row in data("spend", "--days", "36500")["rows"]}
    assert rows["main"]["calls"] == 2
    assert rows["main"]["cost"] == pytest.approx(0.02379 + 0.01586)
    assert rows["extract"]["cost"] == pytest.approx(0.0067116 + 0.0038472)


def test_new_memories_stand_beside_the_old_ones(old: Path) -> None:
    done("remember", "Mira has the key of the deploy server")
    done("remember", "I prefer tea to coffee")
    assert set(FACTS) < set(contents(old))
    found = data("list")
    assert len(found) == len(FACTS) + 2
    assert "✓" in done("doctor")
