"""Slips of the pen in a question: mended where only one word of a memory can be meant."""

from pathlib import Path

import pytest

from reverie.recall import queries
from reverie.recall.documents import MemoryDoc
from reverie.recall.index import RecallIndex
from reverie.recall.spelling import corrected, one_slip


@pytest.mark.parametrize(
    ("one", "other"),
    [("tennant", "tenant"), ("stroe", "store"), ("mentr", "mentor"), ("gataway", "gateway")],
)
def test_a_letter_more_or_less_another_or_two_that_changed_places(one: str, other: str) -> None:
    assert one_slip(one, other)
    assert one_slip(other, one)


@pytest.mark.parametrize(
    ("one", "other"), [("store", "store"), ("store", "shore s"), ("abcd", "badc")]
)
def test_what_is_the_same_or_further_apart_is_no_slip(one: str, other: str) -> None:
    assert not one_slip(one, other)


def mended(text: str, *terms: str) -> str:
    return corrected(text, lambda term: term in terms, lambda letter, length: terms)


def test_a_word_that_is_none_is_read_as_the_only_one_near() -> None:
    assert mended("where are the bakcups?", "backup") == "where are the backup?"
    assert mended("where is the grommt?", "gromma", "grommi") == "where is the grommt?"


def test_words_we_know_and_names_stay() -> None:
    assert mended("is the report late?", "resort") == "is the report late?"
    assert mended("what did Gregor say?", "grigor") == "what did Gregor say?"


def test_a_question_with_slips_finds_its_memory(tmp_path: Path) -> None:
    index = RecallIndex.open(tmp_path / "index.sqlite")
    texts = {"a.md": "Each tenant has fifty gigabytes.", "b.md": "The hall is closed in May."}
    index.put_many([MemoryDoc(file, (1, 1, 1), body=text) for file, text in texts.items()])
    hits = index.search(queries.plain("how many gigabites has a tennant?"), now=1.79e9).hits
    assert [hit.key for hit in hits][:1] == ["a.md"]
