"""The benchmark scripts keep up with the package: what they import exists, also in code they hand to a child."""

from __future__ import annotations

import ast
import importlib
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(FOLDER.glob("*.py"))


def imported_names(code: ast.AST) -> Iterator[tuple[str, str]]:
    """Module and name of everything that is imported from the package, in functions and in strings of code, too."""
    for node in ast.walk(code):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("reverie"):
                yield from ((module, alias.name) for alias in names)
            case ast.Import(names=names):
                yield from ((a.name, "") for a in names if a.name.startswith("reverie"))
            case ast.Constant(value=str(text)) if (
                "import reverie" in text or "from reverie" in text
            ):
                yield from _of_text(text)
            case _:
                pass


def _of_text(text: str) -> Iterator[tuple[str, str]]:
    try:
        yield from imported_names(ast.parse(text))
    except SyntaxError:
        return


def exists(module: str, name: str) -> bool:
    found = importlib.import_module(module)
    if not name or hasattr(found, name):
        return True
    try:
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_name_a_benchmark_imports_exists(script: Path) -> None:
    names = set(imported_names(ast.parse(script.read_text("utf-8"))))
    assert not [f"{module}.{name}" for module, name in sorted(names) if not exists(module, name)]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_benchmark_can_be_imported(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    try:
        runpy.run_path(str(script), run_name="imported")
    except ModuleNotFoundError as error:
        if str(error.name).startswith("reverie"):
            raise
        pytest.skip(f"{script.name} needs {error.name}")
    finally:
        # What one script imports of its neighbours is no module of other tests.
        for name in {path.stem for path in SCRIPTS} - before:
            sys.modules.pop(name, None)
