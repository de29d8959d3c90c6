"""A new user has one memory, then five: recall shows the right one, and nothing where nothing fits."""

from pathlib import Path

import pytest

from reverie.memory.format import topic as topics
from reverie.models.embeddings.local import Missing, default_embedder
from reverie.ports import Embedder
from reverie.recall.documents import MemoryDoc
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.index import RecallIndex

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
    ("where is the api gateway?", 4),
    ("port of staging?", 1),
    ("does the api gateway live in eu-west-1 or eu-west-2?", 4),
    ("best pizza in Rome?", None),
    ("what is the weather like", None),
    ("please fix the flaky test in parser.py", None),
)


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
    for question, answer in QUESTIONS:
        hits = index.search(question, now=1.79e9, limit=5).hits
        shown = [hit.key for hit in hits if hit.score >= GOOD_MATCH]
        wanted = [f"m{answer}.md"] if answer is not None and answer < size else []
        assert shown == wanted, question
    index.close()
