"""Reverie's entries in a client's JSON file: adding, finding and removing them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from reverie.clients.install import json_text
from reverie.clients.install.json_text import Malformed, Node, Where

Json = dict[str, Any]

HOOKS = "hooks"
NAME = "reverie"
HOME = "--home"


@dataclass(frozen=True, slots=True)
class Hook:
    """One element in an event's list of hooks; `item` is its JSON."""

    event: str
    item: Json

    @property
    def where(self) -> Where:
        return (HOOKS, self.event)


@dataclass(frozen=True, slots=True)
class Server:
    """The MCP server, under the name `reverie` in the client's table of servers."""

    table: str
    item: Json

    @property
    def where(self) -> Where:
        return (self.table,)


@dataclass(frozen=True, slots=True)
class Default:
    """A member the client requires; an existing value is left alone."""

    key: str
    value: Any

    @property
    def where(self) -> Where:
        return ()


@dataclass(frozen=True, slots=True)
class Switch:
    """A setting of the client that we set while we are installed, unless the person has set it."""

    key: str
    value: Any

    @property
    def where(self) -> Where:
        return ()


Entry = Hook | Server | Default | Switch

# A hook never fails a client, even if the program is gone; `reverie doctor` reports that.
QUIET = " 2>/dev/null || :"


def command_words(program: str, event: str, client: str, at: Sequence[str] = ()) -> list[str]:
    """The words of a hook command; `at` are the options for a home other than the default."""
    return [program, "hook", event, "--client", client, *at]


def command_line(program: str, event: str, client: str, at: Sequence[str] = ()) -> str:
    """The hook command as a client runs it, through a shell."""
    return shlex.join(command_words(program, event, client, at)) + QUIET


def is_ours(command: object, client: str) -> bool:
    """Is this a hook command of Reverie, whatever the path of its program?"""
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command.removesuffix(QUIET))
    except ValueError:
        return False
    match words:
        case [program, "hook", _, "--client", named] | [
            program,
            "hook",
            _,
            "--client",
            named,
            "--home",
            _,
        ]:
            return named == client and PurePath(program).name == NAME
        case _:
            return False


def is_our_server(entry: object) -> bool:
    """Is this Reverie's MCP server? Clients write its command as a string or as a list."""
    if not isinstance(entry, dict):
        return False
    command, arguments = entry.get("command"), entry.get("args")
    words = [command] if isinstance(command, str) else command
    if isinstance(words, list) and isinstance(arguments, list):
        words = [*words, *arguments]
    return (
        isinstance(words, list)
        and all(isinstance(word, str) for word in words)
        and [PurePath(words[0]).name if words else "", *words[1:2]] == [NAME, "mcp"]
    )


# --- finding ---


def ours(value: Json, client: str, tables: Sequence[str]) -> Iterator[Where]:
    """The paths of our hooks and servers in a file's value."""
    hooks = value.get(HOOKS)
    for event, elements in hooks.items() if isinstance(hooks, dict) else ():
        for index, element in enumerate(elements if isinstance(elements, list) else ()):
            for inner in _in_element(element, client):
                yield (HOOKS, event, index, *inner)
    for table in tables:
        servers = value.get(table)
        if isinstance(servers, dict) and is_our_server(servers.get(NAME)):
            yield (table, NAME)


def _in_element(element: object, client: str) -> Iterator[Where]:
    """Our hooks in an element, which is a hook or a group of hooks; a group with only ours counts as one."""
    if not isinstance(element, dict):
        return
    if is_ours(element.get("command"), client):
        yield ()
    grouped = element.get(HOOKS)
    if not isinstance(grouped, list):
        return
    found = [
        index
        for index, hook in enumerate(grouped)
        if isinstance(hook, dict) and is_ours(hook.get("command"), client)
    ]
    if found and len(found) == len(grouped):
        yield ()
    else:
        yield from ((HOOKS, index) for index in found)


def holds(value: Json, entries: Sequence[Entry], client: str, tables: Sequence[str]) -> bool:
    """Does the value hold exactly these entries of ours, unchanged?"""
    wanted = sum(1 for entry in entries if not isinstance(entry, Default | Switch))
    found = sum(1 for _ in ours(value, client, tables))
    return found == wanted and all(_has(value, entry) for entry in entries)


