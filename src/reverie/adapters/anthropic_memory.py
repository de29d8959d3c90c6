"""The Anthropic memory tool on Reverie's store: its six commands on `/memories`.

The model sees the text it wrote. Frontmatter added by the store is hidden; frontmatter that the model or
a person wrote is part of the text. MEMORY.md can be read, and is updated automatically.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

from reverie.api.location import Location
from reverie.api.memory import open_for
from reverie.errors import InputError, ReverieError, WriteConflict
from reverie.memory.format import topic as topics
from reverie.memory.format.frontmatter import readable, writable
from reverie.memory.format.manifest import INDEX_FILE, is_index
from reverie.memory.format.paths import Refused, check_name
from reverie.memory.format.revisions import Author
from reverie.memory.format.taxonomy import APART
from reverie.memory.format.topic import Topic

try:
    from anthropic.lib.tools import (
        BetaAbstractMemoryTool,
        BetaAsyncAbstractMemoryTool,
        ToolError,
    )
except ImportError as error:
    raise InputError(
        "ReverieMemoryTool needs the package anthropic; install it with: "
        "pip install 'reverie[anthropic]'"
    ) from error

if TYPE_CHECKING:
    from anthropic.types import beta

    from reverie.api.memory import Memory
    from reverie.memory.changes.keeper import Keeper
    from reverie.ports import Stored

ROOT = "/memories"
MOST_LINES = 999_999
# In characters. `view_range` shows the rest of a longer file.
MOST_SHOWN = 16_000

_AGENT = Author("main")
_CONTEXT_LINES = 2

T = TypeVar("T")


class ReverieMemoryTool(BetaAbstractMemoryTool):
    """The tool for `anthropic.Anthropic`: pass it in `tools=[…]` of a tool runner."""

    def __init__(self, memory: Memory | None = None, *, cache_control: Any = None) -> None:
        """`memory` defaults to the project's."""
        super().__init__(cache_control=cache_control)
        self._files = _Files.of(memory)

    def view(self, command: beta.BetaMemoryTool20250818ViewCommand) -> str:
        return self._files.at(command.path).view(command.path, command.view_range)

    def create(self, command: beta.BetaMemoryTool20250818CreateCommand) -> str:
        return self._files.at(command.path).create(command.path, command.file_text)

    def str_replace(self, command: beta.BetaMemoryTool20250818StrReplaceCommand) -> str:
        new = getattr(command, "new_str", None) or ""
        return self._files.at(command.path).str_replace(command.path, command.old_str, new)

    def insert(self, command: beta.BetaMemoryTool20250818InsertCommand) -> str:
        files = self._files.at(command.path)
        return files.insert(command.path, command.insert_line, command.insert_text)

    def delete(self, command: beta.BetaMemoryTool20250818DeleteCommand) -> str:
        return self._files.at(command.path).delete(command.path)

    def rename(self, command: beta.BetaMemoryTool20250818RenameCommand) -> str:
        return self._files.at(command.old_path).rename(command.old_path, command.new_path)


