"""Changing one value of a settings file."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from reverie.errors import SettingsError
from reverie.settings.edit import set_value, unset_value

WRITTEN = """\
# my settings
models.side = "offline"  # for now

[providers.mine]
kind = "openai"
base_url = "http://localhost:1234/v1"

[cache]
ttl = "5m"
"""

CHANGES = [
    ("models.side", "claude-haiku-5-5", ("models", "side"), "claude-haiku-5-5"),
    ("models.main", "offline", ("models", "main"), "offline"),
    ("cache.ttl", "1h", ("cache", "ttl"), "1h"),
    ("providers.mine.protocol", "chat", ("providers", "mine", "protocol"), "chat"),
    ("providers.other.kind", "openai", ("providers", "other", "kind"), "openai"),
    ("prices.gpt-5.5.input", "2", ("prices", "gpt_5.5", "input"), 2.0),
    ("window.tokens", "50000", ("window", "tokens"), 50_000),
    ("memory.enabled", "off", ("memory", "enabled"), False),
    ("spend.purpose.dream", "none", ("spend", "purpose", "dream"), "none"),
    ("memory_directory", "~/notes", ("memory_directory",), "~/notes"),
]


@pytest.mark.parametrize(("key", "text", "path", "value"), CHANGES)
@pytest.mark.parametrize("before", ["", WRITTEN])
def test_set(tmp_path: Path, before, key, text, path, value):
    file = tmp_path / "home" / "settings.toml"
    if before:
        file.parent.mkdir()
        file.write_text(before)
    set_value(file, key, text, tmp_path)
    found = tomllib.loads(file.read_text())
    for part in path:
        found = found[part]
    assert found == value
    kept = [line for line in before.splitlines() if not line.startswith((key, "ttl"))]
    assert set(kept) <= set(file.read_text().splitlines())


def test_set_twice_leaves_one_line(tmp_path: Path):
    file = tmp_path / "settings.toml"
    for ttl in ("5m", "1h"):
        set_value(file, "cache.ttl", ttl, tmp_path)
    assert file.read_text() == 'cache.ttl = "1h"\n'


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("cache.tll", "1h", "did you mean cache.ttl"),
        ("cache.ttl", "2h", "one of"),
        ("models.main", "sk-ant-" + "a1B2" * 10, "secret key"),
    ],
)
def test_a_wrong_value_is_not_written(tmp_path: Path, key, text, message):
    file = tmp_path / "settings.toml"
    with pytest.raises(SettingsError, match=message):
        set_value(file, key, text, tmp_path)
    assert not file.exists()


@pytest.mark.parametrize(
    "before",
    ["models = {main = 'offline'}\n", "cache.ttl =\n", 'home = """\nmodels.main = 1\n"""\n'],
)
def test_what_cannot_be_changed_alone_stays(tmp_path: Path, before):
    file = tmp_path / "settings.toml"
    file.write_text(before)
    with pytest.raises(SettingsError, match="reverie settings edit"):
        set_value(file, "models.main", "offline2", tmp_path)
    assert file.read_text() == before


def test_unset(tmp_path: Path):
    file = tmp_path / "settings.toml"
    file.write_text(WRITTEN)
    assert unset_value(file, "cache.ttl")
    assert file.read_text() == WRITTEN.replace('ttl = "5m"\n', "")
    assert not unset_value(file, "cache.ttl")
