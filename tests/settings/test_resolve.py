"""Which source wins."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.settings.world import World

from reverie.errors import SettingsError
from reverie.settings import Item, Origin, Provider, load_settings
from reverie.settings.schema import SETTINGS

SOURCES = ("managed", "user", "project", "local", "environment", "command line")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(values=st.dictionaries(st.sampled_from(SOURCES), st.integers(4_000, 10_000_000)))
def test_the_highest_source_wins_and_the_others_are_kept(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, int]
):
    world = World(tmp_path_factory.mktemp("world"))
    options, environ = [], {}
    for source, value in values.items():
        if source == "environment":
            environ = {"REVERIE_CONTEXT_WINDOW": str(value)}
        elif source == "command line":
            options = [f"window.tokens={value}"]
        else:
            world.write(source, f"[window]\ntokens = {value}\n")
    if "project" in values:
        world.agree()
    item = world.load(*options, **environ).item("window.tokens")
    ranked = [(source, values[source]) for source in reversed(SOURCES) if source in values]
    seen = [(item.origin.source, item.value)]
    seen += [(found.origin.source, found.value) for found in item.overridden]
    assert seen == [*ranked, ("default", None)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(values=st.dictionaries(st.sampled_from(SOURCES), st.booleans()))
def test_memory_that_is_off_anywhere_is_off(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, bool]
):
    world = World(tmp_path_factory.mktemp("world"))
    options, environ = [], {}
    for source, value in values.items():
        word = str(value).lower()
        if source == "environment":
            environ = {"REVERIE_MEMORY_ENABLED": word}
        elif source == "command line":
            options = [f"memory.enabled={word}"]
        else:
            world.write(source, f"memory.enabled = {word}\n")
    loaded = world.load(*options, **environ)
    off = [source for source in SOURCES if values.get(source) is False]
    assert loaded.memory_enabled is not bool(off)
    assert (
        loaded.origin("memory.enabled").source == ([*sources_on(values), *off] or ["default"])[-1]
    )


def sources_on(values: dict[str, bool]) -> list[str]:
    return [source for source in SOURCES if values.get(source)]


@pytest.mark.parametrize(
    ("environ", "enabled", "where"),
    [
        ({"REVERIE_DISABLE_MEMORY": "1"}, False, "REVERIE_DISABLE_MEMORY"),
        (
            {"REVERIE_DISABLE_MEMORY": "1", "REVERIE_MEMORY_ENABLED": "1"},
            False,
            "REVERIE_DISABLE_MEMORY",
        ),
        ({"REVERIE_DISABLE_MEMORY": "0"}, True, ""),
        ({"REVERIE_REMOTE": "1"}, False, "REVERIE_REMOTE"),
        ({"REVERIE_REMOTE": "1", "REVERIE_MEMORY_DIR": "/srv/m"}, True, ""),
        ({"REVERIE_REMOTE": "0"}, True, ""),
        ({}, True, ""),
    ],
)
def test_variables_that_turn_memory_off(
    world: World, environ: dict[str, str], enabled: bool, where: str
):
    loaded = world.load(**environ)
    assert loaded.memory_enabled is enabled
    assert loaded.origin("memory.enabled").where == where


def test_a_variable_that_turns_memory_off_must_say_so_plainly(world: World):
    with pytest.raises(
        SettingsError, match=r'^REVERIE_REMOTE: its value must be .* not "perhaps"$'
    ):
        world.load(REVERIE_REMOTE="perhaps")


def test_with_nothing_set_every_value_is_its_default(world: World):
    loaded = world.load()
    plain = [row for row in SETTINGS if "*" not in row.key and row.key != "home"]
    assert (
        [item.key for item in loaded.items()] == list(loaded) == ["home", *(r.key for r in plain)]
    )
    assert all(loaded[row.key] == row.default for row in plain)
    assert {str(item.origin) for item in loaded.items()} == {"default"}


def test_home_in_order_of_strength(world: World):
    person = world.root / "person"
    assert world.load().home == person / ".reverie"
    assert world.load(REVERIE_HOME="~/r").home == person / "r"
    assert world.load("home=/srv/r", REVERIE_HOME="~/r").home == Path("/srv/r")
    environ = {"HOME": str(person), "REVERIE_HOME": "/srv/r"}
    settings = load_settings(
        None, home=world.root / "settings", environ=environ, overrides=["home=/x"]
    )
    assert settings.home == world.root / "settings"
    assert settings.origin("home") == Origin("command line", "--home")


def test_the_user_file_is_found_through_home(world: World):
    moved = world.root / "moved"
    moved.mkdir()
    (moved / "settings.toml").write_text("features.recall = false")
    assert world.load(REVERIE_HOME=str(moved))["features.recall"] is False


def test_a_wrong_home_is_one_problem_among_others(world: World):
    world.write("user", "extrac = 1")
    with pytest.raises(SettingsError) as caught:
        world.load(REVERIE_HOME="not/absolute")
    assert 'home must be an absolute path (~/ is expanded), not "not/absolute"' in str(caught.value)
    assert "did you mean features.extract?" in str(caught.value)


def test_without_a_home_variable_the_system_is_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/home/of/system"))
    assert load_settings(None, environ={}).home == Path("/home/of/system/.reverie")


def test_without_arguments_the_process_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name in [name for name in os.environ if name.startswith("REVERIE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path))
    assert load_settings(None).home == tmp_path


@pytest.mark.parametrize("linked", [False, True])
def test_in_the_home_folder_the_user_file_is_not_taken_for_a_project_file(
    world: World, linked: bool
):
    world.write("user", "log.file = '/var/log/reverie.log'")
    root = world.root / "person"
    if linked:
        (world.root / "link").symlink_to(root)
        root = world.root / "link"
    loaded = load_settings(root, environ={"HOME": str(world.root / "person")})
    assert loaded.origin("log.file").source == "user"


def test_access_by_name(world: World):
    world.write("user", "[providers.My-GPU]\nkind = 'openai'\nbase_url = 'http://gpu:8000/v1'\n")
    loaded = world.load(
        "tools.Bash.result_threshold=100",
        "spend.purpose.agent:ann=1.5",
        "models.main=anthropic:claude-opus-5-5",
        REVERIE_MEMORY_DIR="~/m",
        REVERIE_CONTEXT_WINDOW="32000",
    )
    assert loaded.memory_directory == world.root / "person" / "m"
    assert loaded.window_tokens == 32_000
    assert loaded.cache_ttl == "auto"
    assert loaded.permission_mode == "ask"
    assert loaded.flag("features.recall") is True
    assert loaded.model("main") == "anthropic:claude-opus-5-5"
    assert loaded.model("side") == "offline"
    assert loaded.result_threshold("bash") == 100
    assert loaded.result_threshold("Read") is None
    assert loaded.spend_cap("agent:ann") == 1.5
    assert loaded.spend_cap("dream") is None
    assert loaded.price("gpt-9", "input") is None
    assert {"anthropic", "openai", "ollama", "my_gpu"} <= set(loaded.provider_names)
    assert loaded.provider("my-gpu") == Provider(
        "my-gpu", "openai", "http://gpu:8000/v1", None, "chat"
    )
    assert loaded.provider("anthropic") == Provider(
        "anthropic", "anthropic", None, "ANTHROPIC_API_KEY", "chat"
    )
    assert loaded.provider("ollama").base_url == "http://localhost:11434/v1"
    assert loaded.provider("nobody") == Provider("nobody", None, None, None, "chat")


def test_a_name_nobody_set_has_the_default_of_its_table(world: World):
    item = world.load().item("tools.Read.result_threshold")
    assert item == Item("tools.read.result_threshold", None, Origin("default"))


def test_an_unknown_key_is_an_error_with_a_suggestion(world: World):
    with pytest.raises(SettingsError, match=r"did you mean features\.recall\?"):
        world.load()["features.recal"]


def test_a_number_is_no_flag(world: World):
    with pytest.raises(SettingsError, match=r"cache\.ttl is not a switch; its value is 'auto'"):
        world.load().flag("cache.ttl")
