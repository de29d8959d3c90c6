"""Atomic replacement: with concurrent writers, after errors, and never through a link."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from reverie.files import atomic
from reverie.files.atomic import read_json, write_json


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_new_file_is_the_owners_alone_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    atomic.replace(path, b"one")
    assert (path.read_bytes(), mode_of(path)) == (b"one", 0o600)
    path.chmod(0o640)
    atomic.replace(path, b"two")
    assert (path.read_bytes(), mode_of(path)) == (b"two", 0o640)
    atomic.replace(path, b"three", mode=0o600)
    assert mode_of(path) == 0o600
    assert names_in(tmp_path) == ["a.txt"]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"theirs")
    target.chmod(0o666)
    link = tmp_path / "link"
    link.symlink_to(target)
    atomic.replace(link, b"ours")
    assert (link.is_symlink(), link.read_bytes(), mode_of(link)) == (False, b"ours", 0o600)
    assert target.read_bytes() == b"theirs"


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_after_an_error_the_old_file_is_whole_and_no_draft_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    def fail(*given: object, **named: object) -> int:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="full"):
        atomic.replace(path, b"new")
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["a.txt"]


def test_content_is_flushed_before_the_rename_and_the_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(file: int) -> None:
        calls.append("folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
        fsync(file)

    def noted_replace(*given: str, **named: int) -> None:
        calls.append("rename")
        replace(*given, **named)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    atomic.replace(tmp_path / "a.txt", b"one")
    assert calls == ["file", "rename", "folder"]


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, bytes(data)[:3]))
    atomic.replace(tmp_path / "a.txt", b"longer than three")
    assert (tmp_path / "a.txt").read_bytes() == b"longer than three"


def test_what_is_created_is_never_written_over(tmp_path: Path) -> None:
    with atomic.opened(tmp_path) as folder:
        atomic.create(folder, "a", b"first")
        with pytest.raises(FileExistsError):
            atomic.create(folder, "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"


def test_a_draft_has_the_time_it_was_given_and_goes_when_it_is_not_used(tmp_path: Path) -> None:
    with atomic.opened(tmp_path) as folder:
        with atomic.draft(folder, b"x", mtime=1_000_000_000) as name:
            assert (tmp_path / name).stat().st_mtime_ns == 1_000_000_000
        assert names_in(tmp_path) == []
        (tmp_path / "taken").write_bytes(b"theirs")
        with pytest.raises(FileExistsError), atomic.draft(folder, b"x", name="taken"):
            pass
    assert (tmp_path / "taken").read_bytes() == b"theirs"


def test_writers_of_one_json_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "state" / "a.json"
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(100):
                write_json(path, {"writer": number, "turn": turn, "padding": "x" * 5_000})
                assert read_json(path)["padding"]
        except BaseException as error:  # noqa: BLE001 - shown below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert names_in(path.parent) == ["a.json"]
    assert mode_of(path) == 0o600
