"""Read memories from markdown files, archives and exports of other tools."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from io import BytesIO
from lzma import LZMAError
from pathlib import PurePosixPath
from typing import Any
from zipfile import BadZipFile, ZipFile

from reverie.errors import InputError
from reverie.memory.changes.draft import Declined, NewMemory, draft
from reverie.memory.changes.transfer import pieces
from reverie.memory.format import frontmatter
from reverie.memory.format import topic as topics
from reverie.memory.format.exclusions import is_binary
from reverie.memory.format.manifest import is_index
from reverie.memory.format.taxonomy import MemoryType, parse_type, split
from reverie.memory.format.topic import Scalar, Topic

# A larger import is not a memory, or is meant to fill the disk.
LARGEST_IMPORT = 64 * 1024 * 1024

EXPORTS = (".json", ".jsonl", ".af")

# Instruction files for agents; importing one turns its instructions into memories.
_INSTRUCTIONS = frozenset(
    (
        "agents.md",
        "claude.md",
        "claude.local.md",
        "gemini.md",
        "copilot-instructions.md",
        ".cursorrules",
        ".windsurfrules",
    )
)

_TEXT_KEYS = ("memory", "content", "text", "value", "data")
_DAY_KEYS = ("created_at", "createdAt", "updated_at", "date")
# Keys that express trust, which an import cannot bring along.
_TRUST = ("pinned", "source", "confidence")
_DOUBT = 0.5
_PERSONA = "it is the agent's own persona, not a memory"


@dataclass(frozen=True, slots=True)
class Found:
    """One item of an import: its source, and the new memory, or why there is none."""

    source: str
    wish: NewMemory | Declined
    # Keys of the file that were dropped.
    dropped: tuple[str, ...] = ()


def read_files(
    files: Mapping[str, bytes], written: Mapping[str, date] | None = None
) -> list[Found]:
    """Read a folder of markdown files or an unpacked export: each file is one memory.

    Relative dates in a markdown file count from the day it was written, if that is known.
    """
    days = written or {}
    found: list[Found] = []
    for name in sorted(files):
        if name.endswith(".md"):
            found += [] if is_index(name) else [_loose(name, files[name], days.get(name))]
        elif name.endswith(EXPORTS):
            found += read_file(name, files[name])
    return found


def read_file(name: str, data: bytes, written: date | None = None) -> list[Found]:
    """Read one file by its content: a .zip, JSON, a memory, or a long file to split."""
    if len(data) > LARGEST_IMPORT:
        raise InputError(f"{name} has {len(data):,} bytes; at most {LARGEST_IMPORT:,} are imported")
    if data.startswith(b"PK\x03\x04"):
        return read_files(unpacked(name, data))
    if name.endswith(".jsonl"):
        return list(_from_lines(name, data))
    if name.endswith((".json", ".af")) or data.lstrip()[:1] in (b"{", b"["):
        return list(_from_json(name, _loaded(name, data)))
    if (refused := _not_text(data)) is not None:
        return [Found(name, refused)]
    memory = topics.parse(data, PurePosixPath(name).name)
    if memory.problem == frontmatter.ABSENT:
        return list(_split(name, memory.body, written))
    return [_loose(name, data, written)]


# What `zipfile` raises for archives that were cut or changed.
_DAMAGED = (BadZipFile, LZMAError, zlib.error, struct.error, RuntimeError, LookupError, ValueError, OSError, EOFError)  # fmt: skip


def unpacked(name: str, data: bytes) -> dict[str, bytes]:
    try:
        with ZipFile(BytesIO(data)) as archive:
            inside = [item for item in archive.infolist() if not item.is_dir()]
            if sum(item.file_size for item in inside) > LARGEST_IMPORT:
                raise InputError(f"{name} unpacks to more than {LARGEST_IMPORT:,} bytes")
            return {item.filename: archive.read(item) for item in inside}
    except _DAMAGED as error:
        raise InputError(f"{name} cannot be unpacked: {error}") from error


# --- markdown ---


def _not_text(data: bytes) -> Declined | None:
    if not is_binary(data.decode("utf-8", "replace")):
        return None
    return Declined("it is not text in UTF-8", "convert it, or export it as text")


def _loose(name: str, data: bytes, written: date | None = None) -> Found:
    """Read a file that is one memory; its keys are kept, except those that express trust."""
    if (refused := _not_text(data)) is not None:
        return Found(name, refused)
    memory = topics.parse(data, PurePosixPath(name).name)
    if memory.problem is None:
        memory, dropped = _untrusted(memory)
        text = memory.body.strip() or memory.description
        named = memory.document.entry("name") is not None
        # Obsidian and basic-memory call it the title.
        called = memory.document.entry("title")
        if called is not None and not named:
            memory = memory.with_(name=frontmatter.parse_text(called.value))
            named = True
        new = NewMemory(
            text,
            type=memory.type,
            name=memory.name if named else None,
            description=memory.description or None,
            origin="import",
            original=memory,
            # Reverie dated its own memories when it wrote them.
            said=written if memory.created is None else None,
            # Reverie's exports keep personal memories in the folder `person`.
            scope="person" if split(name)[0] == "person" else None,
        )
        return Found(name, new, dropped)
    if memory.problem != frontmatter.ABSENT:
        return Found(name, Declined(memory.problem, "correct the file, then import it again"))
    title, text = _titled(memory.body)
    source = (f"import:{name}",)
    return Found(name, NewMemory(text, name=title, origin="import", source=source, said=written))


def _untrusted(memory: Topic) -> tuple[Topic, tuple[str, ...]]:
    """The memory without keys that would make it more trusted; a low confidence is kept."""
    dropped = tuple(
        key
        for key in _TRUST
        if memory.document.entry(key) is not None
        and not (key == "confidence" and (memory.confidence or 1) < _DOUBT)
    )
    return memory.with_(**dict.fromkeys(dropped)), dropped


def _titled(text: str) -> tuple[str | None, str]:
    first, _, rest = text.strip().partition("\n")
    if first.startswith("#") and rest.strip():
        return first.lstrip("# ").strip() or None, rest.strip()
    return None, text.strip()


def _split(name: str, text: str, written: date | None) -> Iterator[Found]:
    """Split an instruction file or a list of notes into memories."""
    instructs = PurePosixPath(name).name.casefold() in _INSTRUCTIONS
    for number, piece in enumerate(pieces(text), 1):
        place = f"{name}, {piece.under}" if piece.under else f"{name}, piece {number}"
        described = None
        if piece.under:
            described = f"{piece.under}: {draft(piece.text).description}"
        new = NewMemory(
            piece.text,
            description=described,
            origin="import",
            said=written,
            source=(f"import:{place}",),
            from_instructions=instructs,
        )
        yield Found(place, new)


# --- JSON ---


def _loaded(name: str, data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not JSON: {error}") from error


def _from_lines(name: str, data: bytes) -> Iterator[Found]:
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            yield _item(f"{name}, line {number}", _loaded(f"{name}, line {number}", line))


def _from_json(name: str, loaded: Any) -> Iterator[Found]:
    """Read JSON by its structure: Reverie's export, Letta's agent file, or any list of memories."""
    if isinstance(loaded, dict):
        for fits, read in _SHAPES:
            if fits(loaded):
                yield from read(name, loaded)
                return
    if not isinstance(loaded, list):
        raise InputError(f"{name} contains no list of memories in a known format")
    for number, item in enumerate(loaded, 1):
        yield _item(f"{name} #{number}", item)


def _own(name: str, loaded: dict[str, Any]) -> Iterator[Found]:
    for number, item in enumerate(loaded["memories"], 1):
        given = item if isinstance(item, dict) else {}
        file, text = given.get("file"), given.get("text")
        if isinstance(file, str) and isinstance(text, str):
            yield _loose(
                file, text.encode("utf-8", "surrogateescape" if _was_bytes(text) else "replace")
            )
        else:
            yield Found(f"{name} #{number}", Declined("it has no file and text"))


def _was_bytes(text: str) -> bool:
    """Whether all its lone surrogates stand for single bytes."""
    return not any("\ud800" <= char < "\udc80" or "\udcff" < char <= "\udfff" for char in text)


def _letta(name: str, loaded: dict[str, Any]) -> Iterator[Found]:
    """Read Letta's memory blocks about the user and the work; the persona is the agent's own."""
    agents = [agent for agent in _listing(loaded.get("agents")) if isinstance(agent, dict)]
    lists = [loaded.get("blocks"), loaded.get("core_memory")]
    lists += [agent.get("core_memory") or agent.get("blocks") for agent in agents]
    for block in (block for blocks in lists for block in _listing(blocks)):
        if isinstance(block, dict):
            yield from _block(name, block)
    for number, passage in enumerate(_listing(loaded.get("passages")), 1):
        yield _item(f"{name}, passage {number}", passage)


def _listing(value: object) -> list[Any]:
    """The value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def _block(name: str, block: dict[str, Any]) -> Iterator[Found]:
    title, value = str(block.get("label") or "block"), block.get("value")
    if title == "persona":
        yield Found(f"{name}, {title}", Declined(_PERSONA))
    elif isinstance(value, str):
        type_: MemoryType | None = "user" if title == "human" else None
        for piece in pieces(value):
            place = f"{name}, {title}"
            new = NewMemory(piece.text, type=type_, origin="import", source=(f"import:{place}",))
            yield Found(place, new)


