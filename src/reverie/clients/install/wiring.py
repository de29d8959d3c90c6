"""Clients' folders, the options of an installation, and the shapes of hooks and servers."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from reverie.clients.install import entries
from reverie.clients.install.files import ClientFile
from reverie.clients.install.plan import Scope
from reverie.errors import InputError


@dataclass(frozen=True, slots=True)
class Places:
    """The folders where clients keep their configuration, with clients' own variables taken into account."""

    person: Path
    project: Path
    # Claude Code's folder, and the file with its state and the person's MCP servers.
    claude: Path
    claude_state: Path
    codex: Path
    opencode: Path

    @property
    def gemini(self) -> Path:
        return self.person / ".gemini"

    @property
    def cursor(self) -> Path:
        return self.person / ".cursor"


def program() -> str:
    """The path of the running `reverie`, else of the one beside this Python.

    Links are not resolved: their targets move when a package manager upgrades.
    """
    called = Path(sys.argv[0])
    beside = Path(sys.executable).with_name(entries.NAME)
    for path in (called, beside):
        if path.name == entries.NAME and path.is_file():
            return str(path.absolute())
    if found := shutil.which(entries.NAME):
        return str(Path(found).absolute())
    raise InputError(
        f"there is no `{entries.NAME}` command for clients to call; install it: pipx install {entries.NAME}"
    )


# How to combine Reverie's memory with the client's own: adopt the client's directory, keep ours
# beside it (its own is switched off), or install only the MCP server.
Way = Literal["adopt", "beside", "mcp"]
WAYS: tuple[Way, ...] = ("adopt", "beside", "mcp")


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """Options of one installation: the path of `reverie`, and whether to add the MCP server.

    `home` is empty for the default home.
    """

    places: Places
    scope: Scope
    program: str
    mcp: bool = True
    home: str = ""
    way: Way = "beside"

    @property
    def at(self) -> tuple[str, ...]:
        """The home as command-line options, as clients may not pass on our environment."""
        return (entries.HOME, self.home) if self.home else ()

    def hook(self, event: str, client: str) -> str:
        return entries.command_line(self.program, event, client, self.at)

    def hook_words(self, event: str, client: str) -> list[str]:
        """The hook command as words, to run it without a shell."""
        return entries.command_words(self.program, event, client, self.at)

    @property
    def server(self) -> list[str]:
        """The arguments that start the MCP server."""
        return ["mcp", *self.at]


@dataclass(frozen=True, slots=True)
class Client:
    """A coding agent: its name, its files, its hook events in order, and notes for the person.

    `answered` is the first event that is always answered while memory is on.
    """

    name: str
    title: str
    files: Callable[[InstallOptions], tuple[ClientFile, ...]]
    events: tuple[str, ...]
    answered: str
    notes: tuple[str, ...] = ()
    project_note: str = field(default="")


def grouped(
    client: str, options: InstallOptions, event: str, timeout: int, *, matcher: str | None = None
) -> entries.Hook:
    """A hook in the shape that Claude Code, Codex and Gemini share: a group with a matcher."""
    command: entries.Json = {
        "type": "command",
        "command": options.hook(event, client),
        "timeout": timeout,
    }
    group: entries.Json = {"hooks": [command]}
    return entries.Hook(event, group if matcher is None else {"matcher": matcher, **group})


def server(options: InstallOptions) -> tuple[entries.Entry, ...]:
    """The MCP server in the shape most clients share; empty if it is not wanted."""
    item: entries.Json = {"command": options.program, "args": options.server}
    return (entries.Server("mcpServers", item),) if options.mcp else ()
