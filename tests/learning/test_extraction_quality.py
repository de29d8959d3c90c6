"""The rules against the labelled turns that `benchmarks/extraction_quality.py` counts in full."""

import json
from pathlib import Path

from tests.context.saying import model, story, user

from reverie.learning.extraction import find, judge
from reverie.learning.extraction.trust import Save

TURNS = Path(__file__).parents[2] / "benchmarks" / "extraction_turns.jsonl"
ROWS = [json.loads(line) for line in TURNS.read_text("utf-8").splitlines()]
WRITTEN = [row for row in ROWS if "said" in row]


def found(row: dict) -> list:
    before = [model(row["before"])] if "before" in row else []
    messages = story(*before, user(row["said"]))
    return [(one, judge(one, messages)) for one in find(messages)]


def test_the_set_is_large_and_mostly_hard_negatives() -> None:
    nothing = [row for row in WRITTEN if not row["types"]]
    assert len(WRITTEN) >= 200
    assert len(nothing) >= len(WRITTEN) / 2
    assert len({row["said"] + row.get("before", "") for row in WRITTEN}) == len(WRITTEN)


def test_what_they_find_is_right() -> None:
    right = wrong = 0
    for row in WRITTEN:
        for one, _ in found(row):
            right += one.type in row["types"]
            wrong += one.type not in row["types"]
    assert right / (right + wrong) >= 0.95
    assert right >= 0.9 * sum(bool(row["types"]) for row in WRITTEN)


def test_what_they_find_is_believed() -> None:
    verdicts = [(one.text, verdict) for row in WRITTEN for one, verdict in found(row)]
    assert [text for text, verdict in verdicts if not isinstance(verdict, Save)] == []
