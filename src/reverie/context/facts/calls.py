"""What a tool call does, across the tool names of different agents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from reverie.core.messages import ToolUse

Kind: TypeAlias = Literal[
    "read", "edit", "write", "run", "search", "todos", "task", "plan", "question", "other"
]

LONGEST_TARGET = 300
LONGEST_PATH = 4_096

_KINDS: Mapping[str, Kind] = {
    "read": "read",
    "read_file": "read",
    "view": "read",
    "notebookread": "read",
    "edit": "edit",
    "multiedit": "edit",
    "notebookedit": "edit",
    "str_replace": "edit",
    "write": "write",
    "write_file": "write",
    "bash": "run",
    "shell": "run",
    "run_command": "run",
    "execute_bash": "run",
    "grep": "search",
    "glob": "search",
    "websearch": "search",
    "webfetch": "search",
    "search_memory": "search",
    "todo": "todos",
    "todowrite": "todos",
    "taskcreate": "task",
    "taskupdate": "task",
    "exitplanmode": "plan",
    "askuserquestion": "question",
}
_EDITORS = frozenset({"str_replace_editor", "str_replace_based_edit_tool"})
_EDITOR_COMMANDS: Mapping[str, Kind] = {
    "view": "read",
    "create": "write",
    "str_replace": "edit",
    "insert": "edit",
    "undo_edit": "edit",
}

_PATHS = ("file_path", "path", "notebook_path", "filename", "file")
_TARGETS: Mapping[Kind, tuple[str, ...]] = {
    "read": _PATHS,
    "edit": _PATHS,
    "write": _PATHS,
    "run": ("command", "cmd"),
    "search": ("pattern", "query", "url"),
    "task": ("subject", "status"),
}
_OTHER_TARGETS = ("description", "title", "query", "url", "skill", "name", "id")

_PART_END = re.compile(r"&&|\|\||;|\n")
# Prefixes of a command that are not part of it.
_BEFORE = re.compile(r"(?:\w+=\S*\s+|(?:sudo|time|env)\s+|timeout\s+\S+\s+)")
_GIT_PLACE = re.compile(r"git\s+-C\s+\S+")
_SUBCOMMAND = re.compile(r"[a-z][\w:-]*")
# Commands that only inspect something: two of them are the same only if they are identical.
_LOOKS = frozenset(
    ["ls", "cat", "grep", "rg", "sed", "awk", "find", "wc", "head", "tail", "echo", "stat", "jq"]
)

_PRINTS = frozenset({"cat", "nl", "head", "tail", "sed"})


@dataclass(frozen=True, slots=True)
class Action:
    """What a call does, and to which file, command or other target."""

    kind: Kind
    target: str
    tool: str

    @property
    def parts(self) -> frozenset[str]:
        """The parts of the action; a successful action with all parts of a failed one resolves it."""
        match self.kind:
            case "run":
                return command_parts(self.target)
            case "edit" | "write":
                return frozenset({f"change {self.target}"})
            case _:
                return frozenset({f"{self.tool} {self.target}"})

    @property
    def piped(self) -> bool:
        """Whether the command is a pipe, whose exit status hides failures of all but the last command."""
        return self.kind == "run" and "|" in self.target.replace("||", "")

    @property
    def headline(self) -> str:
        match self.kind:
            case "read" | "edit" | "write":
                return f"{self.kind} {shortened(self.target, LONGEST_TARGET)}"
            case "run":
                return f"`{self.target}`"
            case "search":
                return f"search for {self.target!r}"
            case _:
                return f"{self.tool}: {self.target}" if self.target else self.tool


def action_of(use: ToolUse) -> Action:
    """Classify a call; an unknown tool is "other"."""
    arguments = use.input
    name = use.name.lower()
    if name in _EDITORS:
        kind = _EDITOR_COMMANDS.get(str(arguments.get("command")), "other")
    else:
        kind = _KINDS.get(name, "other")
    target = _first_text(arguments, _TARGETS.get(kind, _OTHER_TARGETS))
    # Paths are kept whole, because files are read again by them.
    exact = kind in ("read", "edit", "write") and len(target) <= LONGEST_PATH
    return Action(kind, target if exact else shortened(target, LONGEST_TARGET), use.name)


def command_parts(line: str) -> frozenset[str]:
    """The programs that a line runs: `cd web && npm run test -- -v` is `npm run test`.

    Commands that only inspect something are kept with their arguments.
    """
    parts = _parts(line)
    return frozenset(part if _looks(part) or " -c " in part else _program(part) for part in parts)


def only_looks(line: str) -> bool:
    """Whether a line only inspects things, and so is not a step worth recording."""
    return all(_looks(part) for part in _parts(line))


def prints_files(line: str) -> bool:
    """Whether a line only prints files: the output can be read again, and was wanted in full."""
    parts = _parts(line)
    return bool(parts) and all(part.split()[0] in _PRINTS for part in parts)


def _parts(line: str) -> list[str]:
    """The commands of a line, without their prefixes and without `cd`."""
    found = []
    for part in _PART_END.split(line):
        bare = part.strip()
        while before := _BEFORE.match(bare):
            bare = bare[before.end() :]
        if bare and bare.split()[0] != "cd":
            found.append(_GIT_PLACE.sub("git", bare))
    return found


def _looks(part: str) -> bool:
    return part.split()[0] in _LOOKS


def _program(part: str) -> str:
    words = part.split()
    length = 1
    if words[1:2] in (["-m"], ["run"]):
        length = 3
    elif len(words) > 1 and _SUBCOMMAND.fullmatch(words[1]):
        length = 2
    return " ".join((words[0].rpartition("/")[2], *words[1:length]))


def shortened(text: str, longest: int) -> str:
    """One line of at most this many characters."""
    # Cut before splitting, so that a text of many megabytes costs little.
    line = " ".join(text[: longest * 4].split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def _first_text(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            value = " ".join(value)
        if isinstance(value, str) and value:
            return value
    return ""
