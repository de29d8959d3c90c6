"""The first messages of a client: answered before anything heavy is loaded, as the package would."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.session import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from mcp.server.lowlevel import NotificationOptions
from mcp_types import (
    INVALID_PARAMS,
    PromptReference,
    ResourceListChangedNotification,
    ResourceTemplateReference,
    ResourceUpdatedNotification,
)
from tests.clients.mcp.stage import CLIENT, Stage, call
from tests.clients.mcp.test_http import INITIALIZE
from tests.clients.mcp.test_process import Pipes
from tests.conversation.build import Said, user

from reverie.clients import hook_client
from reverie.clients.daemon import control
from reverie.clients.mcp import front, server
from reverie.clients.mcp.server import make_server

HEAVY = ("mcp", "mcp_types", "pydantic", "anyio", "numpy", "pygit2", "reverie.workspace", "click")
MODERN_FIRST = ("server/discover", "tools/list", "prompts/list", "resources/list")
# The server without the front.
PACKAGE_ALONE = """
from reverie.clients.mcp.server import make_server, serve_pipes
from reverie.workspace import Workspace
serve_pipes(make_server(Workspace.open(), ""), 0, 1)
"""
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def tool(number: int, name: str, **arguments: Any) -> dict[str, Any]:
    return request(number, "tools/call", name=name, arguments=arguments)


def test_nothing_heavy_is_loaded_for_the_first_answers() -> None:
    script = (
        "import sys, reverie.clients.mcp.front\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_greeting_is_the_packages_own(place: Stage) -> None:
    server = make_server(place.app())
    options = server.create_initialization_options(NotificationOptions(resources_changed=True))
    theirs = options.capabilities.model_dump(by_alias=True, exclude_none=True)
    assert theirs.pop("extensions", {}) == {}
    assert theirs == front.CAPABILITIES
    assert tuple(HANDSHAKE_PROTOCOL_VERSIONS) == front.VERSIONS
    assert tuple(MODERN_PROTOCOL_VERSIONS) == (front.MODERN,)
    assert (options.server_name, options.title) == (front.NAME, front.TITLE)


def test_lists_are_the_same_before_and_after_the_rest_is_loaded(place: Stage) -> None:
    pipes = Pipes(place)
    pipes.say(INITIALIZE, INITIALIZED, request(2, "tools/list"), request(3, "prompts/list"))
    greeting, tools, prompts = pipes.receive(), pipes.receive(), pipes.receive()
    assert greeting["result"]["protocolVersion"] == "2025-11-25"
    pipes.say(tool(4, "remember", text="The cellar is locked at night"))
    answers = [pipes.receive()]
    while answers[-1].get("id") != 4:
        answers.append(pipes.receive())
    assert answers[-1]["result"]["structuredContent"]["saved"] is True
    # The package was told the greeting, and its answer to it is not sent a second time.
    assert [answer.get("id") for answer in answers if "id" in answer] == [4]
    pipes.say(request(5, "tools/list"), request(6, "prompts/list"))
    assert pipes.receive()["result"] == tools["result"]
    assert pipes.receive()["result"] == prompts["result"]
    assert pipes.end()[0] == 0


def test_the_daemon_can_see_that_the_tools_were_told(place: Stage) -> None:
    pipes = Pipes(place)
    pipes.say(INITIALIZE, INITIALIZED, request(2, "tools/list"), request(3, "ping"))
    assert [pipes.receive()["id"] for _ in range(3)] == [INITIALIZE["id"], 2, 3]
    mark = place.home / hook_client.FOLDER / hook_client.LISTED / str(pipes.process.pid)
    assert mark.read_text() == str(place.root.resolve())
    pipes.end()


def modern(number: int, method: str, **params: Any) -> dict[str, Any]:
    """A request of a client that greets nobody and tells its version each time, as Claude Code 2.1.325."""
    prefix = "io.modelcontextprotocol/"
    client = {"name": "claude-code", "version": "2.1.325"}
    told = {"protocolVersion": front.MODERN, "clientInfo": client, "clientCapabilities": {}}
    meta = {f"{prefix}{name}": value for name, value in told.items()}
    return request(number, method, _meta=meta, **params)


def test_a_client_without_a_greeting_is_answered_as_the_package_would(place: Stage) -> None:
    place.write("project_cellar.md", "---\nname: Cellar\ntype: project\n---\nIt is locked.\n")
    asked = [modern(n, name) for n, name in enumerate(MODERN_FIRST)]
    pipes = Pipes(place)
    pipes.say(*asked)
    ours = sorted((pipes.receive() for _ in asked), key=lambda one: int(one["id"]))
    pipes.say(modern(9, "tools/call", name="list_memories", arguments={}))
    listed = pipes.receive()["result"]
    assert listed["resultType"] == "complete"
    assert pipes.end()[0] == 0
    package = Pipes(place, sys.executable, "-c", PACKAGE_ALONE)
    package.say(*asked)
    theirs = [package.receive() for _ in asked]
    assert sorted(theirs, key=lambda one: int(one["id"])) == ours
    package.end()


def test_an_unknown_version_of_the_protocol_gets_ours(place: Stage) -> None:
    pipes = Pipes(place)
    unknown = json.loads(json.dumps(INITIALIZE))
    unknown["params"]["protocolVersion"] = "1999-01-01"
    pipes.say(unknown)
    assert pipes.receive()["result"]["protocolVersion"] == "2025-11-25"
    assert pipes.end()[0] == 0


def test_settings_that_cannot_be_read_are_told_to_the_call(place: Stage) -> None:
    pipes = Pipes(place, REVERIE_RECALL_DEADLINE="soon")
    pipes.say(INITIALIZE, INITIALIZED, tool(2, "list_memories"))
    assert "result" in pipes.receive()
    assert "REVERIE_RECALL_DEADLINE" in pipes.receive()["error"]["message"]
    assert pipes.end()[0] == 0


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks into /proc")
def test_without_a_daemon_a_tool_that_reads_does_not_load_the_package(place: Stage) -> None:
    place.write(
        "tea.md",
        "---\nname: Tea\ndescription: Tea is in the cellar\ntype: project\n---\nIn the cellar.\n",
    )
    pipes = Pipes(place)
    pipes.say(INITIALIZE, INITIALIZED, tool(2, "recall", question="where is the tea?"))
    pipes.receive()
    assert "cellar" in json.dumps(pipes.receive())
    loaded = Path(f"/proc/{pipes.process.pid}/maps").read_text()
    assert "pygit2" in loaded
    assert "pydantic_core" not in loaded
    # A tool that writes needs it, and is answered as before.
    pipes.say(tool(3, "remember", text="The gate closes at ten"))
    assert "error" not in pipes.receive()
    assert pipes.end()[0] == 0


def test_a_tool_that_reads_is_answered_by_the_daemon(place: Stage) -> None:
    place.write(
        "tea.md",
        "---\nname: Tea\ndescription: Tea is in the cellar\ntype: project\n---\nIn the cellar.\n",
    )
    control.start(place.home)
    try:
        pipes = Pipes(place)
        pipes.say(INITIALIZE, INITIALIZED, tool(2, "recall", question="where is the tea?"))
        pipes.receive()
        found = pipes.receive()["result"]["structuredContent"]
        assert found["memories"][0]["file"] == "tea.md"
        pipes.say(tool(3, "recall", question=""))
        refused = pipes.receive()["result"]
        assert refused["isError"] is True
        assert "question must be longer" in refused["content"][0]["text"]
        told = control.status(place.home)
        assert told is not None
        assert told["events"]["mcp/tool"]["count"] == 2
        assert pipes.end()[0] == 0
    finally:
        control.stop(place.home)


@pytest.mark.anyio
class TestWhatTheProtocolOffers:
    async def test_names_are_completed(self, place: Stage, client: Client) -> None:
        await call(client, "remember", text="The boiler is serviced every March")
        argument = {"name": "file", "value": "project_the_boil"}
        reference = ResourceTemplateReference(type="ref/resource", uri="memory://{+file}")
        found = await client.complete(reference, argument)
        assert found.completion.values == ["project_the_boiler_is_serviced_every_march.md"]
        prompt = PromptReference(type="ref/prompt", name="recall")
        found = await client.complete(prompt, {"name": "topic", "value": "boiler"})
        assert found.completion.total == 1

    # Newer versions of the protocol have another way; clients of today use this one.
    @pytest.mark.filterwarnings("ignore:resources/")
    async def test_changes_are_told(self, place: Stage) -> None:
        heard: list[Any] = []
        changed = anyio.Event()

        async def hear(message: Any) -> None:
            heard.append(message)
            if isinstance(message, ResourceUpdatedNotification):
                changed.set()

        async with place.client(handler=hear) as client:
            saved = await call(client, "remember", text="The lift is inspected in June")
            await client.subscribe_resource(f"memory://{saved['file']}")
            path = place.directory / saved["file"]
            path.write_text(path.read_text().replace("June", "July"))
            with anyio.fail_after(20):
                await changed.wait()
            await client.unsubscribe_resource(f"memory://{saved['file']}")
        assert any(isinstance(one, ResourceListChangedNotification) for one in heard)
        updated = [one for one in heard if isinstance(one, ResourceUpdatedNotification)]
        assert str(updated[0].params.uri) == f"memory://{saved['file']}"

    async def test_progress_is_told(self, place: Stage) -> None:
        place.journal("s-past", Said(user("the walrus module is slow")))
        seen: list[tuple[float, float | None, str | None]] = []

        async def hear(done: float, total: float | None, message: str | None) -> None:
            seen.append((done, total, message))

        async with place.client() as client:
            await client.call_tool("search_past", {"words": "walrus"}, progress_callback=hear)
        assert seen
        assert "reading past conversations" in str(seen[-1][2])

    async def test_an_unknown_tool_is_a_protocol_error(self, place: Stage) -> None:
        pipes = Pipes(place)
        pipes.say(INITIALIZE, INITIALIZED, tool(2, "dream"))
        pipes.receive()
        assert pipes.receive()["error"]["code"] == INVALID_PARAMS
        assert pipes.end()[0] == 0


def test_files_are_looked_at_often_enough() -> None:
    assert server.LOOK_SECONDS <= 5
    assert CLIENT.name == "claude-code"
