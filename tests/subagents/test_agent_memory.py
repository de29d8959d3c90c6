"""Agent memory: three scopes, one writer; names and repositories that try to lead out."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.place import FixedClock, git

from reverie.errors import InputError
from reverie.memory.format.index import Pointer
from reverie.memory.format.prompt import AgentScope
from reverie.memory.format.revisions import Author, Put
from reverie.subagents.type_files import AgentMemory, folder_name, open_agent_memory

SCOPES: tuple[AgentScope, ...] = ("user", "project", "local")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "src").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    (root / "src" / "file").write_text("x")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def opened(start: Path, home: Path, scope: AgentScope, agent: str = "code-reviewer") -> AgentMemory:
    return open_agent_memory(agent, scope, start, home, FixedClock())


def note(memory: AgentMemory, text: str) -> None:
    pointer = Pointer("A lesson", "lesson.md", text)
    body = f"---\nname: A lesson\ndescription: {text}\ntype: feedback\n---\n{text}\n".encode()
    known = memory.store.read("lesson.md")
    put = Put("lesson.md", body, known.version if known else None)
    memory.store.apply((put,), Author("main"), "note", lambda index: index.with_pointer(pointer))


def status(repository: Path) -> list[str]:
    command = ["git", "-C", str(repository), "status", "--porcelain", "-uall"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.parametrize(
    ("scope", "place"),
    [
        ("user", "home/agent-memory/code-reviewer"),
        ("project", "repo/.reverie/agent-memory/code-reviewer"),
        ("local", "repo/.reverie/agent-memory-local/code-reviewer"),
    ],
)
def test_each_scope_has_its_place(
    tmp_path: Path, repository: Path, home: Path, scope: AgentScope, place: str
) -> None:
    memory = opened(repository / "src", home, scope)
    assert memory.directory == tmp_path / place
    assert memory.directory.is_dir()


def test_what_is_committed_and_what_is_not(repository: Path, home: Path) -> None:
    for scope in SCOPES:
        note(opened(repository, home, scope), f"for {scope}")
    folder = "?? .reverie/agent-memory/code-reviewer"
    assert status(repository) == [f"{folder}/MEMORY.md", f"{folder}/lesson.md"]
    # We do not commit there: the repository's history is its people's.
    log = subprocess.run(
        ["git", "-C", str(repository), "log", "--oneline"], capture_output=True, text=True
    )
    assert len(log.stdout.splitlines()) == 1


def test_the_persons_own_ignore_file_stays_as_it_is(repository: Path, home: Path) -> None:
    (repository / ".gitignore").write_text("build\n")
    own = repository / ".reverie" / "agent-memory-local"
    own.mkdir(parents=True)
    (own / ".gitignore").write_text("# mine\n")
    opened(repository, home, "local")
    assert (repository / ".gitignore").read_text() == "build\n"
    assert (own / ".gitignore").read_text() == "# mine\n"


@pytest.mark.parametrize("scope", SCOPES)
def test_worktrees_and_folders_share_one_memory(
    tmp_path: Path, repository: Path, home: Path, scope: AgentScope
) -> None:
    other = tmp_path / "elsewhere"
    git(repository, "worktree", "add", "-q", other)
    note(opened(repository / "src", home, scope), "learned here")
    assert "learned here" in opened(other, home, scope).prompt()


def test_user_scope_is_known_everywhere_the_others_are_not(
    tmp_path: Path, repository: Path, home: Path
) -> None:
    elsewhere = tmp_path / "no-git"
    elsewhere.mkdir()
    for scope in SCOPES:
        note(opened(repository, home, scope), f"for {scope}")
    known = [s for s in SCOPES if f"for {s}" in opened(elsewhere, home, s).prompt()]
    assert known == ["user"]
    assert opened(elsewhere, home, "project").directory.is_relative_to(elsewhere)


def test_a_bare_repository_has_no_files_of_its_own(
    tmp_path: Path, repository: Path, home: Path
) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", repository, bare)
    with pytest.raises(InputError, match="bare repository"):
        opened(bare, home, "project")
    tree = tmp_path / "tree"
    git(bare, "worktree", "add", "-q", tree, "main")
    assert opened(tree, home, "project").directory.is_relative_to(tree)
    assert opened(bare, home, "user").directory.is_relative_to(home)


@pytest.mark.parametrize("scope", SCOPES)
def test_the_prompt_says_what_the_scope_is_for_and_holds_the_index(
    repository: Path, home: Path, scope: AgentScope
) -> None:
    memory = opened(repository, home, scope)
    empty = memory.prompt()
    note(memory, "check the lock order")
    purpose = {"user": "every project", "project": "version control", "local": "this machine"}[
        scope
    ]
    assert purpose in empty
    assert str(memory.directory) in empty
    assert "[A lesson](lesson.md) — check the lock order" in memory.prompt()
    assert "extra words" in memory.prompt("extra words")


@pytest.mark.parametrize("scope", SCOPES)
def test_hand_edits_and_a_checkout_of_another_branch_are_safe(
    repository: Path, home: Path, scope: AgentScope
) -> None:
    memory = opened(repository, home, scope)
    note(memory, "one")
    seen = memory.store.read("lesson.md")
    assert seen is not None
    (memory.directory / "lesson.md").write_text("written by hand\n")
    note(memory, "two")
    history = memory.store.history
    assert b"written by hand\n" in {history.read("lesson.md", r.id) for r in history.log()}
    assert not list(memory.directory.glob("*.git"))


# --- names ---


@pytest.mark.parametrize(
    ("agent", "folder"),
    [
        ("reviewer", "reviewer"),
        ("plugin:reviewer", "plugin-reviewer"),
        ("a:b:c", "a-b-c"),
        ("gpt-4.1 helper", "gpt-4.1 helper"),
        ("Prüferin", "Prüferin"),
        ("審査", "審査"),
    ],
)
def test_names_of_agents(agent: str, folder: str) -> None:
    assert folder_name(agent) == folder


@pytest.mark.parametrize(
    "agent",
    [
        *(
            "",
            " ",
            ".",
            "..",
            "../x",
            "a/b",
            "/etc",
            "a\\b",
            "C:\\x\\y",
            "~",
            "~root",
            ".hidden",
            "a.",
            "a ",
        ),
        *(
            "nul",
            "com1",
            "con:x.y\0",
            "a\0b",
            "a\nb",
            "%2e%2e",
            "．．",
            "a／b",
            "a\u202eb",
            "x" * 65,
            "?",
            "a|b",
        ),
    ],
)
def test_names_that_are_more_than_a_name(agent: str) -> None:
    with pytest.raises(InputError, match=r"^agent name .* is refused"):
        folder_name(agent)


@given(st.text(max_size=80))
def test_a_name_is_one_folder_or_refused(agent: str) -> None:
    try:
        folder = folder_name(agent)
    except InputError:
        return
    path = Path("/base") / folder
    assert Path(os.path.normpath(path)) == path
    assert path.parent == Path("/base")
    assert not folder.startswith(".")


# --- repositories that try to lead out ---


@pytest.mark.parametrize(
    "link", [".reverie", ".reverie/agent-memory", ".reverie/agent-memory/code-reviewer"]
)
def test_a_link_on_the_way_is_not_followed(
    tmp_path: Path, repository: Path, home: Path, link: str
) -> None:
    outside = tmp_path / "outside"
    (outside / "agent-memory" / "code-reviewer").mkdir(parents=True)
    (repository / link).parent.mkdir(parents=True, exist_ok=True)
    (repository / link).symlink_to(outside)
    before = sorted(outside.rglob("*"))
    with pytest.raises(InputError, match="symlink"):
        opened(repository, home, "project")
    assert sorted(outside.rglob("*")) == before


def test_a_linked_file_inside_is_not_written_through(
    tmp_path: Path, repository: Path, home: Path
) -> None:
    target = tmp_path / "precious.md"
    target.write_text("precious")
    memory = opened(repository, home, "project")
    (memory.directory / "lesson.md").symlink_to(target)
    with pytest.raises(InputError, match="symlink"):
        note(memory, "overwritten")
    assert target.read_text() == "precious"


def test_a_project_reached_through_a_link_is_still_one_project(
    tmp_path: Path, repository: Path, home: Path
) -> None:
    (tmp_path / "shortcut").symlink_to(repository)
    assert opened(tmp_path / "shortcut", home, "project").directory.is_relative_to(repository)
