"""The package: its exports, its imports and the generated page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scripts.reference import settings_page as reference

import reverie.settings
from reverie.settings.schema import OTHER_VARIABLES, SETTINGS

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
RENDER = "python scripts/reference.py"


def test_the_page_is_what_the_schema_says():
    assert PAGE.read_text(encoding="utf-8") == reference(), f"render it again: {RENDER}"


def test_the_page_names_every_setting_and_variable():
    page = reference()
    assert all(f"| `{row.key}` |" in page and f"`{row.variable}`" in page for row in SETTINGS)
    assert all(f"| `{name}` |" in page for name in OTHER_VARIABLES)


def test_a_row_of_the_page_has_six_cells():
    rows = [
        line for line in reference().splitlines() if line.startswith("| `") and "REVERIE_" in line
    ]
    widths = {line.count(" | ") for line in rows}
    assert widths == {5, 1}


def test_exports_are_exact():
    assert sorted(reverie.settings.__all__) == reverie.settings.__all__
    assert all(hasattr(reverie.settings, name) for name in reverie.settings.__all__)


def test_nothing_slow_is_imported_with_it():
    slow = ["tomllib", "difflib", "logging", "openfeature", "keyring", "importlib.metadata"]
    code = f"import sys, reverie.settings; print([m for m in {slow} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_windows_is_told_in_one_line():
    code = "import sys; sys.platform = 'win32'; import reverie"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: Reverie needs Linux or macOS; on Windows, run it in WSL 2"
    )
