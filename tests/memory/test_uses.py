"""Use counts are kept beside the memory; any content of their file can be read."""

from pathlib import Path

import pytest
from tests.place import FixedClock

from reverie.errors import StorageError
from reverie.memory.uses import FILE, UseCounts


def test_uses_are_counted_by_kind_and_across_processes(tmp_path: Path, clock: FixedClock):
    first, second = UseCounts(tmp_path, clock), UseCounts(tmp_path, clock)
    assert first.counts() == {}
    first.record(["a.md", "b.md"], "recalled", "s1")
    second.record(["a.md"], "recalled")
    second.record(["a.md"], "used")
    assert first.counts() == {"a.md": 2, "b.md": 1}
    assert first.counts("used") == {"a.md": 1}
    first.record(["b.md"], "recalled")
    assert first.counts()["b.md"] == 2


def test_lines_nobody_can_read_are_passed_over(tmp_path: Path, clock: FixedClock):
    uses = UseCounts(tmp_path, clock)
    uses.record(["a.md"], "recalled")
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'not json\n[]\n{"kind": "odd", "file": "x"}\n{"kind": "used"}\n{"kind": "re')
    assert uses.counts() == {"a.md": 1}


def test_a_line_is_counted_once_it_is_whole(tmp_path: Path, clock: FixedClock):
    uses = UseCounts(tmp_path, clock)
    uses.record(["a.md"], "recalled")
    with (tmp_path / FILE).open("ab", buffering=0) as file:
        file.write(b'{"kind": "recalled", "fi')
        assert uses.counts() == {"a.md": 1}
        file.write(b'le": "b.md"}\n')
    assert uses.counts() == {"a.md": 1, "b.md": 1}


def test_a_line_that_was_never_finished_takes_no_other_with_it(tmp_path: Path, clock: FixedClock):
    uses = UseCounts(tmp_path, clock)
    (tmp_path / FILE).write_bytes(b'{"kind": "recalled", "fi')
    uses.record(["a.md"], "recalled")
    assert uses.counts() == UseCounts(tmp_path, clock).counts() == {"a.md": 1}
    uses.record(["a.md"], "recalled")
    assert b"\n\n" not in (tmp_path / FILE).read_bytes()


def test_a_folder_that_cannot_be_written(tmp_path: Path, clock: FixedClock):
    (tmp_path / "state").write_text("a file")
    with pytest.raises(StorageError, match="state"):
        UseCounts(tmp_path / "state", clock).record(["a.md"], "recalled")


def test_a_forgotten_memory_is_mentioned_nowhere(tmp_path: Path, clock: FixedClock):
    first, second = UseCounts(tmp_path, clock), UseCounts(tmp_path, clock)
    assert first.forget("a.md") == 0
    first.record(["a.md", "b.md"], "recalled")
    first.record(["a.md"], "used")
    assert second.counts() == {"a.md": 1, "b.md": 1}
    assert first.forget("a.md") == 2
    assert b"a.md" not in (tmp_path / FILE).read_bytes()
    second.record(["b.md"], "recalled")
    assert second.counts() == first.counts() == {"b.md": 2}
    assert second.counts("used") == {}
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
