"""`sync`: one person with two machines; and clones of one repository on one machine."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.cli.memories import AUDIT, TRACKER, remembered
from tests.cli.run import data, done, failed, run
from tests.place import Place, git

from reverie.settings.projects import normalised
from reverie.workspace import Workspace

URL = "git@github.com:Acme/Shop.git"


@pytest.fixture
def remote(place: Place) -> Path:
    made = place.base / "mine.git"
    made.mkdir()
    git(made, "init", "-q", "--bare")
    return made


def repository(folder: Path, url: str = URL) -> Path:
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", url)
    git(folder, "commit", "-q", "--allow-empty", "-m", "first", "--date", "2025-01-01T00:00:00Z")
    return folder


def machines(place: Place, *names: str) -> list[list[object]]:
    """The same repository at another path, with another home: another machine."""
    repository(place.root)
    made: list[list[object]] = []
    for name in names:
        clone = place.base / f"{name}-clone"
        git(place.base, "clone", "-q", place.root, clone)
        git(clone, "remote", "set-url", "origin", "https://github.com/acme/shop")
        made.append(["--home", place.base / name, "--project", clone])
    return made


@pytest.mark.parametrize(
    ("url", "known"),
    [
        ("git@github.com:Acme/Shop.git", "github.com/acme/shop"),
        ("https://user:pw@GitHub.com/acme/shop.git/", "github.com/acme/shop"),
        ("ssh://git@github.com:22/acme/shop", "github.com/acme/shop"),
        ("ssh://git@git.example.com:2222/a/B.git", "git.example.com:2222/a/B"),
        ("/srv/git/shop.git", ""),
        ("file:///srv/git/shop.git", ""),
        ("../shop", ""),
    ],
)
def test_one_spelling_for_an_address(url: str, known: str):
    assert normalised(url) == known


def test_two_machines(place: Place, remote: Path):
    ada, bob = machines(place, "laptop", "desk")
    assert "no remote yet" in failed("sync", *ada)
    first = remembered(TRACKER, *ada)["file"]
    assert "pushed" in done("sync", "--remote", remote, *ada)
    parts = data("sync", "--remote", remote, *bob)["parts"]
    assert first in parts[0]["pulled"]
    second = remembered(AUDIT, *bob)["file"]
    done("sync", *bob)
    assert data("sync", *ada)["parts"][0]["pulled"] == [second]
    assert {row["file"] for row in data("list", *ada)} == {first, second}
    # Both histories are one: the same newest revision, and nothing more to send.
    assert data("log", *ada)[0]["revision"] == data("log", *bob)[0]["revision"]
    assert not any(part["pushed"] or part["pulled"] for part in data("sync", *ada)["parts"])
    assert not any(part["pushed"] or part["pulled"] for part in data("sync", *bob)["parts"])
    assert done("index", *ada) == done("index", *bob)


def text_of(machine: list[object], file: str) -> Path:
    home, project = Path(str(machine[1])), Path(str(machine[3]))
    return Workspace.open(project, home=home).memory().place.directory / file


def test_changes_in_two_places_merge_and_conflicts_keep_both(place: Place, remote: Path):
    ada, bob = machines(place, "laptop", "desk")
    file = remembered(TRACKER, *ada)["file"]
    done("sync", "--remote", remote, *ada)
    done("sync", "--remote", remote, *bob)
    for machine, line in ((ada, "From the laptop."), (bob, "From the desk.")):
        path = text_of(machine, file)
        path.write_text(path.read_text().rstrip() + f"\n\n{line}\n")
    done("sync", *ada)
    (conflict,) = data("sync", *bob)["parts"][0]["conflicts"]
    assert conflict["file"] == file
    assert "From the laptop." in text_of(bob, file).read_text()
    assert "From the desk." in text_of(bob, conflict["beside"]).read_text()
    done("sync", *ada)
    assert "From the desk." in text_of(ada, conflict["beside"]).read_text()


def test_sealed(place: Place, remote: Path):
    ada, bob = machines(place, "laptop", "desk")
    key = place.base / "sync.key"
    done("sync", "--new-key", key, *ada)
    assert key.stat().st_mode & 0o077 == 0
    assert "never overwritten" in failed("sync", "--new-key", key, *ada)
    sealed = ["--set", f"sync.key={key}"]
    first = remembered(TRACKER, *ada)["file"]
    done("sync", "--remote", remote, *ada, *sealed)
    assert first in data("sync", "--remote", remote, *bob, *sealed)["parts"][0]["pulled"]
    second = remembered(AUDIT, *bob)["file"]
    done("sync", *bob, *sealed)
    assert data("sync", *ada, *sealed)["parts"][0]["pulled"] == [second]
    everything = subprocess.run(
        ["git", "--git-dir", remote, "log", "--all", "-p", "--text", "--format=%D %s"],
        capture_output=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
    ).stdout
    for word in (b"shop", b"acme", first.encode(), TRACKER.encode(), b"memory/"):
        assert word not in everything
    other = place.base / "other.key"
    done("sync", "--new-key", other, *ada)
    # Another key has other branches: it finds nothing, and harms nothing.
    found = data("sync", *bob, "--set", f"sync.key={other}")
    assert found["parts"][0]["pulled"] == []
    assert "encrypted with another key" in found["mixed"]


def branches(remote: Path) -> list[str]:
    """The names of a remote's branches."""
    command = ["git", "--git-dir", remote, "branch", "--format=%(refname:short)"]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()


