"""Questions and answers out of the documentation of installed packages, made anew at each run.

A heading of a README is the question and the first paragraph below it the answer; of a docstring, the
summary and the paragraph after it. Only packages under well-known free licences are read, and nothing of
them is kept. Each package is a store of its own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

FREE = re.compile(r"\b(?:MIT|BSD|Apache|ISC|PSF|Python Software Foundation|MPL)\b", re.IGNORECASE)
_HEADING = re.compile(
    r"^#{1,4}\s+(?P<heading>[^\n#]+)\n+(?P<text>(?:[^\n#`|<>*-][^\n]*\n?)+)", re.MULTILINE
)
# Words of a question and of an answer.
QUESTION, ANSWER = (3, 14), (10, 80)
FEWEST, MOST = 15, 30
PACKAGES = 12
_LARGEST_FILE = 300_000
_MOST_FILES = 60


def pairs() -> dict[str, list[tuple[str, str]]]:
    """For each package, questions with their answers."""
    found: dict[str, list[tuple[str, str]]] = {}
    known = {str(dist.metadata["Name"]).lower(): dist for dist in distributions()}
    for name in sorted(known):
        if not FREE.search(_licence(known[name])):
            continue
        own = {answer: question for question, answer in _of(known[name])}
        asked = {question: answer for answer, question in own.items()}
        if len(asked) >= FEWEST:
            step = len(asked) / min(len(asked), MOST)
            rows = list(asked.items())
            found[name] = [rows[int(n * step)] for n in range(min(len(rows), MOST))]
        if len(found) == PACKAGES:
            break
    return found


def _licence(dist: Distribution) -> str:
    told = dist.metadata
    classifiers = [c for c in told.get_all("Classifier") or () if c.startswith("License")]
    said = [str(told[key]) for key in ("License-Expression", "License") if key in told]
    return " ".join([*classifiers, *(text[:200] for text in said)])


def _of(dist: Distribution) -> Iterator[tuple[str, str]]:
    body = (dist.read_text("METADATA") or "").partition("\n\n")[2]
    for match in _HEADING.finditer(body):
        yield from _fitting(match["heading"], match["text"])
    files = [Path(str(dist.locate_file(file))) for file in dist.files or () if file.suffix == ".py"]
    for path in sorted(files)[:_MOST_FILES]:
        if "test" not in path.parts[-1] and path.is_file() and path.stat().st_size < _LARGEST_FILE:
            yield from _docstrings(path)


def _docstrings(path: Path) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            summary, _, rest = (ast.get_docstring(node) or "").partition("\n\n")
            yield from _fitting(summary, rest.partition("\n\n")[0])


def _fitting(heading: str, text: str) -> Iterator[tuple[str, str]]:
    question, answer = " ".join(heading.split()).strip(" .#"), " ".join(text.split())
    prose = answer[:1].isupper() and answer.endswith((".", "!"))
    plain = not re.search(r"[{}<>|=\[\]]|::|>>>|:param|Args:|Parameters", f"{question} {answer}")
    fits = _between(question, QUESTION) and _between(answer, ANSWER)
    if prose and plain and fits:
        yield question, answer


def _between(text: str, bounds: tuple[int, int]) -> bool:
    return bounds[0] <= len(text.split()) <= bounds[1]
