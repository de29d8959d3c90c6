"""The table of settings: rows are consistent, and each can be found."""

from __future__ import annotations

from pathlib import Path

import pytest

from reverie.settings.schema import (
    FEATURES,
    NEED_MEMORY,
    SETTINGS,
    Setting,
    find,
    find_variable,
    fold,
    is_table,
)
from reverie.settings.values import check

BY_KEY = {row.key: row for row in SETTINGS}
IDS = [row.key for row in SETTINGS]

OFF = {
    "microcompact_time",
    "snip",
    "collapse",
    "team",
    "daily_log",
    "agent_summary",
    "web_fetch",
    "agent_socket",
}
ON = {
    "recall",
    "extract",
    "dream",
    "session_notes",
    "notes_compaction",
    "autocompact",
    "microcompact_batch",
    "compact_by_price",
    "microcompact_cached",
    "microcompact_server",
    "tool_result_storage",
    "search_past_context",
    "agents",
}


def test_the_switches_and_their_defaults():
    assert set(FEATURES) == ON | OFF
    assert {name for name in FEATURES if BY_KEY[f"features.{name}"].default} == ON
    assert set(FEATURES) >= NEED_MEMORY


def test_no_key_and_no_variable_stands_twice():
    assert len(BY_KEY) == len(SETTINGS) == len({row.variable for row in SETTINGS})


@pytest.mark.parametrize("row", SETTINGS, ids=IDS)
def test_a_row_is_whole(row: Setting):
    assert row.about.endswith(".")
    assert bool(row.choices) == (row.kind == "choice")
    assert (row.low is None) == (row.high is None)
    if row.default is not None:
        assert check(row, row.key, row.default, Path("/home/ada")) == row.default


@pytest.mark.parametrize("row", SETTINGS, ids=IDS)
def test_what_a_stranger_could_abuse_is_not_for_projects(row: Setting):
    abusable = row.kind in ("path", "url", "variable", "money") or row.key.startswith("permissions")
    assert not (abusable and row.project_may_set)


@pytest.mark.parametrize(
    ("key", "variable"),
    [
        ("home", "REVERIE_HOME"),
        ("memory_directory", "REVERIE_MEMORY_DIR"),
        ("window.tokens", "REVERIE_CONTEXT_WINDOW"),
        ("memory.extra_guidelines", "REVERIE_MEMORY_EXTRA_GUIDELINES"),
        ("features.recall", "REVERIE_FEATURES_RECALL"),
        ("tools.*.result_threshold", "REVERIE_TOOLS_*_RESULT_THRESHOLD"),
    ],
)
def test_variables_have_the_names_the_pages_give(key: str, variable: str):
    assert BY_KEY[key].variable == variable


@pytest.mark.parametrize(
    ("written", "stored", "row"),
    [
        ("features.recall", "features.recall", "features.recall"),
        ("tools.Read.result_threshold", "tools.read.result_threshold", "tools.*.result_threshold"),
        ("tools.a.b.result_threshold", "tools.a.b.result_threshold", "tools.*.result_threshold"),
        ("spend.purpose.agent:Ann", "spend.purpose.agent_ann", "spend.purpose.*"),
        ("providers.my-gpu.kind", "providers.my_gpu.kind", "providers.*.kind"),
        ("providers.Ollama.base_url", "providers.ollama.base_url", "providers.ollama.base_url"),
    ],
)
def test_keys_find_their_row(written: str, stored: str, row: str):
    assert find(written) == (BY_KEY[row], stored)


@pytest.mark.parametrize(
    "key", ["", "features", "features.recal", "tools.result_threshold", "tools..result_threshold"]
)
def test_keys_that_do_not_exist(key: str):
    assert find(key) is None


@pytest.mark.parametrize(
    ("variable", "key"),
    [
        ("REVERIE_TOOLS_WEB_FETCH_RESULT_THRESHOLD", "tools.web_fetch.result_threshold"),
        ("REVERIE_PROVIDERS_MY_GPU_API_KEY_ENV", "providers.my_gpu.api_key_env"),
        ("REVERIE_PROVIDERS_OLLAMA_BASE_URL", "providers.ollama.base_url"),
        ("REVERIE_SPEND_PURPOSE_DREAM", "spend.purpose.dream"),
    ],
)
def test_variables_with_a_chosen_name(variable: str, key: str):
    found = find_variable(variable)
    assert found
    assert found[1] == key


def test_a_variable_nobody_knows():
    assert find_variable("REVERIE_NONSENSE") is None


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("features", True),
        ("providers.x", True),
        ("spend.purpose", True),
        ("featurs", False),
        ("features.recall", False),
        ("providers.x.kind", False),
    ],
)
def test_tables(key: str, expected: bool):
    assert is_table(key) is expected


def test_case_and_dashes_do_not_count_in_a_chosen_name():
    assert fold("My-GPU") == fold("my_gpu") == "my_gpu"
