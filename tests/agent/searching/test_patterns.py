"""Patterns over paths mean what shells and git mean by them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.agent.patterns import PathPattern, is_magic


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/a.py", False),
        ("*.py", ".hidden.py", True),
        ("**/*.py", "a.py", True),
        ("**/*.py", "src/deep/a.py", True),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/x/y/a.py", True),
        ("src/**/*.py", "lib/a.py", False),
        ("src/**", "src/x/y", True),
        ("src/**", "src", False),
        ("**", "a/b", True),
        ("**/test_*", "tests/test_a.py", True),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("[ab].txt", "b.txt", True),
        ("[!ab].txt", "b.txt", False),
        ("[^ab].txt", "c.txt", True),
        ("[^ab].txt", "a.txt", False),
        (r"\*.txt", "*.txt", True),
        (r"\*.txt", "a.txt", False),
        (r"a\!b", "a!b", True),
        ("*.{ts,tsx}", "a.tsx", True),
        ("*.{ts,tsx}", "a.js", False),
        ("{src,lib}/{a,b}.py", "lib/b.py", True),
        ("{a,{b,c}}.py", "c.py", True),
        ("{a}.py", "{a}.py", True),
        ("./src/*.py", "src/a.py", True),
        ("src//a.py", "src/a.py", True),
        ("a**b", "axxb", True),
        ("a**b", "a/b", False),
        ("*", "a\nb", True),
        ("", "a", False),
    ],
)
def test_what_matches(pattern: str, path: str, matches: bool) -> None:
    assert PathPattern.parse(pattern).matches(path.split("/")) is matches


@pytest.mark.parametrize(
    ("pattern", "folder", "leads"),
    [
        ("src/*.py", "src", True),
        ("src/*.py", "lib", False),
        ("src/*.py", "src/inner", False),
        ("**/*.py", "any/where", True),
        ("src/**/x", "src/a/b", True),
        ("*.py", "src", False),
    ],
)
def test_folders_that_cannot_lead_to_a_match_are_left_alone(
    pattern: str, folder: str, leads: bool
) -> None:
    assert PathPattern.parse(pattern).leads_below(folder.split("/")) is leads


@pytest.mark.parametrize(
    ("component", "magic"),
    [
        ("src", False),
        ("*.py", True),
        ("a?", True),
        ("[a]", True),
        ("{a,b}", True),
        ("a.b-c", False),
    ],
)
def test_what_is_a_pattern(component: str, magic: bool) -> None:
    assert is_magic(component) is magic


@given(st.text("a*?[]{},!^\\/.", max_size=30), st.text("a/", max_size=30))
def test_no_pattern_is_an_error(pattern: str, path: str) -> None:
    PathPattern.parse(pattern).matches(path.split("/"))


def test_no_pattern_takes_long() -> None:
    hard = PathPattern.parse("**/" * 30 + "*a" * 30 + "b")
    assert not hard.matches(["a" * 200] * 60)
    many = PathPattern.parse("{a,b}" * 30)
    assert len(many.alternatives) < 1_000
