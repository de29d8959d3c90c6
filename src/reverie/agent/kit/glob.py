"""Glob: finds files by name pattern, newest first."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from reverie.agent.kit.files import located, shown
from reverie.agent.searching.patterns import PathPattern, files_below, is_magic
from reverie.agent.tools import Arguments, Tool, Workplace, always
from reverie.core.request import ToolSpec
from reverie.errors import InputError

SECONDS = 20
DEFAULT_LIMIT = 100

_SPEC = ToolSpec.of(
    "Glob",
    "Find files by name, newest first. ** stands for any number of folders: **/*.py finds all "
    "Python files, src/*.py only those directly in src. What .gitignore names is left out, unless "
    "the pattern begins with its folder.",
    {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "description": "Like src/**/*.{ts,tsx}"},
            "path": {
                "type": "string",
                "description": "The folder to look in; by default the working directory.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 2_000,
                "description": f"The most files to give; default {DEFAULT_LIMIT}.",
            },
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
)


def glob_tool() -> Tool:
    return Tool(_SPEC, run=_run, access=always("read"), headline=_headline, clearable=True)


def _headline(arguments: Arguments) -> str:
    where = arguments.get("path")
    return f"Glob {arguments['pattern']}" + (f" in {where}" if where else "")


async def _run(arguments: Arguments, workplace: Workplace) -> str:
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
    limit = arguments.get("limit", DEFAULT_LIMIT)
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
