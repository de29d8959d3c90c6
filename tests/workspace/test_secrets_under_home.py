"""No secret from a conversation is stored in any file under the home."""

import logging
import zlib
from contextlib import suppress
from pathlib import Path

import pytest
from tests.place import Place

from reverie.agent.declare import tool
from reverie.clients.hooks.events import (
    AboutToCompact,
    Answered,
    HookEvent,
    Payload,
    Prompted,
    ReplacedOutput,
    ToolFinished,
)
from reverie.clients.hooks.service import HookService
from reverie.core.messages import ToolUse
from reverie.events import no_listener
from reverie.logs import WithoutSecrets
from reverie.memory.changes.draft import NewMemory, Remembered
from reverie.memory.format.proposals import Proposal
from reverie.memory.format.revisions import Author
from reverie.models.offline import ScriptedModel
from reverie.session.build import open_session
from reverie.session.options import SessionOptions
from reverie.workspace import Workspace, without_secrets
from reverie.workspace.changes import open_inbox

pytestmark = pytest.mark.anyio

VALUE = "hunter" + "2-blue-Falcon"
TOLD = f"my password for the wiki is {VALUE}"
LONG = "tests/test_part.py::test_case PASSED\n" * 2_000


def in_clear(home: Path) -> list[str]:
    found = []
    for path in sorted(home.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        with suppress(zlib.error):
            data = zlib.decompress(data)
        if VALUE.lower().encode() in data.lower():
            found.append(str(path.relative_to(home)))
    return found


def files(home: Path, pattern: str) -> list[Path]:
    return [path for path in home.rglob(pattern) if path.is_file()]


def test_remembered_and_proposed(place: Place):
    app = place.app()
    memory = app.memory()
    done = memory.keeper.remember(NewMemory(TOLD, "project"), Author("user"))
    open_inbox(app, memory).put(Proposal(TOLD, "project", "user", TOLD, evidence=TOLD))
    assert isinstance(done, Remembered)
    assert in_clear(app.settings.home) == []


async def _hooked(app: Workspace, *moments: Payload) -> object:
    attendant = HookService(app, no_listener, lambda key, work: work(), lambda project: None)
    outcome: object = None
    for moment in moments:
        outcome = await attendant.handle(HookEvent("cursor", "s1", str(app.working_folder), moment))
    await attendant.aclose()
    return outcome


async def test_said_to_another_client_and_noted(place: Place):
    app = place.app()
    await _hooked(app, Prompted(TOLD), Answered(f"Noted: {TOLD}"), AboutToCompact("auto", ""))
    assert files(app.settings.home, "said.jsonl")
    assert files(app.settings.home, "notes.md")
    assert in_clear(app.settings.home) == []


async def test_a_long_output_of_another_client_and_its_preview(place: Place):
    app = place.app()
    done = await _hooked(app, ToolFinished("Bash", "t1", {}, f"{TOLD}\n{LONG}{TOLD}\n", ("",)))
    assert isinstance(done, ReplacedOutput)
    assert VALUE not in str(done.response)
    assert files(app.settings.home, "t1*.txt")
    assert in_clear(app.settings.home) == []


async def test_a_chat_its_results_and_its_notes(place: Place):
    app = place.app()

    @tool(access="read")
    def look() -> str:
        """Look something up."""
        return f"{TOLD}\n{LONG}"

    model = ScriptedModel([[ToolUse("c1", "look")], f"I see: {TOLD}"])
    wish = SessionOptions(ready=model, tools=[look], dreams=False, session="s1")
    async with open_session(app, wish) as session:
        async for _ in session.run(f"{TOLD}\n{LONG[:60_000]}"):
            pass
    assert VALUE in repr(model.requests[-1].messages), "what was said is sent as it was said"
    home = app.settings.home
    assert files(home, "s1.jsonl")
    assert files(home, "c1*.txt")
    assert files(home, "notes.md")
    assert in_clear(home) == []


def test_a_log(tmp_path: Path):
    handler = logging.FileHandler(tmp_path / "log")
    handler.setFormatter(WithoutSecrets(logging.Formatter("%(message)s"), without_secrets))
    handler.handle(logging.makeLogRecord({"msg": "refused: %s", "args": (TOLD,)}))
    handler.close()
    assert (tmp_path / "log").read_text() == (
        "refused: my password for the wiki is (secret removed - password)\n"
    )
