"""Whose project a folder is: pointers that a stranger forged, and repositories of other users."""

import os
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest
from tests.cli.run import process, run
from tests.place import Place, git
from tests.security.folders import given_away

from reverie.files.atomic import owned_by_us
from reverie.memory.changes.draft import NewMemory
from reverie.memory.format.revisions import Author
from reverie.settings.projects import canonical_root, find_project, find_root, remote_of
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


# ── a repository that another archive copies, borrows from, or damages ───────


ADDRESS = "git@github.com:acme/secret.git"


def linked_whole(here: Path, victim: Path) -> None:
    (here / ".git").symlink_to(victim / ".git")


def linked_in_parts(here: Path, victim: Path) -> None:
    (here / ".git").mkdir()
    for name in ("HEAD", "config", "refs", "objects"):
        (here / ".git" / name).symlink_to(victim / ".git" / name)


def _of_its_own(here: Path, victim: Path) -> Path:
    """An empty repository that names the victim's address; its HEAD is the victim's first commit."""
    git(here, "init", "-q", "-b", "main")
    git(here, "remote", "add", "origin", ADDRESS)
    first = (victim / ".git" / "refs" / "heads" / "main").read_text()
    (here / ".git" / "refs" / "heads" / "main").write_text(first)
    return here / ".git" / "objects" / first[:2] / first[2:].strip()


def borrowed(here: Path, victim: Path) -> None:
    _of_its_own(here, victim)
    (here / ".git" / "objects" / "info" / "alternates").write_text(f"{victim}/.git/objects\n")


def linked_object(here: Path, victim: Path) -> None:
    path = _of_its_own(here, victim)
    path.parent.mkdir()
    path.symlink_to(victim / path.relative_to(here))


def common_folder(here: Path, victim: Path) -> None:
    _of_its_own(here, victim)
    (here / ".git" / "commondir").write_text(f"{victim}/.git\n")


def another_under_its_id(here: Path, victim: Path) -> None:
    """Only the id is known: another commit stands under it."""
    path = _of_its_own(here, victim)
    other = here.with_name("other")
    other.mkdir()
    git(other, "init", "-q", "-b", "main")
    git(other, "commit", "-q", "--allow-empty", "-m", "made up")
    commit = (other / ".git" / "refs" / "heads" / "main").read_text().strip()
    path.parent.mkdir()
    path.write_bytes((other / ".git" / "objects" / commit[:2] / commit[2:]).read_bytes())


COPIES = (
    linked_whole,
    linked_in_parts,
    borrowed,
    linked_object,
    common_folder,
    another_under_its_id,
)


@pytest.mark.parametrize("copied", COPIES, ids=lambda copied: copied.__name__)
def test_a_history_that_is_only_borrowed_brings_no_memory(
    place: Place, victim: Path, copied: Callable[[Path, Path], None]
) -> None:
    git(victim, "remote", "add", "origin", ADDRESS)
    Workspace.open(victim).memory().keeper.remember(NewMemory(SECRET), Author("person"))
    copied(place.root, victim)
    assert "cat" not in run("recall", "staging password").output
    told = run("list")
    assert "cat" not in told.output
    assert "does not have its first commit itself" in told.stderr


def test_a_clone_of_ones_own_still_shares_it(place: Place, victim: Path) -> None:
    git(victim, "remote", "add", "origin", ADDRESS)
    Workspace.open(victim).memory().keeper.remember(NewMemory(SECRET), Author("person"))
    git(place.root, "clone", "-q", victim, ".")
    git(place.root, "remote", "set-url", "origin", ADDRESS)
    assert "cat" in run("recall", "staging password").stdout


def test_a_cut_commit_does_not_hold_up_a_command(place: Place) -> None:
    """libgit2 reads it forever."""
    git(place.root, "init", "-q", "-b", "main")
    git(place.root, "remote", "add", "origin", ADDRESS)
    git(place.root, "commit", "-q", "--allow-empty", "-m", "a message of some length")
    commit = (place.root / ".git" / "refs" / "heads" / "main").read_text().strip()
    path = place.root / ".git" / "objects" / commit[:2] / commit[2:]
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:60])
    made = process(place, "remember", "Deploys freeze before the audit", seconds=60)
    assert (made.returncode, "Remembered" in made.stdout) == (0, True)


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("name", ["config", "HEAD"])
def test_a_pipe_in_a_repository_does_not_hold_up_a_command(place: Place, name: str) -> None:
    git(place.root, "init", "-q")
    fifo(place.root / ".git" / name)
    assert process(place, "list", seconds=60).returncode == 0


@pytest.mark.parametrize(
    "text",
    ["\n", "[", "[ ", "[remote ", '[remote "origin"]\nurl = ', '[remote "origin"]\n\n', " \t"],
)
def test_a_long_configuration_is_read_at_once(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(text * (256_000 // len(text)))
    began = process_time()
    remote_of(tmp_path)
    assert process_time() - began < 2
