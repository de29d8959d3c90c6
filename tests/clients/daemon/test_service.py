"""The daemon's service: which project's memories a hook gets, what is counted, and what blocks what."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import done
from tests.conversation.build import user
from tests.place import NOON, Place
from tests.provider.provider import Provider

from reverie.clients import hook_client
from reverie.clients.daemon import service as services
from reverie.clients.daemon.service import Service, WorkQueue
from reverie.conversation.records import Opened, Said
from reverie.learning.pending import Pending
from reverie.memory.changes.draft import NewMemory, Remembered
from reverie.memory.format.revisions import Author

pytestmark = pytest.mark.anyio

VPN = "The deploy script needs the VPN to be up before it starts."
QUESTION = "does the deploy script need the VPN?"


@pytest.fixture
async def service(place: Place) -> AsyncIterator[Service]:
    found = Service(place.home, WorkQueue(place.home))
    yield found
    await found.aclose()


@pytest.fixture
def other(place: Place) -> Path:
    """Another project, without memories."""
    memory = place.app().memory()
    assert isinstance(memory.keeper.remember(NewMemory(VPN), Author("person")), Remembered)
    folder = place.base / "other"
    folder.mkdir()
    return folder


async def prompted(service: Service, folder: Path, **more: Any) -> str:
    data = {"cwd": str(folder), "prompt": QUESTION, **more}
    body = await service.hook("claude-code", "UserPromptSubmit", json.dumps(data).encode())
    return body.decode()


@pytest.mark.parametrize("more", [{}, {"session_id": ""}, {"session_id": 7}])
async def test_sessions_without_a_name_share_nothing(
    service: Service, place: Place, other: Path, more: dict[str, Any]
) -> None:
    # Within one session, a memory would be given only once.
    assert await prompted(service, place.root, **more, prompt="hello there") == ""
    assert await prompted(service, other, **more) == ""
    assert VPN in await prompted(service, place.root, **more)


async def test_a_session_with_a_name_stays_where_it_began(
    service: Service, place: Place, other: Path
) -> None:
    await prompted(service, other, session_id="s1")
    assert await prompted(service, place.root, session_id="s1") == ""
    assert VPN in await prompted(service, place.root, session_id="s2")


@pytest.mark.parametrize("more", [{}, {"session_id": "s1"}])
async def test_changed_settings_are_followed_by_the_next_hook(
    service: Service, place: Place, other: Path, more: dict[str, Any]
) -> None:
    await prompted(service, place.root, **more, prompt="hello there")
    [before] = service._services.values()
    place.settings("[memory]\nenabled = false\n")
    assert await prompted(service, place.root, **more) == ""
    [after] = service._services.values()
    assert after is not before
    place.settings("[memory]\nenabled = true\n")
    assert VPN in await prompted(service, place.root, **more)


async def test_unknown_events_are_counted_together(service: Service) -> None:
    for event in ("Odd1", "Odd2", "Stop", "Odd3"):
        await service.hook("codex", event, b"{}")
    assert {name: tally.count for name, tally in service.tallies.items()} == {
        "codex/other": 3,
        "codex/Stop": 1,
    }


async def test_closing_a_project_blocks_no_other(
    service: Service, place: Place, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "MOST_PROJECTS", 1)
    await prompted(service, place.root, session_id="s1")
    [busy] = service._services.values()
    async with asyncio.timeout(20), busy._recall._recalling:
        assert await prompted(service, other, session_id="s2") == ""
        assert list(service._services) == [other]


async def codex_starts(service: Service, place: Place, session: str = "s1") -> str:
    data = {"cwd": str(place.root), "session_id": session, "source": "startup"}
    body = await service.hook("codex", "SessionStart", json.dumps(data).encode())
    return body.decode()


async def test_a_session_of_codex_starts_when_our_server_has_told_its_tools(
    service: Service, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "LONGEST_SECONDS", 60.0)
    done("install", "codex", "--yes")
    starting = asyncio.create_task(codex_starts(service, place))
    looked = asyncio.Event()
    listed = services._listed

    def look(folder: Path, project: Path) -> bool:
        asyncio.get_running_loop().call_soon(looked.set)
        return listed(folder, project)

    monkeypatch.setattr(services, "_listed", look)
    hook_client.mark_listed(str(place.home), str(place.base / "another"))
    await looked.wait()
    assert not starting.done()
    hook_client.mark_listed(str(place.home), str(place.root.resolve()))
    assert "Memory, kept by Reverie" in await starting


@pytest.mark.parametrize(
    "way", ["without a server", "server switched off", "a trial", "a dead server"]
)
async def test_a_session_does_not_wait_for_a_server_that_will_not_come(
    service: Service, place: Place, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(services, "LONGEST_SECONDS", 0.0 if way == "a dead server" else 600.0)
    done("install", "codex", "--yes", *(["--no-mcp"] if way == "without a server" else []))
    marks = place.home / hook_client.FOLDER / hook_client.LISTED
    if way == "server switched off":
        config = place.person / ".codex" / "config.toml"
        config.write_text(config.read_text() + "enabled = false\n")
    if way == "a dead server":
        marks.mkdir(parents=True)
        # No process has such a number.
        (marks / "99999999").write_text(str(place.root.resolve()))
    session = f"{services.TRIAL}1" if way == "a trial" else "s1"
    async with asyncio.timeout(services.LIMIT_SECONDS):
        assert "Memory, kept by Reverie" in await codex_starts(service, place, session)
    assert not marks.exists() or not list(marks.iterdir())


async def test_a_batch_is_collected_in_a_process_of_its_own(
    place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.journal("s1", Opened("s1", NOON), Said(user("Who knows the payroll service?", at=NOON)))
    url = provider.anthropic_url
    place.settings(
        f'models.side = "anthropic:claude-haiku-5-5"\nproviders.anthropic.base_url = "{url}"\n'
    )
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    await asyncio.to_thread(done, "extract", "--batch", "--yes")
    provider.script("Nothing.")
    provider.end_batches()
    queue = WorkQueue(place.home)
    service = Service(place.home, queue)
    await prompted(service, place.root, prompt="hello there")
    service.look_after_batches()
    [child] = queue._started
    assert await asyncio.to_thread(child.wait, 60) == 0
    assert Pending.of(place.app()).load() == []
    # Not again at every tick.
    service.look_after_batches()
    assert queue._started == [child]
    queue.reap()
    await service.aclose()
