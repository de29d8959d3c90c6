"""Which project a folder belongs to, with real and hostile repositories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.place import git

from reverie.files.atomic import slug
from reverie.settings.projects import canonical_root, find_project


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "src" / "deep").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    (root / "src" / "file").write_text("x")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


def test_the_root_and_every_folder_in_it(repository: Path) -> None:
    for folder in (repository, repository / "src", repository / "src" / "deep"):
        assert canonical_root(folder) == repository


def test_a_worktree_shares_the_project_of_its_repository(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "work"
    git(repository, "worktree", "add", "-q", other)
    assert canonical_root(other) == repository
    assert canonical_root(other / "src") == repository


def test_a_worktree_of_a_bare_clone_belongs_to_it(repository: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", repository, bare)
    git(bare, "worktree", "add", "-q", tmp_path / "work", "main")
    assert canonical_root(bare) == bare
    assert canonical_root(bare / "refs") == bare
    assert canonical_root(tmp_path / "work") == bare


def test_a_submodule_is_a_project_of_its_own(repository: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "--quiet", "add", repository, "inner")
    assert (outer / "inner" / ".git").is_file()
    assert canonical_root(outer / "inner" / "src") == outer / "inner"
    assert canonical_root(outer) == outer


def test_outside_git_a_folder_is_its_own_project(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    assert canonical_root(folder) == folder


def test_a_link_to_a_folder_leads_to_the_same_project(repository: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(repository / "src")
    assert canonical_root(link) == repository


HOSTILE = {
    "empty": b"",
    "no pointer": b"hello\n",
    "points nowhere": b"gitdir: /no/such/folder\n",
    "points to nothing": b"gitdir:\n",
    "a zero byte": b"gitdir: /tmp/\0/x\n",
    "binary": bytes(range(256)) * 10,
    "a path without end": b"gitdir: " + b"/a" * 50_000,
    "a name too long": b"gitdir: " + b"a" * 3_000 + b"\n",
    "up and up": b"gitdir: " + b"../" * 500 + b"\n",
    "itself": b"gitdir: .git\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_git_file_makes_a_folder_its_own_project(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "hostile"
    folder.mkdir()
    (folder / ".git").write_bytes(HOSTILE[name])
    assert canonical_root(folder) == folder


@pytest.mark.parametrize("common", [b"\0", b"", b"x" * 5_000, b"\xff\xfe", b"/a\0b/.git"])
def test_a_hostile_pointer_to_the_shared_part(tmp_path: Path, common: bytes) -> None:
    folder = tmp_path / "hostile"
    (folder / "evil").mkdir(parents=True)
    (folder / ".git").write_text("gitdir: evil\n")
    (folder / "evil" / "commondir").write_bytes(common)
    assert canonical_root(folder).is_absolute()


@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "dangling", "loop"])
def test_pointers_that_are_no_files_are_not_read(tmp_path: Path, kind: str) -> None:
    """Reading a device or a pipe would never end."""
    folder = tmp_path / "hostile"
    (folder / "evil").mkdir(parents=True)
    (folder / ".git").write_text("gitdir: evil\n")
    common = folder / "evil" / "commondir"
    match kind:
        case "device":
            common.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(common)
        case "folder":
            common.mkdir()
        case "dangling":
            common.symlink_to("nowhere")
        case _:
            common.symlink_to("commondir")
    assert canonical_root(folder) == folder


def test_a_project_keeps_its_things_under_the_home(repository: Path, tmp_path: Path) -> None:
    project = find_project(repository / "src", tmp_path / "home")
    assert project.root == repository
    assert project.folder == tmp_path / "home" / "projects" / slug(repository)
    assert project.journal("s1") == project.folder / "sessions" / "s1.jsonl"


def test_a_slug_is_readable_and_does_not_change() -> None:
    assert slug(Path("/home/ada/work/reverie")) == "home-ada-work-reverie-bf4a0310"


SIMILAR = [
    "/a/b",
    "/a-b",
    "/a/b ",
    "/A/b",
    "/a/b/",
    "/",
    "/a_b",
    "/ä/b",
    "/a//b/c",
    "/.a",
    "/a/\udcff",
]


def test_roots_that_look_alike_have_slugs_of_their_own() -> None:
    roots = {Path(root) for root in SIMILAR}
    assert len({slug(root) for root in roots}) == len(roots)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=300))
def test_a_slug_is_one_safe_name(name: str) -> None:
    made = slug(Path("/") / name)
    assert 8 <= len(made) <= 70
    assert not made.startswith((".", "-"))
    assert "/" not in made
    assert made.isascii()
    assert made == slug(Path("/") / name)
