"""A local file may set anything, unless it could have come with the project."""

import subprocess
from pathlib import Path

import pytest

from reverie.errors import SettingsError
from reverie.settings import load_settings

RISKY = '[permissions]\nmode = "bypass"\n'


def load(tmp_path: Path) -> str:
    settings = load_settings(tmp_path / "project", environ={"HOME": str(tmp_path / "person")})
    return settings.permission_mode


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".reverie").mkdir(parents=True)
    (folder / ".reverie" / "settings.local.toml").write_text(RISKY)
    return folder


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def test_in_a_repository_that_does_not_track_it(tmp_path: Path, project: Path) -> None:
    git(project, "init", "-q")
    assert load(tmp_path) == "bypass"


def test_not_when_it_came_with_the_repository(tmp_path: Path, project: Path) -> None:
    git(project, "init", "-q")
    git(project, "add", "-f", ".reverie/settings.local.toml")
    with pytest.raises(SettingsError, match="came with the project"):
        load(tmp_path)


def test_nor_outside_of_git(tmp_path: Path, project: Path) -> None:
    with pytest.raises(SettingsError, match="outside of any git repository"):
        load(tmp_path)


def test_what_cannot_harm_may_stand_there_anyway(tmp_path: Path, project: Path) -> None:
    (project / ".reverie" / "settings.local.toml").write_text("[features]\ndream = false\n")
    assert load(tmp_path) == "ask"
