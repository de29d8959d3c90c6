"""What a model would gain: the same probes put to words and to a model."""

from tests.recall.shelf import NOW, HashedWords, memory

from reverie.recall.gain import MOST, compare, probes

DOCS = [
    memory("pager.md", name="Pager", description="Anna has pager duty", cues=("who is on call?",)),
    memory("sentry.md", name="Sentry", description="exceptions are collected in Sentry"),
]


def test_a_memory_is_asked_for_by_its_cues_and_by_some_of_its_words():
    asked = probes(DOCS)
    assert (asked[0].text, asked[0].file) == ("who is on call?", "pager.md")
    assert {probe.file for probe in asked} == {"pager.md", "sentry.md"}
    assert all(probe.text.endswith("?") for probe in asked)


def test_each_model_is_asked_the_same():
    heard: list[str] = []
    words, model = compare(DOCS, {"words": None, "model": HashedWords()}, NOW, heard.append)
    assert heard == ["words", "model"]
    assert words.probes == model.probes == 3
    assert 0 < words.five <= 1
    assert words.first <= words.five
    assert words.shown <= words.five


def test_nothing_to_ask_about():
    [found] = compare([], {"words": None}, NOW)
    assert (found.probes, found.five) == (0, 0.0)


def test_only_the_newest_of_many_are_asked_about():
    docs = [memory(f"{i}.md", name=f"note{i}", created=float(i)) for i in range(MOST + 5)]
    [found] = compare(docs, {"words": None}, NOW)
    assert found.probes == MOST
