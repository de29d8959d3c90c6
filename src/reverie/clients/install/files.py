"""The kinds of client files Reverie writes into: JSON, TOML, and whole files of its own."""

from __future__ import annotations

import json
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from reverie.clients.install import entries
from reverie.clients.install.entries import Entry, Server, Switch
from reverie.clients.install.json_text import Malformed, Where

_AT = re.compile(r"(?s)(.*) \(at (?:line (\d+), column \d+|end of document)\)$")
_HEADER = re.compile(
    r"""[ \t]*\[{1,2}(?P<name>(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\]"'#\n])*)\]{1,2}[ \t]*(?:\#.*)?$"""
)

Value = str | Sequence[str]


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a file. Raises Malformed, with the line."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except RecursionError:
        raise Malformed("nested too deeply", 1) from None
    except ValueError as error:
        found = _AT.match(str(error))
        last = text.count("\n") + 1
        if found is None:
            raise Malformed(str(error), last) from None
        raise Malformed(found[1], int(found[2] or last)) from None


def toml_table(value: Mapping[str, Any], name: Sequence[str]) -> Any:
    """The table with a dotted name; None if there is none."""
    found: Any = value
    for part in name:
        found = found.get(part) if isinstance(found, dict) else None
    return found


def toml_added(text: str, name: Sequence[str], values: Mapping[str, Value], note: str) -> str:
    """The text with a table at its end, under a comment with `note`."""
    newline = "\r\n" if "\r\n" in text else "\n"
    body = text + (newline if text and not text.endswith("\n") else "")
    lines = [f"# {note}", f"[{'.'.join(name)}]"]
    # JSON strings and lists of strings are valid TOML.
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    gap = newline if body.strip() else ""
    result = body + gap + newline.join(lines) + newline
    try:
        parse_toml(result)
    except Malformed as clash:
        dotted = ".".join(name)
        raise Malformed(
            f"{name[0]} is written in a way that allows no [{dotted}] table ({clash.reason})",
            _line_of(text, name[0]),
        ) from None
    return result


def toml_removed(text: str, name: Sequence[str], note: str) -> str:
    """The text without that table, its subtables, and the comment above it."""
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    inside = False
    pending: list[str] = []
    for line in lines:
        header = _HEADER.match(line.rstrip("\r\n"))
        if header:
            was, inside = inside, _names(header["name"])[: len(name)] == list(name)
            if inside and not was:
                _drop_note(kept, note)
            elif was and not inside:
                # Blank lines and comments above the next table belong to that table.
                kept += pending
            pending = []
        if not inside:
            kept.append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            pending = []
        else:
            pending.append(line)
    if inside:
        kept += [line for line in pending if line.strip()]
    result = "".join(kept)
    _check(text, result, name)
    return result


def _drop_note(kept: list[str], note: str) -> None:
    """Remove our comment, and the blank line that was added before it."""
    if kept and kept[-1].strip() == f"# {note}":
        kept.pop()
        if kept and not kept[-1].strip():
            kept.pop()


def _names(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]


def _check(before: str, after: str, name: Sequence[str]) -> None:
    """Check that only that table is gone."""
    wanted = parse_toml(before)
    holder = toml_table(wanted, name[:-1])
    if isinstance(holder, dict):
        holder.pop(name[-1], None)
        _prune(wanted, name[:-1])
    try:
        left = parse_toml(after)
    except Malformed:
        left = {}
    _prune(left, name[:-1])
    if left != wanted:
        dotted = ".".join(name)
        raise Malformed(
            f"[{dotted}] cannot be told apart from the text around it; remove it by hand",
            _line_of(before, name[-1]),
        )


def _prune(value: dict[str, Any], name: Sequence[str]) -> None:
    """Remove an empty table, which existed only through its subtables."""
    if toml_table(value, name) == {}:
        toml_table(value, name[:-1]).pop(name[-1])


def _line_of(text: str, word: str) -> int:
    place = text.find(word)
    return text.count("\n", 0, max(place, 0)) + 1


NOTE = "Written by `reverie install`; `reverie uninstall` takes it out again."
SERVERS = ("mcp_servers", entries.NAME)


@dataclass(frozen=True, slots=True)
class ClientFile(ABC):
    """One file of a client, edited as text; None stands for a file that does not exist."""

    role: str
    path: Path

    @property
    def wanted(self) -> bool:
        """Should the file hold any of our entries?"""
        return True

    def moved(self, path: Path) -> Self:
        """The same file at another path."""
        return replace(self, path=path)

    @abstractmethod
    def holds(self, text: str | None) -> bool:
        """Does the file hold all our entries, up to date?"""

    def present(self, text: str | None) -> bool:
        """Does the file hold any of our entries?"""
        return self.holds(text)

    @abstractmethod
    def added(self, base: str | None, current: str | None) -> str | None:
        """`base`, which has none of our entries, with them added; `current` is the text on disk."""

    @abstractmethod
    def removed(self, text: str, made: Sequence[Where] | None, *, created: bool) -> str | None:
        """The text without our entries; None if nothing is left of a file we `created`."""

    def made(self, base: str | None) -> list[Where]:
        """The containers that `added` will create."""
        return []


