"""Real coding-agent sessions: all of them load, stand, and are never dearer with our marks.

The data is not part of the repository. `REVERIE_DATA` names its folder; `../shared/data` is tried.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.place import Place

from reverie.conversation import transcripts
from reverie.conversation.cache_report import replay, what_if
from reverie.conversation.journal import Loaded
from reverie.conversation.records import Compacted, Used

REPOSITORY = Path(__file__).parents[2]
FOLDER = REPOSITORY / os.environ.get("REVERIE_DATA", "../shared/data") / "claude_sessions"
SESSIONS = sorted(FOLDER.glob("*.jsonl.gz"))

pytestmark = pytest.mark.skipif(
    not SESSIONS, reason=f"no sessions in {FOLDER}; set REVERIE_DATA to the folder of the data sets"
)
each_session = pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name[:8])


@cache
def loaded(path: Path) -> Loaded:
    return transcripts.load(path)


@cache
def stats() -> dict[str, Any]:
    return {row["file"]: row for row in json.loads((FOLDER / "stats.json").read_text())}


def test_all_of_them_are_there() -> None:
    assert len(SESSIONS) == 47 == len(stats())


@each_session
def test_every_line_is_understood(path: Path) -> None:
    found = loaded(path)
    assert found.notes == ()
    row = stats()[path.name.removesuffix(".gz")]
    assert sum(isinstance(record, Compacted) for record in found.records) == row["compactions"]


@each_session
def test_one_call_is_replayed_for_each_that_was_made(path: Path) -> None:
    """Those the client answered itself, with an error, never reached the provider."""
    replayed = replay(loaded(path).records)
    made = stats()[path.name.removesuffix(".gz")]["api_calls"]
    assert made - 2 <= len(replayed.calls) <= made
    responses = {record.response for record in loaded(path).records if isinstance(record, Used)}
    assert len(replayed.calls) == len(responses)


@each_session
def test_the_replayed_prompts_are_as_large_as_the_billed_ones(path: Path) -> None:
    replayed = replay(loaded(path).records)
    billed = sum(used.usage.prompt for used in replayed.reported)
    sized = sum(call.chain.tokens for call in replayed.calls)
    assert sized == pytest.approx(billed, rel=0.02)


@each_session
def test_ours_is_never_dearer(path: Path, place: Place) -> None:
    found = what_if(place.app().settings, path)
    cost = {outcome.plan.name: outcome.cost for outcome in found.outcomes}
    assert cost["ours"] <= cost["no caching"]
    assert cost["ours"] <= cost["tail only"]
    assert {outcome.total.prompt for outcome in found.outcomes} == {found.outcomes[0].total.prompt}
