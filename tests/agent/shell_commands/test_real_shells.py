"""Real shells are the judges: what runs without a question leaves everything as it was."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agent.shell_commands.test_reads_only import HOSTILE, READING
from tests.place import git

from reverie.agent.shell_commands import reads_only
from reverie.files.git import reading_environment

# Not even by mistake: these would reach beyond the scratch folder, or only take time.
BEYOND = (
    "sudo",
    "kill",
    "crontab",
    "ssh",
    "/dev/sd",
    "rm -rf",
    "date",
    "hostname",
    "sleep",
    "tail",
)
ROWS = [row for row in (*READING, *HOSTILE) if not any(word in row for word in BEYOND)]
WORDS = sorted({word for row in ROWS for word in row.split()})
LETTERS = list(" '\"\\;|&<>()${}*?[]~#\n-=,!")

# Names that turn into options when a pattern expands to them.
TRAPS = ("-delete", "-o", "--output=out", "-i", "-exec", "a", "b", "in")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("real")
    git(root, "init", "-q")
    for name in TRAPS:
        (root / name).write_text("1 a\n2 b\n")
    git(root, "add", "a", "b")
    git(root, "commit", "-q", "-m", "first")
    (root / "a").write_text("3 c\n")
    return root


def state(folder: Path) -> dict[str, tuple[int, int, int, int]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        found[str(path)] = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino)
    return found


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A known line with a few letters, words or halves of other lines put in or taken out."""
    line = draw(st.sampled_from(ROWS))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(line)))
        match draw(st.sampled_from(["letter", "word", "half", "less"])):
            case "letter":
                line = line[:at] + draw(st.sampled_from(LETTERS)) + line[at:]
            case "word":
                line = f"{line[:at]} {draw(st.sampled_from(WORDS))} {line[at:]}"
            case "half":
                other = draw(st.sampled_from(ROWS))
                line = line[:at] + other[len(other) // 2 :]
            case _:
                line = line[:at] + line[at + 1 :]
    return line


@settings(max_examples=300)
@given(line=lines())
def test_what_is_judged_to_read_changes_nothing(folder: Path, line: str) -> None:
    if not reads_only(line) or "\0" in line:
        return
    expansion = "-delete -o out --output=out -exec touch out ;"
    environment = reading_environment(
        {"PATH": os.environ["PATH"], "HOME": str(folder), "X": expansion, "FILE": expansion}
    )
    before = state(folder)
    for shell in ("bash", "sh"):
        subprocess.run(
            [shell, "-c", line],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=240,
            check=False,
        )
        assert state(folder) == before


def test_settings_of_the_person_are_kept_beside_ours() -> None:
    mine = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Me"}
    environment = reading_environment({**mine, "PATH": os.environ["PATH"], "HOME": "/nowhere"})
    asked = subprocess.run(
        ["git", "config", "--get-regexp", r"user\.name|core\.fsmonitor"],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    assert asked.stdout.splitlines() == ["user.name Me", "core.fsmonitor false"]
