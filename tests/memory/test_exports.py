"""Exports can be imported without loss."""

import io
import json
import zipfile
from dataclasses import dataclass

import pytest

from reverie.memory.changes.draft import NewMemory
from reverie.memory.changes.imports import read_file
from reverie.memory.changes.transfer import as_json, as_zip, exported
from reverie.memory.format import topic

FILES = {
    "b.md": b"---\nname: B\nx-mine: [1,  2] # kept\n---\nText of B.\r\n",
    "sub/a.md": "---\nname: Ä\n---\nSüß.\n".encode(),
    "raw.md": b"---\nname: Raw\n---\ncaf\xe9\n",
    "MEMORY.md": b"# Mine\n- [B](b.md)\n",
}


@dataclass(frozen=True)
class Scrubbed:
    text: str
    kinds: tuple[str, ...] = ()


class NoPins:
    """A scrubber that knows one secret."""

    def scrub(self, text: str) -> Scrubbed:
        clean = text.replace("pin 1234", "pin (removed)")
        return Scrubbed(clean, ("pin",) if clean != text else ())


def test_bytes_stay_as_they_are():
    made = exported(FILES, NoPins())
    assert made.files == FILES
    assert made.secrets == {}
    assert made.memories == ("b.md", "raw.md", "sub/a.md")


def test_secrets_stay_at_home():
    made = exported({"x.md": b"my pin 1234\n", "MEMORY.md": b"- pin 1234\n"}, NoPins())
    assert made.files == {"x.md": b"my pin (removed)\n", "MEMORY.md": b"- pin (removed)\n"}
    assert made.secrets == {"x.md": ("pin",), "MEMORY.md": ("pin",)}


@pytest.mark.parametrize("at", [0.0, 1_750_000_000.0])
def test_a_zip_is_the_same_every_time(at):
    made = exported(FILES, NoPins())
    packed = as_zip(made, at)
    assert packed == as_zip(made, at)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == FILES
        assert archive.testzip() is None


@pytest.mark.parametrize("form", ["json", "zip"])
def test_what_was_exported_is_imported_byte_for_byte(form):
    made = exported(FILES, NoPins())
    data = as_json(made, 0.0).encode() if form == "json" else as_zip(made, 0.0)
    back = {}
    for found in read_file(f"x.{form}", data):
        assert isinstance(found.wish, NewMemory)
        assert found.wish.original is not None
        back[found.source] = topic.render(found.wish.original)
    assert back == {name: data for name, data in FILES.items() if name != "MEMORY.md"}


def test_json_says_what_each_memory_is():
    data = json.loads(as_json(exported(FILES, NoPins()), 0.0))
    assert data["reverie_export"] == 1
    assert data["exported"] == "1970-01-01T00:00:00+00:00"
    assert data["memories"][0] == {
        "file": "b.md",
        "name": "B",
        "type": None,
        "description": "",
        "text": FILES["b.md"].decode(),
    }
