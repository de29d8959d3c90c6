"""Edit and Write beside other writers: no change of ours is lost, and nothing new is overwritten."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reverie.agent.kit import files as disk
from reverie.errors import InputError

WRITERS, EACH = 8, 40


def test_no_change_is_lost_among_writers(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    path.write_bytes(b"0")
    begin = threading.Barrier(WRITERS)

    def count(_: int) -> int:
        begin.wait()
        done = 0
        for _ in range(EACH):
            before = disk.load(path)
            assert before is not None
            try:
                disk.save(path, str(int(before.data) + 1).encode(), before)
            except InputError:
                continue
            done += 1
        return done

    with ThreadPoolExecutor(WRITERS) as pool:
        saved = sum(pool.map(count, range(WRITERS)))
    assert saved == int(path.read_bytes())
    assert [one.name for one in tmp_path.iterdir()] == ["counter"]


def test_one_of_many_creates_a_file(tmp_path: Path) -> None:
    begin = threading.Barrier(WRITERS)

    def create(number: int) -> list[int]:
        won = []
        for round_ in range(EACH):
            begin.wait()
            try:
                disk.save(tmp_path / f"new{round_}", str(number).encode(), None)
            except InputError:
                continue
            won.append(round_)
        return won

    with ThreadPoolExecutor(WRITERS) as pool:
        won = [round_ for made in pool.map(create, range(WRITERS)) for round_ in made]
    assert sorted(won) == list(range(EACH))


def test_a_file_that_came_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "new"
    path.write_bytes(b"theirs")
    with pytest.raises(InputError):
        disk.save(path, b"ours", None)
    assert path.read_bytes() == b"theirs"
    assert [one.name for one in tmp_path.iterdir()] == ["new"]
