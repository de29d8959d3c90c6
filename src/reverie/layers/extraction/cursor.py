"""When extraction runs and over which messages: the cursor, and who else wrote meanwhile."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reverie.agent.shell_commands import reads_only
from reverie.core.messages import Message, ToolUse
from reverie.layers import NotDue
from reverie.layers.facts.calls import deed_of

_PATHS = ("file_path", "path", "notebook_path")
_COMMANDS = ("command", "cmd")


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the session knows when a turn ends."""

    memory_on: bool
    extract_on: bool
    main_agent: bool
    final_reply: bool
    running: bool
    new_messages: int
    turns: int = 1
    every: int = 1
    cap_allows: bool = True


@dataclass(frozen=True, slots=True)
class Due:
    reason: str


def due(conditions: Conditions) -> Due | NotDue:
    """Whether to look for memories now; `turns` counts those since the last look."""
    c = conditions
    gates = (
        (c.memory_on, "memory is off"),
        (c.extract_on, "extraction is off"),
        (c.main_agent, "only the main agent's conversation is read"),
        (c.final_reply, "the reply still calls tools"),
        (c.new_messages > 0, "nothing was said since the last look"),
        (c.turns >= c.every, f"turn {c.turns} of {c.every}"),
        (c.cap_allows, "the spending cap is reached"),
        (not c.running, "an extraction is running; this turn waits for it"),
    )
    closed = next((reason for is_open, reason in gates if not is_open), None)
    if closed is not None:
        return NotDue(closed)
    return Due(f"{c.new_messages} new messages")


def new_messages(messages: Sequence[Message], cursor_id: str | None) -> tuple[Message, ...]:
    """What was said after the cursor; all that is visible when its message is gone."""
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].id == cursor_id:
            return tuple(messages[place + 1 :])
    return tuple(messages)


def agent_wrote(messages: Iterable[Message], *memory_dirs: str) -> bool:
    """Did the agent itself write into a memory directory? A call that failed wrote nothing."""
    roots = [posixpath.normpath(folder) for folder in memory_dirs]
    writes: set[str] = set()
    failed: set[str] = set()
    for message in messages:
        writes |= {
            use.id for use in message.tool_uses if any(_writes_into(use, root) for root in roots)
        }
        failed |= {result.tool_use_id for result in message.tool_results if result.is_error}
    return bool(writes - failed)


def _writes_into(use: ToolUse, root: str) -> bool:
    match deed_of(use).kind:
        case "edit" | "write":
            return any(_within(path, root) for path in _texts(use, _PATHS))
        case "run":
            return any(
                _names(line, root) and not reads_only(line) for line in _texts(use, _COMMANDS)
            )
        case _:
            return False


def _texts(use: ToolUse, keys: Sequence[str]) -> list[str]:
    arguments = use.input
    return [value for key in keys if isinstance(value := arguments.get(key), str)]


def _within(path: str, root: str) -> bool:
    if path.startswith("~/"):
        inner = posixpath.normpath(path[2:])
        return any(_below(inner, tail) for tail in _tails(root))
    return _below(posixpath.normpath(path), root)


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")


def _tails(root: str) -> list[str]:
    """What may follow the home folder, which is not known here: at least two names."""
    parts = root.split("/")
    return ["/".join(parts[at:]) for at in range(1, len(parts) - 1)]


def _names(line: str, root: str) -> bool:
    """Does a command line speak of the directory, in full or from a home folder on?"""
    if root in line:
        return True
    return any(
        f"{home}/{tail}" in line for home in ("~", "$HOME", "${HOME}") for tail in _tails(root)
    )
