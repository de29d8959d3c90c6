"""Vectors come a portion at a time, from models that may fail, change, or be slow."""

from __future__ import annotations

import sqlite3
import threading

import numpy as np
import pytest
from tests.recall.shelf import NOW, HashedWords, fill, memory, said, shelf

from reverie.errors import Unreachable
from reverie.ports import OF_MESSAGES
from reverie.recall import queries
from reverie.recall.documents import Embedded
from reverie.recall.index import RecallIndex

DOCS = [memory(f"{i}.md", f"note number{i} about heron") for i in range(20)]


class Slow(HashedWords):
    """A model that is asked for a few texts at a time."""

    portion = 3
    apart = False


class Failing(HashedWords):
    """A model at an address nobody answers at, for as long as the test wants."""

    def __init__(self) -> None:
        self.down = True

    def encode(self, texts, kind):
        if self.down:
            raise Unreachable("nobody answers")
        return super().encode(texts, kind)


class Resized(HashedWords):
    """A model that was replaced by another one behind the same name."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions


def semantic(index: RecallIndex, question: str = "heron number3") -> bool:
    found = index.search(question, now=NOW)
    assert found.hits[0].key == "3.md"
    return found.used_semantic and all("semantic" in hit.signals for hit in found.hits)


def test_an_update_makes_a_few_vectors_and_the_rest_come_later(tmp_path):
    index = shelf(tmp_path, *DOCS, embedder=Slow())
    assert index.embed() == Embedded(made=3, left=5)
    assert index.embed(9) == Embedded(made=5, left=0)
    assert semantic(index)
    assert index.embed() == Embedded()


def test_a_model_that_fails_leaves_words_and_a_note(tmp_path):
    model = Failing()
    index = shelf(tmp_path, *DOCS, embedder=model)
    found = index.search("heron number3", now=NOW)
    assert found.hits[0].key == "3.md"
    assert not found.used_semantic
    assert found.notes == ("by words alone: nobody answers",)
    assert index.embed() == Embedded(problem="nobody answers")
    model.down = False
    assert index.embed(9).left == 0
    assert semantic(index)


def test_words_alone_are_judged_as_words_alone(tmp_path):
    """Without its model an index gives the chances it would give if it never had one."""
    with_words = shelf(tmp_path / "a", *DOCS).search("heron number3", now=NOW)
    failed = shelf(tmp_path / "b", *DOCS, embedder=Failing()).search("heron number3", now=NOW)
    assert [hit.score for hit in failed.hits] == [hit.score for hit in with_words.hits]


def test_vectors_of_another_size_are_made_again(tmp_path):
    shelf(tmp_path, *DOCS, embedder=Resized(64)).close()
    model = Resized(48)
    index = RecallIndex.open(tmp_path / "recall.db", model)
    assert not semantic(index)
    fill(index, *DOCS)
    assert semantic(index)


def test_a_size_that_changes_while_vectors_are_made(tmp_path):
    model = Resized(64)
    index = shelf(tmp_path, *DOCS[:10], embedder=model)
    assert semantic(index)
    model.dimensions = 32
    fill(index, *DOCS)
    assert index.embed(9).left == 0
    assert semantic(index)


def test_another_process_follows_to_the_new_size(tmp_path):
    first = shelf(tmp_path, *DOCS, embedder=Resized(64))
    assert semantic(first)
    second = RecallIndex.open(tmp_path / "recall.db", Resized(32))
    fill(second, *DOCS)
    second.search("heron", now=NOW)
    fill(second, *DOCS)
    assert semantic(second)
    # The first still asks in the old size: words alone, no error.
    assert not semantic(first)


def test_another_models_vectors_are_not_compared_with(tmp_path):
    class Other(HashedWords):
        name = "other"

        def encode(self, texts, kind):
            return -super().encode(texts, kind)

    shelf(tmp_path, *DOCS, embedder=HashedWords()).close()
    index = RecallIndex.open(tmp_path / "recall.db", Other())
    assert not semantic(index)
    fill(index, *DOCS)
    assert semantic(index)


def test_nobody_waits_for_a_model_that_is_at_work(tmp_path):
    at_work, go_on = threading.Event(), threading.Event()

    class Waiting(HashedWords):
        def encode(self, texts, kind):
            if kind == "passage":
                at_work.set()
                assert go_on.wait(10)
            return super().encode(texts, kind)

    index = RecallIndex.open(tmp_path / "recall.db", Waiting())
    go_on.set()
    fill(index, *DOCS[:5])
    go_on.clear()
    at_work.clear()
    writer = threading.Thread(target=fill, args=(index, *DOCS))
    writer.start()
    assert at_work.wait(10)
    assert index.search("number7", now=NOW).hits[0].key == "7.md"
    go_on.set()
    writer.join(10)
    assert index.embed() == Embedded()


def test_what_changed_while_it_was_read_is_read_again(tmp_path):
    class Meddled(HashedWords):
        """While it reads, somebody goes on with the conversation."""

        meddle = True

        def encode(self, texts, kind):
            if kind == "message" and self.meddle:
                self.meddle = False
                other.add_episodes("s1", said("alpha", "beta", "gamma"))
            return super().encode(texts, kind)

    other = RecallIndex.open(tmp_path / "recall.db")
    index = RecallIndex.open(tmp_path / "recall.db", Meddled())
    index.add_episodes("s1", said("alpha", "beta"))
    while index.embed().left:
        pass
    whole = RecallIndex.open(tmp_path / "whole.db", HashedWords())
    whole.add_episodes("s1", said("alpha", "beta", "gamma"))
    for question in ("alpha", "beta", "gamma"):
        assert _likeness(index, question) == _likeness(whole, question)


def test_what_was_forgotten_while_it_was_read_gets_no_vector(tmp_path):
    class Meddled(HashedWords):
        def encode(self, texts, kind):
            if kind == "passage":
                other.forget("3.md")
            return super().encode(texts, kind)

    other = RecallIndex.open(tmp_path / "recall.db")
    index = shelf(tmp_path, *DOCS, embedder=Meddled())
    assert "3.md" not in [hit.key for hit in index.search("heron number3", now=NOW, limit=50).hits]
    with sqlite3.connect(tmp_path / "recall.db") as connection:
        orphans = "SELECT count(*) FROM vectors WHERE passage NOT IN (SELECT id FROM passages)"
        assert connection.execute(orphans).fetchone() == (0,)
    connection.close()


class Apart(HashedWords):
    """A model that reads messages in another way than memories."""

    apart = True

    def encode(self, texts, kind):
        rows = super().encode(texts, kind)
        return np.roll(rows, 1, axis=1) if kind in OF_MESSAGES else rows


@pytest.mark.parametrize("scope", ["memories", "episodes", "both"])
def test_memories_and_messages_are_each_compared_with_a_question_of_their_kind(tmp_path, scope):
    found = {}
    for model in (HashedWords(), Apart()):
        index = RecallIndex.open(tmp_path / f"{model.apart}.db")
        index.put_many(DOCS[:5])
        index.add_episodes("s1", said("the heron came back", "alpha", "number3 stays"))
        index = RecallIndex.open(tmp_path / f"{model.apart}.db", model)
        # One portion holds both.
        assert index.embed() == Embedded(made=8, left=0)
        hits = index.search("heron number3", now=NOW, collection=scope, limit=20).hits
        found[model.apart] = {
            hit.key: pytest.approx(hit.signals.get("semantic", 0.0), abs=1e-3) for hit in hits
        }
    assert len(found[True]) >= 3
    assert any(score != 0 for score in found[True].values())
    assert {key: one.expected for key, one in found[True].items()} == found[False]


def _likeness(index: RecallIndex, question: str) -> dict[str, float]:
    hits = index.search(question, now=NOW, collection="episodes").hits
    return {hit.key: hit.signals.get("semantic", 0.0) for hit in hits}


@pytest.mark.parametrize(("together", "alike"), [(0.0, False), (0.5, True)])
def test_a_short_message_may_be_read_together_with_the_one_before(tmp_path, together, alike):
    class Together(HashedWords):
        context = ()

    Together.together = together
    read: list[str] = []

    class Reading(Together):
        def encode(self, texts, kind):
            read.extend(texts)
            return super().encode(texts, kind)

    index = RecallIndex.open(tmp_path / "recall.db", Reading())
    index.add_episodes("s1", said("Which boat?", "The red one.", "x" * 300, "And then?"))
    assert ("Which boat?\nThe red one." in read) is alike
    assert not any(text.startswith("x" * 100) and "And then?" in text for text in read)


def test_a_message_is_no_query(tmp_path):
    """What a person says to a model may hold quotes and dashes: they narrow nothing."""
    index = shelf(tmp_path, *DOCS)
    text = 'why is "the heron" -number3 type:user number3'
    assert index.search(text, now=NOW).hits == ()
    assert index.search(queries.plain(text), now=NOW).hits[0].key == "3.md"


def test_blank_rows_are_no_trouble(tmp_path):
    class Blank(HashedWords):
        def encode(self, texts, kind):
            return np.zeros((len(texts), 0), np.float32)

    index = shelf(tmp_path, *DOCS, embedder=Blank())
    found = index.search("number3", now=NOW)
    assert found.hits[0].key == "3.md"
    assert not found.used_semantic


class Another(Slow):
    name = "another"


def test_the_vectors_of_another_model_are_made_again_and_that_is_told(tmp_path):
    shelf(tmp_path, *DOCS, embedder=HashedWords()).close()
    path = tmp_path / "recall.db"
    index = RecallIndex.open(path, Another())
    assert index.vectors() == Embedded(0, len(DOCS))
    assert index.embed() == Embedded(made=3, left=len(DOCS) - 3)
    found = index.search("heron number3", now=NOW)
    assert found.hits[0].key == "3.md"
    assert found.notes == (
        "17 passages are found by words alone until another has read them (before: hashed-words)",
    )
    index.embed(9)
    assert index.vectors() == Embedded(len(DOCS), 0)
    assert index.search("heron number3", now=NOW).notes == ()
