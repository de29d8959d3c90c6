"""Recall over a large directory: what changed is followed, what is not indexed yet is found by words."""

from pathlib import Path

import pytest
from tests.place import FixedClock

from reverie.core.messages import Text, new_message
from reverie.memory import catalog
from reverie.memory import watcher as lookout
from reverie.memory.history import GitHistory
from reverie.memory.store import FileStore
from reverie.recall import ranker as ranking
from reverie.recall.index import RecallIndex
from reverie.recall.pipeline import Recall
from reverie.recall.ranker import IndexRanker

WORDS = ["apple", "banana", "cherry", "damson", "elder", "fig", "grape", "hazel"]


def memory(about: str) -> str:
    return f"---\nname: {about}\ndescription: where the {about} grows\ntype: project\n---\nby it\n"


@pytest.fixture
def ranker(tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> IndexRanker:
    for place in (catalog, lookout):
        monkeypatch.setattr(place, "LARGE", 4)
    (tmp_path / "memory").mkdir()
    for word in WORDS:
        (tmp_path / "memory" / f"{word}.md").write_text(memory(word))
    history = GitHistory(tmp_path / "history.git", clock)
    store = FileStore(tmp_path / "memory", history, catalog=tmp_path / "manifest.sqlite")
    return IndexRanker(RecallIndex.open(tmp_path / "index.sqlite"), store, clock)


def best(ranker: IndexRanker, question: str) -> str:
    found = ranker.rank(question, None)
    return found[0].file if found else ""


def root(ranker: IndexRanker) -> Path:
    assert isinstance(ranker.store, FileStore)
    return ranker.store.root


def test_what_changes_is_followed(ranker: IndexRanker) -> None:
    assert best(ranker, "where does the cherry grow") == "cherry.md"
    (root(ranker) / "plum.md").write_text(memory("plum"))
    assert best(ranker, "where does the plum grow") == "plum.md"
    (root(ranker) / "plum.md").unlink()
    assert best(ranker, "plum") == ""


def test_what_is_not_indexed_yet_is_found_by_its_words(
    ranker: IndexRanker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "PROMPT_BATCH", 1)
    found = ranker.rank("where does the grape grow", None)
    assert found[0].file == "grape.md"
    assert found[0].sure
    assert len(ranker.index.files()) == 1
    while ranker.catch_up():
        pass
    assert len(ranker.index.files()) == len(WORDS)
    assert best(ranker, "where does the grape grow") == "grape.md"


def test_a_catalog_made_anew_forgets_what_went_away_meanwhile(
    ranker: IndexRanker, tmp_path: Path
) -> None:
    while ranker.catch_up():
        pass
    (tmp_path / "manifest.sqlite").unlink()
    (root(ranker) / "fig.md").unlink()
    while ranker.catch_up():
        pass
    assert set(ranker.index.files()) == {f"{word}.md" for word in WORDS} - {"fig.md"}


async def test_a_prompt_is_given_what_fits(ranker: IndexRanker, clock: FixedClock) -> None:
    recall = Recall(ranker.store, ranker, clock, root(ranker).joinpath, root(ranker))
    asked = new_message("user", Text("tell me where the damson grows, please"), at=clock.now())
    found = await recall.recollect(asked)
    assert found.files == ("damson.md",)
    again = await recall.recollect(asked)
    assert "damson.md" not in again.files