def test_what_is_readable_and_what_is_sealed_do_not_mix_unnoticed(place: Place, remote: Path):
    ada, bob = machines(place, "laptop", "desk")
    key = place.base / "sync.key"
    done("sync", "--new-key", key, *ada)
    sealed = ["--set", f"sync.key={key}"]
    assert data("sync", "--remote", remote, *ada)["mixed"] == ""
    # The key came later: what was sent before can still be read.
    assert "can still be read there (" in done("sync", *ada, *sealed)
    for branch in branches(remote):
        if not branch.startswith("sealed/"):
            git(remote, "branch", "-D", branch)
    assert data("sync", *ada, *sealed)["mixed"] == ""
    # A machine without the key would send what the others keep from the remote.
    assert "set sync.key" in failed("sync", "--remote", remote, *bob)
    assert all(branch.startswith("sealed/") for branch in branches(remote))


def test_a_project_cannot_choose_the_remote(place: Place, remote: Path):
    place.settings(f'sync.remote = "{remote}"', "project")
    assert "sync.remote" in failed("sync")


def test_what_is_wrong_is_said(place: Place, remote: Path):
    assert "is not the address" in failed("sync", "--remote", "ext::sh -c id")
    missing = ["--remote", remote, "--set", f"sync.key={place.base / 'none'}"]
    assert "reverie sync --new-key" in failed("sync", *missing)


class TestClones:
    def test_a_second_clone_uses_the_same_memory(self, place: Place):
        repository(place.root)
        other = place.base / "other"
        git(place.base, "clone", "-q", place.root, other)
        git(other, "remote", "set-url", "origin", "https://github.com/acme/shop.git")
        file = remembered(TRACKER, "--project", place.root)["file"]
        result = run("list", "--json", "--project", other)
        assert file in result.stdout
        assert "now uses the repository's memory" in result.stderr
        assert run("list", "--project", other).stderr == ""

    def test_what_a_clone_had_moves_over(self, place: Place):
        repository(place.root)
        other = place.base / "other"
        git(place.base, "clone", "-q", place.root, other)
        old = remembered(AUDIT, "--project", other)["file"]
        git(other, "remote", "set-url", "origin", URL)
        file = remembered(TRACKER, "--project", place.root)["file"]
        result = run("list", "--json", "--project", other)
        assert "moved over" in result.stderr
        assert {row["file"] for row in data("list", "--project", place.root)} == {file, old}
        summaries = [row["summary"] for row in data("log", "--project", place.root)]
        assert any("another clone" in summary for summary in summaries)
        done("adopt", "--undo", "--project", other)
        assert [row["file"] for row in data("list", "--project", other)] == [old]

    def test_a_folder_that_only_claims_the_address_gets_nothing(self, place: Place):
        repository(place.root)
        file = remembered(TRACKER, "--project", place.root)["file"]
        fake = place.base / "fake"
        fake.mkdir()
        git(fake, "init", "-q")
        git(fake, "remote", "add", "origin", URL)
        git(fake, "commit", "-q", "--allow-empty", "-m", "another first commit")
        result = run("list", "--json", "--project", fake)
        assert file not in result.stdout
        assert "does not have its first commit" in result.stderr
