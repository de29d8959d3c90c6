"""What git ignores is ignored: git itself is the judge."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.place import git

from reverie.agent.patterns import files_below, parse_rule


def lay_out(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def ours(root: Path) -> list[str]:
    return ["/".join(found.parts) for found in files_below(root) if not found.ignored]


def gits(root: Path) -> list[str]:
    listed = subprocess.run(
        [
            "git",
            "-C",
            str(root),
            "ls-files",
            "-z",
            "--others",
            "--exclude-per-directory=.gitignore",
        ],
        capture_output=True,
        check=True,
        text=True,
    )
    return listed.stdout.split("\0")[:-1]


TREE = (
    "a",
    "a.log",
    "b/a",
    "b/a.log",
    "b/c/a",
    "b/c/keep.log",
    "build/a",
    "x y",
    "#a",
    "!a",
    "[a",
    "{a,b}",
)


@pytest.mark.parametrize(
    "rules",
    [
        "*.log",
        "*.log\n!keep.log",
        "/a",
        "a",
        "b/",
        "a/",
        "b/*\n!b/c/",
        "b/**\n!b/c/keep.log",
        "**/c",
        "b/**/a",
        "build\n# comment\n\n",
        r"\#a",
        r"\!a",
        "x\\ y",
        "x y   ",
        "[ab]",
        "[!a]",
        "?",
        "*",
        "*\n!*.log",
        "/*\n!/b\n/b/*\n!/b/c",
        "c/keep.log",
        "b/c/",
        "*.LOG",
        "a\r\n",
        "/",
        "!",
        "{a,b}",
        "{a,x y}",
        "[a",
        "b/[c",
        r"\[a",
        "./a",
        "b/./a",
        "../a",
    ],
)
def test_rules_mean_what_git_means(tmp_path: Path, rules: str) -> None:
    git(tmp_path, "init", "-q")
    lay_out(tmp_path, {".gitignore": rules, **dict.fromkeys(TREE, "")})
    assert sorted(ours(tmp_path)) == sorted(gits(tmp_path))


_rule = st.tuples(
    st.sampled_from(["", "!", "/", "!/"]),
    st.lists(
        st.sampled_from(["a", "b", "c", "*", "**", "?", "[ab]", "a*"]), min_size=1, max_size=4
    ),
    st.sampled_from(["", "/"]),
).map(lambda parts: parts[0] + "/".join(parts[1]) + parts[2])
_rules = st.lists(_rule, max_size=4).map("\n".join)


@settings(max_examples=60)
@given(_rules, _rules)
def test_any_rules_mean_what_git_means(outer: str, inner: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        git(root, "init", "-q")
        tree = ("a", "ab", "b/a", "b/ab", "b/c/a", "b/c/b", "c/a/b/c")
        lay_out(root, {**dict.fromkeys(tree, ""), ".gitignore": outer, "b/.gitignore": inner})
        assert sorted(ours(root)) == sorted(gits(root))


def test_many_stars_against_a_long_name_take_no_time() -> None:
    """A regular expression that backtracks needs hours for this, and holds the interpreter."""
    for line, path in [("*a" * 12 + "b", ["a" * 255]), ("a/**/" * 12 + "b", ["a"] * 1_000)]:
        rule = parse_rule(line)
        assert rule is not None
        assert not rule.pattern.matches(path)


@pytest.mark.parametrize("line", ["", "   ", "# note", "/", "!"])
def test_lines_without_a_rule(line: str) -> None:
    assert parse_rule(line) is None


def test_rules_come_from_above_up_to_the_repository(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    lay_out(
        tmp_path,
        {
            ".gitignore": "*.a",
            "repository/.gitignore": "*.b",
            "repository/sub/.ignore": "!d.b",
            "repository/sub/x.a": "",
            "repository/sub/y.b": "",
            "repository/sub/d.b": "",
            "repository/sub/z.c": "",
        },
    )
    git(repository, "init", "-q")
    (repository / ".git" / "info" / "exclude").write_text("*.c")
    assert ours(repository / "sub") == [".ignore", "d.b", "x.a"]


def test_a_repository_inside_another_has_its_own_rules(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    lay_out(tmp_path, {".gitignore": "*.a", "inner/x.a": "", "x.a": ""})
    git(tmp_path / "inner", "init", "-q")
    assert ours(tmp_path) == [".gitignore", "inner/x.a"]


def test_files_come_in_order_and_links_are_not_followed(tmp_path: Path) -> None:
    lay_out(tmp_path, {"b/x": "", "a.txt": "", "c": "", ".hidden/y": "", ".git/config": ""})
    (tmp_path / "around").symlink_to(tmp_path)
    found = list(files_below(tmp_path))
    assert [("/".join(one.parts), one.link) for one in found] == [
        (".hidden/y", False),
        ("a.txt", False),
        ("around", True),
        ("b/x", False),
        ("c", False),
    ]


def test_a_folder_that_is_named_is_searched_even_if_it_is_ignored(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    lay_out(tmp_path, {".gitignore": "build/", "build/x": ""})
    assert ours(tmp_path) == [".gitignore"]
    assert ours(tmp_path / "build") == ["x"]
