"""Reading a repository starts no program of its choice: not by an agent's commands, not by our own."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.agent.workplaces import tool
from tests.place import git
from tests.security.hostile_git import HOSTILE, READS, made_hostile, repository

from reverie.agent.kit import bash_tool
from reverie.agent.permissions import Allowed, Call, by_mode
from reverie.agent.shell_commands import reads_only
from reverie.agent.tools import Workplace
from reverie.files.git import reading_environment, unknown_settings
from reverie.subagents.worktrees import NoWorktree, Worktrees

# The person's own configuration is empty, so that only the repository's counts.
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nowhere",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("template") / "repo")


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """Is there when a program of the repository ran."""
    return tmp_path / "mark"


@pytest.fixture
def repo(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "repo", symlinks=True))


def marked(mark: Path) -> bool:
    return mark.exists()


def commands(repo: Path) -> list[str]:
    return [command.replace("{name}", repo.name) for command in READS]


def access(command: str, repo: Path) -> str:
    desk = Workplace(repo, environment=ENVIRONMENT)
    return tool("Bash").access({"command": command}, desk)


def run(command: str, repo: Path, environment: dict[str, str]) -> None:
    subprocess.run(
        ["bash", "-c", command],
        cwd=repo,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=240,
    )


def test_every_command_of_the_table_reads(repo: Path) -> None:
    """Where nothing is configured, none of them is asked for; otherwise the table would show nothing."""
    assert [command for command in commands(repo) if not reads_only(command)] == []
    assert [command for command in commands(repo) if access(command, repo) != "read"] == []
    assert len(HOSTILE) >= 31


@pytest.mark.parametrize("name", HOSTILE)
def test_no_read_starts_a_program_the_repository_names(repo: Path, mark: Path, name: str) -> None:
    made_hostile(repo, name, f"touch {mark}")
    mark.unlink(missing_ok=True)
    assert unknown_settings(repo, ENVIRONMENT)
    for command in commands(repo):
        if access(command, repo) == "read":
            run(command, repo, reading_environment(ENVIRONMENT))
        assert not mark.exists(), command


@pytest.mark.slow
def test_the_table_is_alive(template: Path, tmp_path: Path) -> None:
    """Without protection, most of what could be started by reading is."""
    started = set()
    for number, name in enumerate(HOSTILE):
        repo = Path(shutil.copytree(template, tmp_path / str(number) / "repo"))
        mark = tmp_path / f"mark-{number}"
        made_hostile(repo, name, f"touch {mark}")
        mark.unlink(missing_ok=True)
        run("; ".join(commands(repo)), repo, ENVIRONMENT)
        started |= {name} if mark.exists() else set()
    assert len(started) >= 20, sorted(started)


def test_the_person_is_asked_first(repo: Path, mark: Path) -> None:
    made_hostile(repo, "filter clean", f"touch {mark}")
    desk = Workplace(repo, environment=ENVIRONMENT)
    used, arguments = bash_tool(), {"command": "git status"}
    call = Call(used, arguments, used.access(arguments, desk), ())
    assert not isinstance(by_mode("ask", desk)(call), Allowed)
    assert not isinstance(by_mode("plan", desk)(call), Allowed)


@pytest.mark.anyio
async def test_a_command_that_moves_takes_no_other_along(repo: Path, mark: Path) -> None:
    """Two reads side by side: the second was judged in the folder it then runs in."""
    inner = repo / "sub"
    inner.rmdir()
    repository(inner)
    made_hostile(inner, "filter clean", f"touch {mark}")
    desk = Workplace(repo, environment=ENVIRONMENT)
    used = bash_tool()
    assert used.access({"command": "git status"}, desk) == "read"
    desk.shell_folder = inner
    await used.run({"command": "git status"}, desk)
    assert not marked(mark)
    desk.shell_folder = inner
    assert used.access({"command": "git status"}, desk) == "run"


@pytest.mark.parametrize(
    "command",
    [
        *("cd ~ && git status", "cd && git status", "cd - && git status", "git -C ~/x status"),
        *("cd $X && git status", "cd a*; git status"),
    ],
)
def test_a_folder_that_cannot_be_told_is_asked_about(repo: Path, command: str) -> None:
    assert access(command, repo) == "run"


def test_a_search_path_for_cd_is_asked_about(repo: Path) -> None:
    desk = Workplace(repo, environment={**ENVIRONMENT, "CDPATH": "/elsewhere"})
    assert tool("Bash").access({"command": "cd sub && git status"}, desk) == "run"


def test_links_and_dots_lead_where_shell_and_git_go(repo: Path, tmp_path: Path, mark: Path) -> None:
    """`cd link/..` stays here for a shell; for `git -C` it is the folder above the link's target."""
    outside = repository(tmp_path / "evil")
    made_hostile(outside, "filter clean", f"touch {mark}")
    (repo / "link").symlink_to(outside / "sub")
    for command in ("git -C link/.. status", "git -C link status", "cd link && git status"):
        assert access(command, repo) == "run", command


