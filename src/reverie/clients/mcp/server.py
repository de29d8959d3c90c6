"""The MCP server for one project's memory.

Work that touches the disk runs in threads, so a slow search blocks no other request; the stores
serialize writes. A failing tool gives the client an error result, never a traceback.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types
from mcp.server import Server
from mcp.server.lowlevel import NotificationOptions
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from reverie import __version__
from reverie.clients.mcp import calls, writing
from reverie.clients.mcp.answers import Caller, Progress, sendable
from reverie.clients.mcp.calls import result_of
from reverie.clients.mcp.front import INSTRUCTIONS, NAME, TITLE
from reverie.clients.mcp.tools import BY_NAME, TOOLS
from reverie.errors import InputError, ReverieError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

    from reverie.workspace import Workspace

log = logging.getLogger(__name__)

T = TypeVar("T")
Context: TypeAlias = "ServerRequestContext[Any, Any]"

# As many as the protocol allows.
MOST_COMPLETED = 100
# How often the files are checked: an editor or another agent may change them.
LOOK_SECONDS = 2.0


class Subscriptions:
    """The addresses each client follows, and the version it last heard of.

    Any process may change a memory: clients are told when its text differs.
    """

    def __init__(self, version_of: Callable[[str], str]) -> None:
        self._version_of = version_of
        self._seen: dict[tuple[ServerSession, str], str] = {}
        self._watching: asyncio.Task[None] | None = None

    async def add(self, session: ServerSession, uri: str) -> None:
        self._seen[session, uri] = await asyncio.to_thread(self._version_of, uri)
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())

    def remove(self, session: ServerSession, uri: str) -> None:
        self._seen.pop((session, uri), None)

    async def _watch(self) -> None:
        while self._seen:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Compare every followed address with the version its clients last heard of."""
        for (session, uri), seen in list(self._seen.items()):
            now = await asyncio.to_thread(self._version_of, uri)
            if now != seen and (session, uri) in self._seen:
                self._seen[session, uri] = now
                try:
                    await session.send_resource_updated(uri)
                except Exception:  # noqa: BLE001 - the client is gone, and its session with it
                    with suppress(KeyError):
                        del self._seen[session, uri]


