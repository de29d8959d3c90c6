"""Glob finds files by name, newest first; Grep searches their text, with ripgrep or our own equivalent."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from reverie.agent.kit.files import located, missing, printable, shown
from reverie.agent.patterns import VERSION_CONTROL, PathPattern, files_below, is_magic
from reverie.agent.processes import found_program, inlet, program
from reverie.agent.search_worker import Search
from reverie.agent.tools import Arguments, Tool, Workplace, always, integer, parameters, string
from reverie.core.request import ToolSpec
from reverie.errors import InputError

SECONDS = 20
GLOB_LIMIT = 100

_GLOB = ToolSpec.of(
    "Glob",
    "Find files by name, newest first. ** stands for any number of folders: **/*.py finds all "
    "Python files, src/*.py only those directly in src. What .gitignore names is left out, unless "
    "the pattern begins with its folder.",
    parameters(
        "pattern",
        pattern=string("Like src/**/*.{ts,tsx}", minLength=1),
        path=string("The folder to look in; by default the working directory."),
        limit=integer(f"The most files to give; default {GLOB_LIMIT}.", 1, 2_000),
    ),
)


def glob_tool() -> Tool:
    return Tool(
        _GLOB, run=_run_glob, access=always("read"), headline=_glob_headline, clearable=True
    )


def _glob_headline(arguments: Arguments) -> str:
    where = arguments.get("path")
    return f"Glob {arguments['pattern']}" + (f" in {where}" if where else "")


async def _run_glob(arguments: Arguments, workplace: Workplace) -> str:
    folder, pattern = _split(arguments["pattern"], arguments.get("path", "."), workplace)
    if not folder.is_dir():
        raise InputError(f"There is no folder {shown(folder, workplace)}.")
    stop = threading.Event()
    try:
        async with asyncio.timeout(SECONDS):
            files = await asyncio.to_thread(_newest_first, folder, pattern, stop)
    except TimeoutError as error:
        raise InputError(
            f"Looking through {shown(folder, workplace)} took more than {SECONDS} s; "
            "give a folder further down"
        ) from error
    finally:
        stop.set()
    if not files:
        return f"No file matches {arguments['pattern']}."
    limit = arguments.get("limit", GLOB_LIMIT)
    lines = [shown(path, workplace) for path in files[:limit]]
    if len(files) > limit:
        lines.append(f"[the newest {limit:,} of {len(files):,} files]")
    return "\n".join(lines)


def _split(pattern: str, path: str, workplace: Workplace) -> tuple[Path, str]:
    """The folder to search, from the plain names at the front, and the rest of the pattern."""
    parts = pattern.split("/")
    plain = next((n for n, part in enumerate(parts) if is_magic(part)), len(parts) - 1)
    front = "/".join(parts[:plain]) or ("/" if pattern.startswith("/") else ".")
    base = located(path, workplace)
    whole = front if front.startswith(("/", "~")) else f"{base}/{front}"
    return located(whole, workplace), "/".join(parts[plain:])


def _newest_first(folder: Path, pattern: str, stop: threading.Event) -> list[Path]:
    found = sorted((-modified, path) for modified, path in _matching(folder, pattern, stop))
    return [path for _, path in found]


def _matching(folder: Path, pattern: str, stop: threading.Event) -> Iterator[tuple[int, Path]]:
    wanted = PathPattern.parse(pattern)
    for found in files_below(folder, enter=wanted.leads_below):
        if stop.is_set():
            return
        if not found.ignored and wanted.matches(found.parts):
            # The file may have been deleted meanwhile.
            with suppress(OSError):
                yield found.path.lstat().st_mtime_ns, found.path


GREP_LIMIT = 200
_LONGEST_LINE = 500
_MOST_SAID = 4_000

_GREP = ToolSpec.of(
    "Grep",
    "Search file contents with a regular expression (ripgrep's syntax). Gives the files that "
    "match, or with output set to content the matching lines with their numbers, or to count how "
    "many lines match in each file. What .gitignore names and binary files are left out, hidden "
    "files are not.",
    parameters(
        "pattern",
        pattern=string("A regular expression.", minLength=1),
        path=string("A file or folder; by default the working directory."),
        glob=string("Only files like this: *.py, src/**/*.{ts,tsx}, or !*.md for not."),
        ignore_case={"type": "boolean"},
        output={"enum": ["files", "content", "count"], "description": "Default: files."},
        context=integer("Lines to show around each match, with content.", 0, 50),
        limit=integer(f"The most files or lines to give; default {GREP_LIMIT}.", 1, 2_000),
    ),
)


def grep_tool() -> Tool:
    return Tool(
        _GREP, run=_run_grep, access=always("read"), headline=_grep_headline, clearable=True
    )


def _grep_headline(arguments: Arguments) -> str:
    where = arguments.get("glob") or arguments.get("path")
    return f"Grep {arguments['pattern']!r}" + (f" in {where}" if where else "")


@dataclass(frozen=True, slots=True)
class _Hit:
    """A file with one of its lines, or with the number of matching lines."""

    file: str
    line: int = 0
    text: str = ""
    matched: bool = True


@dataclass(slots=True)
class _Hits:
    """Parses the output of the search program as it arrives, up to a limit."""

    search: Search
    limit: int
    found: list[_Hit] = field(default_factory=list)
    more: bool = False
    rest: bytes = b""

    def take(self, data: bytes) -> bool:
        end = b"\0" if self.search.output == "files" else b"\n"
        *whole, self.rest = (self.rest + data).split(end)
        hits = [hit for piece in whole if (hit := _hit(self.search, piece))]
        room = self.limit - len(self.found)
        self.found += hits[:room]
        self.more = self.more or len(hits) > room
        return not self.more


@dataclass(slots=True)
class _Complaint:
    data: bytes = b""

    def take(self, data: bytes) -> bool:
        self.data += data
        return len(self.data) < _MOST_SAID

    @property
    def text(self) -> str:
        return self.data[:_MOST_SAID].decode("utf-8", "replace").strip()


async def _run_grep(arguments: Arguments, workplace: Workplace) -> str:
    search = _search(arguments, workplace)
    hits = _Hits(search, arguments.get("limit", GREP_LIMIT))
    complaint = _Complaint()
    in_time = await _searched(search, hits, complaint, workplace)
    if complaint.text and not hits.found:
        raise InputError(f"Grep cannot search for {search.pattern!r}: {complaint.text}")
    if not in_time and not hits.found:
        raise InputError(
            f"Nothing was found in {SECONDS} s, when the search was stopped. {_NARROW}"
        )
    return _report(hits, workplace, in_time=in_time)


_NARROW = "Narrow the path, the glob or the pattern."


async def _searched(
    search: Search, hits: _Hits, complaint: _Complaint, workplace: Workplace
) -> bool:
    """Run the search program; False when it timed out."""
    command, environment = _command(search, workplace)
    folder = Path(search.folder)
    async with inlet(hits.take) as output, inlet(complaint.take) as errors:
        async with program(
            command, folder=folder, environment=environment, output=output, errors=errors
        ) as process:
            try:
                async with asyncio.timeout(SECONDS):
                    await process.wait()
            except TimeoutError:
                return False
        await output.drained(1)
        await errors.drained(1)
    return True


def _search(arguments: Arguments, workplace: Workplace) -> Search:
    path = located(arguments.get("path", "."), workplace)
    if not path.exists():
        raise InputError(missing(path, workplace))
    folder, file = (path, "") if path.is_dir() else (path.parent, path.name)
    return Search(
        pattern=arguments["pattern"],
        folder=str(folder),
        file=file,
        glob=arguments.get("glob", ""),
        ignore_case=arguments.get("ignore_case", False),
        output=arguments.get("output", "files"),
        context=arguments.get("context", 0),
    )


def _command(search: Search, workplace: Workplace) -> tuple[list[str], dict[str, str]]:
    """The command and environment: ripgrep where it is installed, else our own program."""
    ripgrep = found_program("rg", workplace.environment)
    if ripgrep:
        return [ripgrep, *_ripgrep_options(search)], dict(workplace.environment)
    # -P and absolute entries only: never import modules from the searched folder.
    modules = os.pathsep.join(entry for entry in sys.path if Path(entry).is_absolute())
    worker = [sys.executable, "-P", "-m", "reverie.agent.search_worker", search.to_json()]
    return worker, {"PYTHONPATH": modules}


def _ripgrep_options(search: Search) -> list[str]:
    options = ["--no-config", "--no-messages", "--hidden", "--no-require-git", "--no-ignore-global"]
    options += ["--crlf", "--sort=path"]
    options += [f"--glob={search.glob}"] if search.glob else []
    options += [f"--glob=!{name}" for name in VERSION_CONTROL]
    options += ["--ignore-case"] if search.ignore_case else []
    match search.output:
        case "files":
            options += ["--files-with-matches", "--null"]
        case "count":
            options += ["--count", "--with-filename", "--null"]
        case "content":
            options += ["--json", f"--context={search.context}"]
    return [*options, f"--regexp={search.pattern}", "--", f"./{search.file}"]


def _hit(search: Search, piece: bytes) -> _Hit | None:
    match search.output:
        case "files":
            return _Hit(_name(os.fsdecode(piece)))
        case "count":
            file, _, count = piece.partition(b"\0")
            return _Hit(_name(os.fsdecode(file)), int(count))
        case "content":
            return _line(json.loads(piece))


def _line(event: Mapping[str, Any]) -> _Hit | None:
    if event["type"] not in ("match", "context"):
        return None
    data = event["data"]
    text = _text(data["lines"]).rstrip("\r\n")
    return _Hit(_name(_text(data["path"])), data["line_number"], text, event["type"] == "match")


def _text(value: Mapping[str, str]) -> str:
    """A text in ripgrep's JSON, which has base64 for what is not UTF-8."""
    return value["text"] if "text" in value else os.fsdecode(base64.b64decode(value["bytes"]))


