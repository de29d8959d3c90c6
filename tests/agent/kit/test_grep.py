"""The same questions, the same answers, with ripgrep and without."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.agent.workplaces import call
from tests.place import git

from reverie.agent.kit import search
from reverie.agent.tools import Workplace

HAS_RIPGREP = shutil.which("rg") is not None

FILES: Mapping[str, str | bytes] = {
    ".gitignore": "*.log\nbuild/\n",
    ".hidden": "needle in hiding\n",
    "a.py": "import os\n\ndef needle():\n    return 'Needle'\n\nneedle()\n",
    "b/c.md": "# needle\n",
    "b/d.log": "needle ignored\n",
    "build/e.py": "needle built\n",
    "crlf.txt": b"needle\r\nother\r\n",
    "image.bin": b"\0\0needle\n",
    "latin.txt": b"caf\xe9 needle\n",
    "long.txt": "needle " + "x" * 600 + "\n",
    "plain.txt": "nothing here\n",
    "wide.txt": "\ufeffneedle ü\n".encode("utf-16-le"),
}


@pytest.fixture(params=["own", "ripgrep"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Workplace:
    if request.param == "ripgrep" and not HAS_RIPGREP:
        pytest.skip("ripgrep is not installed")
    root = tmp_path / "desk"
    root.mkdir()
    git(root, "init", "-q")
    for name, content in FILES.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Workplace(
        root, environment={"PATH": os.environ["PATH"] if request.param == "ripgrep" else ""}
    )


QUESTIONS: tuple[tuple[dict[str, Any], str], ...] = (
    (
        {"pattern": "needle"},
        ".hidden\na.py\nb/c.md\ncrlf.txt\nlatin.txt\nlong.txt\nwide.txt",
    ),
    ({"pattern": "needle", "path": "b"}, "b/c.md"),
    ({"pattern": "needle", "path": "build"}, "build/e.py"),
    ({"pattern": "needle", "path": "b/d.log"}, "b/d.log"),
    ({"pattern": "needle", "glob": "*.py"}, "a.py"),
    ({"pattern": "needle", "glob": "*.{py,md}"}, "a.py\nb/c.md"),
    ({"pattern": "needle", "glob": "b/**"}, "b/c.md\nb/d.log"),
    ({"pattern": "needle", "glob": "*.log"}, "b/d.log"),
    ({"pattern": "needle", "glob": "!*.txt"}, ".hidden\na.py\nb/c.md"),
    ({"pattern": "needle", "glob": "!b"}, ".hidden\na.py\ncrlf.txt\nlatin.txt\nlong.txt\nwide.txt"),
    ({"pattern": "NEEDLE", "glob": "*.md"}, "Nothing matches 'NEEDLE'."),
    ({"pattern": "NEEDLE", "glob": "*.md", "ignore_case": True}, "b/c.md"),
    ({"pattern": "needle", "output": "count", "glob": "*.py"}, "a.py: 2"),
    ({"pattern": "needle", "output": "count", "path": "a.py", "ignore_case": True}, "a.py: 3"),
    (
        {"pattern": "needle", "output": "content", "glob": "*.{py,md}"},
        "a.py\n3: def needle():\n6: needle()\nb/c.md\n1: # needle",
    ),
    (
        {"pattern": "return", "output": "content", "context": 1},
        "a.py\n3- def needle():\n4:     return 'Needle'\n5- ",
    ),
    ({"pattern": "needle$", "output": "content", "path": "crlf.txt"}, "crlf.txt\n1: needle"),
    ({"pattern": "needle", "output": "content", "path": "latin.txt"}, "latin.txt\n1: caf� needle"),
    ({"pattern": "needle ü", "output": "content"}, "wide.txt\n1: needle ü"),
    (
        {"pattern": "needle", "output": "content", "path": "long.txt"},
        f"long.txt\n1: needle {'x' * 493}… [107 more characters]",
    ),
    ({"pattern": r"\bdef\s+\w+\(", "output": "files"}, "a.py"),
    ({"pattern": "-needle-"}, "Nothing matches '-needle-'."),
    ({"pattern": "nothing|import"}, "a.py\nplain.txt"),
    (
        {"pattern": "needle", "limit": 2},
        ".hidden\na.py\n[only the first 2 files. Narrow the path, the glob or the pattern.]",
    ),
    (
        {"pattern": "needle", "output": "content", "limit": 1, "path": "a.py"},
        "a.py\n3: def needle():\n[only the first 1 lines. Narrow the path, the glob or the pattern.]",
    ),
    ({"pattern": "import", "limit": 1}, "a.py"),
)


@pytest.mark.parametrize(("arguments", "expected"), QUESTIONS)
async def test_answers(desk: Workplace, arguments: dict[str, Any], expected: str) -> None:
    result = await call(desk, "Grep", **arguments)
    assert (result.is_error, result.text) == (False, expected)


async def test_a_wrong_expression_is_said_clearly(desk: Workplace) -> None:
    result = await call(desk, "Grep", pattern="(unclosed")
    assert result.is_error
    assert "Grep cannot search for '(unclosed'" in result.text
    assert "regex parse error" in result.text


async def test_a_place_that_is_not_there_is_said(desk: Workplace) -> None:
    result = await call(desk, "Grep", pattern="x", path="c.py")
    assert (result.is_error, result.text) == (True, "There is no file c.py. Did you mean a.py?")


async def test_a_folder_of_the_project_cannot_bring_its_own_modules(desk: Workplace) -> None:
    for name in ("re.py", "json.py", "reverie.py"):
        (desk.root / name).write_text(f"open({str(desk.root / 'sprung')!r}, 'w')")
    await call(desk, "Grep", pattern="needle")
    assert not (desk.root / "sprung").exists()


async def test_links_are_not_followed(desk: Workplace) -> None:
    (desk.root / "around").symlink_to(desk.root)
    (desk.root / "same.md").symlink_to("b/c.md")
    assert (await call(desk, "Grep", pattern="# needle")).text == "b/c.md"


async def test_many_matches_are_cut_short_quickly(desk: Workplace) -> None:
    for n in range(50):
        (desk.root / f"many{n:02}.txt").write_text("needle\n" * 20_000)
    result = await call(desk, "Grep", pattern="needle", output="content", glob="many*", limit=3)
    assert result.text.startswith("many00.txt\n1: needle\n2: needle\n3: needle\n[only the first 3")


async def test_an_expression_that_takes_for_ever_is_stopped(
    desk: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    if desk.environment["PATH"]:
        pytest.skip("ripgrep has no such expressions")
    monkeypatch.setattr(search, "SECONDS", 1)
    (desk.root / "trap").write_text("a" * 40 + "!")
    result = await call(desk, "Grep", pattern="(a+)+$", path="trap")
    assert result.is_error
    assert "when the search was stopped" in result.text
