"""Whose project a folder is: pointers that a stranger forged, and repositories of other users."""

import os
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.place import Place, git
from tests.security.folders import given_away

from reverie.files.atomic import owned_by_us
from reverie.memory.changes.draft import NewMemory
from reverie.memory.format.revisions import Author
from reverie.settings.projects import canonical_root, find_project, find_root
from reverie.workspace import Workspace

SECRET = "The staging password hint is the name of the cat."


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A repository of the person with one worktree."""
    root = tmp_path / "victim"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "file").write_text("x")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    git(root, "worktree", "add", "-q", tmp_path / "own-worktree")
    return root


def forged(folder: Path, pointer: str, **files: str) -> Path:
    """A folder whose `.git` points somewhere; `files` go to the folder `g` in it."""
    (folder / "g").mkdir(parents=True)
    (folder / ".git").write_text(f"gitdir: {pointer}\n")
    for name, text in files.items():
        (folder / "g" / name).write_text(f"{text}\n")
    return folder


FORGERIES = {
    "without a way back": ("./g", {"commondir": "{victim}/.git"}),
    "with a way back": ("./g", {"commondir": "{victim}/.git", "gitdir": "{here}/.git"}),
    "with a relative way back": ("./g", {"commondir": "{victim}/.git", "gitdir": "../.git"}),
    "relative to the victim": ("g", {"commondir": "../../victim/.git", "gitdir": "../.git"}),
    "the worktree of another": ("{victim}/.git/worktrees/own-worktree", {}),
    "the repository itself": ("{victim}/.git", {}),
    "its folder of worktrees": ("{victim}/.git/worktrees", {}),
    "up and down again": ("{victim}/.git/worktrees/own-worktree/../own-worktree", {}),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_pointer_does_not_choose_the_project(
    tmp_path: Path, victim: Path, name: str
) -> None:
    pointer, files = FORGERIES[name]
    here = tmp_path / "downloaded"
    filled = {key: text.format(victim=victim, here=here) for key, text in files.items()}
    forged(here, pointer.format(victim=victim), **filled)
    (here / "src").mkdir()
    for start in (here, here / "src"):
        assert canonical_root(start) == here
    if name not in ("the repository itself", "its folder of worktrees"):
        assert "is a project of its own" in find_root(here).note
        assert "git worktree repair" in find_root(here).note


def test_a_worktree_by_a_link_among_the_victims_worktrees(tmp_path: Path, victim: Path) -> None:
    """Links are followed before anything is compared."""
    here = tmp_path / "downloaded"
    (here / "g").mkdir(parents=True)
    (here / "worktrees").symlink_to(victim / ".git" / "worktrees")
    (here / ".git").write_text("gitdir: worktrees/own-worktree\n")
    assert canonical_root(here) == here


def test_real_worktrees_still_share_the_project(tmp_path: Path, victim: Path) -> None:
    other = tmp_path / "own-worktree"
    assert find_root(other) == (victim, "")
    # Newer gits can write these pointers relative to their own place.
    pointer = victim / ".git" / "worktrees" / "own-worktree" / "gitdir"
    pointer.write_text(os.path.relpath(other / ".git", pointer.parent) + "\n")
    assert find_root(other) == (victim, "")


def test_a_worktree_that_was_moved_by_hand_is_told_how_to_come_back(
    tmp_path: Path, victim: Path
) -> None:
    moved = (tmp_path / "own-worktree").rename(tmp_path / "moved")
    assert find_root(moved).path == moved
    git(moved, "worktree", "repair")
    assert find_root(moved) == (victim, "")


def test_loops_end(tmp_path: Path) -> None:
    here = forged(tmp_path / "downloaded", "./g/loop", commondir="x")
    (here / "g" / "loop").symlink_to("loop")
    assert canonical_root(here) == here


@pytest.mark.parametrize("part", [".git", ".git/worktrees/own-worktree"])
def test_a_repository_of_another_user_is_not_joined(
    tmp_path: Path, victim: Path, part: str
) -> None:
    given_away(victim / part)
    other = tmp_path / "own-worktree"
    assert find_root(other).path == other
    assert "belongs to another user" in find_root(other).note


@pytest.mark.parametrize("kind", ["folder", "file", "bare"])
def test_a_repository_of_another_user_in_a_shared_parent(tmp_path: Path, kind: str) -> None:
    """`/tmp/.git` of another user must not gather what everybody has below `/tmp`."""
    mine = tmp_path / "mine"
    mine.mkdir()
    sign = tmp_path / ".git"
    match kind:
        case "folder":
            sign.mkdir()
        case "file":
            sign.write_text("gitdir: elsewhere\n")
        case _:
            (tmp_path / "objects").mkdir()
            (tmp_path / "refs").mkdir()
            sign = tmp_path / "HEAD"
            sign.write_text("ref: refs/heads/main\n")
    assert canonical_root(mine) == tmp_path
    given_away(sign)
    assert find_root(mine).path == mine
    assert "belongs to another user" in find_root(mine).note


@pytest.mark.parametrize(("owner", "ours"), [(1000, True), (0, True), (1001, False)])
def test_ours_is_what_we_or_the_system_own(tmp_path: Path, owner: int, ours: bool) -> None:
    status = list(tmp_path.stat())
    status[4] = owner
    assert owned_by_us(os.stat_result(status), user=1000) is ours


def test_another_projects_memory_is_not_loaded(place: Place, victim: Path) -> None:
    """The whole way: the memory of the person's own project, from a folder that was downloaded."""
    Workspace.open(victim).memory().keeper.remember(NewMemory(SECRET), Author("person"))
    forged(place.root, "./g", commondir=f"{victim}/.git", gitdir="../.git")
    assert run("recall", "staging password", "--project", victim).stdout.count("cat") > 0
    assert "cat" not in run("recall", "staging password").output
    assert find_project(place.root, place.home).folder != find_project(victim, place.home).folder
    assert "knows nothing of it" in run("doctor").output