def _listed(key: str) -> Callable[[str, dict[str, Any]], Iterator[Found]]:
    def read(name: str, loaded: dict[str, Any]) -> Iterator[Found]:
        for number, item in enumerate(loaded[key], 1):
            yield _item(f"{name} #{number}", item)

    return read


_SHAPES: tuple[
    tuple[
        Callable[[dict[str, Any]], bool], Callable[[str, dict[str, Any]], Iterator[Found]]
    ],
    ...,
] = (
    (lambda data: "reverie_export" in data and isinstance(data.get("memories"), list), _own),
    (lambda data: any(key in data for key in ("blocks", "core_memory", "passages")), _letta),
    (lambda data: isinstance(data.get("results"), list), _listed("results")),
    (lambda data: isinstance(data.get("memories"), list), _listed("memories")),
)  # fmt: skip


def _item(place: str, item: Any) -> Found:
    """Read a memory as Mem0 and similar tools write it: text, date, metadata."""
    if isinstance(item, str):
        return Found(place, NewMemory(item, origin="import", source=(f"import:{place}",)))
    if not isinstance(item, dict):
        return Found(place, Declined("it is not a memory: neither a text nor an object"))
    text = next((item[key] for key in _TEXT_KEYS if isinstance(item.get(key), str)), None)
    if text is None:
        return Found(place, Declined(f"it has no text under {', '.join(_TEXT_KEYS)}"))
    if item.get("state") in ("deleted", "archived") or item.get("is_deleted"):
        return Found(place, Declined("it was deleted or archived there"))
    new = NewMemory(
        text,
        type=_type(item),
        said=_day(item),
        origin="import",
        source=(
            f"import:{place.partition(' #')[0]}#{item['id']}"
            if item.get("id")
            else f"import:{place}",
        ),
        metadata=_metadata(item),
    )
    return Found(place, new)


def _metadata(item: dict[str, Any]) -> dict[str, Scalar] | None:
    """Plain values that the tool noted about a memory."""
    given = item.get("metadata")
    found: dict[str, Scalar] = {}
    for key, value in given.items() if isinstance(given, dict) else ():
        if isinstance(value, str | int | float | bool) and key != "type":
            found[str(key)] = value
    categories = item.get("categories")
    words = (
        [word for word in categories if isinstance(word, str)]
        if isinstance(categories, list)
        else []
    )
    if words:
        found["categories"] = ", ".join(words)
    return found or None


def _type(item: dict[str, Any]) -> MemoryType | None:
    metadata = item.get("metadata")
    about = metadata if isinstance(metadata, dict) else {}
    categories = item.get("categories")
    words = [
        item.get("type"),
        about.get("type"),
        *(categories if isinstance(categories, list) else ()),
    ]
    return next(
        (found for word in words if isinstance(word, str) and (found := parse_type(word))), None
    )


def _day(item: dict[str, Any]) -> date | None:
    for key in _DAY_KEYS:
        value = item.get(key)
        if isinstance(value, str):
            try:
                return datetime.fromisoformat(value).date()
            except ValueError:
                continue
    return None
