"""What is known of each word of a command line, and of the repositories it leads to."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from reverie.agent.shell_commands import starts_nothing
from reverie.agent.shell_commands.syntax import ANYTHING, SimpleCommand, Word, parse


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


@pytest.mark.parametrize(
    ("word", "may_be"),
    [
        (Word(""), False),
        (Word("a"), False),
        (Word("a-"), False),
        (Word("-"), True),
        (Word("-a", "begins"), True),
        (Word("a", "begins"), False),
        (Word("", "begins"), True),
        (ANYTHING, True),
    ],
)
def test_which_words_a_program_may_take_for_an_option(word: Word, may_be: bool) -> None:
    assert word.may_be_option is may_be


def shown(command: SimpleCommand) -> str:
    """`*` after a word that begins so, `…` for any words, quotes around what has blanks or nothing."""
    ends = {"fixed": "", "begins": "*", "anything": "…"}
    words = [
        (repr(word.text) if not word.text or " " in word.text else word.text) + ends[word.certainty]
        for word in command.words
    ]
    return " ".join([*(f"{name}={value!r}" for name, value in command.assignments), *words])


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("", []),
        (" \t", []),
        ("# x", []),
        ("#", []),
        ("ls #x", ["ls"]),
        ("ls # x\n# y\n pwd", ["ls", "pwd"]),
        ("echo a#b", ["echo a#b"]),
        ("ls;", ["ls"]),
        ("ls ; pwd", ["ls", "pwd"]),
        ("ls&&pwd", ["ls", "pwd"]),
        ("ls ||\n pwd", ["ls", "pwd"]),
        ("\n\n ls \n\n\tpwd \n", ["ls", "pwd"]),
        ("ls |& x", None),
        ("ls ;; x", None),
        ("ls && && x", None),
        ("ls & pwd", None),
        ("; ls", None),
        ("! ls -l", ["ls -l"]),
        ("!  (ls)", ["ls"]),
        ("!\tls", ["ls"]),
        ("!ls", ["!ls"]),
        ("!", None),
        ("! ", None),
        ("(cd a; ls) 2>/dev/null", ["cd a", "ls"]),
        ("( (ls) )", ["ls"]),
        ("(ls)", ["ls"]),
        ("(ls) x", None),
        ("(ls", None),
        ("ls)", None),
        ("ls (a)", None),
        ("2>&1 ls", ["ls"]),
        ("ls 2>&1 x", ["ls x"]),
        ("ls 2 >&1", ["ls 2"]),
        ("ls x2>&1 y", ["ls x2 y"]),
        ("ls 2x>&1", ["ls 2x"]),
        ("ls 22>&1", None),
        ("ls {fd}>&1", None),
        ("ls 22 >&1", ["ls 22"]),
        ("ls >&- 3<&0 x", ["ls x"]),
        ("ls &>/dev/null", ["ls"]),
        ("ls >&/dev/null x", ["ls x"]),
        ("ls <&/dev/null", None),
        ("ls >&12", None),
        ("ls >&1$X", None),
        ("ls >/dev/nul*", None),
        ("cat a<b c", ["cat a c"]),
        ("cat <$X", None),
        ('cat <"$X"', None),
        ('cat <"a$X"', ["cat"]),
        ('cat <"-$X"', None),
        ('cat <"/a$X"', None),
        ("cat <<<x y", ["cat y"]),
        ("cat </dev/tcp/x/1", None),
        ("cat </dev/udpx", None),
        ("cat </dev/null", ["cat"]),
        ("A=1 B='2 3' ls C=3", ["A='1' B='2 3' ls C=3"]),
        ("A=", ["A=''"]),
        ("A=$X ls", ["''… ls"]),
        ('A="b$X" ls', None),
        ("1A=x", ["1A=x"]),
        (r'echo "\q\"\\\$" a\"b', [r'echo \q"\$ a"b']),
        ("echo a$ b", ["echo a$ b"]),
        ('echo "a$" "$"', ["echo a$ $"]),
        ("echo $?x", ["echo ''…"]),
        ("echo ${A} ${A}b", ["echo ''… ''…"]),
        ('echo "a${A}b"', ["echo a*"]),
        ("echo ${A:-b}", None),
        ("echo $((1))", None),
        ("echo $'a'", None),
        ("echo a$[1]", None),
        ("echo $(ls a)x y", ["ls a", "echo ''… y"]),
        ('echo "a$(ls) b"', ["ls", "echo a*"]),
        ("diff <(ls a) <(ls b)", ["ls a", "ls b", "diff /dev/fd/* /dev/fd/*"]),
        ("cat <(ls)x", None),
        ("cat x<(ls)", None),
        ("cat >(ls)", None),
        ("ls\\\n -l", ["ls -l"]),
        ("l\\\ns", ["ls"]),
        ("ls \\\n -l", ["ls -l"]),
        ("ls a\\ b", ["ls 'a b'"]),
        ("a\\", None),
        ("'a", None),
        ('"a', None),
        ('"`ls`"', None),
        ("echo [ [[ a[ []", ["echo [ [[ a* ''*"]),
        ("echo é aé", ["echo ''… ''…"]),
        ("echo 'é'", ["echo é"]),
        ("echo ~ a~ ~b ~/c", ["echo ~* a~ ~* ~*"]),
        ("echo a?b *", ["echo a* ''*"]),
        ("echo {a} {a,b} x{1..2}y", ["echo {a} ''* x*"]),
        ("echo a{b{c,d}}", ["echo a*"]),
        ("ls \x07", None),
        ("echo $(ls);" * 25, ["ls", "echo ''…"] * 25),
    ],
)
def test_how_a_line_is_taken_apart(line: str, commands: list[str] | None) -> None:
    found = parse(line)
    assert (None if found is None else [shown(one) for one in found]) == commands


@pytest.mark.parametrize(("length", "parsed"), [(10_000, True), (10_001, False)])
def test_how_long_a_line_may_be(length: int, parsed: bool) -> None:
    assert (parse("x" * length) is not None) is parsed


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


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`spied` names a program to start; `clean` and `clean/inner` do not."""
    top = tmp_path_factory.mktemp("repositories")
    for name in ("spied", "clean", "clean/inner"):
        subprocess.run(["git", "init", "-q", name], cwd=top, check=True)
    spy = ["git", "-C", "spied", "config", "core.fsmonitor", "./spy"]
    subprocess.run(spy, cwd=top, check=True)
    return top