@dataclass(frozen=True, slots=True)
class RequestHandler:
    """Answers requests about one project; `session` is the caller's, if the environment names it."""

    app: Workspace
    session: str = ""
    subscriptions: Subscriptions = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "subscriptions", Subscriptions(self._version_of))

    def _version_of(self, uri: str) -> str:
        """A mark that changes with the text at an address; empty if there is none."""
        try:
            return hashlib.blake2b(writing.read(self.app, uri).encode(), digest_size=8).hexdigest()
        except ReverieError:
            return ""

    async def list_tools(
        self, context: Context, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult.model_validate({"tools": [tool.listed for tool in TOOLS]})

    async def call_tool(
        self, context: Context, params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        tool = BY_NAME.get(params.name)
        if tool is None:
            names = ", ".join(BY_NAME)
            raise MCPError(
                mcp_types.INVALID_PARAMS, f"there is no tool {params.name!r}; there are: {names}"
            )
        caller = replace(self._caller(context), progress=_progress(context))
        work = partial(result_of, self.app, tool, params.arguments, caller)
        result = await _in_thread(work, abandon=tool.reads)
        if not tool.reads and not result.get("isError"):
            await context.session.send_resource_list_changed()
        return mcp_types.CallToolResult.model_validate(result)

    async def list_resources(
        self, context: Context, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListResourcesResult:
        found = await _or_protocol_error(partial(writing.listed, self.app))
        return mcp_types.ListResourcesResult.model_validate(found)

    async def list_templates(
        self, context: Context, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListResourceTemplatesResult:
        return mcp_types.ListResourceTemplatesResult.model_validate(
            {"resourceTemplates": [writing.RESOURCE_TEMPLATE]}
        )

    async def read_resource(
        self, context: Context, params: mcp_types.ReadResourceRequestParams
    ) -> mcp_types.ReadResourceResult:
        uri = str(params.uri)
        text = await _or_protocol_error(partial(writing.read, self.app, uri))
        content = mcp_types.TextResourceContents(
            uri=uri, text=sendable(text), mime_type=writing.MARKDOWN
        )
        return mcp_types.ReadResourceResult(contents=[content])

    async def subscribe(
        self, context: Context, params: mcp_types.SubscribeRequestParams
    ) -> mcp_types.EmptyResult:
        """Tell this client when the memory at an address changes."""
        await self.subscriptions.add(context.session, str(params.uri))
        return mcp_types.EmptyResult()

    async def unsubscribe(
        self, context: Context, params: mcp_types.UnsubscribeRequestParams
    ) -> mcp_types.EmptyResult:
        self.subscriptions.remove(context.session, str(params.uri))
        return mcp_types.EmptyResult()

    async def complete(
        self, context: Context, params: mcp_types.CompleteRequestParams
    ) -> mcp_types.CompleteResult:
        """Names of memories that begin with, or else contain, what was typed."""
        typed = params.argument.value
        found = await _or_protocol_error(partial(writing.completed, self.app, typed))
        shown = found[:MOST_COMPLETED]
        more = len(found) > len(shown)
        return mcp_types.CompleteResult(
            completion=mcp_types.Completion(values=shown, total=len(found), has_more=more)
        )

    async def list_prompts(
        self, context: Context, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListPromptsResult:
        return mcp_types.ListPromptsResult.model_validate({"prompts": list(calls.PROMPTS)})

    async def get_prompt(
        self, context: Context, params: mcp_types.GetPromptRequestParams
    ) -> mcp_types.GetPromptResult:
        given = params.arguments or {}
        render = partial(calls.prompt_text, self.app, params.name, given, self._caller(context))
        content = _text(await _or_protocol_error(render))
        return mcp_types.GetPromptResult(
            messages=[mcp_types.PromptMessage(role="user", content=content)]
        )

    def _caller(self, context: Context) -> Caller:
        client = context.session.client_params
        meta: Mapping[str, Any] | None = dict(context.meta) if context.meta else None
        return Caller.of(client.client_info.name if client else "", meta, self.session)


def make_server(app: Workspace, session: str = "") -> Server[Any]:
    """The server over one project, ready for any transport."""
    handler = RequestHandler(app, session)
    return Server(
        NAME,
        version=__version__,
        title=TITLE,
        instructions=INSTRUCTIONS,
        on_list_tools=handler.list_tools,
        on_call_tool=handler.call_tool,
        on_list_resources=handler.list_resources,
        on_list_resource_templates=handler.list_templates,
        on_read_resource=handler.read_resource,
        on_list_prompts=handler.list_prompts,
        on_get_prompt=handler.get_prompt,
        on_subscribe_resource=handler.subscribe,
        on_unsubscribe_resource=handler.unsubscribe,
        on_completion=handler.complete,
    )


def _text(text: str) -> mcp_types.TextContent:
    return mcp_types.TextContent(type="text", text=sendable(text))


def _progress(context: Context) -> Progress:
    """Reports a slow tool's progress, from its thread, to a client that asked for it."""

    def report(done: int, total: int, message: str) -> None:
        # A client that has gone away needs no report.
        with suppress(Exception):
            anyio.from_thread.run(context.session.report_progress, done, total, message)

    return report


async def _in_thread(work: Callable[[], T], *, abandon: bool) -> T:
    """Run in a thread; `abandon` it if the request is cancelled, which is safe for reads only."""
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=abandon)


async def _or_protocol_error(work: Callable[[], T]) -> T:
    """Raise Reverie's errors as protocol errors: resources and prompts have no error results."""
    try:
        return await _in_thread(work, abandon=True)
    except InputError as error:
        raise MCPError(mcp_types.INVALID_PARAMS, str(error)) from error
    except ReverieError as error:
        raise MCPError(mcp_types.INTERNAL_ERROR, str(error)) from error


def serve_pipes(server: Server[Any], given: int, answers: int) -> None:
    """Serve on two pipes, behind the front, until the first one ends; both are closed."""
    anyio.run(_serve, server, given, answers)


async def _serve(server: Server[Any], given: int, answers: int) -> None:
    reading = os.fdopen(given, "r", encoding="utf-8", errors="replace")
    writing = os.fdopen(answers, "w", encoding="utf-8")
    options = server.create_initialization_options(NotificationOptions(resources_changed=True))
    with reading, writing:
        streams = stdio_server(anyio.wrap_file(reading), anyio.wrap_file(writing))
        async with streams as (incoming, outgoing):
            await server.run(incoming, outgoing, options)
