"""Type-checks every Python example of the documentation: mypy --strict, and pyright where it is installed.

    python tests/flows/check_snippets.py

`make check` runs it. Each example is a file of its own, checked against the installed package.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Not in a hidden folder, which pyright leaves out.
FOLDER = ROOT / "build" / "snippets"
# Where `make check` puts it.
PYRIGHT = ROOT / ".clients" / "pyright" / "node_modules" / ".bin"
_EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Pages with examples for packages that the tests need not have.
_NEEDS = {
    "docs/integrations/claude-agent-sdk.md": "claude_agent_sdk",
    "docs/integrations/google-adk.md": "google.adk",
    "docs/integrations/llama-index.md": "llama_index",
}


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def written() -> list[Path]:
    """Write the examples to files, named after their page."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    found = []
    for page in pages():
        name = page.relative_to(ROOT).as_posix()
        if name in _NEEDS and not _has(_NEEDS[name]):
            continue
        for number, code in enumerate(_EXAMPLE.findall(page.read_text("utf-8")), 1):
            plain = re.sub(r"\W", "_", name.removesuffix(".md"))
            path = FOLDER / f"{plain}_{number}.py"
            path.write_text(code, "utf-8")
            found.append(path)
    return found


def _has(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def main() -> int:
    files = [str(path) for path in written()]
    mypy = [sys.executable, "-m", "mypy", "--strict", "--scripts-are-modules", "--no-error-summary"]
    config = ["--config-file", str(ROOT / "pyproject.toml")]
    code = subprocess.run([*mypy, *config, *files], check=False).returncode
    pyright = shutil.which("pyright", path=f"{PYRIGHT}{os.pathsep}{os.environ['PATH']}")
    if pyright is None:
        print(
            f"{len(files)} examples checked by mypy; pyright is not installed: `make check` installs it where there is npm"
        )
        return code
    python = ["--pythonpath", sys.executable]
    return subprocess.run([pyright, *python, *files], check=False).returncode or code


if __name__ == "__main__":
    sys.exit(main())
