"""The second look: the best messages word by word, sessions by all that their user said."""

from __future__ import annotations

import pytest
from tests.recall.shelf import NOW, HashedWords, files, said

from reverie.models.embeddings.local import Missing, StaticEmbedder, default_embedder
from reverie.recall import rerank
from reverie.recall.index import RecallIndex


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
    spread = said("The garden needs water.", "ok", "Tomatoes grow well.", "ok", "Harvest in June.")
    index.add_episodes("one", said("Harvest, harvest, harvest!", "ok", "Something else.", "ok"))
    index.add_episodes("many", spread)
    found = index.search("garden tomatoes harvest", now=NOW, collection="episodes")
    assert [session.session for session in found.sessions] == ["many", "one"]


def test_what_the_assistant_said_is_not_the_users(tmp_path):
    index = RecallIndex.open(tmp_path / "recall.db")
    index.add_episodes("told", said("I planted tomatoes.", "Good."))
    index.add_episodes("heard", said("What shall I plant?", "I suggest tomatoes."))
    found = index.search("tomatoes planted", now=NOW, collection="episodes")
    assert found.sessions[0].session == "told"


def test_options_without_words_need_no_second_look(tmp_path, static):
    index = RecallIndex.open(tmp_path / "recall.db", static, words=static)
    index.add_episodes("s1", said("I bought a violin.", "Grey skies."))
    assert len(index.search("role:user", now=NOW, collection="episodes").hits) == 1