@pytest.mark.parametrize(
    ("line", "nothing"),
    [
        ("ls ../spied", True),
        ("cd ../spied && ls", True),
        ("git status", True),
        ("cd inner && git status", True),
        ("cd -- inner && git status", True),
        ("cd inner; cd ..; git -C inner log", True),
        ("cd ../spied && git status", False),
        ("cd -- ../spied && git status", False),
        ("git status; cd ../spied", False),
        ("cd .. && cd spied && git log", False),
        ("cd spied && cd .. && git log", False),
        ("git -C ../spied log", False),
        ("git -C .. -C spied log", False),
        ("git -C inner -C .. log", True),
        ("cd .. && git -C spied log", False),
        ("git log; git -C ../spied log", False),
        ("timeout 5 git -C ../spied log", False),
        # Where these lead is not known.
        ("cd && git log", False),
        ("cd '' && git log", False),
        ("cd - && git log", False),
        ("cd -P inner && git log", False),
        ("cd '~' && git log", False),
        ("cd ~/inner && git log", False),
        ("cd inner* && git log", False),
        ("cd inner x && git log", False),
        ("cd inner; cd $X; git log", False),
        ("git -C '~' log", False),
        ("git log > out", True),
    ],
)
def test_which_lines_start_no_program_of_a_repository(
    repositories: Path, line: str, nothing: bool
) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(repositories)}
    assert starts_nothing(line, repositories / "clean", environment) is nothing


def test_where_cd_leads_is_not_known_with_a_path_to_search(repositories: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(repositories), "CDPATH": ".."}
    clean = repositories / "clean"
    assert starts_nothing("git status", clean, environment)
    assert not starts_nothing("cd inner && git status", clean, environment)


@pytest.mark.parametrize(("moves", "known"), [(30, True), (31, False)])
def test_in_how_many_folders_a_line_may_be(moves: int, known: bool) -> None:
    """Some of the moves down from a folder at the top, or from the top: 63 folders, or 65."""
    line = "cd a; " * moves + "cd ..; git log"
    assert starts_nothing(line, Path("/no such folder"), {"PATH": os.environ["PATH"]}) is known
