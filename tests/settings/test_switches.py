"""Live switches: files that change, break and recover during a session; remote flags."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openfeature import api
from openfeature.provider.in_memory_provider import InMemoryFlag, InMemoryProvider

from reverie.errors import SettingsError
from reverie.settings import Switches, bridge_openfeature
from reverie.settings.schema import FEATURES, NEED_MEMORY
from reverie.settings.sources import stamp_of

if TYPE_CHECKING:
    from tests.settings.world import World


def test_a_switch_flips_without_a_restart(world: World):
    switches = Switches(world.load())
    assert switches.on("recall")
    world.write("user", "features.recall = false")
    assert not switches.on("recall")
    world.write("local", "features.recall = true")
    assert switches.on("recall")
    world.path("local").unlink()
    assert not switches.on("recall")
    world.path("user").unlink()
    assert switches.on("recall")
    assert switches.problem is None


def test_a_file_that_breaks_keeps_its_last_good_values(
    world: World, caplog: pytest.LogCaptureFixture
):
    path = world.write("user", "features.snip = true")
    switches = Switches(world.load())
    with caplog.at_level(logging.WARNING, logger="reverie.settings"):
        world.write("user", "features.snip = tr")
        assert [switches.on("snip") for _ in range(3)] == [True] * 3
    assert len(caplog.records) == 1
    assert switches.problem
    assert switches.problem.startswith(f"{path}:1: this is not TOML")
    # Another file is still followed meanwhile.
    world.write("local", "features.recall = false")
    assert not switches.on("recall")
    world.write("user", "features.snip = false")
    assert not switches.on("snip")
    assert switches.problem is None


def test_a_broken_file_that_is_removed_says_nothing_any_more(world: World):
    world.write("user", "features.snip = true")
    switches = Switches(world.load())
    world.write("user", "?")
    assert switches.on("snip")
    world.path("user").unlink()
    assert not switches.on("snip")
    assert switches.problem is None


def test_a_file_is_read_again_only_when_it_changed(world: World, monkeypatch: pytest.MonkeyPatch):
    world.write("user", "features.recall = false")
    switches = Switches(world.load())
    monkeypatch.setattr("reverie.settings.resolve.read_file", None)
    assert not switches.on("recall")


def test_a_look_costs_one_stat_a_file(world: World, monkeypatch: pytest.MonkeyPatch):
    for source in ("managed", "user", "project", "local"):
        world.write(source, "features.recall = false")
    switches = Switches(world.load())
    looked: list[Path] = []
    monkeypatch.setattr(
        "reverie.settings.resolve.stamp_of", lambda path: looked.append(path) or stamp_of(path)
    )
    monkeypatch.setattr("reverie.settings.resolve.read_file", None)
    assert not switches.on("recall")
    assert len(looked) == len(set(looked))
    assert {world.path(source) for source in ("managed", "user", "project", "local")} <= {*looked}


@pytest.mark.parametrize("name", FEATURES)
def test_without_memory_what_needs_it_is_off(world: World, name: str):
    switches = Switches(world.load(f"features.{name}=true"))
    assert switches.on(name)
    world.write("local", "memory.enabled = false")
    assert switches.on(name) is (name not in NEED_MEMORY)


def test_a_switch_nobody_has(world: World):
    with pytest.raises(
        SettingsError, match="no switch is called 'recal'; there are: recall, extract"
    ):
        Switches(world.load()).on("recal")


def flags(**values: bool | int | str) -> InMemoryProvider:
    names = {"recall": "features.recall", "snip": "features.snip"}
    return InMemoryProvider(
        {
            f"reverie.{names.get(name, f'tools.{name}.result_threshold')}": InMemoryFlag(
                "it", {"it": value}
            )
            for name, value in values.items()
        }
    )


@pytest.fixture
def remote(world: World, request: pytest.FixtureRequest):
    yield lambda provider: api.set_provider_and_wait(provider, domain="test")
    api.clear_providers()


def test_an_organisation_flips_a_switch(world: World, remote):
    remote(flags(recall=False, snip=True))
    world.write("local", "features.snip = false")
    switches = Switches(world.load())
    bridge_openfeature(switches, domain="test")
    assert (switches.on("recall"), switches.on("snip"), switches.on("dream")) == (False, True, True)
    remote(flags(recall=True))
    assert (switches.on("recall"), switches.on("snip")) == (True, False)


def test_who_sits_at_the_machine_has_the_last_word(world: World, remote):
    remote(flags(recall=False, snip=True, bash=7))
    settings = world.load(
        "features.recall=true", "tools.bash.result_threshold=9", REVERIE_FEATURES_SNIP="0"
    )
    switches = Switches(settings)
    bridge_openfeature(switches, domain="test")
    assert (switches.on("recall"), switches.on("snip")) == (True, False)
    assert switches.result_threshold("Bash") == 9


def test_no_flag_turns_on_what_works_on_memory_that_is_off(world: World, remote):
    remote(flags(recall=True))
    switches = Switches(world.load(REVERIE_DISABLE_MEMORY="1"))
    bridge_openfeature(switches, domain="test")
    assert not switches.on("recall")


class Broken(InMemoryProvider):
    def resolve_boolean_details(self, *args, **kwargs):
        raise ConnectionError("the flag service is down")


@pytest.mark.parametrize(
    "provider", [Broken({}), flags(), flags(recall="yes")], ids=["down", "unknown", "wrong type"]
)
def test_a_flag_service_that_fails_changes_nothing(world: World, remote, provider):
    remote(provider)
    world.write("user", "features.recall = false")
    switches = Switches(world.load())
    bridge_openfeature(switches, domain="test")
    assert not switches.on("recall")
    world.write("user", "features.recall = true")
    assert switches.on("recall")


def test_without_a_provider_nothing_changes(world: World):
    switches = Switches(world.load("tools.bash.result_threshold=9"))
    bridge_openfeature(switches)
    assert switches.on("recall")
    assert not switches.on("snip")
    assert switches.result_threshold("bash") == 9
    assert switches.result_threshold("read") is None


def test_thresholds_of_tools_are_live_too(world: World, remote):
    switches = Switches(world.load())
    assert switches.result_threshold("Bash") is None
    world.write("local", "tools.Bash.result_threshold = 5")
    assert switches.result_threshold("Bash") == 5
    bridge_openfeature(switches, domain="test")
    for value, seen in ((70_000, 70_000), ("never", "never"), ("lots", 5), (-4, 5), (10**9, 5)):
        remote(flags(bash=value))
        assert switches.result_threshold("Bash") == seen


def test_without_the_sdk_the_fix_is_named(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "openfeature", None)
    with pytest.raises(SettingsError, match=r"pip install 'reverie\[openfeature\]'"):
        bridge_openfeature(Switches(world.load()))