@dataclass(frozen=True, slots=True)
class JsonFile(ClientFile):
    """Hooks and the MCP server in JSON; `comments` if the client accepts comments."""

    client: str
    entries: tuple[Entry, ...]
    # The table that holds our server, if the file has one.
    table: str | None = None
    comments: bool = False
    # What an installation of any kind may have switched.
    switches: tuple[Switch, ...] = ()

    @property
    def wanted(self) -> bool:
        return bool(self.entries)

    def holds(self, text: str | None) -> bool:
        value = entries.value_of(_object(text), comments=self.comments)
        return entries.holds(value, self.entries, self.client, self._tables)

    def present(self, text: str | None) -> bool:
        value = entries.value_of(_object(text), comments=self.comments)
        return any(True for _ in entries.ours(value, self.client, self._tables))

    def added(self, base: str | None, current: str | None) -> str | None:
        if not self.entries:
            return base
        wanted = [self._kept(entry, current) for entry in self.entries]
        return entries.with_entries(_object(base), wanted, comments=self.comments)

    def removed(self, text: str, made: Sequence[Where] | None, *, created: bool) -> str | None:
        switched = any((switch.key,) in (made or ()) for switch in self.switches)
        if not self.present(text) and not switched:
            return text
        left = entries.without_entries(
            text, self.client, self._tables, made, comments=self.comments, switches=self.switches
        )
        ours = {entry.key for entry in self.entries if isinstance(entry, entries.Default)}
        value = entries.value_of(left, comments=self.comments)
        return None if created and value.keys() <= ours else left

    def made(self, base: str | None) -> list[Where]:
        return entries.made(_object(base), self.entries, comments=self.comments)

    @property
    def _tables(self) -> tuple[str, ...]:
        return () if self.table is None else (self.table,)

    def _kept(self, entry: Entry, current: str | None) -> Entry:
        """Our server, with the keys the person added to it, such as environment variables."""
        if not isinstance(entry, Server):
            return entry
        servers = entries.value_of(_object(current), comments=self.comments).get(entry.table)
        there = servers.get(entries.NAME) if isinstance(servers, dict) else None
        if isinstance(there, dict) and entries.is_our_server(there):
            return Server(entry.table, {**there, **entry.item})
        return entry


def _object(text: str | None) -> str:
    """Treat a missing or blank file as an empty object."""
    return text if text is not None and text.strip() else "{}\n"


@dataclass(frozen=True, slots=True)
class TomlFile(ClientFile):
    """The MCP server as a table in Codex's configuration."""

    program: str
    arguments: Sequence[str]
    with_server: bool

    @property
    def wanted(self) -> bool:
        return self.with_server

    def holds(self, text: str | None) -> bool:
        there = toml_table(parse_toml(text or ""), SERVERS)
        wanted = self._values
        return isinstance(there, dict) and all(there.get(key) == wanted[key] for key in wanted)

    def present(self, text: str | None) -> bool:
        return entries.is_our_server(toml_table(parse_toml(text or ""), SERVERS))

    def added(self, base: str | None, current: str | None) -> str | None:
        if not self.wanted:
            return base
        if toml_table(parse_toml(base or ""), SERVERS) is not None:
            line = (base or "").partition(entries.NAME)[0].count("\n") + 1
            raise Malformed(f"{'.'.join(SERVERS)} is not Reverie's entry", line)
        return toml_added(base or "", SERVERS, self._values, NOTE)

    def removed(self, text: str, made: Sequence[Where] | None, *, created: bool) -> str | None:
        left = toml_removed(text, SERVERS, NOTE) if self.present(text) else text
        return None if created and not left.strip() else left

    @property
    def _values(self) -> dict[str, str | list[str]]:
        return {"command": self.program, "args": [*self.arguments]}


@dataclass(frozen=True, slots=True)
class WholeFile(ClientFile):
    """A file that Reverie owns entirely; its first line says so."""

    text: str

    def holds(self, text: str | None) -> bool:
        return text == self.text

    def present(self, text: str | None) -> bool:
        return NOTE in (text or "").partition("\n")[0]

    def added(self, base: str | None, current: str | None) -> str:
        if base is not None:
            raise Malformed("this file is not Reverie's; move it away", 1)
        return self.text

    def removed(self, text: str, made: Sequence[Where] | None, *, created: bool) -> str | None:
        return None if self.present(text) else text
