"""How HookService answers the events of another client's session."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.conversation import claude_lines as claude
from tests.conversation.build import write_lines
from tests.place import NOON, Place

from reverie.clients.hooks.events import (
    TRIAL,
    AboutToCompact,
    Answered,
    Context,
    HookEvent,
    Instructions,
    Nothing,
    Outcome,
    Payload,
    Prompted,
    PromptSeen,
    ReplacedOutput,
    SessionEnded,
    SessionMet,
    SessionStarted,
    Stopped,
    ToolFinished,
)
from reverie.clients.hooks.service import HookService
from reverie.clients.hooks.session_context import ROOM
from reverie.clients.hooks.session_folder import KEPT_SESSIONS
from reverie.events import Event, TroubleNoted
from reverie.memory.changes.draft import NewMemory, Remembered
from reverie.memory.format.revisions import Author

pytestmark = pytest.mark.anyio

REQUEST = "From now on always use pnpm instead of npm in this repository."
VPN = "The deploy script needs the VPN to be up before it starts."
QUESTION = "does the deploy script need the VPN?"


@dataclass
class Client:
    """A HookService whose background work the test runs itself."""

    place: Place
    name: str = "claude-code"
    transcript: Path | None = None
    heard: list[Event] = field(default_factory=list)
    waiting: dict[str, Callable[[], None]] = field(default_factory=dict)
    dreams: list[Path] = field(default_factory=list)
    service: HookService | None = None

    async def at(self, payload: Payload, session: str = "s1") -> Outcome:
        if self.service is None or not self.service.fresh:
            await self.close()
            self.service = HookService(
                self.place.app(), self.heard.append, self.waiting.__setitem__, self.dreams.append
            )
        event = HookEvent(self.name, session, str(self.place.root), payload, self.transcript)
        return await self.service.handle(event)

    def catch_up(self) -> None:
        while self.waiting:
            self.waiting.popitem()[1]()

    async def close(self) -> None:
        if self.service is not None:
            await self.service.aclose()
            self.service = None

    @property
    def memories(self) -> list[str]:
        return [entry.file for entry in self.place.app().memory().store.entries()]

    @property
    def troubles(self) -> list[str]:
        return [event.what for event in self.heard if isinstance(event, TroubleNoted)]

    @property
    def folder(self) -> Path:
        return self.place.app().project.folder / "hooks"


@pytest.fixture
async def client(place: Place) -> AsyncIterator[Client]:
    found = Client(place)
    yield found
    await found.close()


def remember(place: Place, text: str, name: str) -> str:
    memory = place.app().memory()
    done = memory.keeper.remember(
        NewMemory(text, "project", name=name, description=text[:80], even_if_known=True),
        Author("person"),
    )
    assert isinstance(done, Remembered)
    return done.topic.file


class TestOpeningWithTheFirstPrompt:
    async def test_only_the_first_prompt_gets_the_opening(self, client: Client) -> None:
        remember(client.place, VPN, "vpn")
        assert isinstance(await client.at(SessionMet(resumed=False)), Nothing)
        first = await client.at(Prompted(QUESTION, opens=True))
        assert isinstance(first, Context)
        assert first.text.startswith("# Memory, kept by Reverie")
        assert VPN in first.text.rpartition("## ")[2]
        assert isinstance(await client.at(Prompted("and the tests?", opens=True)), Nothing)

    @pytest.mark.parametrize(
        ("resumed", "changed", "again"),
        [(True, False, False), (True, True, True), (False, False, True)],
    )
    async def test_it_is_given_again_when_the_conversation_lacks_it(
        self, client: Client, resumed: bool, changed: bool, again: bool
    ) -> None:
        await client.at(SessionMet(resumed=False))
        await client.at(Prompted("hello there", opens=True))
        if changed:
            remember(client.place, VPN, "vpn")
        await client.at(SessionMet(resumed))
        found = await client.at(Prompted("and the tests?", opens=True))
        assert isinstance(found, Context) is again

    async def test_without_memory_there_is_no_opening(self, client: Client) -> None:
        client.place.settings("[memory]\nenabled = false\n")
        await client.at(SessionMet(resumed=False))
        assert isinstance(await client.at(Prompted(QUESTION, opens=True)), Nothing)


class TestTheStart:
    async def test_of_an_empty_memory_there_is_only_the_section(self, client: Client) -> None:
        found = await client.at(SessionStarted("startup"))
        assert isinstance(found, Context)
        assert found.text.startswith("# Memory, kept by Reverie")
        # No client lets its model write there without a question.
        assert str(client.place.app().memory_location.directory) not in found.text
        assert "MEMORY.md\n" not in found.text
        assert len(found.text) < 1_600

    async def test_the_index_follows(self, client: Client) -> None:
        file = remember(client.place, VPN, "Deploys need the VPN")
        found = await client.at(SessionStarted("startup"))
        assert isinstance(found, Context)
        assert f"- [Deploys need the VPN]({file})" in found.text

    async def test_a_long_index_is_cut_at_a_line(self, client: Client) -> None:
        directory = client.place.app().memory_location.directory
        directory.mkdir(parents=True)
        lines = [
            f"- [Memory number {n}](m{n}.md) — {'what it is about, ' * 5}and more"
            for n in range(190)
        ]
        (directory / "MEMORY.md").write_text("\n".join(lines) + "\n")
        found = await client.at(SessionStarted("startup"))
        assert isinstance(found, Context)
        assert ROOM - 200 < len(found.text) <= ROOM
        *_, last, note = found.text.splitlines()
        assert last in lines
        assert note == f"[{len(lines) - lines.index(last) - 1} more lines in the file]"

    async def test_a_client_that_reads_this_memory_gets_what_it_lacks(
        self, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        projects = client.place.person / ".claude" / "projects" / "-the-project"
        (projects / "memory").mkdir(parents=True)
        (projects / "memory" / "MEMORY.md").write_text("- [Old](old.md) — known\n")
        client.place.app().adoption.adopt(projects / "memory")
        client.transcript = projects / "s1.jsonl"
        found = await client.at(SessionStarted("startup"))
        assert isinstance(found, Context)
        assert "the memory directory you already know" in found.text
        assert "old.md" not in found.text
        client.name = "codex"
        other = await client.at(SessionStarted("startup"))
        assert isinstance(other, Context)
        assert "old.md" in other.text

    async def test_a_session_that_goes_on_holds_it_already(self, client: Client) -> None:
        await client.at(SessionStarted("startup"))
        assert isinstance(await client.at(SessionStarted("resume")), Nothing)
        remember(client.place, VPN, "Deploys need the VPN")
        assert isinstance(await client.at(SessionStarted("resume")), Context)
        assert isinstance(await client.at(SessionStarted("resume"), "unknown"), Context)

    async def test_with_memory_off_nothing_is_said(self, client: Client) -> None:
        client.place.settings("[memory]\nenabled = false\n")
        assert isinstance(await client.at(SessionStarted("startup")), Nothing)
        assert isinstance(await client.at(Prompted(QUESTION)), Nothing)
        await client.at(Stopped(again=False, answer=""))
        assert client.waiting == {}

    async def test_sessions_of_long_ago_are_swept(self, client: Client) -> None:
        for number in range(KEPT_SESSIONS + 5):
            folder = client.folder / f"codex-{number:03}"
            folder.mkdir(parents=True)
            age = NOON - (60 if number >= 5 else 40 * 86_400 + number)
            os.utime(folder, (age, age))
        await client.at(SessionStarted("startup"))
        assert sorted(path.name for path in client.folder.iterdir())[:2] == [
            "claude-code-s1",
            "codex-005",
        ]


class TestAPrompt:
    async def test_a_memory_that_fits_is_given_once_a_session(self, client: Client) -> None:
        file = remember(client.place, VPN, "Deploys need the VPN")
        found = await client.at(Prompted(QUESTION))
        assert isinstance(found, Context)
        assert f"## {file} (saved today)" in found.text
        assert VPN in found.text
        assert isinstance(await client.at(Prompted(QUESTION)), Nothing)
        assert isinstance(await client.at(Prompted(QUESTION), "another"), Context)

    async def test_what_was_given_is_known_to_the_next_process(self, client: Client) -> None:
        remember(client.place, VPN, "Deploys need the VPN")
        await client.at(Prompted(QUESTION))
        await client.close()
        assert isinstance(await client.at(Prompted(QUESTION)), Nothing)

    async def test_after_a_compaction_it_is_given_again(self, client: Client) -> None:
        remember(client.place, VPN, "Deploys need the VPN")
        await client.at(Prompted(QUESTION))
        await client.at(SessionStarted("compact"))
        assert isinstance(await client.at(Prompted(QUESTION)), Context)

    async def test_recall_may_be_off(self, client: Client) -> None:
        remember(client.place, VPN, "Deploys need the VPN")
        client.place.settings("[features]\nrecall = false\n")
        assert await client.at(Prompted(QUESTION)) == Nothing("recall is off")

    async def test_settings_are_followed(self, client: Client) -> None:
        remember(client.place, VPN, "Deploys need the VPN")
        assert isinstance(await client.at(Prompted("hello there")), Nothing)
        client.place.settings("[memory]\nenabled = false\n")
        assert isinstance(await client.at(Prompted(QUESTION)), Nothing)


@pytest.mark.parametrize(("session", "looks"), [("s1", True), (f"{TRIAL}ab", False)])
async def test_nothing_comes_of_a_trial(client: Client, session: str, looks: bool) -> None:
    await client.at(Prompted(REQUEST), session)
    for payload in (AboutToCompact("", ""), Stopped(again=False, answer=""), SessionEnded()):
        await client.at(payload, session)
    assert bool(client.waiting) is looks


def finished(response: Any, outputs: tuple[str, ...], name: str = "Bash") -> ToolFinished:
    return ToolFinished(name, "toolu_1", {"command": "make"}, response, outputs)


class TestAToolsResult:
    LONG = "".join(f"line {n}\n" for n in range(5_000))

    async def test_a_long_output_goes_to_a_file(self, client: Client) -> None:
        response = {"stdout": self.LONG, "stderr": "", "interrupted": False, "isImage": False}
        found = await client.at(finished(response, ("stdout", "stderr")))
        assert isinstance(found, ReplacedOutput)
        assert found.response.keys() == response.keys()
        assert {**found.response, "stdout": ""} == {**response, "stdout": ""}
        stored = client.folder / "claude-code-s1" / "tool-results" / "toolu_1-stdout.txt"
        assert str(stored) in found.response["stdout"]
        assert len(found.response["stdout"]) < 4_000
        assert stored.read_text() == self.LONG

    async def test_text_stays_text(self, client: Client) -> None:
        found = await client.at(finished(self.LONG, ("",)))
        assert isinstance(found, ReplacedOutput)
        assert isinstance(found.response, str)

    @pytest.mark.parametrize("response", [{"stdout": "short"}, {"stdout": None}, {}])
    async def test_what_is_short_stays(self, client: Client, response: Any) -> None:
        assert isinstance(await client.at(finished(response, ("stdout", "stderr"))), Nothing)

    @pytest.mark.parametrize(
        "settings",
        ["[features]\ntool_result_storage = false\n", '[tools.Bash]\nresult_threshold = "never"\n'],
    )
    async def test_it_may_be_off(self, client: Client, settings: str) -> None:
        client.place.settings(settings)
        assert isinstance(await client.at(finished({"stdout": self.LONG}, ("stdout",))), Nothing)

    async def test_without_a_disk_it_stays_whole(self, client: Client) -> None:
        client.folder.parent.mkdir(parents=True, exist_ok=True)
        client.folder.write_text("in the way")
        assert isinstance(await client.at(finished({"stdout": self.LONG}, ("stdout",))), Nothing)
        assert any("cannot keep a tool result" in what for what in client.troubles)


TODO = {"todos": [{"content": "write the tests", "status": "in_progress"}]}


def worked(client: Client) -> None:
    """A Claude Code session with open work."""
    lines = [
        claude.prompt("please add a parser for dates"),
        claude.reply({"type": "tool_use", "id": "t1", "name": "TodoWrite", "input": TODO}, id="m1"),
        claude.result("t1", "ok"),
        claude.reply(claude.text("Shall I also support weeks?"), id="m2"),
    ]
    client.transcript = write_lines(client.place.base / "s1.jsonl", lines)


class TestACompaction:
    async def test_the_summarizer_is_told_what_is_owed(self, client: Client) -> None:
        worked(client)
        found = await client.at(AboutToCompact("auto", ""))
        assert isinstance(found, Instructions)
        for owed in (
            "> please add a parser for dates",
            "write the tests (in progress)",
            "support weeks?",
        ):
            assert owed in found.text
        notes = (client.folder / "claude-code-s1" / "notes.md").read_text()
        assert "please add a parser for dates" in notes

    async def test_afterwards_the_model_is_told_again(self, client: Client) -> None:
        worked(client)
        remember(client.place, VPN, "Deploys need the VPN")
        found = await client.at(SessionStarted("compact"))
        assert isinstance(found, Context)
        assert found.text.index("write the tests") < found.text.index("# Memory, kept by Reverie")
        assert "Deploys need the VPN" in found.text
        assert len(found.text) <= ROOM
        assert isinstance(await client.at(SessionStarted("resume")), Nothing)

    async def test_without_a_transcript_there_is_only_memory(self, client: Client) -> None:
        client.transcript = client.place.base / "gone.jsonl"
        assert isinstance(await client.at(AboutToCompact("auto", "")), Nothing)
        found = await client.at(SessionStarted("compact"))
        assert isinstance(found, Context)
        assert found.text.startswith("# Memory, kept by Reverie")


class TestTheEnd:
    async def test_what_was_said_is_learnt_later(self, client: Client) -> None:
        client.transcript = write_lines(client.place.base / "s1.jsonl", [claude.prompt(REQUEST)])
        assert isinstance(await client.at(Stopped(again=False, answer="ok")), Nothing)
        assert client.memories == []
        client.catch_up()
        assert len(client.memories) == 1

    async def test_messages_are_searched_for_memories_only_once(self, client: Client) -> None:
        """A memory that the person removed does not come back with the next turn."""
        line = claude.prompt(REQUEST)
        client.transcript = write_lines(client.place.base / "s1.jsonl", [line])
        await client.at(Stopped(again=False, answer=""))
        client.catch_up()
        [file] = client.memories
        client.place.app().memory().keeper.forget(file, Author("person"))
        write_lines(client.transcript, [line, claude.reply(claude.text("done"))])
        await client.at(SessionEnded())
        client.catch_up()
        assert client.memories == []

    async def test_a_person_says_every_how_many_turns(self, client: Client) -> None:
        client.place.settings("[learning]\nevery = 3\n")
        waits = []
        for _ in range(6):
            await client.at(Stopped(again=False, answer=""))
            waits.append(bool(client.waiting))
            client.waiting.clear()
        assert waits == [False, False, True, False, False, True]

    async def test_without_a_readable_transcript_the_hooks_record_one(self, client: Client) -> None:
        client.name = "gemini"
        await client.at(Prompted(REQUEST))
        await client.at(Answered("I will."))
        await client.at(Stopped(again=False, answer="Done."))
        client.catch_up()
        assert len(client.memories) == 1

    async def test_recorded_messages_are_learnt_from(self, client: Client) -> None:
        client.name = "cursor"
        remember(client.place, VPN, "vpn")
        assert isinstance(await client.at(PromptSeen(QUESTION)), Nothing)
        assert isinstance(await client.at(PromptSeen(REQUEST)), Nothing)
        await client.at(Stopped(again=False, answer="I will."))
        client.catch_up()
        assert len(client.memories) == 2

    async def test_an_agent_that_saved_by_itself_is_left_alone(self, client: Client) -> None:
        directory = client.place.app().memory_location.directory
        use = {
            "type": "tool_use",
            "id": "t",
            "name": "Write",
            "input": {"file_path": f"{directory}/a.md"},
        }
        lines = [claude.prompt(REQUEST), claude.reply(use), claude.result("t")]
        client.transcript = write_lines(client.place.base / "s1.jsonl", lines)
        await client.at(Stopped(again=False, answer=""))
        client.catch_up()
        assert client.memories == []

    async def test_a_missing_transcript_is_no_trouble(self, client: Client) -> None:
        client.transcript = client.place.base / "gone.jsonl"
        await client.at(Stopped(again=False, answer=""))
        client.catch_up()
        assert client.troubles == []

    async def test_a_dream_begins_when_it_is_time(self, client: Client) -> None:
        client.place.settings("[dream]\nsessions = 2\n")
        await client.at(Stopped(again=False, answer=""))
        client.catch_up()
        assert client.dreams == []
        await client.at(Stopped(again=False, answer=""), "s2")
        client.place.clock.advance(3_600)
        client.catch_up()
        assert client.dreams == [client.place.app().project.root]
        await client.at(Stopped(again=False, answer=""), "s2")
        client.place.clock.advance(3_000)
        client.catch_up()
        assert len(client.dreams) == 1
