"""Files by name, the newest first, without what is ignored."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.agent.workplaces import call, workplace
from tests.place import git

from reverie.agent.tools import Workplace

# Oldest first.
FILES = (
    ".gitignore",
    "a.py",
    "src/b.py",
    "src/inner/c.py",
    "src/d.ts",
    "build/e.py",
    "src/f.tsx",
    ".config/g.toml",
)


@pytest.fixture
def desk(tmp_path: Path) -> Workplace:
    root = tmp_path / "desk"
    root.mkdir()
    git(root, "init", "-q")
    for age, name in enumerate(FILES):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("build/\n" if name == ".gitignore" else "")
        os.utime(path, (1_000 + age, 1_000 + age))
    return workplace(root, HOME=str(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"pattern": "**/*.py"}, "src/inner/c.py\nsrc/b.py\na.py"),
        ({"pattern": "*.py"}, "a.py"),
        ({"pattern": "src/*.py"}, "src/b.py"),
        ({"pattern": "src/**/*.{ts,tsx}"}, "src/f.tsx\nsrc/d.ts"),
        ({"pattern": "*.py", "path": "src"}, "src/b.py"),
        ({"pattern": "**/*.toml"}, ".config/g.toml"),
        ({"pattern": "build/*.py"}, "build/e.py"),
        ({"pattern": "a.py"}, "a.py"),
        ({"pattern": "../desk/*.py"}, "a.py"),
        ({"pattern": "~/desk/*.py"}, "a.py"),
        ({"pattern": "**/*", "limit": 2}, ".config/g.toml\nsrc/f.tsx\n[the newest 2 of 7 files]"),
        ({"pattern": "**/*.rs"}, "No file matches **/*.rs."),
    ],
)
async def test_the_newest_first(desk: Workplace, arguments: dict[str, Any], expected: str) -> None:
    result = await call(desk, "Glob", **arguments)
    assert (result.is_error, result.text) == (False, expected)


async def test_outside_the_root_paths_are_whole(desk: Workplace, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.py").touch()
    result = await call(desk, "Glob", pattern=f"{tmp_path}/other/*.py")
    assert result.text == f"{tmp_path}/other/x.py"


async def test_files_of_the_same_age_come_by_name(desk: Workplace) -> None:
    for name in ("z", "y", "x"):
        (desk.root / name).touch()
        os.utime(desk.root / name, (5_000, 5_000))
    assert (await call(desk, "Glob", pattern="[xyz]")).text == "x\ny\nz"


async def test_links_to_files_are_found_and_loops_are_not_followed(desk: Workplace) -> None:
    (desk.root / "link.py").symlink_to("a.py")
    (desk.root / "src" / "up").symlink_to(desk.root)
    found = (await call(desk, "Glob", pattern="**/link.py")).text
    assert found == "link.py"


async def test_a_folder_that_is_not_there_is_said(desk: Workplace) -> None:
    result = await call(desk, "Glob", pattern="nowhere/*.py")
    assert (result.is_error, result.text) == (True, "There is no folder nowhere.")
