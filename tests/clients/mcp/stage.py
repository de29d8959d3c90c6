"""A home, a project and a real MCP server for them, with the SDK's own client."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import Implementation

from reverie.conversation.journal import Journal
from reverie.conversation.records import Record
from reverie.workspace import Workspace

SESSION = "5e55104e-aaaa-4bbb-8ccc-0123456789ab"
CLIENT = Implementation(name="claude-code", version="2.1.325")


class Stage:
    """Scratch folders that live as long as one server."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.person = base / "person"
        self.home = self.person / ".reverie"
        self.root = base / "project"
        self.errors = base / "stderr.txt"
        self.person.mkdir()
        self.root.mkdir()

    def app(self) -> Workspace:
        return Workspace.open(self.root, home=self.home)

    @property
    def directory(self) -> Path:
        return self.app().memory_location.directory

    def write(self, file: str, text: str) -> None:
        """A memory as a person would write it, with an editor."""
        path = self.directory / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def journal(self, session: str, *records: Record, age: float = 0) -> None:
        path = self.app().project.journal(session)
        with Journal(path) as journal:
            journal.append(*records)
        seen = path.stat().st_mtime
        os.utime(path, (seen - age, seen - age))

    def environment(self, **more: str) -> dict[str, str]:
        kept = ("PATH", "PYTHONPATH", "LANG", "TZ", "COVERAGE_PROCESS_START")
        inherited = {name: os.environ[name] for name in kept if name in os.environ}
        return {**inherited, "HOME": str(self.person), **more}

    @asynccontextmanager
    async def client(
        self, *arguments: str, handler: Any = None, **env: str
    ) -> AsyncIterator[Client]:
        """A client on a server of its own; `handler` hears what the server sends unasked."""
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-m", "reverie", "mcp", *arguments],
            env=self.environment(**env),
            cwd=self.root,
        )
        with self.errors.open("a") as errors:
            transport = stdio_client(parameters, errlog=errors)
            async with Client(
                transport,
                client_info=CLIENT,
                mode="legacy",
                cache=None,
                read_timeout_seconds=30,
                message_handler=handler,
            ) as client:
                yield client


@contextmanager
def stage(base: Path) -> Iterator[Stage]:
    """Isolated from the files and settings of the person who runs the tests."""
    made = Stage(base)
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("REVERIE_", "CLAUDE"))]:
            patch.delenv(name)
        patch.setenv("HOME", str(made.person))
        yield made


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """The data of a call that went well."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def text_of(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.content[0].text


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The message of a call that must fail, without data."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    [message] = result.content
    assert "Traceback" not in message.text
    return message.text
