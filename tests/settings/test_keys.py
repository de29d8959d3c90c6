"""API keys."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from reverie.settings import secret


@pytest.mark.parametrize(
    ("name", "environ", "key"),
    [
        ("A_KEY", {"A_KEY": "abc"}, "abc"),
        ("A_KEY", {"A_KEY": " abc\n"}, "abc"),
        ("A_KEY", {"A_KEY": "  "}, None),
        ("A_KEY", {}, None),
        (None, {"": "abc"}, None),
    ],
)
def test_from_the_environment(monkeypatch: pytest.MonkeyPatch, name, environ, key):
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert secret(name, environ) == key


def test_from_the_environment_of_the_process(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("A_KEY", "abc")
    assert secret("A_KEY") == "abc"


@pytest.mark.parametrize(("stored", "key"), [("abc\n", "abc"), ("", None), (None, None)])
def test_from_the_keyring(monkeypatch: pytest.MonkeyPatch, stored, key):
    keyring = SimpleNamespace(get_password=lambda service, name: stored)
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    assert secret("A_KEY", {}) == key


def test_a_locked_keyring_is_as_good_as_none_and_the_log_says_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def locked(service, name):
        raise RuntimeError("locked")

    monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_password=locked))
    assert secret("A_KEY", {}) is None
    assert "the keyring gave no A_KEY: RuntimeError('locked')" in caplog.text
