"""Questions are turned towards the memories that answer them, by a map that was learnt for the model."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from reverie.models.embeddings.local import ARCTIC, STATIC
from reverie.recall import question_map, relevance
from reverie.recall.documents import MemoryDoc
from reverie.recall.index import RecallIndex
from reverie.recall.question_map import QuestionMap, aimed

PLACES = {"asked": 0, "alike": 0, "answers": 1, "other": 2}


class Wordwise:
    """A model of three dimensions: each text lies where its word does."""

    name = "wordwise"
    context: tuple[float, ...] = ()
    together = 0.0
    portion = 100
    apart = False

    def encode(self, texts: Sequence[str], kind: str) -> np.ndarray:
        return np.eye(3, dtype=np.float32)[[PLACES[text.split()[-1]] for text in texts]]


@pytest.fixture
def maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(question_map, "FOLDER", tmp_path)
    question_map._load.cache_clear()
    yield tmp_path
    question_map._load.cache_clear()


def first(folder: Path) -> tuple[str, float]:
    index = RecallIndex.open(folder / "recall.db", Wordwise())
    for word in ("alike", "answers", "other"):
        doc = MemoryDoc(f"{word}.md", (1, 1, 1), name="", description="", body=word)
        index.put_many([doc])
    best = index.search("asked", now=0.0).hits[0]
    index.close()
    return best.key, best.score


def test_a_question_finds_what_answers_it_rather_than_what_says_the_same(
    maps: Path, tmp_path_factory: pytest.TempPathFactory
):
    assert first(tmp_path_factory.mktemp("without"))[0] == "alike.md"
    turn = np.float32([[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    question_map.save(Wordwise.name, QuestionMap(turn, np.zeros(3, "f"), np.zeros(3, "f")))
    assert first(tmp_path_factory.mktemp("with"))[0] == "answers.md"


def test_what_all_memories_have_in_common_is_taken_away(maps: Path):
    usual = np.float32([0, 0.5, 0])
    question_map.save("m", QuestionMap(np.eye(3, dtype=np.float32), np.float32([0, 0, 0.5]), usual))
    aim = aimed("m", np.float32([0, 1, 0.5]))
    assert np.allclose(aim.vector, [0, 1, 0])
    assert aim.common == pytest.approx(0.5)


def test_a_model_without_a_map_and_one_of_another_size_are_left_as_they_are(maps: Path):
    vector = np.float32([1, 0])
    question_map.save("m", QuestionMap(np.eye(3, dtype=np.float32), *np.zeros((2, 3), "f")))
    for model in ("unknown", "m", "http://127.0.0.1:1/v1#some/model", "../m"):
        aim = aimed(model, vector)
        assert aim.vector is vector
        assert aim.common == 0.0
    assert aimed("m", None).vector is None


@pytest.mark.parametrize(("model", "size"), [(STATIC, 256), (ARCTIC, 640)])
def test_both_models_have_a_map_and_are_calibrated_for_it(model: str, size: int):
    aim = aimed(model, np.ones(size, np.float32))
    assert aim.vector is not None
    assert np.linalg.norm(aim.vector) == pytest.approx(1, abs=1e-3)
    assert aim.common != 0.0
    assert relevance.calibration(model).margin == 0.0
