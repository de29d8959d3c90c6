"""Messages of past sessions: found by their own words and by those around them."""

from __future__ import annotations

import pytest
from tests.recall.shelf import DAY, NOW, HashedWords, files, said

from reverie.recall.documents import Episode
from reverie.recall.index import RecallIndex

TALK = said(
    "Which colour should the new logo have?",
    "Teal, as in the old brochure.",
    "And the size of the letters?",
    "Forty points at least.",
)


@pytest.fixture
def index(tmp_path):
    return RecallIndex.open(tmp_path / "recall.db", HashedWords())


def found(index, question, **options):
    return files(index, question, collection="episodes", **options)


def test_a_reply_is_found_by_the_words_of_its_question(index):
    index.add_episodes("s1", TALK)
    order = found(index, "what colour is the logo")
    assert order[0] == "m0"
    assert order.index("m1") < order.index("m3")


def test_messages_are_added_once(index):
    assert index.add_episodes("s1", TALK[:2]).added == 2
    assert index.add_episodes("s1", TALK).added == 2
    assert index.add_episodes("s1", TALK).added == 0


def test_the_options_of_the_query_language(index):
    index.add_episodes("s1", TALK)
    index.add_episodes("s2", said("The logo is fine as it is.", start=NOW - 90 * DAY))
    assert found(index, "logo session:s2") == ["m0"]
    assert len(found(index, "logo session:s")) > len(found(index, "logo session:s1"))
    assert found(index, "logo session:2") == []
    assert set(found(index, "role:assistant logo")) == {"m1", "m3"}
    recent = index.search("logo after:2026-12-01", now=NOW, collection="episodes")
    assert {hit.session for hit in recent.hits} == {"s1"}


def test_who_said_it_counts(index):
    lines = [("Ann", "I painted a lake."), ("Bob", "I painted a barn."), ("Ann", "Nice barn.")]
    talk = [Episode(str(i), "user", NOW, text, who) for i, (who, text) in enumerate(lines)]
    index.add_episodes("s1", talk)
    assert found(index, "what did Bob paint")[0] == "1"
    assert found(index, "what did Ann paint")[0] == "0"


def test_sessions_are_ranked_by_their_best_messages(index):
    index.add_episodes("logo", TALK)
    index.add_episodes("lunch", said("Where do we eat?", "At the harbour."))
    results = index.search("logo colour", now=NOW, collection="episodes")
    assert results.sessions[0].session == "logo"
    assert results.sessions[0].best == "m0"


def test_a_forgotten_session_is_gone(index):
    index.add_episodes("s1", TALK)
    index.add_episodes("s2", said("The logo is fine."))
    assert index.forget_sessions("s1").removed == 4
    assert {h.session for h in index.search("logo", now=NOW, collection="episodes").hits} == {"s2"}
    assert list(index.sessions()) == ["s2"]


def test_both_collections_in_one_answer(index, tmp_path):
    from tests.recall.shelf import fill, memory

    fill(index, memory("logo.md", "The logo is teal."))
    index.add_episodes("s1", TALK)
    results = index.search("logo", now=NOW, collection="both")
    assert {hit.collection for hit in results.hits} == {"memories", "episodes"}


def test_long_messages_are_one_hit(index):
    body = "\n\n".join(
        f"About {word}: " + "filler text " * 60 for word in ("alpha", "beta", "gamma")
    )
    index.add_episodes("s1", [Episode("long", "user", NOW, body)])
    assert found(index, "beta gamma alpha") == ["long"]
