"""`team`: two people share memories through a repository."""

from pathlib import Path

import pytest
from tests.cli.memories import AUDIT, TRACKER, remembered
from tests.cli.run import data, done, failed
from tests.place import Place, git


@pytest.fixture
def shared(place: Place) -> Path:
    remote = place.base / "team.git"
    remote.mkdir()
    git(remote, "init", "-q", "--bare")
    place.settings("features.team = true")
    return remote


def test_two_people(place: Place, shared: Path):
    ada, bob = ["--home", place.base / "ada"], ["--home", place.base / "bob"]
    for who in (ada, bob):
        (who[1]).mkdir()
        (who[1] / "settings.toml").write_text("features.team = true\n")
        assert "no remote yet" in failed("team", "sync", *who)
        done("team", "remote", shared, *who)
    file = remembered(TRACKER, "--team", *ada)["file"]
    remembered(AUDIT, *ada)
    assert data("team", *ada) == {
        "on": True,
        "remote": str(shared),
        "branch": "main",
        "memories": 1,
        "unsent": [file.removeprefix("team/")],
    }
    assert done("team", "sync", *ada).startswith(f"pushed: {file.removeprefix('team/')}\n")
    assert data("team", *ada)["unsent"] == []
    assert data("team", "sync", *bob)["pulled"] == [file.removeprefix("team/")]
    assert [row["file"] for row in data("list", *bob)] == [file]
    assert done("team", "sync", *bob) == "Nothing new on either side.\n"


def test_what_is_missing_is_said(place: Place, shared: Path):
    assert "No remote yet: reverie team remote URL" in done("team")
    assert "Team memory is off" in done("team", "--set", "features.team=false")
    assert "team memory is off" in failed("team", "sync", "--set", "features.team=false")
    assert "is not the address of a git remote" in failed("team", "remote", "--", "-x")
    done("team", "remote", place.base / "nowhere")
    assert "is not a git repository" in failed("team", "sync")


def test_a_password_in_an_address_is_not_shown(place: Place, shared: Path):
    assert "hunter2" not in done("team", "remote", "https://ada:hunter2@example.invalid/x.git")
    kept = place.app().memory(team=True).place.state / "remote.json"
    assert kept.stat().st_mode & 0o077 == 0
