"""Our trees are equal to those that the library builds from the same files."""

from __future__ import annotations

import pygit2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pygit2.enums import FileMode

from reverie.memory.git_trees import Folder, files_of, tree_of, write_commit

# Names that sort differently as files and as folders, and above ASCII.
PARTS = st.sampled_from(["a", "a.md", "a-b", "a0", "b", "ü", "日本", "🦊", "z.md", "A"])
PATHS = st.lists(PARTS, min_size=1, max_size=3).map("/".join)
CHANGES = st.lists(
    st.dictionaries(PATHS, st.one_of(st.none(), st.binary(max_size=3)), max_size=6), max_size=4
)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> pygit2.Repository:
    return pygit2.init_repository(str(tmp_path_factory.mktemp("trees")), bare=True)


def test_a_commit_is_the_librarys_to_the_byte(repo: pygit2.Repository) -> None:
    tree = tree_of(repo, None, {"a.md": b"a"})
    who = pygit2.Signature("main", "reverie@localhost", 1_750_000_000, 0)
    parents: list[pygit2.Oid] = []
    for message in ("first\n", "second ü 🦊\n\nReverie-Writer: main\n"):
        theirs = repo.create_commit(None, who, who, message, tree, parents)
        signed = "main <reverie@localhost> 1750000000 +0000"
        assert write_commit(repo, tree, parents, signed, message) == theirs
        parents = [theirs]


@pytest.mark.parametrize("message", ["caf\udce9\n", "nul \0 inside\n"])
def test_a_commit_survives_what_is_no_text(repo: pygit2.Repository, message: str) -> None:
    tree = tree_of(repo, None, {"a.md": b"a"})
    made = write_commit(repo, tree, [], "main <reverie@localhost> 0 +0000", message)
    assert repo[made].peel(pygit2.Commit).message.endswith("\n")


def applied(files: dict[str, bytes], change: dict[str, bytes | None]) -> dict[str, bytes]:
    """The same on a plain mapping; a file and a folder cannot share a name."""
    for path, data in change.items():
        files.pop(path, None)
        if data is not None:
            files = {
                known: old
                for known, old in files.items()
                if not known.startswith(f"{path}/") and not path.startswith(f"{known}/")
            }
            files[path] = data
    return files


def clashes(change: dict[str, bytes | None]) -> bool:
    return any(other.startswith(f"{path}/") for path in change for other in change)


@given(CHANGES)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_library_builds_the_same(
    repo: pygit2.Repository, changes: list[dict[str, bytes | None]]
) -> None:
    tree: pygit2.Tree | None = None
    files: dict[str, bytes] = {}
    for change in changes:
        if clashes(change):
            continue
        tree = repo[tree_of(repo, tree, change)].peel(pygit2.Tree)
        files = applied(files, change)
        index = pygit2.Index()
        for path, data in files.items():
            index.add(pygit2.IndexEntry(path, repo.create_blob(data), FileMode.BLOB))
        assert tree.id == index.write_tree(repo)
        folder = Folder.read(repo, tree.id)
        assert {path: folder.find(repo, path) for path in files} == {
            path: pygit2.Oid(hex=id_) for path, id_ in files_of(repo, tree)
        }
        assert folder.find(repo, "missing.md") is None
        assert folder.find(repo, "a/missing.md") is None
