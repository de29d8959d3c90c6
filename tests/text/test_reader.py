"""The model that reads two facts together: what it is given, what it changes, and when it is asked."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from reverie.text import likeness, meaning, reader, weighing
from reverie.text.likeness import compare, related
from reverie.text.odds import Odds, odds
from reverie.text.reader import Unread

pytest.importorskip("numpy")

REWORDED = [
    ("Anna works at Siemens", "Anna's paycheck comes from Siemens", "restates"),
    ("The rent is due on the first", "We pay the landlord at the start of each month", "restates"),
    ("Our database is Postgres", "We keep our data in MySQL", "update"),
    ("I paint in watercolour", "Oils are what I paint with", "update"),
]


def unread(new: str, old: str) -> Unread:
    signs = likeness.signs_between(new, old)
    return Unread(new, old, signs, odds(signs))


@pytest.mark.parametrize(("old", "new", "told"), REWORDED)
def test_facts_in_other_words_are_understood(old: str, new: str, told: str) -> None:
    assert compare(new, old).likeness == told


def test_pairs_read_together_get_the_odds_they_get_alone() -> None:
    pairs = [unread(new, old) for old, new, _ in REWORDED]
    together = reader.read(pairs)
    for one, alone in zip(together, (reader.read([pair])[0] for pair in pairs), strict=True):
        assert one.same == pytest.approx(alone.same, abs=1e-4)
        assert one.other == pytest.approx(alone.other, abs=1e-4)


def test_the_odds_after_reading_add_up_to_one() -> None:
    found = reader.read([unread("x", "The office is in Oslo."), unread("👍", "…")])
    assert all(sum((o.same, o.value, o.more, o.other)) == pytest.approx(1, abs=1e-4) for o in found)
    assert reader.read([]) == []


def pieces_as_words(text: str) -> list[str]:
    table = meaning._table()
    assert table is not None
    names = {number: piece for piece, number in table.pieces.items()}
    return [names[number] for number in reader.pieces(text)]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Café, Straße!", ["cafe", ",", "st", "##raße", "!"]),
        ("it's £12.50", ["it", "'", "s", "£1", "##2", ".", "50"]),
        ("db_main → ok", ["db", "_", "main", "→", "ok"]),
        ("a\tb\nc", ["a", "b", "c"]),
        ("q" * 60, ["[UNK]"]),
        ("", []),
    ],
)
def test_texts_are_cut_as_the_model_learnt_them(text: str, pieces: list[str]) -> None:
    assert pieces_as_words(text) == pieces


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    assert len(reader.pieces("word " * 1_000)) == reader.MOST_PIECES


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pairs are read each time."""
    counts: list[int] = []
    real = reader.read

    def read(pairs: Sequence[Unread]) -> list[Odds]:
        counts.append(len(pairs))
        return real(pairs)

    monkeypatch.setattr(reader, "read", read)
    return counts


def test_few_candidates_are_read(asked: list[int]) -> None:
    notes = [(str(port), f"The search service listens on port {port}") for port in range(20)]
    related("On which port does search listen? On 9000.", notes)
    assert asked == [likeness.MOST_READ]


def test_what_is_clearly_about_something_else_is_not_read(asked: list[int]) -> None:
    compare("Kittens sleep all day", "The invoice template is in Figma")
    compare("The fee is 9 euros", "The fee is 9 euros")
    assert sum(asked) == 0


def test_without_the_model_the_odds_by_signs_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    new, old = "Anna's paycheck comes from Siemens", "Anna works at Siemens"
    signs = likeness.signs_between(new, old)
    monkeypatch.setattr(reader, "_installed", lambda: False)
    assert not reader.known()
    pair = likeness._Pair(new, old)
    assert compare(new, old) == weighing.by_signs(pair.verdict, signs, odds(signs))
