"""A new user has one memory, then five, later two hundred: recall shows the right one, and nothing where nothing fits."""

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from reverie.memory.format import topic as topics
from reverie.models.embeddings.local import Missing, default_embedder
from reverie.ports import Embedder
from reverie.recall import queries
from reverie.recall.documents import MemoryDoc
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.index import RecallIndex

NOTES = Path(__file__).parents[2] / "benchmarks" / "recall_notes"
FACTS = (
    "Deploys freeze on 2026-12-20 and thaw on 2027-01-07.",
    "The staging database runs Postgres 15 on port 5433.",
    "I prefer tabs over spaces in Makefiles only.",
    "Anna owns the billing service.",
    "Our API gateway lives in eu-west-1.",
)

QUESTIONS = (
    ("When do deploys freeze?", 0),
    ("which port does staging use", 1),
    ("tabs or spaces?", 2),
    ("who owns billing?", 3),
    ("port of staging?", 1),
    ("does the api gateway live in eu-west-1 or eu-west-2?", 4),
    ("best pizza in Rome?", None),
    ("what is the weather like", None),
    ("please fix the flaky test in parser.py", None),
)


# Where the answer is missing, a neighbour may be shown ("Anna owns the billing service").
ASKED_OF_ALL = (*QUESTIONS, ("where is the api gateway?", 4))


def document(number: int) -> MemoryDoc:
    fact = FACTS[number]
    data = f"---\nname: {fact[:30]}\ndescription: {fact}\ntype: project\n---\n\n{fact}\n".encode()
    return MemoryDoc.of(topics.parse(data, f"m{number}.md"), (0, len(data), 0))


@pytest.fixture(params=["words", "meaning"])
def embedder(request: pytest.FixtureRequest) -> Embedder | None:
    if request.param == "words":
        return None
    found = default_embedder()
    if isinstance(found, Missing):
        pytest.skip(found.reason)
    return found


@pytest.mark.parametrize("size", range(1, len(FACTS) + 1))
def test_the_right_one_or_nothing(tmp_path: Path, embedder: Embedder | None, size: int) -> None:
    index = RecallIndex.open(tmp_path / "index.sqlite", embedder)
    index.put_many([document(number) for number in range(size)])
    for question, answer in ASKED_OF_ALL if size == len(FACTS) else QUESTIONS:
        hits = index.search(question, now=1.79e9, limit=5).hits
        shown = [hit.key for hit in hits if hit.score >= GOOD_MATCH]
        wanted = [f"m{answer}.md"] if answer is not None and answer < size else []
        assert shown == wanted, question
    index.close()


def test_a_store_of_two_hundred_shows_what_is_asked_in_other_words(tmp_path: Path) -> None:
    found = default_embedder()
    if isinstance(found, Missing):
        pytest.skip(found.reason)
    asked = [row for row in _rows("questions_neighbour") if row["kind"] in {OTHER, UNRELATED}]
    projects = {row["project"] for row in asked}
    notes = [row for row in _rows("memories") if row["project"] in projects]
    index = RecallIndex.open(tmp_path / "index.sqlite", found)
    index.put_many(
        MemoryDoc(file=row["id"], signature=(1, 1, 1), name="", description="", body=row["text"])
        for row in notes
    )
    right, wrong = [], []
    for row in asked:
        hits = index.search(queries.plain(row["text"]), now=1.79e9, limit=5).hits
        shown = {hit.key for hit in hits if hit.score >= GOOD_MATCH}
        if row["kind"] == OTHER:
            right.append(not shown.isdisjoint(row["answers"]))
        else:
            wrong.append(bool(shown))
    index.close()
    assert len(notes) == 200
    assert fmean(right) >= 0.5
    assert fmean(wrong) <= 0.03


OTHER, UNRELATED = "other words", "unrelated"


def _rows(name: str) -> list[dict[str, Any]]:
    text = (NOTES / f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]
