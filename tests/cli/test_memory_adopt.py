"""`adopt`: another client's memory in place, and the memory of a project that moved."""

import re
from pathlib import Path

import pytest
from tests.cli.memories import AUDIT, TESTS, contents, directory, remembered
from tests.cli.run import data, done, failed, run
from tests.place import Place, git

from reverie.memory.locations import read_identity

# As Claude Code 2.1 leaves it: an index, and topic files it added its own keys to.
THEIRS = {
    "MEMORY.md": (
        b"# Memory Index\r\n\r\n"
        b"- [Build tip](build-tip.md) \xe2\x80\x94 use the fast target\r\n"
        b"* [Odd one](./odd-one.md): a hook with its own bullet\r\n"
        b"Some words of the person.  \r\n"
    ),
    "build-tip.md": (
        b"---\nname: build-tip\ndescription: Use `make fast` when only docs changed\n"
        b"metadata: \n  node_type: memory\n  type: feedback\n  originSessionId: 7f3a41c2-0c1e\n---\n\n"
        b"Use `make fast`.\n\n**Why:** the full build takes 20 minutes.\n"
    ),
    "odd-one.md": b"\xef\xbb\xbfno frontmatter, and a byte \xe9 that is not UTF-8",
}  # fmt: skip


@pytest.fixture(autouse=True)
def fixed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: place.clock)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)


def claude(place: Place, config: Path | None = None) -> Path:
    """The memory directory Claude Code made for this project."""
    key = re.sub(r"[^A-Za-z0-9]", "-", str(place.root))
    folder = (config or place.person / ".claude") / "projects" / key / "memory"
    folder.mkdir(parents=True)
    for name, content in THEIRS.items():
        (folder / name).write_bytes(content)
    return folder


def loaded_by_claude(folder: Path) -> list[tuple[str, str, str, str]]:
    """The memories as that client reads them: through its index, within its limits."""
    index = (folder / "MEMORY.md").read_bytes()
    assert len(index) <= 24.4 * 1024
    lines = index.decode().splitlines()
    assert len(lines) <= 200
    found = []
    for line in lines:
        pointer = re.fullmatch(r"[-*] \[(.+?)\]\((?:\./)?([^)]+\.md)\).*", line)
        if pointer is None:
            continue
        text = (folder / pointer[2]).read_bytes().decode("utf-8", "replace")
        keys = dict(
            re.findall(r"^\s*(name|description|type): (.+)$", text.split("\n---\n")[0], re.M)
        )
        found.append((pointer[2], *(keys.get(key, "") for key in ("name", "description", "type"))))
    return found


def test_a_real_layout_is_adopted_in_place(place: Place):
    folder = claude(place)
    assert str(folder) in done("adopt")
    output = data("adopt", "claude-code")
    assert (output["directory"], output["memories"]) == (str(folder), 2)
    assert Path(output["state"]).is_relative_to(place.home)
    assert contents(folder) == THEIRS
    assert {row["file"]: row["type"] for row in data("list")} == {
        "build-tip.md": "feedback",
        "odd-one.md": None,
    }
    new = remembered(AUDIT)["file"]
    after = contents(folder)
    assert set(after) == {*THEIRS, new}
    assert {name: after[name] for name in THEIRS if name != "MEMORY.md"} == {
        name: THEIRS[name] for name in THEIRS if name != "MEMORY.md"
    }
    own = f"- [{AUDIT}]({new})\r\n".encode()
    theirs = THEIRS["MEMORY.md"].splitlines(keepends=True)
    assert after["MEMORY.md"].splitlines(keepends=True) == [*theirs[:4], own, *theirs[4:]]
    assert (new, AUDIT, AUDIT, "project") in loaded_by_claude(folder)
    assert (
        "build-tip.md",
        "build-tip",
        "Use `make fast` when only docs changed",
        "feedback",
    ) in loaded_by_claude(folder)


def test_nothing_of_theirs_changes_through_a_whole_day(place: Place):
    folder = claude(place)
    done("adopt", "claude-code")
    first, second = remembered(AUDIT)["file"], remembered(TESTS)["file"]
    done("pin", second)
    remembered("Deploys freeze on 2026-12-27 because of the audit", "--supersedes", first)
    done("undo")
    done("forget", first)
    done("undo")
    done("forget", first, "--everywhere", "--yes")
    for looking in (
        ["list"],
        ["log"],
        ["diff"],
        ["index"],
        ["doctor"],
        ["blame", "odd-one.md"],
        ["show", "odd-one.md"],
    ):
        run(*looking)
    done("forget", second)
    assert contents(folder) == THEIRS
    assert "where this history begins" in failed("undo", data("log")[-1]["revision"])
    done("adopt", "--undo")
    assert directory(place) != folder
    assert contents(folder) == THEIRS


