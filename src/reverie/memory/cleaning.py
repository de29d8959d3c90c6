"""Remove a memory's words from files: journals, notes, drafts, reports of dreams, archives."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from reverie.core.messages import dump
from reverie.files import atomic
from reverie.files.atomic import read_json, write_json
from reverie.memory.format.traces import Traces, encoded
from reverie.memory.inbox import SETTLED

SHADOWS = ("index.sqlite", "search.sqlite")
# Reverie writes no larger files.
LARGEST = 512 * 1024 * 1024
# Returns a file's bytes without a memory's words, and how often they occurred.
Cleaner = Callable[[Path, bytes], tuple[bytes, int]]


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The report on one place: what was done, how much was removed, what remains and why."""

    place: str
    done: str
    removed: int = 0
    remains: str = ""


def drop_shadows(folders: Iterable[Path]) -> Cleaned:
    """Delete the search indexes, which are rebuilt from the files."""
    for folder, name in product(folders, SHADOWS):
        for ending in ("", "-wal", "-shm"):
            (folder / f"{name}{ending}").unlink(missing_ok=True)
    return Cleaned("search indexes", "dropped; they are rebuilt from the files")


def from_inbox(folders: Iterable[Path], traces: Traces) -> Cleaned:
    """Remove proposals that contain it, including approved ones."""
    paths = [path for each in ("inbox/*", f"inbox/{SETTLED}/*") for path in _files(folders, each)]
    dropped = [path for path in paths if path.name == traces.file or holds(path, traces)]
    for path in dropped:
        path.unlink()
    count = len(dropped)
    return Cleaned("inbox", f"{count} of {len(paths)} proposals held it and were removed", count)


def from_drafts(state: Path, folders: Iterable[Path], traces: Traces) -> Cleaned:
    """Remove texts that `edit` kept because they could not be saved.

    The draft of this file, in `state`, is removed in any case.
    """
    name = traces.file.replace("/", "__")
    own = state / "drafts" / name
    paths = _files(folders, "drafts/[!.]*")
    dropped = [path for path in paths if path == own or holds(path, traces)]
    for path in (*dropped, *_files([state], f"drafts/.{name}.base")):
        path.unlink()
    done = f"{len(dropped)} of {len(paths)} held it and were removed"
    return Cleaned("unsaved edits", done, len(dropped))


def from_dreams(folders: Iterable[Path], traces: Traces) -> list[Cleaned]:
    """Clean reports and branches of dreams; stop a running dream first, as it has a copy."""
    dreams = [folder / "dreams" for folder in folders]
    stopped = [folder for folder in dreams if _request_stop(folder)]
    branches = [branch for folder in dreams for branch in sorted(folder.glob("branches/*"))]
    held = [branch for branch in branches if _branch_holds(branch, traces)]
    for branch in held:
        shutil.rmtree(branch, ignore_errors=True)
    reports = _files(dreams, "*.json")
    changed = [path for path in reports if _clean_report(path, traces)]
    again = "one is running and was told to stop: run this again when it has ended"
    return [
        Cleaned(
            "reports of dreams",
            f"{len(changed)} of {len(reports)} held it and were cleaned",
            len(changed),
            again if stopped else "",
        ),
        Cleaned(
            "branches of dreams",
            f"{len(held)} of {len(branches)} held it and were removed",
            len(held),
        ),
    ]


def from_notes(paths: Iterable[Path], traces: Traces) -> Cleaned:
    """Remove whole lines of session notes that contain it."""
    found = list(paths)
    changed = sum(_clean_notes(path, traces) for path in found)
    done = f"{changed} of {len(found)} held it and were cleaned"
    return Cleaned("session notes", done, changed)


def clean_files(place: str, paths: Iterable[Path], clean: Cleaner) -> Cleaned:
    """Replace its words in these files by a mark and keep everything else."""
    found = list(paths)
    changed = sum(clean_file(path, clean) > 0 for path in found)
    return Cleaned(place, f"{changed} of {len(found)} held it and were cleaned", changed)


def clean_file(path: Path, clean: Cleaner) -> int:
    """Clean one file atomically; text that is appended meanwhile is kept and cleaned, too."""
    with path.open("rb") as old:
        data = old.read(LARGEST)
        made, count = clean(path, data)
        if not count:
            return 0
        atomic.replace(path, made)
        while late := old.read():
            more, found = clean(path, late)
            count += found
            with path.open("ab") as fresh:
                fresh.write(more)
    return count