@pytest.mark.parametrize(
    "command",
    ["git diff --submodule=diff", "git show --submodule=diff", "git log -p --submodule=d"],
)
def test_a_patch_of_a_submodule_is_asked_about(command: str) -> None:
    assert not reads_only(command)


@pytest.mark.parametrize("told", ["{person}", "../../..", "../../../.ssh"])
def test_a_repository_that_claims_the_home_folder_is_asked_about(tmp_path: Path, told: str) -> None:
    """With an index that names `.ssh/id_rsa`, its diff would be the key."""
    person = tmp_path / "person"
    (person / ".ssh").mkdir(parents=True)
    (person / ".ssh" / "id_rsa").write_text("the key\n")
    repo = person / "downloads" / "x"
    repo.mkdir(parents=True)
    git(repo, "init", "-q")
    git(repo, "config", "core.worktree", told.format(person=person))
    for command in ("git diff", "git status", "git ls-files -o"):
        assert access(command, repo) == "run"


# ── repositories as people have them ─────────────────────────────────────────


def test_ordinary_repositories_are_read_unasked(template: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", template, clone)
    git(clone, "remote", "add", "fork", "git@example.invalid:me/x.git")
    git(clone, "branch", "--set-upstream-to=origin/main")
    git(clone, "config", "user.email", "me@example.invalid")
    git(clone, "config", "branch.main.description", "ext::nothing")
    git(clone, "config", "core.fsmonitor", "true")
    git(clone, "config", "pull.rebase", "true")
    git(clone, "config", "feature.manyFiles", "true")
    git(clone, "config", "lfs.repositoryformatversion", "0")
    git(clone, "worktree", "add", "-q", tmp_path / "worktree")
    git(clone, "submodule", "--quiet", "add", template, "inner")
    git(clone, "sparse-checkout", "set", "--no-cone", "/*")
    partial = tmp_path / "partial"
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{template}", partial)
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{template}", shallow)
    for folder in (clone, clone / "inner", tmp_path / "worktree", partial, shallow, tmp_path):
        assert unknown_settings(folder, ENVIRONMENT) == (), folder


def test_a_repository_that_is_damaged_is_asked_about(repo: Path) -> None:
    (repo / ".git" / "config").write_text("[core\n")
    assert access("git status", repo) == "run"


def test_what_the_person_configured_is_theirs(repo: Path, tmp_path: Path) -> None:
    own = tmp_path / "gitconfig"
    own.write_text('[filter "lfs"]\nclean = git-lfs clean -- %f\n[alias]\nst = status\n')
    mine = {**ENVIRONMENT, "GIT_CONFIG_GLOBAL": str(own)}
    assert unknown_settings(repo, mine) == ()


# ── our own git ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", HOSTILE)
def test_a_worktree_for_an_agent_starts_nothing(
    repo: Path, mark: Path, tmp_path: Path, name: str
) -> None:
    made_hostile(repo, name, f"touch {mark}")
    mark.unlink(missing_ok=True)
    made = Worktrees(ENVIRONMENT).add(repo, "worker", tmp_path / "work")
    assert isinstance(made, NoWorktree)
    assert "may start programs" in made.reason or "cannot be checked" in made.reason
    assert not mark.exists()


def test_there_is_one_way_to_start_git() -> None:
    """Every other subprocess in the package starts something else."""
    source = Path(__file__).parents[2] / "src" / "reverie"
    starting = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if '["git"' in path.read_text("utf-8") or 'which("git")' in path.read_text("utf-8")
    ]
    assert starting == ["files/git.py"]