def test_pinning_one_of_theirs_changes_one_key_and_no_line_of_the_index(place: Place):
    folder = claude(place)
    done("adopt", "claude-code")
    done("pin", "build-tip")
    after = contents(folder)
    assert after["MEMORY.md"] == THEIRS["MEMORY.md"]
    assert after["build-tip.md"].replace(b"pinned: true\n", b"") == THEIRS["build-tip.md"]
    assert "cannot be edited" not in done("pin", "build-tip", "--off")
    assert contents(folder) == THEIRS


def test_the_same_through_an_option(place: Place):
    folder = claude(place)
    assert len(data("list", "--memory-dir", folder)) == 2
    done("remember", AUDIT, "--memory-dir", folder)
    assert len(data("list", "--memory-dir", folder)) == 3
    assert data("list") == []
    assert all(not path.name.startswith(".") for path in folder.iterdir())


def test_another_folder_of_that_client(place: Place, monkeypatch: pytest.MonkeyPatch):
    folder = claude(place, place.base / "config")
    assert "Claude Code has no memory directory for" in failed("adopt", "claude-code")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(place.base / "config"))
    assert data("adopt", "claude-code")["directory"] == str(folder)


REFUSED = {
    "nope": "there is no such folder",
    "/etc/ssl": "belongs to the system",
    "/": "refused",
}


@pytest.mark.parametrize("path", REFUSED)
def test_what_cannot_be_adopted(place: Place, path: str):
    assert REFUSED[path] in failed("adopt", path)
    assert "nothing was adopted" in failed("adopt", "--undo")


def test_memories_do_not_get_out_of_sight_unnoticed(place: Place):
    remembered(AUDIT)
    folder = claude(place)
    message = failed("adopt", "claude-code")
    assert "1 memory saved here would become hidden" in message
    done("export", place.base / "mine.zip")
    done("adopt", "claude-code", "--anyway")
    done("import", place.base / "mine.zip")
    assert len(data("list")) == 3
    assert len(contents(folder)) == 4


def test_a_directory_that_is_set_wins(place: Place):
    folder = claude(place)
    place.settings(f"memory_directory = '{place.base / 'set'}'")
    assert "memory_directory is set (user" in failed("adopt", folder)


# --- a project that moved ---


def repository(path: Path) -> Path:
    path.mkdir()
    git(path, "init", "-q")
    (path / "a").write_text(path.name)
    git(path, "add", ".")
    git(path, "commit", "-qm", "first")
    return path


def test_a_moved_project_is_offered_its_memory_and_linked(place: Place):
    old = repository(place.base / "shop")
    remembered(AUDIT, "--project", old)
    new = old.rename(place.base / "store")
    at = ["--project", new]
    result = run("list", *at)
    assert (
        f"note: this repository has a memory from when it was {old}; continue it with: reverie adopt --from"
        in result.stderr
    )
    assert f"reverie adopt --from {data('adopt', *at)['offers'][0]['adopt'].split()[1]}" in done(
        "doctor", *at
    )
    command = result.stderr.split("reverie ")[1].split()
    assert done(*command, *at).startswith("Continuing the memory of")
    assert [row["name"] for row in data("list", *at)] == [AUDIT]
    remembered(TESTS, *at)
    assert len(data("log", *at)) == 2
    assert "is gone" not in done("doctor", *at)
    again = new.rename(place.base / "shop2")
    [offer] = data("adopt", "--project", again)["offers"]
    done("adopt", "--from", str(old), "--project", again)
    assert len(data("list", "--project", again)) == 2
    assert offer["directory"] == str(old)
    done("adopt", "--undo", "--project", again)
    assert data("list", "--project", again) == []


def test_every_work_tree_has_one_memory(place: Place):
    main = repository(place.base / "shop")
    git(main, "worktree", "add", "-q", place.base / "hotfix")
    remembered(AUDIT, "--project", main)
    assert [row["name"] for row in data("list", "--project", place.base / "hotfix")] == [AUDIT]


def test_what_a_project_is_known_by_is_written_with_its_first_memory(place: Place):
    root = place.base / "shop"
    root.mkdir()
    git(root, "init", "-q")
    remembered(AUDIT, "--project", root)
    [folder] = (place.home / "projects").iterdir()
    known = read_identity(folder)
    assert known is not None
    assert (known.root, known.first_commit) == (str(root), "")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    git(root, "remote", "add", "origin", "https://example.invalid/shop.git")
    remembered(TESTS, "--project", root)
    known = read_identity(folder)
    assert known is not None
    assert len(known.first_commit) == 40
    assert known.remote == "https://example.invalid/shop.git"


def test_unknown_projects(place: Place):
    assert "no project 'nope' under" in failed("adopt", "--from", "nope")
    remembered(AUDIT)
    assert "is this project itself" in failed("adopt", "--from", place.root, "--anyway")
    assert done("adopt") == "There is nothing to adopt for this project.\n"
