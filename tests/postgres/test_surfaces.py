"""`store.url` in every surface: chat, hooks with the daemon, MCP, the proxy, the page.

Each finds what another machine saved, saves what that machine finds, and goes on with its copy while
the service is away. (The library and the command line: `test_client.py`.)
"""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anthropic
import httpx
import pytest
from tests.cli.run import data, done
from tests.cli.test_chat_once import asked as chat
from tests.clients.hooks.running import Hooks
from tests.clients.mcp.stage import Stage
from tests.place import Place
from tests.postgres.serving import Running
from tests.provider.script import ToolCall
from tests.proxy.conftest import start_proxy
from tests.web.conftest import start as start_page

from reverie import Memory
from reverie.settings.keys import store_key
from reverie.workspace import Workspace

FACT = "The shop is deployed with make ship every Friday afternoon."
QUESTION = "When do we deploy the shop?"
AWAY = "memory is as of"


class Elsewhere:
    """The same memory on another machine."""

    def __init__(self, running: Running, key: str, home: Path) -> None:
        self.running = running
        self.key = key
        self.memory = Memory.open(f"{running.url}/shop", home=home, key=key)
        self.memory.remember(FACT, strict=True)

    def texts(self) -> str:
        return "\n".join(self.memory.read(entry.file).body for entry in self.memory)


@pytest.fixture
def elsewhere(
    running: Running, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Elsewhere]:
    key = running.fleet.tenant("acme").admin
    place.settings(f'store.url = "{running.url}"\nstore.project = "shop"\n')
    # In a file, as a daemon or a server that a client starts finds it; not in this process's environment.
    store_key("REVERIE_KEY", key, place.home)
    made = Elsewhere(running, key, tmp_path / "elsewhere")
    yield made
    made.memory.close()


@pytest.mark.parametrize("away", [False, True])
def test_chat(elsewhere: Elsewhere, place: Place, provider, away: bool):
    provider.script([ToolCall("search_memory", {"query": QUESTION})], "On Friday.")
    if away:
        assert "make ship" in done("list")
        elsewhere.running.close()
    answered = chat(place, provider, "-p", QUESTION)
    assert answered.returncode == 0, answered.stderr
    sent = json.dumps(provider.requests[-1].json)
    assert FACT in sent
    assert (AWAY in sent) is away


def test_hooks(elsewhere: Elsewhere, place: Place):
    hooks = Hooks(place)
    try:
        hooks.start()
        assert FACT in hooks.context("claude-code", "UserPromptSubmit", prompt=QUESTION)
        elsewhere.running.close()
        # The daemon asks the service again when a second has passed.
        for session in range(50):
            asked = {"session": f"later-{session}", "prompt": QUESTION}
            told = hooks.context("claude-code", "UserPromptSubmit", **asked)
            assert FACT in told
            if AWAY in told:
                break
        assert AWAY in told
    finally:
        hooks.finish()


def test_mcp(elsewhere: Elsewhere, place: Place, tmp_path: Path):
    stage = Stage.__new__(Stage)
    stage.base, stage.person, stage.home, stage.root = (
        place.base,
        place.person,
        place.home,
        place.root,
    )
    stage.errors = tmp_path / "stderr.txt"
    told: list[str] = []

    async def talk() -> None:
        async with stage.client() as client:
            saved = {"text": "Invoices are numbered by the finance service."}
            await client.call_tool("remember", saved)
            found = await client.call_tool("recall", {"question": QUESTION})
            told.append(found.model_dump_json())
            await asyncio.to_thread(elsewhere.running.close)
            found = await client.call_tool("recall", {"question": QUESTION})
            told.append(found.model_dump_json())

    before = elsewhere.texts()
    assert "Invoices" not in before
    asyncio.run(talk())
    assert all(FACT in one for one in told)
    assert AWAY not in told[0]
    assert AWAY in told[1]


@pytest.mark.parametrize("away", [False, True])
def test_proxy(elsewhere: Elsewhere, place: Place, provider, away: bool):
    provider.script("On Friday.")
    if away:
        assert "make ship" in done("list")
        elsewhere.running.close()
    proxy = start_proxy(place, provider.base_url)
    try:
        client = anthropic.Anthropic(base_url=proxy.url, api_key="sk-x", max_retries=0)
        said = [{"role": "user", "content": QUESTION}]
        client.messages.create(model="claude-opus-4-8", max_tokens=100, messages=said)
    finally:
        proxy.stop()
    sent = json.dumps(provider.requests[-1].json)
    assert FACT in sent
    assert (AWAY in sent) is away


def test_page(elsewhere: Elsewhere, place: Place):
    app = Workspace.open(place.root, home=place.home, overrides=("models.main=offline",))
    # Every look at the copy asks the service first.
    app.service = replace(app.service, fresh=0.0)
    page = start_page(app)
    access, opening = next(page)
    base = f"http://127.0.0.1:{access.port}"
    try:
        with httpx.Client(base_url=base, follow_redirects=True, timeout=60) as client:
            assert client.get(opening).status_code == 200
            assert "make ship" in client.get("/memory").text
            elsewhere.running.close()
            found = client.get("/memory", params={"q": QUESTION})
            assert "make ship" in found.text
            assert AWAY in found.text
    finally:
        next(page, None)


def test_what_is_saved_here_is_found_elsewhere(elsewhere: Elsewhere, place: Place):
    data("remember", "The staging database is restored at six.")
    assert "restored at six" in elsewhere.texts()
    elsewhere.running.close()
    assert AWAY in done("recall", QUESTION)
