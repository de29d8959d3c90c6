"""Work for what is new: old items are not mapped again, whatever happens in between."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.messages import GrowingMap, shared_length


class Item:
    """Compared by identity, like a message that was recorded once."""

    def __init__(self, name):
        self.name = name


ITEMS = [Item(name) for name in "abc"]
sequences = st.lists(st.sampled_from(ITEMS), max_size=6)


@given(sequences, sequences)
def test_the_shared_length_is_the_longest_common_beginning(old, new):
    shared = shared_length(old, new)
    assert old[:shared] == new[:shared]
    assert shared == min(len(old), len(new)) or old[shared] is not new[shared]


@given(st.lists(sequences, max_size=8))
def test_a_growing_map_is_a_map(histories):
    mapped = GrowingMap(lambda item, index: (index, item.name))
    for items in histories:
        assert mapped(items) == [(i, item.name) for i, item in enumerate(items)]


def test_only_what_is_new_is_mapped():
    done = []
    mapped = GrowingMap(lambda item, _: done.append(item.name) or item.name.upper())
    a, b, c = ITEMS
    assert mapped([a, b]) == ["A", "B"]
    assert mapped([a, b, c]) == ["A", "B", "C"]
    assert mapped([a, b, c]) == ["A", "B", "C"]
    assert mapped([a]) == ["A"]
    assert mapped([a, c]) == ["A", "C"]
    assert done == ["a", "b", "c", "c"]


def test_changing_the_answer_does_not_change_what_is_remembered():
    mapped = GrowingMap(lambda item, _: item.name)
    mapped(ITEMS)[0] = "spoiled"
    assert mapped(ITEMS) == ["a", "b", "c"]


def test_an_item_that_cannot_be_mapped_does_not_spoil_the_others():
    def strict(item, _index):
        if item is None:
            raise ValueError("not an item")
        return item.name

    mapped = GrowingMap(strict)
    mapped(ITEMS)
    with pytest.raises(ValueError, match="not an item"):
        mapped([ITEMS[0], None, ITEMS[2]])
    assert mapped(ITEMS) == ["a", "b", "c"]
