"""The window: which size holds, and at which fill something happens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.window import (
    TTL_SECONDS,
    CacheRules,
    Capabilities,
    Window,
    resolve_window,
    split_suffix,
)

EVERYTHING = {
    "looked_up": 400_000,
    "shipped": 300_000,
    "large_beta": True,
    "configured": 2_000_000,
}


@pytest.mark.parametrize(
    ("model", "without", "tokens", "source"),
    [
        ("m[1m]", [], 1_000_000, "[1m] on the model name"),
        ("m", [], 400_000, "the provider's models endpoint"),
        ("m", ["looked_up"], 300_000, "the shipped model table"),
        ("m", ["looked_up", "shipped"], 1_000_000, "window.beta_1m"),
        ("m", ["looked_up", "shipped", "large_beta"], 2_000_000, "window.tokens"),
        ("m", list(EVERYTHING), 200_000, "default"),
    ],
)
def test_the_first_that_applies_decides_and_is_named(model, without, tokens, source):
    known = {key: value for key, value in EVERYTHING.items() if key not in without}
    assert resolve_window(model, **known) == Window(tokens, source)


@pytest.mark.parametrize("model", ["m", "m[1m]"])
def test_a_smaller_setting_shrinks_a_known_window(model):
    known = {**EVERYTHING, "configured": 64_000}
    assert resolve_window(model, **known) == Window(64_000, "window.tokens")


def test_the_suffix_is_ours_and_not_the_providers():
    assert split_suffix("claude[1m]") == ("claude", True)
    assert split_suffix("[1m]claude") == ("[1m]claude", False)


@pytest.mark.parametrize(
    ("tokens", "state"),
    [
        (0, "ok"),
        (146_999, "ok"),
        (147_000, "warning"),
        (166_999, "warning"),
        (167_000, "compact"),
        (176_999, "compact"),
        (177_000, "blocked"),
        (999_999, "blocked"),
    ],
)
def test_what_happens_as_200k_fill_up(tokens, state):
    assert Window(200_000, "default").state(tokens) == state


def test_a_small_local_window_keeps_the_same_shares():
    window = Window(8_000, "window.tokens")
    assert window.effective == 6_400
    assert window.compaction == 5_360
    assert window.warning == 3_760
    assert window.blocking == 6_160


@given(st.integers(1, 2_000_000))
def test_thresholds_come_in_order_in_a_window_of_any_size(tokens):
    w = Window(tokens, "")
    assert 0 <= w.warning <= w.compaction <= w.blocking <= w.effective <= w.tokens
    order = ["ok", "warning", "compact", "blocked"]
    states = [order.index(w.state(t)) for t in (0, w.warning, w.compaction, w.blocking, w.tokens)]
    assert states == sorted(states)
    assert w.state(w.blocking) == "blocked"


@pytest.mark.parametrize(
    ("known", "window"),
    [
        ({"looked_up": 0, "shipped": 300_000}, Window(300_000, "the shipped model table")),
        ({"looked_up": -1, "shipped": 300_000}, Window(300_000, "the shipped model table")),
        ({"shipped": 300_000, "configured": 0}, Window(300_000, "the shipped model table")),
        ({"shipped": 300_000, "configured": 1}, Window(1, "window.tokens")),
        ({"shipped": 300_000, "configured": 299_999}, Window(299_999, "window.tokens")),
        ({"shipped": 300_000, "configured": 300_000}, Window(300_000, "the shipped model table")),
        ({}, Window(200_000, "default")),
    ],
)
def test_a_size_counts_from_one_token(known, window):
    assert resolve_window("m", **known) == window


@pytest.mark.parametrize(
    ("tokens", "compaction"),
    [(99_999, 67_001), (90_000, 60_300), (100_000, 67_000), (100_001, 67_001)],
)
def test_smaller_windows_have_smaller_rooms(tokens, compaction):
    assert Window(tokens, "").compaction == compaction


def test_any_positive_window_counts():
    assert resolve_window("a-model", configured=1) == Window(1, "window.tokens")
    assert resolve_window("a-model", configured=0).source == "default"


def test_entries_of_a_cache_last_five_minutes_unless_more_is_known():
    assert CacheRules().ttl_seconds == TTL_SECONDS["5m"] == 300


def test_what_holds_unless_a_provider_says_otherwise():
    assert TTL_SECONDS == {"5m": 300.0, "1h": 3_600.0}
    assert CacheRules() == CacheRules("none", 1_024, 4, 20, 128, 300.0)
    assert Capabilities() == Capabilities(
        window=None,
        max_output=None,
        cache=CacheRules(),
        thinking=frozenset(),
        thinking_bound=False,
        effort=False,
        json_schema=False,
        cache_edits=False,
        context_management=False,
        compaction=False,
        system_messages=False,
    )


def test_an_unknown_model_is_trusted_with_nothing_special():
    unknown = Capabilities()
    assert unknown.window is None
    assert unknown.cache.kind == "none"
    assert not unknown.thinking
    assert not any([unknown.cache_edits, unknown.context_management, unknown.compaction])
