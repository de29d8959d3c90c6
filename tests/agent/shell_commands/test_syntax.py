"""What is known of each word of a command line, and of the repositories it leads to."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from reverie.agent.shell_commands import starts_nothing
from reverie.agent.shell_commands.syntax import Word, parse


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("plain", Word("plain")),
        ("'$X'", Word("$X")),
        (r"\$X", Word("$X")),
        ("a*", Word("a", "begins")),
        ("~", Word("~", "begins")),
        ("~ada/x", Word("~", "begins")),
        ("a~", Word("a~")),
        ("$X", Word("", "anything")),
        ("a$X", Word("", "anything")),
        ('"$X"', Word("", "begins")),
        ('"a$X"', Word("a", "begins")),
        ("$(ls)", Word("", "anything")),
        ('"$(ls)"', Word("", "begins")),
        ("a{b,c}", Word("a", "begins")),
        ("a{1..3}", Word("a", "begins")),
        ("a{b}", Word("a{b}")),
        ("a{b,$X}", Word("", "anything")),
        ("$(ls )", Word("", "anything")),
    ],
)
def test_how_certain_a_word_is(typed: str, word: Word) -> None:
    commands = parse(f"echo {typed}")
    assert commands is not None
    assert word in [command.words[-1] for command in commands]


@pytest.mark.parametrize(("depth", "parsed"), [(19, True), (20, False)])
def test_how_deep_commands_may_be_nested(depth: int, parsed: bool) -> None:
    line = "echo $(" * depth + "ls" + ")" * depth
    assert (parse(line) is not None) is parsed


@pytest.mark.parametrize("line", ["# nothing", "ls # files\npwd", "ls #"])
def test_comments_are_skipped(line: str) -> None:
    commands = parse(line)
    assert commands is not None
    assert all(word.text in ("ls", "pwd") for one in commands for word in one.words)


@pytest.mark.parametrize("line", ["git -C sub status", "timeout 5 git -C sub log -1"])
def test_a_repository_that_names_a_program_is_found_where_git_is_sent(
    tmp_path: Path, line: str
) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    for name in ("sub", "other"):
        subprocess.run(["git", "init", "-q", name], cwd=tmp_path, check=True, env=environment)
    assert starts_nothing(line, tmp_path, environment)
    spy = ["git", "-C", "sub", "config", "core.fsmonitor", "./spy"]
    subprocess.run(spy, cwd=tmp_path, check=True, env=environment)
    assert not starts_nothing(line, tmp_path, environment)
    assert starts_nothing(line.replace("sub", "other"), tmp_path, environment)
