"""Permissions: whether a tool call is allowed, denied with a reason, or the person is asked."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from reverie.agent.tools import Access, Arguments, Tool, Workplace
from reverie.memory.format.paths import Refused, check_name

Mode: TypeAlias = Literal["ask", "accept-edits", "plan", "bypass"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call with valid arguments."""

    tool: Tool
    arguments: Arguments
    access: Access
    paths: tuple[Path, ...]

    @property
    def headline(self) -> str:
        return self.tool.headline(self.arguments)


@dataclass(frozen=True, slots=True)
class Allowed:
    pass


@dataclass(frozen=True, slots=True)
class Denied:
    """A refusal; the reason tells the model what to do instead."""

    reason: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to the person; `scope` is what "always" covers, `by` the sub-agent that asks."""

    question: str
    scope: str
    by: str = ""


Decision: TypeAlias = Allowed | Denied | Asked
Permission: TypeAlias = Callable[[Call], Decision]

Answer: TypeAlias = Literal["yes", "always", "no"]
Ask: TypeAlias = Callable[[Call, Asked], Awaitable[Answer]]

# What the person's hooks decide about a call before it is made; empty: nothing.
HooksSay: TypeAlias = Literal["", "allow", "ask"]

ALLOWED = Allowed()

_STEERING = frozenset({".git", ".reverie", ".claude"})


async def deny_unasked(call: Call, asked: Asked) -> Answer:
    """Refuse every question: for sessions without a person to ask."""
    return "no"


def by_mode(mode: Mode, workplace: Workplace) -> Permission:
    """The permission of a mode: reading is allowed, the rest is asked for, allowed, or denied."""

    def decide(call: Call) -> Decision:
        if call.access == "read" or mode == "bypass":
            return ALLOWED
        if mode == "plan":
            return Denied(
                f"{call.tool.name} would change something, and this is plan mode: "
                "read, think, and propose the change in words"
            )
        inside = bool(call.paths) and all(_ordinary(path, workplace.root) for path in call.paths)
        if mode == "accept-edits" and call.access == "edit" and inside:
            return ALLOWED
        return Asked(f"Allow {call.headline}?", _scope(call, inside=inside))

    return decide


def also_within(folder: Path, permission: Permission) -> Permission:
    """The same permission, plus edits inside the agent's own folder."""
    top = folder.resolve()

    def decide(call: Call) -> Decision:
        inside = bool(call.paths) and all(p.resolve().is_relative_to(top) for p in call.paths)
        return ALLOWED if call.access == "edit" and inside else permission(call)

    return decide


def only(tools: Iterable[str], files: Iterable[Path] = ()) -> Permission:
    """For forks: only these tools, and writing only to these files."""
    names = frozenset(tools)
    writable = frozenset(path.resolve() for path in files)

    def decide(call: Call) -> Decision:
        if call.tool.name not in names:
            allowed = ", ".join(sorted(names)) or "none"
            return Denied(f"{call.tool.name} may not be used here; allowed: {allowed}")
        if call.access == "read":
            return ALLOWED
        if call.paths and all(path.resolve() in writable for path in call.paths):
            return ALLOWED
        return Denied(f"{call.headline}: only {_names(writable)} may be written here")

    return decide


def nothing(call: Call) -> Decision:
    """For forks that use no tools."""
    return Denied(f"{call.tool.name} may not be used here; answer in words")


class Consent:
    """A permission that asks the person, and remembers what was always allowed."""

    def __init__(self, permission: Permission, ask: Ask = deny_unasked) -> None:
        self._permission = permission
        self._ask = ask
        self._always: set[str] = set()

    async def refusal(self, call: Call, hooks_say: HooksSay = "") -> str | None:
        """Why the call may not be made; None when it may.

        The person's hooks can answer the question in their place, or have a question asked that
        otherwise would not be; what is denied stays denied.
        """
        match self._permission(call):
            case Denied(reason):
                return reason
            case Allowed() if hooks_say == "ask":
                return await self._asked(call, Asked(f"A hook asks: allow {call.headline}?", ""))
            case Allowed():
                return None
            case Asked(_, scope) as asked:
                known = scope in self._always and hooks_say != "ask"
                return None if known or hooks_say == "allow" else await self._asked(call, asked)

    async def _asked(self, call: Call, asked: Asked) -> str | None:
        answer = await self._ask(call, asked)
        if answer == "always" and asked.scope:
            self._always.add(asked.scope)
        if answer == "no":
            return f"The user did not allow {call.headline}; ask what to do instead"
        return None


def _scope(call: Call, *, inside: bool) -> str:
    """What "always" covers: all edits inside the project, or exactly this call."""
    if call.access == "edit" and inside:
        return "edits in this project"
    return f"{call.tool.name}: {json.dumps(call.arguments, sort_keys=True, default=str)}"


def _ordinary(path: Path, root: Path) -> bool:
    """Whether it is a project file that cannot make git, Reverie or Claude Code run commands."""
    real, top = path.resolve(), root.resolve()
    if not real.is_relative_to(top):
        return False
    return not _STEERING & {part.casefold() for part in real.relative_to(top).parts}


def _names(paths: frozenset[Path]) -> str:
    return ", ".join(sorted(path.name for path in paths)) or "no file"


_LOOK = frozenset({"Read", "Grep", "Glob", "Bash"})
WRITING = frozenset({"Edit", "Write"})
# The tools that a fenced agent can use.
FENCED = _LOOK | WRITING


def fenced(folder: Path) -> Permission:
    """Reading is allowed, in a shell too; Edit and Write only for memories in `folder`."""
    root = folder.resolve()

    def decide(call: Call) -> Decision:
        name = call.tool.name
        if name in _LOOK and call.access == "read":
            return ALLOWED
        if name in _LOOK:
            return Denied(f"{call.headline}: only commands that certainly read may be run here")
        if name not in WRITING:
            return Denied(f"{name} may not be used here; Read, Grep, Glob, Edit and Write may")
        if call.paths and all(_is_memory(path, root) for path in call.paths):
            return ALLOWED
        return Denied(
            f"{call.headline}: only memories (.md) in their directory may be written here"
        )

    return decide


def _is_memory(path: Path, root: Path) -> bool:
    """Whether it is a memory in this folder after links are resolved."""
    real = path.resolve()
    if real == root or not real.is_relative_to(root) or real.suffix != ".md":
        return False
    return not isinstance(check_name(real.relative_to(root).as_posix()), Refused)
