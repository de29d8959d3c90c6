"""The second look: the best messages word by word, sessions by all that their user said."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest
from tests.recall.shelf import NOW, HashedWords, files, said

from reverie.models.embeddings.local import Missing, default_embedder
from reverie.models.embeddings.static import StaticEmbedder
from reverie.recall import rerank
from reverie.recall.documents import Hit, Results, SessionHit
from reverie.recall.index import RecallIndex
from reverie.recall.lexical import TABLES, Counts, Lookup
from reverie.recall.ranker import one_a_session


@pytest.fixture(scope="module")
def static() -> StaticEmbedder:
    found = default_embedder()
    if isinstance(found, Missing):
        pytest.skip(found.reason)
    return found


def test_the_most_alike_word_speaks_for_each_word_of_the_question(static):
    texts = ["My kitten sleeps all day.", "The quarterly report is late.", ""]
    cat, report, blank = rerank.interaction(static, {"cat": 2.0, "asleep": 1.0}, texts)
    assert cat > 0.5 > report
    assert blank == 0.0
    assert rerank.interaction(static, {}, texts) == [0.0, 0.0, 0.0]


def test_rare_words_of_the_question_count_more(static):
    texts = ["a violin", "a Tuesday"]
    assert rerank.interaction(static, {"violin": 3.0, "tuesday": 0.5}, texts) == sorted(
        rerank.interaction(static, {"violin": 3.0, "tuesday": 0.5}, texts), reverse=True
    )
    first, second = rerank.interaction(static, {"violin": 0.5, "tuesday": 3.0}, texts)
    assert second > first


def test_what_tells_comes_before_what_asks(tmp_path, static):
    index = RecallIndex.open(tmp_path / "recall.db", static, words=static)
    asks = [f"Did {name} adopt a dog?" for name in ("Ann", "Bob", "Cleo", "Dan", "Eve")]
    tells = ["We adopted a dog called Biscuit from the shelter on the hill."]
    index.add_episodes("s1", said(*asks, *tells, *(f"Line {i} about trains." for i in range(40))))
    order = files(index, "who did adopt a dog", collection="episodes")
    assert order[0] == "m5"


def test_a_reply_that_tells_what_is_asked_for_answers_more_often(tmp_path):
    index = RecallIndex.open(tmp_path / "recall.db")
    index.add_episodes("s1", said("Is it yours?", "Since Monday.", "Near Bergen.", "A red one."))
    index.close()
    with sqlite3.connect(tmp_path / "recall.db") as connection:
        place = Lookup(connection, TABLES["episodes"], Counts())
        rows = connection.execute("SELECT id FROM passages ORDER BY position").fetchall()
        ids = [row[0] for row in rows]
        when, what = (
            rerank.second_look(place, asked, ids, [0.0] * 4, None, static=False)
            for asked in ("When did you adopt it?", "What is it?")
        )
    connection.close()
    assert [max(when[name]) == value for name in ("fits", "reply") for value in when[name]] == [
        *(False, True, False, False),
        *(False, True, False, False),
    ]
    assert when["told_before"][1] == min(when["told_before"]) < when["told_before"][2]
    assert len(set(what["fits"])) == 1


def test_an_unrelated_statement_does_not_come_before_a_question_that_fits(tmp_path, static):
    index = RecallIndex.open(tmp_path / "recall.db", static, words=static)
    index.add_episodes("s1", said("Did you adopt a dog?", "The trains are late again today."))
    assert files(index, "adopting a dog", collection="episodes") == ["m0", "m1"]


def test_a_word_that_is_alike_is_told_as_the_reason(tmp_path, static):
    index = RecallIndex.open(tmp_path / "recall.db", static, words=static)
    index.add_episodes("s1", said("I bought a violin yesterday.", "Grey skies.", "Late trains."))
    best = index.search("musical instrument purchase", now=NOW, collection="episodes").hits[0]
    assert best.key == "m0"
    assert best.signals["interaction"] > 0
    assert "has words like those of the question" in best.why


def test_another_model_is_given_a_second_opinion(tmp_path, static):
    index = RecallIndex.open(tmp_path / "recall.db", HashedWords(), words=static)
    index.add_episodes("s1", said("I bought a violin.", "Grey skies.", "Late trains again."))
    best = index.search("a violin was bought", now=NOW, collection="episodes").hits[0]
    assert best.key == "m0"


def test_a_session_counts_by_all_that_its_user_said(tmp_path):
    index = RecallIndex.open(tmp_path / "recall.db")
    talks = {
        "two words at once": ("Harvest tomatoes!", "ok"),
        "three one by one": (
            "The garden is dry.",
            "ok",
            "Tomatoes grow.",
            "ok",
            "Harvest in June.",
        ),
        "by the assistant": ("What shall I do?", "Harvest the tomatoes in the garden."),
        "nothing": ("Grey skies.", "Late trains."),
    }
    for name, lines in talks.items():
        index.add_episodes(name, said(*lines))
    with sqlite3.connect(tmp_path / "recall.db") as connection:
        names = dict(connection.execute("SELECT id, name FROM sources").fetchall())
        place = Lookup(connection, TABLES["episodes"], Counts())
        found = rerank.session_words(place, "garden tomatoes harvest", set(names))
    connection.close()
    scores = {names[source]: score for source, score in found.items()}
    assert scores["three one by one"] > scores["two words at once"] > 0
    assert scores["by the assistant"] == scores["nothing"] == 0
    index.close()


def test_sessions_that_meaning_cannot_tell_apart_are_told_apart_by_words(tmp_path):
    class Blank(HashedWords):
        """A model for which all texts are alike."""

        def encode(self, texts, kind):
            return np.ones((len(texts), 4), np.float32)

    index = RecallIndex.open(tmp_path / "recall.db", Blank())
    index.add_episodes("a", said("Grey skies.", "I suggest tomatoes."))
    index.add_episodes("b", said("I planted tomatoes.", "Good."))
    found = index.search("tomatoes planted", now=NOW, collection="episodes")
    assert [session.session for session in found.sessions] == ["b", "a"]


def test_options_without_words_need_no_second_look(tmp_path, static):
    index = RecallIndex.open(tmp_path / "recall.db", static, words=static)
    index.add_episodes("s1", said("I bought a violin.", "Grey skies."))
    assert len(index.search("role:user", now=NOW, collection="episodes").hits) == 1


def test_search_shows_each_conversation_once_in_the_order_of_sessions():
    def hit(key: str, session: str = "") -> Hit:
        collection = "episodes" if session else "memories"
        return Hit(key, collection, 0.5, {}, "", "", session=session)

    hits = (hit("a1", "a"), hit("memory.md"), hit("a2", "a"), hit("b1", "b"), hit("c1", "c"))
    sessions = tuple(SessionHit(name, 1.0, "") for name in ("c", "gone", "a", "b"))
    shown = one_a_session(Results(hits, sessions=sessions))
    assert [one.key for one in shown] == ["c1", "memory.md", "a1", "b1"]
