"""Worktrees in real repositories: made at HEAD, removed only when there is nothing to lose."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.place import git

from reverie.subagents.worktrees import Changes, Kept, NoWorktree, Removed, Worktree, Worktrees

ENVIRONMENT = {
    **{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}
worktrees = Worktrees(ENVIRONMENT)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "a.py").write_text("one\n")
    (root / ".gitignore").write_text("build/\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


@pytest.fixture
def worktree(repository: Path, tmp_path: Path) -> Worktree:
    return added(repository, tmp_path / "away/worker")


def added(repository: Path, folder: Path, name: str = "worker") -> Worktree:
    made = worktrees.add(repository, name, folder)
    assert isinstance(made, Worktree), made
    return made


def refusal(repository: Path, folder: Path, name: str = "worker") -> str:
    made = worktrees.add(repository, name, folder)
    assert isinstance(made, NoWorktree), made
    return made.reason


def asked(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=ENVIRONMENT)
    return done.stdout.strip()


def branches(repository: Path) -> list[str]:
    return asked(repository, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()


def commit(worktree: Worktree, message: str = "more") -> None:
    git(worktree.folder, "commit", "-qam", message)


def test_a_branch_and_a_folder_at_head(repository, worktree):
    assert worktree.repository == repository
    assert worktree.branch == "reverie/worker"
    assert worktree.base == asked(repository, "rev-parse", "HEAD")
    assert (worktree.folder / "a.py").read_text() == "one\n"
    assert asked(worktree.folder, "branch", "--show-current") == "reverie/worker"
    assert asked(repository, "branch", "--show-current") == "main"
    assert worktrees.changes(worktree) == Changes()


def test_what_was_not_committed_stays_behind(repository, tmp_path):
    (repository / "a.py").write_text("two\n")
    (repository / "new ü.py").write_text("new\n")
    made = added(repository / ".", tmp_path / "w")
    assert (made.folder / "a.py").read_text() == "one\n"
    assert (repository / "a.py").read_text() == "two\n"


def test_from_a_folder_inside_and_from_another_worktree(repository, worktree, tmp_path):
    (repository / "sub").mkdir()
    assert added(repository / "sub", tmp_path / "b", "b").repository == repository
    (worktree.folder / "a.py").write_text("two\n")
    commit(worktree)
    made = added(worktree.folder, tmp_path / "c", "c")
    assert (made.folder / "a.py").read_text() == "two\n"


def test_why_there_is_none(repository, worktree, tmp_path):
    plain, empty = tmp_path / "plain", tmp_path / "empty"
    plain.mkdir()
    empty.mkdir()
    git(empty, "init", "-q")
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "file").write_text("mine")
    assert "not a git repository" in refusal(plain, tmp_path / "w")
    assert "No such file" in refusal(tmp_path / "absent", tmp_path / "w")
    assert "has no commit yet" in refusal(empty, tmp_path / "w")
    assert "branch 'reverie/worker' already" in refusal(repository, tmp_path / "w")
    assert "already exists" in refusal(repository, taken, "other")
    assert (taken / "file").read_text() == "mine"
    assert branches(repository) == ["main", "reverie/worker"]


@pytest.mark.parametrize("name", ["", "../x", "-f", "a b", "A", "a..b", "a/b", "x.lock", "con"])
def test_names_are_names(repository, tmp_path, name):
    assert refusal(repository, tmp_path / "w", name)
    assert branches(repository) == ["main"]


def test_without_git_there_is_none(repository, tmp_path):
    made = Worktrees({"PATH": str(tmp_path)}).add(repository, "worker", tmp_path / "w")
    assert made == NoWorktree("git is not installed; isolated agents need it")


def test_another_gits_variables_do_not_lead_us_away(repository, tmp_path):
    elsewhere = {**ENVIRONMENT, "GIT_DIR": str(tmp_path / "x"), "GIT_INDEX_FILE": "/nowhere"}
    made = Worktrees(elsewhere).add(repository, "worker", tmp_path / "w")
    assert isinstance(made, Worktree)


def test_hooks_are_not_run(repository, tmp_path):
    hook = repository / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
    hook.chmod(0o755)
    added(repository, tmp_path / "w")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("keep", "left"), [(False, None), (True, "reverie/worker")])
def test_an_unchanged_folder_goes(repository, worktree, keep, left):
    assert worktrees.remove(worktree, keep_branch=keep) == Removed(left)
    assert not worktree.folder.exists()
    assert branches(repository) == ["main", *([left] if left else [])]
    assert asked(repository, "worktree", "list").count("\n") == 0


def test_what_git_ignores_is_no_change(worktree):
    (worktree.folder / "build").mkdir()
    (worktree.folder / "build/out").write_text("x")
    assert worktrees.changes(worktree) == Changes()
    assert worktrees.remove(worktree, keep_branch=False) == Removed(None)


def edited(worktree: Worktree) -> None:
    (worktree.folder / "a.py").write_text("two\n")


def created(worktree: Worktree) -> None:
    (worktree.folder / "sub").mkdir()
    (worktree.folder / "sub/new.py").write_text("x")


def created_unseen(worktree: Worktree) -> None:
    git(worktree.repository, "config", "status.showUntrackedFiles", "no")
    created(worktree)


def deleted(worktree: Worktree) -> None:
    (worktree.folder / "a.py").unlink()


def renamed(worktree: Worktree) -> None:
    git(worktree.folder, "mv", "a.py", "b.py")


def committed(worktree: Worktree) -> None:
    edited(worktree)
    commit(worktree, "second")


def committed_apart(worktree: Worktree) -> None:
    git(worktree.folder, "checkout", "-q", "--detach")
    committed(worktree)


def committed_and_left(worktree: Worktree) -> None:
    committed_apart(worktree)
    git(worktree.folder, "checkout", "-q", worktree.branch)


def committed_and_taken_back(worktree: Worktree) -> None:
    committed(worktree)
    git(worktree.folder, "reset", "-q", "--hard", worktree.base)


@pytest.mark.parametrize(
    ("work", "subjects", "files"),
    [
        (edited, [], ["a.py"]),
        (created, [], ["sub/new.py"]),
        (created_unseen, [], ["sub/new.py"]),
        (deleted, [], ["a.py"]),
        (renamed, [], ["a.py", "b.py"]),
        (committed, ["second"], ["a.py"]),
        (committed_apart, ["second"], ["a.py"]),
        (committed_and_left, ["second"], []),
        (committed_and_taken_back, ["second"], []),
    ],
)
def test_work_is_found_and_kept(repository, worktree, work, subjects, files):
    work(worktree)
    found = worktrees.changes(worktree)
    assert [line.partition(" ")[2] for line in found.commits] == subjects
    assert list(found.files) == files
    kept = worktrees.remove(worktree, keep_branch=False)
    assert kept == Kept(worktree.folder, "reverie/worker", found, "it holds changes")
    assert worktrees.changes(worktree) == found
    assert "reverie/worker" in branches(repository)


def test_commits_are_told_oldest_first(worktree):
    for text in ("one more", "two more"):
        (worktree.folder / "a.py").write_text(text)
        commit(worktree, text)
    told = [line.partition(" ")[2] for line in worktrees.changes(worktree).commits]
    assert told == ["one more", "two more"]


def test_a_locked_folder_stays(repository, worktree):
    git(repository, "worktree", "lock", worktree.folder)
    kept = worktrees.remove(worktree, keep_branch=False)
    assert isinstance(kept, Kept)
    assert "locked" in kept.reason
    assert worktree.folder.is_dir()
    assert "reverie/worker" in branches(repository)


def test_a_folder_removed_by_hand_is_forgotten(repository, worktree, tmp_path):
    worktree.folder.rename(tmp_path / "moved")
    assert worktrees.changes(worktree) == Changes()
    assert worktrees.remove(worktree, keep_branch=False) == Removed(None)
    assert asked(repository, "worktree", "list").count("\n") == 0
    assert worktrees.remove(worktree, keep_branch=False) == Removed(None)


def test_its_commits_are_not_forgotten(repository, worktree, tmp_path):
    committed(worktree)
    worktree.folder.rename(tmp_path / "moved")
    assert len(worktrees.changes(worktree).commits) == 1
    assert worktrees.remove(worktree, keep_branch=False) == Removed("reverie/worker")
    assert asked(repository, "log", "-1", "--format=%s", "reverie/worker") == "second"


def test_only_our_own_folder_is_forgotten(repository, worktree, tmp_path):
    other = added(repository, tmp_path / "other", "other")
    other.folder.rename(tmp_path / "unplugged")
    worktree.folder.rename(tmp_path / "moved")
    worktrees.remove(worktree, keep_branch=False)
    assert str(other.folder) in asked(repository, "worktree", "list")


def test_a_folder_that_is_no_worktree_any_more_is_left_alone(repository):
    (repository / "build").mkdir()
    inside = added(repository, repository / "build/worker")
    (inside.folder / ".git").unlink()
    kept = worktrees.remove(inside, keep_branch=False)
    assert isinstance(kept, Kept)
    assert kept.changes is None
    assert "no longer a git worktree" in kept.reason
    assert (inside.folder / "a.py").exists()


def test_a_checkout_that_fails_leaves_no_branch(repository, tmp_path):
    own = tmp_path / "gitconfig"
    own.write_text('[filter "broken"]\nsmudge = false\nrequired = true\n')
    (repository / ".gitattributes").write_text("*.bin filter=broken\n")
    (repository / "x.bin").write_text("x")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "filtered")
    mine = Worktrees({**ENVIRONMENT, "GIT_CONFIG_GLOBAL": str(own)})
    made = mine.add(repository, "worker", tmp_path / "w")
    assert isinstance(made, NoWorktree)
    assert "failed" in made.reason
    assert branches(repository) == ["main"]
    assert not (tmp_path / "w").exists()


def test_a_git_that_hangs_is_ended(repository, tmp_path):
    own = tmp_path / "gitconfig"
    own.write_text('[filter "slow"]\nsmudge = sleep 60\n')
    (repository / ".gitattributes").write_text("*.bin filter=slow\n")
    (repository / "x.bin").write_text("x")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "filtered")
    mine = Worktrees({**ENVIRONMENT, "GIT_CONFIG_GLOBAL": str(own)}, seconds=1.0)
    made = mine.add(repository, "worker", tmp_path / "w")
    assert made == NoWorktree("git did not finish within 1 s")
    assert branches(repository) == ["main"]
    assert not (tmp_path / "w").exists()
