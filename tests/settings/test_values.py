"""Which values are valid for which kind, and the error messages."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from reverie.settings.schema import Kind, Setting, Value
from reverie.settings.values import check, check_text, expected, names_a_secret, quote, shown

HOME = Path("/home/ada")
KEY = "sk-ant-api03-" + "aB3" * 12

ROWS = {
    "bool": Setting("k", "bool", None, ""),
    "int": Setting("k", "int", None, "", low=1, high=10),
    "float": Setting("k", "float", None, "", low=0, high=1),
    "str": Setting("k", "str", None, ""),
    "path": Setting("k", "path", None, ""),
    "choice": Setting("k", "choice", None, "", choices=("5m", "1h")),
    "money": Setting("k", "money", None, ""),
    "url": Setting("k", "url", None, ""),
    "variable": Setting("k", "variable", None, ""),
    "threshold": Setting("k", "threshold", None, "", low=0, high=10**7),
}


def test_every_kind_has_words_for_what_it_expects():
    assert set(ROWS) == set(get_args(Kind))
    assert all(expected(row) for row in ROWS.values())


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        ("bool", True, True),
        ("int", 10, 10),
        ("float", 1, 1.0),
        ("float", 0.5, 0.5),
        ("str", "a b", "a b"),
        ("path", "/var/x", Path("/var/x")),
        ("path", "~/x", HOME / "x"),
        ("path", "~//x", HOME / "x"),
        ("path", "~", HOME),
        ("choice", "1h", "1h"),
        ("money", 0, 0.0),
        ("money", 2.5, 2.5),
        ("money", "none", None),
        ("url", "https://api.example.com/v1", "https://api.example.com/v1"),
        ("url", "http://localhost:11434", "http://localhost:11434"),
        ("variable", "MY_KEY", "MY_KEY"),
        ("threshold", 0, 0),
        ("threshold", "never", "never"),
    ],
)
def test_values_that_fit(kind: str, raw: object, value: Value):
    found = check(ROWS[kind], "k", raw, HOME)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "raw", "expected"),
    [
        ("bool", "yes", 'true or false, not "yes"'),
        ("bool", 1, "true or false, not 1"),
        ("int", 11, "a whole number from 1 to 10, not 11"),
        ("int", 0, "not 0"),
        ("int", True, "not true"),
        ("int", 2.0, "not 2.0"),
        pytest.param("int", 10**5_000, "not a huge number", id="huge"),
        ("float", 2, "a number from 0 to 1, not 2"),
        ("float", False, "not false"),
        ("float", float("nan"), "not nan"),
        ("money", float("inf"), "not inf"),
        ("money", 10**400, "not a huge number"),
        ("money", -1, "0 or more"),
        ("money", "lots", 'not "lots"'),
        ("str", " ", "not empty"),
        ("str", "a\0b", r'not "a\x00b"'),
        ("str", [1], "not a list"),
        ("str", {"a": 1}, "not a table"),
        ("path", "x/y", "an absolute path"),
        ("path", "~bob/x", "an absolute path"),
        ("choice", "2h", 'one of "5m", "1h", not "2h"'),
        ("choice", [], "not a list"),
        ("url", "ftp://x", "http:// or https://"),
        ("url", "https://ada:pass@x/", 'not "https://[login]@x/"'),
        ("url", 5, "not 5"),
        ("variable", "not a name", "the NAME of an environment variable"),
        ("variable", 5, "the NAME of an environment variable"),
        ("threshold", "always", 'or "never", not "always"'),
        ("threshold", -1, "not -1"),
    ],
)
def test_values_that_do_not(kind: str, raw: object, expected: str):
    with pytest.raises(ValueError, match=r"^k must be") as caught:
        check(ROWS[kind], "k", raw, HOME)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [("bool", word, True) for word in ("1", "true", "YES", " on ")]
    + [("bool", word, False) for word in ("0", "False", "no", "off")]
    + [("int", " 7 ", 7), ("float", "0.5", 0.5), ("money", "2", 2.0), ("money", "none", None)]
    + [("threshold", "50_000", 50_000), ("threshold", "never", "never"), ("str", "7", "7")],
)
def test_values_that_arrive_as_text(kind: str, text: str, value: Value):
    assert check_text(ROWS[kind], "k", text, HOME) == value


@pytest.mark.parametrize(("kind", "text"), [("bool", "maybe"), ("int", "1e1"), ("float", "x")])
def test_text_that_is_no_value(kind: str, text: str):
    with pytest.raises(ValueError, match="k must be"):
        check_text(ROWS[kind], "k", text, HOME)


SECRETS = [
    KEY,
    "sk-proj-" + "x9" * 12,
    "ghp_" + "a1" * 15,
    "github_pat_" + "a1" * 15,
    "AIza" + "b2" * 18,
    "xoxb-1234567890-abc",
    "AKIA" + "Z" * 16,
    "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0",
    "Bearer " + "q" * 20,
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("kind", sorted(ROWS))
def test_a_key_is_refused_and_not_repeated(kind: str, secret: str):
    with pytest.raises(ValueError, match="environment variable") as caught:
        check(ROWS[kind], "k", secret, HOME)
    assert secret not in str(caught.value)
    assert secret not in quote(secret)


def test_a_key_of_unknown_shape_where_a_name_belongs():
    with pytest.raises(ValueError, match="looks like a secret key") as caught:
        check(ROWS["variable"], "k", "0123456789abcdef0123456789abcdef", HOME)
    assert "0123456789" not in str(caught.value)


@pytest.mark.parametrize("word", ["/home/ada/sk-learn-experiments-long", "task-0123456789abcdefgh"])
def test_words_that_only_look_like_keys(word: str):
    assert check(ROWS["str"], "k", word, HOME) == word


def test_what_is_shown_is_short_and_on_one_line():
    assert shown("x" * 500) == "x" * 60 + "…"
    assert shown("a\nb\x1b[31m") == r"a\nb\x1b[31m"


@pytest.mark.parametrize(
    ("key", "expected"),
    [("providers.x.api_key", True), ("TOKEN", True), ("a.password", True), ("log.level", False)],
)
def test_names_of_secrets(key: str, expected: bool):
    assert names_a_secret(key) is expected