def any_file(traces: Traces) -> Cleaner:
    """A cleaner for any kind of file: JSON, JSON lines, a zip archive, or text."""

    def clean(path: Path, data: bytes) -> tuple[bytes, int]:
        if path.suffix == ".zip":
            return _clean_zip(data, traces)
        if path.suffix == ".jsonl":
            lines = [traces.redacted_line(_text(line)) for line in data.splitlines(keepends=True)]
            return b"".join(encoded(line.text) for line in lines), sum(line.count for line in lines)
        if path.suffix == ".json":
            with suppress(ValueError, RecursionError):
                value, count = traces.redacted_json(json.loads(data))
                return (dump(value) + b"\n" if count else data), count
        found = traces.redacted(_text(data))
        return (encoded(found.text) if found.count else data), found.count

    return clean


def _clean_zip(data: bytes, traces: Traces) -> tuple[bytes, int]:
    """An archive without the memory's file, and without its words in the other files."""
    made = BytesIO()
    count = 0
    clean = any_file(traces)
    try:
        with ZipFile(BytesIO(data)) as old, ZipFile(made, "w") as fresh:
            for item in old.infolist():
                if item.filename == traces.file or item.filename.endswith(f"/{traces.file}"):
                    count += 1
                    continue
                kept, found = clean(Path(item.filename), old.read(item))
                count += found
                fresh.writestr(item, kept)
    except (BadZipFile, NotImplementedError, RuntimeError):
        return data, 0
    return made.getvalue() if count else data, count


def holds(path: Path, traces: Traces) -> bool:
    """Whether a file contains any of it; the file is not changed."""
    with suppress(OSError):
        if path.stat().st_size <= LARGEST:
            return any_file(traces)(path, path.read_bytes())[1] > 0
    return False


def plain_files(folder: Path, apart: Iterable[Path] = ()) -> Iterator[Path]:
    """Every regular file below a folder, except below the paths in `apart`; no links are followed."""
    skipped = set(apart)
    try:
        found = sorted(folder.iterdir())
    except OSError:
        return
    for path in found:
        if path in skipped or path.is_symlink():
            continue
        if path.is_dir():
            yield from plain_files(path, skipped)
        elif path.is_file():
            yield path


def _clean_notes(path: Path, traces: Traces) -> bool:
    def clean(_: Path, data: bytes) -> tuple[bytes, int]:
        lines = _text(data).splitlines(keepends=True)
        kept = [line for line in lines if not traces.holds(line)]
        found = traces.redacted("".join(kept))
        return encoded(found.text), len(lines) - len(kept) + found.count

    return clean_file(path, clean) > 0


def _request_stop(dreams: Path) -> bool:
    """Ask a running dream to stop; False if none is running."""
    status = read_json(dreams / "status.json")
    if not isinstance(status, dict) or status.get("state") != "running":
        return False
    (dreams / "stop").write_text(str(status.get("id", "")))
    return True


def _branch_holds(branch: Path, traces: Traces) -> bool:
    """Whether a dream's copy of the memory contains it; links are not followed."""
    return any(path.name == traces.file or holds(path, traces) for path in plain_files(branch))


def _clean_report(path: Path, traces: Traces) -> bool:
    """Remove the entries of a report that quote it; delete a file that is not a valid report."""
    report = read_json(path)
    if report is None:
        if traces.holds(_text(path.read_bytes())):
            path.unlink()
            return True
        return False
    if not traces.held_in_json(report):
        return False
    kept = _unquoted(report, traces)
    if kept is not None and not traces.held_in_json(kept):
        write_json(path, kept)
    else:
        path.unlink()
    return True


def _unquoted(report: Any, traces: Traces) -> Mapping[str, Any] | None:
    """A report without the list entries that quote it."""
    if not isinstance(report, dict):
        return None
    return {
        key: [entry for entry in value if not traces.held_in_json(entry)]
        if isinstance(value, list)
        else value
        for key, value in report.items()
    }


def _files(folders: Iterable[Path], pattern: str) -> list[Path]:
    found = (path for folder in folders for path in sorted(folder.glob(pattern)))
    return [path for path in found if path.is_file()]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
