"""Candidates for duplicates: the few texts that share the rarest words; no duplicate is missed."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reverie.memory.format import manifest as candidates
from reverie.memory.format.manifest import Candidates, content_words, covered
from reverie.text.likeness import nearest

SENTENCES = st.lists(
    st.sampled_from(
        [
            "deploy",
            "needs",
            "token",
            "vpn",
            "Oslo",
            "Lima",
            "job",
            "backup",
            "8080",
            "not",
            "always",
            "run",
        ]
    ),
    min_size=2,
    max_size=6,
).map(" ".join)


def test_those_that_share_rare_words_come_first() -> None:
    texts = [(f"{n}.md", f"the job number {n} runs") for n in range(50)]
    found = Candidates([*texts, ("x.md", "the zebra job")]).find("a zebra runs the job")
    assert found[0] == ("x.md", "the zebra job")
    assert len(found) == candidates.MOST_CANDIDATES


def test_texts_without_words_are_found_by_all_of_it() -> None:
    assert Candidates([("a.md", "…"), ("b.md", "?")]).find("?") == [("b.md", "?")]
    assert Candidates().find("anything") == []


def test_common_words_alone_are_followed_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MOST_PLACES", 10)
    made = Candidates((f"{n}.md", "the same old job") for n in range(100))
    assert len(made.find("the same old job")) == candidates.MOST_CANDIDATES // 2


@given(SENTENCES, st.lists(SENTENCES, max_size=15))
def test_among_few_the_nearest_is_always_a_candidate(text: str, others: list[str]) -> None:
    pairs = [(f"{n}.md", other) for n, other in enumerate(others)]
    whole = nearest(text, pairs)
    among = nearest(text, Candidates(pairs).find(text))
    # Odds tell only that two texts may be alike, and only of the six nearest; candidates are found
    # by common words.
    assume(all(one is None or not one.verdict.weighed for one in (whole, among)))
    assert (whole and whole.verdict) == (among and among.verdict)


def test_words_are_stemmed_alike_in_every_text() -> None:
    assert set(content_words("deploys")) <= set(content_words("the deploy of the Lima job"))
    assert covered("deploys in Lima", "the deploy of the Lima job") == 1.0
    assert covered("", "anything") == 0.0
