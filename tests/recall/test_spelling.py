"""Slips of the pen in a question: corrected towards words of the memories and of English."""

from pathlib import Path

import pytest
from tests.recall.shelf import HashedWords

from reverie.ports import Embedder
from reverie.recall import queries
from reverie.recall.documents import MemoryDoc
from reverie.recall.index import RecallIndex
from reverie.recall.spelling import CHANGED, DOUBLED, LOST, SWAPPED, corrected, slip
from reverie.text.words import stem


@pytest.mark.parametrize(
    ("one", "other", "size"),
    [
        ("tennant", "tenant", DOUBLED),
        ("stroe", "store", SWAPPED),
        ("mentr", "mentor", LOST),
        ("gataway", "gateway", CHANGED),
    ],
)
def test_a_letter_more_or_less_another_or_two_that_changed_places(
    one: str, other: str, size: int
) -> None:
    assert slip(one, other) == size
    assert slip(other, one) == size


@pytest.mark.parametrize(
    ("one", "other"), [("store", "store"), ("store", "shore s"), ("abcd", "badc")]
)
def test_what_is_the_same_or_further_apart_is_no_slip(one: str, other: str) -> None:
    assert not slip(one, other)


class Words:
    """The words of some memories, each the only one with its stem."""

    def __init__(self, *words: str) -> None:
        self._words = {stem(word.lower(), "english"): word.lower() for word in words}

    def rows(self, term: str) -> int:
        return int(term in self._words)

    def near(self, letter: str, length: int) -> list[str]:
        return [term for term in self._words if term[0] == letter]

    def written(self, term: str) -> str:
        return self._words.get(term, term)


@pytest.mark.parametrize(
    ("asked", "words", "read"),
    [
        ("where are the bakcups?", ["backups"], "where are the backups?"),
        ("where is the grommt?", ["gromma", "grommi"], "where is the grommt?"),
        # A lost letter is likelier than another one.
        ("when is the rom open?", ["room", "ram"], "when is the room open?"),
        # Small words, too: they tell what kind of question it is.
        ("wich winch is broken?", ["winch"], "which winch is broken?"),
        ("how mutch is it?", ["price"], "how much is it?"),
        # The ending alone is wrong, and the memories are known by their stems.
        ("when is the tastng?", ["tasting"], "when is the tasting?"),
    ],
)
def test_a_word_that_is_none_is_read_as_the_nearest(
    asked: str, words: list[str], read: str
) -> None:
    assert corrected(asked, Words(*words)) == read


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ("is the report late?", "resort"),
        ("what handles the mail?", "handle"),
        ("what did Gregor say?", "Grigor"),
        ("who wrote the CDT?", "CTD"),
    ],
)
def test_words_we_know_names_and_short_forms_stay(asked: str, word: str) -> None:
    assert corrected(asked, Words(word)) == asked


def test_a_name_with_two_letters_exchanged_or_one_doubled_is_corrected() -> None:
    words = Words("Kiln", "Nettle", "Ferryman")
    assert corrected("is the Klin open?", words) == "is the Kiln open?"
    assert corrected("who plays the Ferrymann in Nettel Court?", words).startswith(
        "who plays the Ferryman in Nettle"
    )


class Recording(HashedWords):
    """Remembers the questions it was given."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts, kind):
        self.asked += texts if kind == "question" else ()
        return super().encode(texts, kind)


def index_of(folder: Path, texts: dict[str, str], embedder: Embedder | None = None) -> RecallIndex:
    index = RecallIndex.open(folder / "index.sqlite", embedder)
    index.put_many([MemoryDoc(file, (1, 1, 1), body=text) for file, text in texts.items()])
    return index


def test_a_question_with_slips_finds_its_memory(tmp_path: Path) -> None:
    texts = {"a.md": "Each tenant has fifty gigabytes.", "b.md": "The hall is closed in May."}
    index = index_of(tmp_path, texts)
    hits = index.search(queries.plain("how many gigabites has a tennant?"), now=1.79e9).hits
    assert [hit.key for hit in hits][:1] == ["a.md"]


def test_the_model_reads_the_corrected_question(tmp_path: Path) -> None:
    embedder = Recording()
    index = index_of(tmp_path, {"a.md": "Releases happen every Friday."}, embedder)
    index.search(queries.plain("when do relases happen?"), now=1.79e9)
    assert embedder.asked == ["when do releases happen?"]