def _name(path: str) -> str:
    return path.removeprefix("./")


def _report(hits: _Hits, workplace: Workplace, *, in_time: bool) -> str:
    if not hits.found:
        return f"Nothing matches {hits.search.pattern!r}."
    lines = _lines(hits, workplace)
    what = "lines" if hits.search.output == "content" else "files"
    if hits.more:
        lines.append(f"[only the first {hits.limit:,} {what}. {_NARROW}]")
    if not in_time:
        lines.append(f"[stopped after {SECONDS} s. {_NARROW}]")
    return "\n".join(lines)


def _lines(hits: _Hits, workplace: Workplace) -> list[str]:
    folder = Path(hits.search.folder)
    named = ((shown(folder / hit.file, workplace), hit) for hit in hits.found)
    match hits.search.output:
        case "files":
            return [name for name, _ in named]
        case "count":
            return [f"{name}: {hit.line}" for name, hit in named]
        case "content":
            files = groupby(named, lambda pair: pair[0])
            return [line for name, of_file in files for line in (name, *_shown(of_file))]


def _shown(named: Iterable[tuple[str, _Hit]]) -> Iterator[str]:
    """The lines of a file: `:` after the number of a match, `-` after that of a context line."""
    for _, hit in named:
        text = printable(hit.text)
        more = len(text) - _LONGEST_LINE
        cut = f"{text[:_LONGEST_LINE]}… [{more:,} more characters]" if more > 0 else text
        yield f"{hit.line}{':' if hit.matched else '-'} {cut}"
