"""Where each client keeps its configuration, for a person and for a project."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from reverie.clients.install.entries import HOME, NAME, Entry, Hook, Json, Server, command_line
from reverie.clients.install.files import ClientFile
from reverie.clients.install.plan import Scope
from reverie.errors import InputError


@dataclass(frozen=True, slots=True)
class Places:
    """The folders clients look into; their own variables were honoured when this was made."""

    person: Path
    project: Path
    # Claude Code: its folder, and the file it keeps its own state and the person's servers in.
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
    """The `reverie` that runs now: by what it was called, else the one beside this Python.

    Links are kept: what a package manager links to moves with every upgrade.
    """
    called = Path(sys.argv[0])
    beside = Path(sys.executable).with_name(NAME)
    for path in (called, beside):
        if path.name == NAME and path.is_file():
            return str(path.absolute())
    if found := shutil.which(NAME):
        return str(Path(found).absolute())
    raise InputError(
        f"there is no `{NAME}` command for clients to call; install it: pipx install {NAME}"
    )


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """One installation as it was asked for: the path of `reverie`, and whether its server is wanted.

    `home` is empty for the usual one.
    """

    places: Places
    scope: Scope
    program: str
    mcp: bool = True
    home: str = ""

    @property
    def at(self) -> tuple[str, ...]:
        """What every command says of the home: clients may not have our environment."""
        return (HOME, self.home) if self.home else ()

    def hook(self, event: str, client: str) -> str:
        return command_line(self.program, event, client, self.at)

    @property
    def server(self) -> list[str]:
        """The arguments that start the MCP server."""
        return ["mcp", *self.at]


@dataclass(frozen=True, slots=True)
class Client:
    """A coding agent: its name, its files, the events it tells of in their order, and what to know.

    `answered` is the first event that is always answered while memory is on, `plain` are those whose
    answer is text and not JSON.
    """

    name: str
    title: str
    files: Callable[[InstallOptions], tuple[ClientFile, ...]]
    events: tuple[str, ...]
    answered: str
    plain: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    project_note: str = field(default="")


def grouped(
    client: str, wish: InstallOptions, event: str, timeout: int, *, matcher: str | None = None
) -> Hook:
    """A hook in the shape Claude Code, Codex and Gemini share: a group with a matcher."""
    command: Json = {
        "type": "command",
        "command": wish.hook(event, client),
        "timeout": timeout,
    }
    group: Json = {"hooks": [command]}
    return Hook(event, group if matcher is None else {"matcher": matcher, **group})


def server(wish: InstallOptions) -> tuple[Entry, ...]:
    """The MCP server in the shape most clients share, if it is wanted."""
    item: Json = {"command": wish.program, "args": wish.server}
    return (Server("mcpServers", item),) if wish.mcp else ()