def _has(value: Json, entry: Entry) -> bool:
    match entry:
        case Hook(event, item):
            elements = value.get(HOOKS, {}).get(event)
            return isinstance(elements, list) and item in elements
        case Server(table, item):
            there = value.get(table, {}).get(NAME, {})
            # The person may have added keys, such as environment variables.
            return all(there.get(key) == wanted for key, wanted in item.items())
        case Default(key) | Switch(key):
            return key in value


# --- changing ---


def with_entries(text: str, entries: Sequence[Entry], *, comments: bool) -> str:
    """The text with our entries added; it must not hold any yet."""
    for entry in entries:
        root = _object(text, comments=comments)
        match entry:
            case Hook(event, item):
                text = _appended(text, root, (HOOKS, event), item)
            case Server(table, item):
                text = set_member(text, root, (table,), NAME, item)
            case Default(key, value) | Switch(key, value) if root.find(key) is None:
                text = json_text.added(text, root, root, key, value)
            case Default() | Switch():
                pass
    return text


def _appended(text: str, root: Node, where: Where, item: Json) -> str:
    there = json_text.at(root, where)
    if there is None:
        return set_member(text, root, where[:-1], str(where[-1]), [item])
    if there.kind != "array":
        raise _unexpected(text, there, where, "a list")
    return json_text.added(text, root, there, None, item)


def set_member(text: str, root: Node, where: Where, key: str, value: object) -> str:
    """The text with a new member, and with the missing objects on the path to it."""
    container = root
    for depth, step in enumerate(where):
        inner = container.find(str(step))
        if inner is None:
            for missing in reversed(where[depth + 1 :]):
                value, key = {key: value}, str(missing)
            return json_text.added(text, root, container, str(step), {key: value})
        container = inner.value
        if container.kind != "object":
            raise _unexpected(text, container, where[: depth + 1], "an object")
    if (there := container.find(key)) is not None:
        raise _unexpected(text, there.value, (*where, key), "Reverie's entry")
    return json_text.added(text, root, container, key, value)


def _unexpected(text: str, node: Node, where: Where, wanted: str) -> Malformed:
    line = text.count("\n", 0, node.start) + 1
    return Malformed(f"{'.'.join(map(str, where))} is not {wanted}", line)


def _object(text: str, *, comments: bool) -> Node:
    root = json_text.parse(text, comments=comments)
    if root.kind != "object":
        raise Malformed("the file should hold an object", text.count("\n", 0, root.start) + 1)
    return root


def made(text: str, entries: Sequence[Entry], *, comments: bool) -> list[Where]:
    """The containers that adding our entries will create."""
    root = _object(text, comments=comments)
    wanted = {entry.where[:depth] for entry in entries for depth in range(1, 3)} - {()}
    wanted |= {(entry.key,) for entry in entries if isinstance(entry, Switch)}
    return sorted(
        (where for where in wanted if json_text.at(root, where) is None),
        key=lambda where: (len(where), where),
    )


def without_entries(
    text: str,
    client: str,
    tables: Sequence[str],
    made: Sequence[Where] | None,
    *,
    comments: bool,
    switches: Sequence[Switch] = (),
) -> str:
    """The text without our entries and without the empty containers that were `made` for them.

    If `made` is None, it is unknown: then every container that becomes empty is removed.
    """
    emptied: set[Where] = set()
    while found := next(ours(value_of(text, comments=comments), client, tables), None):
        text = json_text.without(text, found, comments=comments)
        emptied |= {found[:depth] for depth in range(1, len(found)) if depth < 3}
    for where in sorted(emptied if made is None else made, key=len, reverse=True):
        node = json_text.at(json_text.parse(text, comments=comments), where)
        if node is not None and node.kind != "scalar" and not node.items:
            text = json_text.without(text, where, comments=comments)
    for switch in switches:
        same = value_of(text, comments=comments).get(switch.key) == switch.value
        if same and (made is None or (switch.key,) in made):
            text = json_text.without(text, (switch.key,), comments=comments)
    return text


def value_of(text: str, *, comments: bool) -> Json:
    """The JSON object in a file's text."""
    value: Json = json_text.plain(text, _object(text, comments=comments))
    return value
