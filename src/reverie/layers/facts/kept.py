"""A list that stays small: its beginning and its end are kept, the middle goes."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Ends(Generic[Item]):
    """The first `head` and the last `tail` of all items ever added."""

    def __init__(self, head: int, tail: int) -> None:
        self._head: list[Item] = []
        self._tail: deque[Item] = deque(maxlen=tail)
        self._most_head = head
        self.dropped = 0

    def add(self, item: Item) -> None:
        if len(self._head) < self._most_head:
            self._head.append(item)
            return
        self.dropped += len(self._tail) == self._tail.maxlen
        self._tail.append(item)

    @property
    def head(self) -> tuple[Item, ...]:
        return tuple(self._head)

    @property
    def tail(self) -> tuple[Item, ...]:
        return tuple(self._tail)

    @property
    def items(self) -> tuple[Item, ...]:
        return (*self._head, *self._tail)

    @property
    def last(self) -> Item | None:
        found = self._tail or self._head
        return found[-1] if found else None

    def replace_last(self, item: Item) -> None:
        (self._tail or self._head)[-1] = item
