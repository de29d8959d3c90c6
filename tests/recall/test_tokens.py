"""Memories compared word by word, where a stronger model reads them."""

import zlib
from pathlib import Path

import numpy as np
import pytest
from tests.recall.shelf import NOW, HashedWords, fill, memory, shelf

from reverie.models.embeddings.local import ARCTIC
from reverie.recall.index import RecallIndex
from reverie.text.words import terms

SAME = "The crane lifts stones near the harbour wall every Monday"
OTHER = "The harbour wall every Monday near stones the crane lifts"
QUESTION = "Which crane lifts our stones near that harbour?"


class Reads(HashedWords):
    """A model under the name of one whose words have a map; a word of the first text is far from all others."""

    name = ARCTIC
    dimensions = 384

    def __init__(self) -> None:
        self.read: list[str] = []

    def token_states(self, texts, kind):
        self.read += texts
        found = [self._states(text) for text in texts]
        return np.concatenate(found), [len(rows) for rows in found]

    def _states(self, text: str) -> np.ndarray:
        mark = "first" if text.startswith("The crane") else ""
        seeds = [zlib.crc32(f"{term}{mark}".encode()) for term in terms(text)]
        rows = [np.random.default_rng(seed).standard_normal(384) for seed in seeds]
        return np.array(rows, np.float32).reshape(-1, 384)


def two(folder: Path, embedder) -> RecallIndex:
    return shelf(folder, memory("a.md", SAME), memory("b.md", OTHER), embedder=embedder)


def tokens(index: RecallIndex) -> int:
    connection = index._shadow.connection()
    return int(connection.execute("SELECT count(*) FROM tokens").fetchone()[0])


def test_the_memory_whose_words_are_alike_comes_first_and_the_best_score_stays(tmp_path) -> None:
    class Plain(HashedWords):
        name = ARCTIC
        dimensions = 384

    plain = two(tmp_path / "plain", Plain()).search(QUESTION, now=NOW).hits
    read = two(tmp_path / "read", Reads()).search(QUESTION, now=NOW).hits
    assert [hit.key for hit in plain] == ["a.md", "b.md"]
    assert [hit.key for hit in read] == ["b.md", "a.md"]
    assert read[0].score == pytest.approx(plain[0].score, abs=0.002)
    assert "interaction" in read[0].signals


def test_each_memory_is_read_once_and_what_is_gone_leaves_nothing(tmp_path) -> None:
    model = Reads()
    index = two(tmp_path, model)
    index.embed()
    assert model.read == [SAME, OTHER]
    assert tokens(index) == 2
    index.forget("a.md")
    assert tokens(index) == 1
    fill(index, memory("b.md", SAME))
    assert (tokens(index), model.read[2:]) == (1, [SAME])


def test_another_model_starts_again(tmp_path) -> None:
    two(tmp_path, Reads()).close()
    index = RecallIndex.open(tmp_path / "recall.db", HashedWords())
    while index.embed().left:
        pass
    assert tokens(index) == 0
    assert index.search(QUESTION, now=NOW).hits


def test_several_questions_are_not_compared_as_one(tmp_path) -> None:
    model = Reads()
    index = two(tmp_path, model)
    index.search("When does the crane lift stones, and who paints the harbour wall?", now=NOW)
    assert model.read == [SAME, OTHER]