class AsyncReverieMemoryTool(BetaAsyncAbstractMemoryTool):
    """The tool for `anthropic.AsyncAnthropic`; disk access runs in a thread."""

    def __init__(self, memory: Memory | None = None, *, cache_control: Any = None) -> None:
        """`memory` defaults to the project's."""
        super().__init__(cache_control=cache_control)
        self._tool = ReverieMemoryTool(memory)
        self._lock = threading.Lock()

    async def view(self, command: beta.BetaMemoryTool20250818ViewCommand) -> str:
        return await self._do(self._tool.view, command)

    async def create(self, command: beta.BetaMemoryTool20250818CreateCommand) -> str:
        return await self._do(self._tool.create, command)

    async def str_replace(self, command: beta.BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await self._do(self._tool.str_replace, command)

    async def insert(self, command: beta.BetaMemoryTool20250818InsertCommand) -> str:
        return await self._do(self._tool.insert, command)

    async def delete(self, command: beta.BetaMemoryTool20250818DeleteCommand) -> str:
        return await self._do(self._tool.delete, command)

    async def rename(self, command: beta.BetaMemoryTool20250818RenameCommand) -> str:
        return await self._do(self._tool.rename, command)

    async def _do(self, work: Callable[[T], str], command: T) -> str:
        return await asyncio.to_thread(self._locked, work, command)

    def _locked(self, work: Callable[[T], str], command: T) -> str:
        with self._lock:
            return work(command)


@contextmanager
def _tool_errors() -> Iterator[None]:
    """Turn Reverie's errors into tool errors, which the model sees and the agent survives."""
    try:
        yield
    except ReverieError as error:
        raise ToolError(f"Error: {error}") from error


class _Files:
    """A store's files as the folder the model sees; `person` holds the files of its `person` subfolder."""

    def __init__(self, keeper: Keeper, root: str = ROOT, person: _Files | None = None) -> None:
        self._keeper = keeper
        self._store = keeper.store
        self._root = root
        self._person = person

    @classmethod
    def of(cls, memory: Memory | None) -> _Files:
        app, given = open_for(memory, Location())
        opened = given or app.memory()
        about = next((part.keeper for part in opened.others if part.scope == "person"), None)
        return cls(opened.keeper, ROOT, None if about is None else cls(about, f"{ROOT}/person"))

    def at(self, path: str) -> _Files:
        """The files a path belongs to: these, or the person's."""
        person, plain = self._person, path.rstrip("/")
        if person is None:
            return self
        inside = plain.startswith(f"{person._root}/")
        return person if inside or (plain == person._root and person._store.listing()) else self

    @_tool_errors()
    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        inside = self._inside(path)
        if self._is_folder(inside):
            return self._listed(inside, path.rstrip("/"))
        lines = _lines(self._text(inside, path))
        if len(lines) > MOST_LINES:
            raise ToolError(f"File {path} exceeds maximum line limit of 999,999 lines.")
        first, last = _range(view_range, len(lines))
        shown = _cut(_numbered(lines, first, last), last)
        return f"Here's the content of {path} with line numbers:\n{shown}"

    @_tool_errors()
    def create(self, path: str, text: str) -> str:
        file = _file(self._inside(path))
        if self._store.current(file) is not None or self._is_folder(self._inside(path)):
            raise ToolError(f"Error: File {path} already exists")
        _require_topic(file, path)
        try:
            self._keeper.create(file, text, _AGENT)
        except WriteConflict as conflict:
            raise ToolError(f"Error: File {path} already exists") from conflict
        return f"File created successfully at: {path}{self._secrets_note(text)}"

    @_tool_errors()
    def str_replace(self, path: str, old: str, new: str) -> str:
        stored = self._require(path, f"Error: The path {path} does not exist. {_VALID}")
        text = _shown(stored.topic)
        if not old or old not in text:
            raise ToolError(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
            )
        places = _lines_with(text, old)
        if len(places) > 1:
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in "
                f"lines: {', '.join(map(str, places))}. Please ensure it is unique"
            )
        note = self._edit(stored, text.replace(old, new))
        lines = _lines(self._text(self._inside(path), path))
        first = max(1, places[0] - _CONTEXT_LINES)
        snippet = _numbered(lines, first, places[0] + new.count("\n") + _CONTEXT_LINES)
        return f"The memory file has been edited.{note}\n" + "\n".join(snippet)

    @_tool_errors()
    def insert(self, path: str, line: int, text: str) -> str:
        stored = self._require(path, f"Error: The path {path} does not exist")
        lines = _lines(_shown(stored.topic))
        if not 0 <= line <= len(lines):
            raise ToolError(
                f"Error: Invalid `insert_line` parameter: {line}. It should be within the "
                f"range of lines of the file: [0, {len(lines)}]"
            )
        lines.insert(line, text.removesuffix("\n"))
        note = self._edit(stored, "\n".join(lines) + "\n")
        return f"The file {path} has been edited.{note}"

    @_tool_errors()
    def delete(self, path: str) -> str:
        inside = self._inside(path)
        _require_inside(inside, "delete")
        files = self._below(inside) or [self._existing(inside, path)]
        self._keeper.forget_all(files, _AGENT)
        return f"Successfully deleted {path}"

    @_tool_errors()
    def rename(self, old_path: str, new_path: str) -> str:
        old, new = self._inside(old_path), self._inside(new_path)
        _require_inside(old, "rename")
        _require_inside(new, "rename to")
        if new.startswith(f"{old}/") and self._is_folder(old):
            raise ToolError(f"Error: Cannot rename {old_path} to a place inside itself")
        names = {name: f"{new}{name[len(old) :]}" for name in self._below(old)}
        names = names or {self._existing(old, old_path): _file(new)}
        taken = (self._store.current(name) is not None for name in names.values())
        if any(taken) or self._is_folder(new):
            raise ToolError(f"Error: The destination {new_path} already exists")
        for name in names.values():
            _require_topic(name, new_path)
        self._keeper.rename(names, _AGENT)
        return f"Successfully renamed {old_path} to {new_path}"

    def _inside(self, path: str) -> str:
        """The part of a path below the root; paths outside it are refused."""
        plain = path.rstrip("/")
        if plain == self._root:
            return ""
        if not plain.startswith(f"{self._root}/"):
            raise ToolError(f"Error: Path must start with {self._root}, got: {path}")
        inside = plain[len(self._root) + 1 :]
        verdict = check_name(_file(inside))
        if isinstance(verdict, Refused):
            raise ToolError(f"Error: {verdict.reason}")
        if verdict.path.parts[0].removesuffix(".md") in APART and "/" in inside:
            raise ToolError(f"Error: {path} is kept apart and cannot be reached from here")
        return inside

    def _edit(self, stored: Stored, text: str) -> str:
        """Save a new text; returns a note for the model."""
        topic = stored.topic
        fresh = self._keeper.reworded(topic, _with_text(topic, text))
        self._keeper.change(stored, fresh, _AGENT, f"edit {topic.name}")
        return self._secrets_note(text)

    def _secrets_note(self, text: str) -> str:
        """Tells the model if secrets were removed from its text."""
        found = self._keeper.secrets_in(text)
        return " Secrets in it were not stored; view the file to see it." if found else ""

    def _text(self, inside: str, path: str) -> str:
        missing = f"The path {path} does not exist. {_VALID}"
        if is_index(_file(inside)):
            data = self._store.current(_file(inside))
            if data is None:
                raise ToolError(missing)
            return data.decode("utf-8", "replace")
        return readable(_shown(self._require(path, missing).topic))

    def _require(self, path: str, missing: str) -> Stored:
        file = _file(self._inside(path))
        if self._is_folder(self._inside(path)) or (stored := self._store.read(file)) is None:
            raise ToolError(missing)
        _require_topic(file, path)
        return stored

    def _existing(self, inside: str, path: str) -> str:
        self._require(path, f"Error: The path {path} does not exist")
        return _file(inside)

    def _is_folder(self, inside: str) -> bool:
        return not inside or bool(self._below(inside))

    def _below(self, inside: str) -> list[str]:
        return sorted(name for name in self._store.listing() if name.startswith(f"{inside}/"))

    def _listed(self, inside: str, path: str) -> str:
        """The listing of a folder, two levels deep, with sizes."""
        sizes: dict[str, int] = {"": 0}
        for name, size in self._sizes(f"{inside}/" if inside else ""):
            sizes[""] += size
            first, *rest = name.split("/")
            for shown in _levels(first, rest):
                sizes[shown] = sizes.get(shown, 0) + size
        rows = [f"{_size(sizes[shown])}\t{path}{shown and f'/{shown}'}" for shown in sorted(sizes)]
        header = (
            f"Here're the files and directories up to 2 levels deep in {path}, "
            "excluding hidden items and node_modules:"
        )
        return "\n".join([header, *rows])

    def _sizes(self, prefix: str) -> Iterator[tuple[str, int]]:
        if not prefix and (index := self._store.current(INDEX_FILE)) is not None:
            yield INDEX_FILE, len(index)
        for name, (_, size, _) in self._store.listing().items():
            if name.startswith(prefix):
                yield name[len(prefix) :], size
        if not prefix and self._person is not None:
            yield from ((f"person/{name}", size) for name, size in self._person._sizes(""))


