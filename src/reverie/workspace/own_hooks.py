"""The hooks file of a person and of a project: commands by event, in the form of Claude Code's settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.settings.resolve import record_file
from reverie.settings.sources import SettingsFile, read_content

HOOKS = "hooks.json"
EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "SessionEnd",
)
# Events of Claude Code that do not happen here; a file written for it may name them.
PASSED_OVER = (
    "Notification",
    "PermissionRequest",
    "PostCompact",
    "PostToolBatch",
    "Setup",
)
SECONDS = 60.0
MOST_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Command:
    """One hook; `matcher` is a pattern for names of tools or types of agents, empty for all.

    `own`: it is from the person's own file, and so may allow a call without a question.
    """

    event: str
    command: str
    matcher: str = ""
    timeout: float = SECONDS
    own: bool = False

    def matches(self, tool: str) -> bool:
        if not self.matcher or self.matcher == "*":
            return True
        try:
            return re.fullmatch(self.matcher, tool) is not None
        except re.error:
            return self.matcher == tool


@dataclass(frozen=True, slots=True)
class ProjectHooks:
    """The hooks file inside a project, and the record of the person's answers about it."""

    path: Path
    record: Path

    def read(self) -> bytes:
        """Its bytes; empty if there is none. ValueError or OSError if it cannot be used."""
        if not self.path.exists():
            return b""
        return read_content(SettingsFile("project", self.path, self.path, self.record))


def hooks_file(home: Path, root: Path) -> ProjectHooks:
    return ProjectHooks(root.absolute() / ".reverie" / HOOKS, record_file(home, root))


def problem_in(content: bytes) -> str:
    """Why a hooks file cannot be used as it is; empty if it can."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        return f"this is not JSON ({error})"
    events = data.get("hooks") if isinstance(data, dict) else None
    if not isinstance(events, dict):
        return 'it should hold {"hooks": {EVENT: [...]}}'
    unknown = sorted(events.keys() - {*EVENTS, *PASSED_OVER})
    return f"{unknown[0]!r} is not an event; known: {', '.join(EVENTS)}" if unknown else ""


def commands_in(content: bytes) -> Iterator[Command]:
    """The commands of a hooks file; whatever is not understood is passed over."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return
    events = data.get("hooks") if isinstance(data, dict) else None
    for event, groups in events.items() if isinstance(events, dict) else ():
        if event not in EVENTS or not isinstance(groups, list):
            continue
        for group in groups:
            yield from _group(event, group)


def _group(event: str, group: Any) -> Iterator[Command]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    matcher = str(group.get("matcher") or "") if isinstance(group, dict) else ""
    for hook in hooks if isinstance(hooks, list) else ():
        if isinstance(hook, dict) and isinstance(command := hook.get("command"), str) and command:
            given = hook.get("timeout")
            seconds = float(given) if isinstance(given, int | float) and given > 0 else SECONDS
            yield Command(event, command, matcher, min(seconds, MOST_SECONDS))
