"""A history with three revisions, for the tests that read it and those that watch it being written."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.place import FixedClock

from reverie.memory.format.revisions import Author, Revision
from reverie.memory.history import GitHistory

ME = Author("main", session="s7", messages=("m1", "m2"), model="some-model")


@pytest.fixture
def history(tmp_path: Path, clock: FixedClock) -> GitHistory:
    return GitHistory(tmp_path / "history.git", clock)


def record(history: GitHistory, summary: str, **files: str | None) -> Revision:
    contents: Mapping[str, bytes | None] = {
        f"{name}.md": None if text is None else text.encode() for name, text in files.items()
    }
    return history.record(contents, ME, summary)


@pytest.fixture
def three(history: GitHistory, clock: FixedClock) -> list[Revision]:
    made = [record(history, "first", a="one\ntwo\n", b="bee\n")]
    clock.advance(60)
    made.append(record(history, "second", a="one\ntwo\nthree\n"))
    clock.advance(60)
    made.append(record(history, "third", b=None, c="sea\n"))
    return made
