"""API keys."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from reverie.errors import InputError
from reverie.settings import secret
from reverie.settings.keys import FILE, find_key, remove_key, store_key, stored_names


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


class TestStored:
    @pytest.fixture(autouse=True)
    def no_keyring(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setitem(sys.modules, "keyring", None)

    def test_in_a_file_only_the_user_can_read(self, tmp_path: Path):
        assert store_key("A_KEY", " abc\n", tmp_path) == "file"
        assert secret("A_KEY", {}, tmp_path) == "abc"
        assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600

    def test_the_home_is_found_by_its_variable(self, tmp_path: Path):
        store_key("A_KEY", "abc", tmp_path)
        assert secret("A_KEY", {"REVERIE_HOME": str(tmp_path)}) == "abc"

    def test_a_variable_comes_first(self, tmp_path: Path):
        store_key("A_KEY", "abc", tmp_path)
        assert find_key("A_KEY", {"A_KEY": "new"}, tmp_path) == ("new", "environment")

    def test_removed(self, tmp_path: Path):
        store_key("A_KEY", "abc", tmp_path)
        assert remove_key("A_KEY", tmp_path)
        assert not remove_key("A_KEY", tmp_path)
        assert secret("A_KEY", {}, tmp_path) is None

    @pytest.mark.parametrize(("name", "key"), [("sk-ant-abc", "x"), ("A_KEY", " \n"), ("a", "x")])
    def test_what_is_not_stored(self, tmp_path: Path, name, key):
        with pytest.raises(InputError) as refused:
            store_key(name, key, tmp_path)
        assert "sk-ant" not in str(refused.value)
        assert stored_names(tmp_path) == ()


def test_the_keyring_is_preferred(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    kept: dict[str, str] = {}
    keyring = SimpleNamespace(
        get_password=lambda service, name: kept.get(name),
        set_password=lambda service, name, key: kept.update({name: key}),
        delete_password=lambda service, name: kept.pop(name),
    )
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    assert store_key("A_KEY", "abc", tmp_path) == "keyring"
    assert find_key("A_KEY", {}, tmp_path) == ("abc", "keyring")
    assert not (tmp_path / FILE).exists()
    assert remove_key("A_KEY", tmp_path)
    assert kept == {}
