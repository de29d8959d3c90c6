"""Checking whether a lock is held leaves no trace."""

from pathlib import Path

import pytest

from reverie.errors import InputError
from reverie.files.locks import is_held, sole


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
