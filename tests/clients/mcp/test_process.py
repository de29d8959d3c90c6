"""The server as a process: what it says on its pipes, and how it ends."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client
from tests.cli.run import hears_signals, run
from tests.clients.mcp.stage import Stage, call, refused
from tests.clients.mcp.test_http import INITIALIZE
from tests.conversation import claude_lines as claude
from tests.conversation.build import write_lines

from reverie.workspace import Workspace

PING = {"jsonrpc": "2.0", "id": 9, "method": "ping"}


class Pipes:
    """The server's process and its pipes, without a client library."""

    def __init__(self, place: Stage, *command: str, **env: str) -> None:
        self.process = subprocess.Popen(
            command or [sys.executable, "-m", "reverie", "mcp"],
            cwd=place.root,
            env=place.environment(**env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=hears_signals,
        )
        self._read = b""

    def say(self, *lines: object) -> None:
        assert self.process.stdin is not None
        for line in lines:
            data = line if isinstance(line, bytes) else json.dumps(line).encode()
            self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        """The next line. Several may come at once, so what was read beyond it is kept."""
        assert self.process.stdout is not None
        while b"\n" not in self._read:
            if not select.select([self.process.stdout], [], [], 120)[0]:
                self.process.kill()
            more = os.read(self.process.stdout.fileno(), 65_536)
            if not more:
                _, errors = self.process.communicate(timeout=120)
                pytest.fail(f"no answer; stderr: {errors.decode()}")
            self._read += more
        line, _, self._read = self._read.partition(b"\n")
        return json.loads(line)

    def end(self) -> tuple[int, bytes, bytes]:
        out, errors = self.process.communicate(timeout=120)
        return self.process.returncode, self._read + out, errors


@pytest.fixture
def pipes(place: Stage) -> Iterator[Pipes]:
    made = Pipes(place)
    yield made
    made.process.kill()
    made.process.communicate()


def test_malformed_lines_do_not_end_it(pipes: Pipes) -> None:
    pipes.say(INITIALIZE)
    assert pipes.receive()["result"]["serverInfo"]["name"] == "reverie"
    pipes.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    bad = (
        b"{no json",
        b"",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"jsonrpc":"1.0"}',
        b'"' + b"x" * 99_999,
    )
    pipes.say(
        *bad, {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": 7}}, PING
    )
    answers: dict[object, Any] = {}
    while 9 not in answers:
        answer = pipes.receive()
        answers[answer.get("id")] = answer
    assert answers[9]["result"] is not None
    assert "error" in answers[3]
    assert "Traceback" not in json.dumps(list(answers.values()))


def test_it_ends_with_its_input_and_says_nothing_else(pipes: Pipes) -> None:
    pipes.say(INITIALIZE)
    pipes.receive()
    assert pipes.end() == (0, b"", b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_on_signals(pipes: Pipes, number: int) -> None:
    pipes.say(INITIALIZE)
    pipes.receive()
    pipes.process.send_signal(number)
    assert pipes.process.wait(10) == 0
    assert pipes.end() == (0, b"", b"")


def test_the_list_of_tools_loads_no_search(place: Stage) -> None:
    script = (
        "import sys, reverie.clients.mcp.server\n"
        "print([name for name in ('numpy', 'pygit2', 'rich', 'reverie.recall.index') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("missing", ["mcp", "mcp_types", "anyio"])
def test_a_missing_package_is_reported_in_one_line(place: Stage, missing: str) -> None:
    script = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['reverie', 'mcp']\n"
        "from reverie.cli import main; main()"
    )
    code, out, errors = Pipes(place, sys.executable, "-c", script).end()
    assert (code, out) == (1, b"")
    assert errors.decode().splitlines() == [
        "reverie: `reverie mcp` needs the package mcp, 2.3 or newer; "
        "install it with: pip install 'reverie[mcp]'"
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--project", "/nowhere"], 1, "is not a folder"),
        (["--token-file", "x"], 2, "--port and --token-file go with --http"),
        (["--port", "8765"], 2, "--port and --token-file go with --http"),
        (["--port", "70000", "--http"], 2, "70000"),
    ],
)
def test_wrong_options_are_reported(
    place: Stage, arguments: list[str], code: int, message: str
) -> None:
    result = run("mcp", *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr


@pytest.mark.anyio
async def test_the_project_is_the_one_claude_code_names(place: Stage) -> None:
    other = place.base / "other"
    other.mkdir()
    async with place.client(CLAUDE_PROJECT_DIR=str(other)) as client:
        await call(client, "remember", text="The other project has a cellar")
    assert place.app().memory().store.entries() == ()
    async with place.client("--project", str(other), CLAUDE_PROJECT_DIR="/nowhere") as client:
        assert len((await call(client, "list_memories"))["memories"]) == 1


@pytest.mark.anyio
async def test_every_tool_reports_that_memory_is_off(place: Stage) -> None:
    async with place.client(REVERIE_DISABLE_MEMORY="1") as client:
        assert len((await client.list_tools()).tools) == 7
        for tool, arguments in (
            ("recall", {"question": "x"}),
            ("remember", {"text": "A fact"}),
            ("list_memories", {}),
        ):
            assert "memory is off" in await refused(client, tool, **arguments)


@pytest.mark.anyio
async def test_sessions_of_claude_code_have_notes_and_are_searched(place: Stage) -> None:
    async with place.client() as client:
        assert "no earlier session" in await refused(client, "session_notes")
        assert "which session is calling" in await refused(
            client, "session_notes", session="current"
        )
        folder = (
            place.person
            / ".claude"
            / "projects"
            / str(place.root).replace("/", "-").replace("_", "-")
        )
        folder.mkdir(parents=True)
        write_lines(
            folder / "c1a0de.jsonl",
            [claude.prompt("rename the walrus module", cwd=str(place.root), sessionId="c1a0de")],
        )
        notes = await call(client, "session_notes")
        assert notes["session"] == "c1a0de"
        assert "walrus" in notes["notes"]
        found = await call(client, "search_past", words="walrus module")
        assert [one["session"] for one in found["found"]] == ["c1a0de"]


@pytest.mark.anyio
async def test_what_is_about_the_person_is_known_in_another_project(place: Stage) -> None:
    async with place.client() as client:
        saved = await call(client, "remember", text="I prefer answers with a haiku")
        assert (saved["scope"], saved["file"]) == (
            "person",
            "person/feedback_i_prefer_answers_with_a_haiku.md",
        )
        here = await call(client, "remember", text="I like haiku", scope="project", type="user")
        assert here["scope"] == "project"
    other = Workspace.open(place.base, home=place.home)
    assert [entry.file for entry in other.memory().topics.entries()] == [saved["file"]]
    async with place.client() as client:
        read = await call(client, "read_memory", file=saved["file"])
        assert read["origin"] == "about the person, known in every project"
        index = await client.read_resource("memory://index")
        assert "## about the person, known in every project" in str(index.contents[0])
        assert (await call(client, "forget", file=saved["file"]))["forgotten"] == saved["file"]
        await call(client, "forget", file=here["file"])
    assert list(other.memory().topics.entries()) == []


@pytest.mark.anyio
async def test_team_memory_is_read_but_not_changed(place: Stage) -> None:
    settings = place.home / "settings.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("[features]\nteam = true\n")
    place.write("team/shared.md", "---\nname: Shared\ntype: project\n---\nWe ship on Fridays.\n")
    try:
        async with place.client() as client:
            await _read_but_not_changed(client)
    finally:
        settings.unlink()
    assert (place.directory / "team" / "shared.md").exists()


async def _read_but_not_changed(client: Client) -> None:
    found = await call(client, "recall", question="on which day do we ship, Fridays?")
    [shared] = [one for one in found["memories"] if one["file"] == "team/shared.md"]
    assert shared["origin"] == "shared by the team"
    assert "Fridays" in (await call(client, "read_memory", file="team/shared.md"))["text"]
    listed = await call(client, "list_memories")
    assert "team/shared.md" in [one["file"] for one in listed["memories"]]
    uris = [one.uri for one in (await client.list_resources()).resources]
    assert "memory://team/shared.md" in uris
    assert "is shared" in await refused(client, "forget", file="team/shared.md")
    answer = await refused(client, "remember", text="A fact", supersedes="team/shared.md")
    assert "is shared" in answer
