"""What must hold for any text: no errors, the same answer twice, and no trace of how it came in."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.recall.shelf import NOW, HashedWords, fill, memory

from reverie.recall.documents import Episode
from reverie.recall.index import RecallIndex

ANY = st.text(max_size=200)
SPOKEN = st.text(st.sampled_from("ab cdé数据库ウ كتاب_-/AB1\n\"'*:()^"), min_size=1, max_size=60)
BODIES = st.lists(SPOKEN, min_size=1, max_size=6)
quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def answers(index: RecallIndex, question: str) -> list[tuple[str, float, str]]:
    results = index.search(question, now=NOW, collection="both")
    assert results.notes == ()
    return [(hit.key, hit.score, hit.snippet) for hit in results.hits]


@quick
@given(body=ANY, question=ANY, name=ANY)
def test_any_text_is_indexed_and_asked_without_error(body, question, name):
    with tempfile.TemporaryDirectory() as folder:
        index = RecallIndex.open(Path(folder) / "r.db", HashedWords())
        done = fill(index, memory("a.md", body, name=name, entities=(name,), links=(body,)))
        assert done.problem is None
        assert index.add_episodes(name or "s", [Episode("1", "user", NOW, body)]).problem is None
        assert answers(index, question) == answers(index, question)
        answers(index, body)
        assert index.forget("a.md").problem is None
        index.close()


@quick
@given(first=BODIES, second=BODIES, question=SPOKEN)
def test_step_by_step_equals_all_at_once(first, second, question):
    """Whatever was there before and was changed or removed leaves nothing behind."""
    before = [memory(f"{i}.md", body) for i, body in enumerate(first)]
    after = [memory(f"{i}.md", body) for i, body in enumerate(second)]
    with tempfile.TemporaryDirectory() as folder:
        grown = RecallIndex.open(Path(folder) / "grown.db", HashedWords())
        fill(grown, *before)
        fill(grown, *after)
        built = RecallIndex.open(Path(folder) / "built.db", HashedWords())
        fill(built, *after)
        assert _memories(grown, question) == _memories(built, question)
        grown.close()
        built.close()


def _memories(index: RecallIndex, question: str) -> dict[str, tuple[float, dict[str, float]]]:
    hits = index.search(question, now=NOW).hits
    return {hit.key: (hit.score, dict(hit.signals)) for hit in hits}


@quick
@given(lines=st.lists(SPOKEN, min_size=1, max_size=8), cut=st.integers(0, 8), question=SPOKEN)
def test_a_growing_session_equals_a_finished_one(lines, cut, question):
    talk = [Episode(str(i), "user", NOW, line) for i, line in enumerate(lines)]
    with tempfile.TemporaryDirectory() as folder:
        grown = RecallIndex.open(Path(folder) / "grown.db", HashedWords())
        for message in talk[:cut]:
            grown.add_episodes("s", [message])
        grown.add_episodes("s", talk)
        built = RecallIndex.open(Path(folder) / "built.db", HashedWords())
        built.add_episodes("s", talk)
        assert answers(grown, question) == answers(built, question)
        grown.forget_sessions("s")
        assert answers(grown, question) == []
        grown.close()
        built.close()
