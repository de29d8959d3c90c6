"""Configuration files of other programs: replaced atomically, never over another edit."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from reverie.clients.install.plan import ClientFiles
from reverie.errors import InputError


@pytest.fixture
def files() -> ClientFiles:
    return ClientFiles()


def test_a_file_that_changed_meanwhile_is_not_overwritten(
    files: ClientFiles, tmp_path: Path
) -> None:
    path = tmp_path / "settings.json"
    path.write_text("theirs")
    with pytest.raises(InputError, match="changed meanwhile"):
        files.write(path, "ours", expected="as it was")
    with pytest.raises(InputError, match="changed meanwhile"):
        files.write(path, "ours", expected=None)
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_line_ends_come_and_go_as_they_are(files: ClientFiles, tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "settings.json"
    assert files.read(path) is None
    assert files.missing(path) == (tmp_path / "new", tmp_path / "new" / "folder")
    files.write(path, "\ufeffa\r\nb\n", expected=None)
    assert path.read_bytes() == b"\xef\xbb\xbfa\r\nb\n"
    assert files.read(path) == "\ufeffa\r\nb\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_only_empty_folders_are_tidied(files: ClientFiles, tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (outer / "kept").touch()
    files.tidy((outer, inner))
    assert not inner.exists()
    (outer / "kept").unlink()
    files.tidy((outer, inner))
    assert not outer.exists()


def test_a_link_into_a_read_only_place_names_it(files: ClientFiles, tmp_path: Path) -> None:
    managed = tmp_path / "managed.json"
    managed.write_text("{}")
    managed.chmod(0o444)
    link = tmp_path / "settings.json"
    link.symlink_to(managed)
    with pytest.raises(InputError, match=rf"a link to {managed}\) is read-only"):
        files.check_writable(link)
