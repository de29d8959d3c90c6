"""Checking whether a lock is held leaves no trace."""

import fcntl
from pathlib import Path

import pytest

from reverie.errors import InputError
from reverie.files.locks import exclusive, is_held, sole


def test_asking_makes_nothing_and_takes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "session" / "lock"
    assert not is_held(path)
    assert not path.parent.exists()
    with sole(path, "taken"):
        assert is_held(path)
        with pytest.raises(InputError, match="taken"), sole(path, "taken"):
            pass
    assert path.exists()
    assert not is_held(path)
    with sole(path, "taken"):
        pass


def test_a_lock_lets_in_neither_another_writer_nor_a_reader_of_locks(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with exclusive(path), path.open() as other:
        for operation in (fcntl.LOCK_SH, fcntl.LOCK_EX):
            with pytest.raises(BlockingIOError):
                fcntl.flock(other, operation | fcntl.LOCK_NB)
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
