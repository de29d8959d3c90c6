"""Text search in a separate process, with ripgrep's output, for systems without ripgrep.

A regular expression can run forever, and only a process can be stopped.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from reverie.agent.patterns import FoundFile, PathPattern, files_below

Output: TypeAlias = Literal["files", "content", "count"]

_SNIFFED = 8_192
_WIDE = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(frozen=True, slots=True)
class Search:
    """A search. `file` is a name in `folder`, or empty for all files below it."""

    pattern: str
    folder: str
    file: str = ""
    glob: str = ""
    ignore_case: bool = False
    output: Output = "files"
    context: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def main() -> int:
    search = Search(**json.loads(sys.argv[1]))
    try:
        wanted = re.compile(search.pattern, re.IGNORECASE if search.ignore_case else 0)
    except re.error as error:
        sys.stderr.write(f"regex parse error: {error}\n")
        return 2
    try:
        for name in _files(search):
            _report(search, name, wanted)
    except BrokenPipeError:
        # The parent process has closed the pipe because it has enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _files(search: Search) -> Iterator[str]:
    if search.file:
        yield search.file
        return
    wanted = _by_glob(search.glob)
    for found in files_below(Path(search.folder)):
        if not found.link and wanted(found):
            yield "/".join(found.parts)


def _by_glob(glob: str) -> Callable[[FoundFile], bool]:
    """Whether a file is searched; one that the glob names is searched even if ignored."""
    text = glob.removeprefix("!")
    if not text:
        return lambda found: not found.ignored
    pattern = PathPattern.parse(text if "/" in text else f"**/{text}")
    if not glob.startswith("!"):
        return lambda found: pattern.matches(found.parts)
    return lambda found: (
        not found.ignored
        and not any(pattern.matches(found.parts[: depth + 1]) for depth in range(len(found.parts)))
    )


def _report(search: Search, name: str, wanted: re.Pattern[str]) -> None:
    lines = _lines(Path(search.folder) / name)
    matching = (number for number, line in enumerate(lines) if wanted.search(line))
    match search.output:
        case "files":
            _say(f"{name}\0" if any(True for _ in matching) else "")
        case "count":
            count = sum(1 for _ in matching)
            _say(f"{name}\0{count}\n" if count else "")
        case "content":
            hits = set(matching)
            _say(
                "".join(
                    _line_event("match" if at in hits else "context", name, at + 1, lines[at])
                    for at in _with_context(hits, search.context, len(lines))
                )
            )


def _with_context(hits: set[int], context: int, most: int) -> list[int]:
    wanted = {
        near for hit in hits for near in range(max(0, hit - context), min(most, hit + context + 1))
    }
    return sorted(wanted)


def _line_event(kind: str, name: str, number: int, text: str) -> str:
    data = {"path": {"text": name}, "lines": {"text": text}, "line_number": number}
    return json.dumps({"type": kind, "data": data}) + "\n"


def _lines(path: Path) -> list[str]:
    """The lines of a text file; none for a binary file."""
    try:
        # Non-blocking: opening a pipe must not wait for a writer.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123
            data = file.read()
    except OSError:
        return []
    encoding = _WIDE.get(data[:2], "utf-8-sig")
    if encoding == "utf-8-sig" and b"\0" in data[:_SNIFFED]:
        return []
    lines = data.decode(encoding, "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _say(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
