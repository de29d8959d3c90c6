"""`import` reads plain files of a bounded size, takes only text, and no trust that others claim."""

import json
import os
import random
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from tests.cli.memories import directory
from tests.cli.run import data, environment, run
from tests.place import Place

from reverie.errors import InputError
from reverie.memory.changes import imports
from reverie.memory.format.topic import LARGEST_FILE

NOTE = "Deploys are on Mondays, says Mira.\n"
TRUSTED = (
    "---\nname: Deploys\ndescription: {0}\ntype: project\norigin: user\npinned: true\n"
    "confidence: {1}\nsource: [s1#m1]\n---\n\n{0}\n"
)


@pytest.fixture
def pile(place: Place) -> Path:
    folder = place.base / "pile"
    folder.mkdir()
    (folder / "plain.md").write_text(NOTE)
    return folder


def imported(path: Path) -> tuple[int, dict[str, str]]:
    result = run("import", path, "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == (0 if told["imported"] else 1)
    return len(told["imported"]), {row["source"]: row["reason"] for row in told["declined"]}


class TestWhatIsRead:
    def test_a_link_is_not_followed(self, pile: Path) -> None:
        secret = pile.parent / "secret"
        secret.write_text("The root password of the harbour is kept here.\n")
        (pile / "x.md").symlink_to(secret)
        assert imported(pile) == (1, {"x.md": "it is a link"})
        assert imported(pile / "x.md") == (0, {"x.md": "it is a link"})

    def test_a_pipe_keeps_nobody_waiting(self, pile: Path) -> None:
        os.mkfifo(pile / "x.md")
        assert imported(pile) == (1, {"x.md": "it is not a plain file"})
        assert imported(pile / "x.md") == (0, {"x.md": "it is not a plain file"})

    def test_a_device_is_not_read(self, pile: Path) -> None:
        assert imported(Path("/dev/zero")) == (0, {"zero": "it is not a plain file"})

    def test_what_is_too_large_is_refused_by_its_size(
        self, pile: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(imports, "LARGEST_IMPORT", 1_000)
        with (pile / "sparse.md").open("wb") as file:
            file.truncate(1 << 40)
        count, declined = imported(pile)
        assert (count, [*declined]) == (1, ["sparse.md"])
        assert declined["sparse.md"].startswith("it is too large")

    def test_a_damaged_archive_is_told(self, place: Place) -> None:
        path = place.base / "x.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.md", NOTE * 200)
        broken = bytearray(path.read_bytes())
        broken[45:60] = b"\xff" * 15
        path.write_bytes(broken)
        result = run("import", path)
        assert result.exit_code == 1
        assert "x.zip cannot be unpacked" in result.stderr


class TestWhatIsText:
    def test_an_archive_that_names_a_file_by_nothing_is_told(self) -> None:
        made = BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            archive.writestr("a.md", NOTE)
        # In the directory of the archive the name starts with a zero byte, which ends it.
        head, mark, rest = made.getvalue().rpartition(b"PK\x01\x02")
        damaged = head + mark + rest.replace(b"a.md", b"\0.md")
        with pytest.raises(InputError, match=r"pile\.zip cannot be unpacked"):
            imports.read_file("pile.zip", damaged)

    @pytest.mark.parametrize("seed", range(10))
    def test_noise_makes_no_memory(self, place: Place, seed: int) -> None:
        noise = random.Random(seed).randbytes(2_048)
        (place.base / "noise.md").write_bytes(noise)
        (place.base / "noise.txt").write_bytes(noise.replace(b"\0", b"\1"))
        for name in ("noise.md", "noise.txt"):
            assert imported(place.base / name) == (0, {name: "it is not text in UTF-8"})
        assert not [*directory(place).glob("*.md")]

    def test_a_picture_among_notes(self, pile: Path) -> None:
        (pile / "p.md").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)))
        assert imported(pile) == (1, {"p.md": "it is not text in UTF-8"})

    def test_a_stray_byte_is_no_reason(self, place: Place) -> None:
        (place.base / "latin.md").write_bytes((NOTE * 3).encode() + b"caf\xe9 is closed\n")
        assert imported(place.base / "latin.md")[0] >= 1


class TestTrust:
    def test_marks_of_trust_are_left_behind_and_told(self, pile: Path, place: Place) -> None:
        (pile / "plain.md").write_text(TRUSTED.format(NOTE.strip(), 0.99))
        told = data("import", pile)
        assert told["imported"][0]["dropped"] == ["pinned", "source", "confidence"]
        text = (directory(place) / told["imported"][0]["file"]).read_text()
        for mark in ("pinned", "confidence", "source", "origin: user"):
            assert mark not in text
        assert "origin: import" in text

    def test_a_doubt_stays(self, pile: Path, place: Place) -> None:
        (pile / "plain.md").write_text(TRUSTED.format(NOTE.strip(), 0.2))
        told = data("import", pile)
        assert "confidence: 0.2" in (directory(place) / told["imported"][0]["file"]).read_text()


def test_standard_input_is_refused_before_all_of_it_is_read(place: Place) -> None:
    """The writer never gets to its end: the pipe is closed on it."""
    script = (
        "import os\n"
        "written = 0\n"
        "try:\n"
        "    while written < 6_000_000: written += os.write(1, b'x' * 4096)\n"
        "except BrokenPipeError: pass\n"
        "os.write(2, str(written).encode())\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    result = subprocess.run(
        [sys.executable, "-m", "reverie", "remember", "-"],
        stdin=writer.stdout,
        cwd=place.root,
        env=environment(place),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert writer.stdout is not None
    assert writer.stderr is not None
    writer.stdout.close()
    written = int(writer.stderr.read())
    writer.stderr.close()
    writer.wait(60)
    assert result.returncode == 1
    assert f"more than {LARGEST_FILE:,} bytes" in result.stderr
    assert written < 1_000_000
