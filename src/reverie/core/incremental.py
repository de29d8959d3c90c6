"""Mapping a conversation that only grows at its end: work for what is new, not for what is old."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_not
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def shared_length(old: Sequence[object], new: Sequence[object]) -> int:
    """How many leading items are the very same objects."""
    for i, changed in enumerate(map(is_not, old, new)):
        if changed:
            return i
    return min(len(old), len(new))


class GrowingMap(Generic[Item, Result]):
    """`f` over a sequence, where items that were there before, at the same place, are not redone.

    Items are compared by identity: messages are immutable, so the same object is the same message.
    """

    def __init__(self, f: Callable[[Item, int], Result]) -> None:
        self._f = f
        self._items: tuple[Item, ...] = ()
        self._results: list[Result] = []

    def __call__(self, items: Sequence[Item]) -> list[Result]:
        kept = shared_length(self._items, items)
        # Forget first: should `f` fail, what is remembered is still true.
        del self._results[kept:]
        self._items = self._items[:kept]
        self._results.extend(self._f(items[i], i) for i in range(kept, len(items)))
        self._items = tuple(items)
        return self._results.copy()