_VALID = "Please provide a valid path."


def _file(inside: str) -> str:
    """The file for a path; every memory is markdown, so `.md` is appended if missing."""
    return inside if inside.endswith(".md") else f"{inside}.md"


def _require_inside(inside: str, verb: str) -> None:
    if not inside:
        raise ToolError(f"Error: Cannot {verb} the {ROOT} directory itself")


def _require_topic(file: str, path: str) -> None:
    if is_index(file):
        raise ToolError(f"Error: {path} is an index; it is updated automatically")


def _shown(topic: Topic) -> str:
    """The text without the frontmatter, if the store added it."""
    return topic.body if topic.created is not None else topic.document.text


def _with_text(topic: Topic, text: str) -> Topic:
    """The same memory with another text."""
    if topic.created is None:
        return topics.parse(writable(text).encode("utf-8", "surrogateescape"), topic.file)
    return topic.with_(body=text)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _lines_with(text: str, part: str) -> list[int]:
    """The number of the line of each occurrence, overlapping ones as well."""
    found = re.finditer(f"(?={re.escape(part)})", text)
    return [text.count("\n", 0, one.start()) + 1 for one in found]


def _range(wanted: Sequence[int] | None, count: int) -> tuple[int, int]:
    if not wanted:
        return 1, count
    first, last = wanted if len(wanted) == 2 else (0, 0)
    if not (1 <= first <= max(1, count) and (last == -1 or last >= first)):
        raise ToolError(
            f"Error: Invalid `view_range` parameter: {list(wanted)}. It should be [first, last], "
            f"with lines from 1 to {count}, or -1 for the last"
        )
    return first, count if last == -1 else min(last, count)


def _numbered(lines: Sequence[str], first: int, last: int) -> list[str]:
    chosen = lines[first - 1 : last]
    return [f"{number:>6}\t{line}" for number, line in enumerate(chosen, first)]


def _cut(rows: Sequence[str], last: int) -> str:
    """As many whole lines as fit, at least one, and how to see the rest."""
    sizes = accumulate(len(row) + 1 for row in rows)
    kept = max(1, sum(size <= MOST_SHOWN for size in sizes))
    shown = "\n".join(rows[:kept])
    if kept >= len(rows):
        return shown
    begin = last - len(rows) + kept + 1
    return f"{shown}\n(cut here; lines {begin} to {last} can be seen with view_range)"


def _levels(first: str, rest: Sequence[str]) -> Iterator[str]:
    """The rows of a listing to which a file's size is added."""
    yield f"{first}/" if rest else first
    if rest:
        yield f"{first}/{rest[0]}/" if len(rest) > 1 else f"{first}/{rest[0]}"


def _size(count: int) -> str:
    return f"{count}B" if count < 1024 else f"{count / 1024:.1f}K"
