"""Where a client takes only so many characters, the best memories that fit are given."""

from datetime import UTC, datetime

import pytest
from tests.place import NOON

from reverie.memory.format import attachment as attach
from reverie.memory.format.attachment import Recalled

NOW = datetime.fromtimestamp(NOON, UTC)


def memories(*sizes: int) -> list[Recalled]:
    return [Recalled(f"m{n}.md", f"/m/m{n}.md", "x" * size, NOW) for n, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("sizes", "room", "kept"),
    [
        ((), 1_000, 0),
        ((100, 100), 1_000, 2),
        ((3_000, 3_000, 3_000, 3_000), 9_500, 3),
        ((3_000, 100), 3_150, 1),
        ((3_000, 100), 500, 0),
    ],
)
def test_as_many_as_fit(sizes: tuple[int, ...], room: int, kept: int) -> None:
    found = attach.fitting(memories(*sizes), NOW, room)
    assert [one.file for one in found] == [f"m{n}.md" for n in range(kept)]
    block = attach.attachment(found, NOW)
    assert block is None or len(block.text) <= room
