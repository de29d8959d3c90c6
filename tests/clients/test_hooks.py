"""What Reverie does at each moment of another client's session."""

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
    Moment,
    Nothing,
    Outcome,
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
from reverie.clients.hooks.session_folder import KEPT_SESSIONS
from reverie.clients.hooks.session_start import ROOM
from reverie.events import Event, TroubleNoted
from reverie.memory.changes.draft import NewMemory, Remembered
from reverie.memory.format.revisions import Author

pytestmark = pytest.mark.anyio

WISH = "From now on always use pnpm instead of npm in this repository."
VPN = "The deploy script needs the VPN to be up before it starts."
QUESTION = "does the deploy script need the VPN?"


@dataclass
class Desk:
    """An attendant whose later work the test does itself."""

    place: Place
    client: str = "claude-code"
    transcript: Path | None = None
    heard: list[Event] = field(default_factory=list)
    waiting: dict[str, Callable[[], None]] = field(default_factory=dict)
    dreams: list[Path] = field(default_factory=list)
    attendant: HookService | None = None

    async def at(self, moment: Moment, session: str = "s1") -> Outcome:
        if self.attendant is None or not self.attendant.fresh:
            await self.close()
            self.attendant = HookService(
                self.place.app(), self.heard.append, self.waiting.__setitem__, self.dreams.append
            )
        occasion = HookEvent(self.client, session, str(self.place.root), moment, self.transcript)
        return await self.attendant.attend(occasion)

    def catch_up(self) -> None:
        while self.waiting:
            self.waiting.popitem()[1]()

    async def close(self) -> None:
        if self.attendant is not None:
            await self.attendant.aclose()
            self.attendant = None

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
async def desk(place: Place) -> AsyncIterator[Desk]:
    found = Desk(place)
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


class TestAStartThatIsToldLate:
    async def test_the_first_prompt_is_told_and_no_other(self, desk: Desk) -> None:
        remember(desk.place, VPN, "vpn")
        assert isinstance(await desk.at(SessionMet(resumed=False)), Nothing)
        first = await desk.at(Prompted(QUESTION, opens=True))
        assert isinstance(first, Context)
        assert first.text.startswith("# Memory, kept by Reverie")
        assert VPN in first.text.rpartition("## ")[2]
        assert isinstance(await desk.at(Prompted("and the tests?", opens=True)), Nothing)

    @pytest.mark.parametrize(
        ("resumed", "changed", "again"),
        [(True, False, False), (True, True, True), (False, False, True)],
    )
    async def test_it_is_told_again_when_the_conversation_lacks_it(
        self, desk: Desk, resumed: bool, changed: bool, again: bool
    ) -> None:
        await desk.at(SessionMet(resumed=False))
        await desk.at(Prompted("hello there", opens=True))
        if changed:
            remember(desk.place, VPN, "vpn")
        await desk.at(SessionMet(resumed))
        found = await desk.at(Prompted("and the tests?", opens=True))
        assert isinstance(found, Context) is again

    async def test_without_memory_nothing_is_told(self, desk: Desk) -> None:
        desk.place.settings("[memory]\nenabled = false\n")
        await desk.at(SessionMet(resumed=False))
        assert isinstance(await desk.at(Prompted(QUESTION, opens=True)), Nothing)


class TestTheStart:
    async def test_of_an_empty_memory_there_is_only_the_section(self, desk: Desk) -> None:
        found = await desk.at(SessionStarted("startup"))
        assert isinstance(found, Context)
        assert found.text.startswith("# Memory, kept by Reverie")
        assert str(desk.place.app().memory_location.directory) in found.text
        assert "MEMORY.md\n" not in found.text
        assert len(found.text) < 1_600

    async def test_the_index_follows(self, desk: Desk) -> None:
        file = remember(desk.place, VPN, "Deploys need the VPN")
        found = await desk.at(SessionStarted("startup"))
        assert isinstance(found, Context)
        assert f"- [Deploys need the VPN]({file})" in found.text

    async def test_a_long_index_is_cut_at_a_line(self, desk: Desk) -> None:
        directory = desk.place.app().memory_location.directory
        directory.mkdir(parents=True)
        lines = [
            f"- [Memory number {n}](m{n}.md) — {'what it is about, ' * 5}and more"
            for n in range(190)
        ]
        (directory / "MEMORY.md").write_text("\n".join(lines) + "\n")
        found = await desk.at(SessionStarted("startup"))
        assert isinstance(found, Context)
        assert ROOM - 200 < len(found.text) <= ROOM
        *_, last, note = found.text.splitlines()
        assert last in lines
        assert note == f"[{len(lines) - lines.index(last) - 1} more lines in the file]"

    async def test_a_client_that_reads_this_memory_gets_what_it_lacks(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        projects = desk.place.person / ".claude" / "projects" / "-the-project"
        (projects / "memory").mkdir(parents=True)
        (projects / "memory" / "MEMORY.md").write_text("- [Old](old.md) — known\n")
        desk.place.app().adoption.adopt(projects / "memory")
        desk.transcript = projects / "s1.jsonl"
        found = await desk.at(SessionStarted("startup"))
        assert isinstance(found, Context)
        assert "the memory directory you already know" in found.text
        assert "old.md" not in found.text
        desk.client = "codex"
        other = await desk.at(SessionStarted("startup"))
        assert isinstance(other, Context)
        assert "old.md" in other.text

    async def test_a_session_that_goes_on_holds_it_already(self, desk: Desk) -> None:
        await desk.at(SessionStarted("startup"))
        assert isinstance(await desk.at(SessionStarted("resume")), Nothing)
        remember(desk.place, VPN, "Deploys need the VPN")
        assert isinstance(await desk.at(SessionStarted("resume")), Context)
        assert isinstance(await desk.at(SessionStarted("resume"), "unknown"), Context)

    async def test_with_memory_off_nothing_is_said(self, desk: Desk) -> None:
        desk.place.settings("[memory]\nenabled = false\n")
        assert isinstance(await desk.at(SessionStarted("startup")), Nothing)
        assert isinstance(await desk.at(Prompted(QUESTION)), Nothing)
        await desk.at(Stopped(again=False, answer=""))
        assert desk.waiting == {}

    async def test_sessions_of_long_ago_are_swept(self, desk: Desk) -> None:
        for number in range(KEPT_SESSIONS + 5):
            folder = desk.folder / f"codex-{number:03}"
            folder.mkdir(parents=True)
            age = NOON - (60 if number >= 5 else 40 * 86_400 + number)
            os.utime(folder, (age, age))
        await desk.at(SessionStarted("startup"))
        assert sorted(path.name for path in desk.folder.iterdir())[:2] == [
            "claude-code-s1",
            "codex-005",
        ]


class TestAPrompt:
    async def test_a_memory_that_fits_is_given_once_a_session(self, desk: Desk) -> None:
        file = remember(desk.place, VPN, "Deploys need the VPN")
        found = await desk.at(Prompted(QUESTION))
        assert isinstance(found, Context)
        assert f"## {file} (saved today)" in found.text
        assert VPN in found.text
        assert isinstance(await desk.at(Prompted(QUESTION)), Nothing)
        assert isinstance(await desk.at(Prompted(QUESTION), "another"), Context)

    async def test_what_was_given_is_known_to_the_next_process(self, desk: Desk) -> None:
        remember(desk.place, VPN, "Deploys need the VPN")
        await desk.at(Prompted(QUESTION))
        await desk.close()
        assert isinstance(await desk.at(Prompted(QUESTION)), Nothing)

    async def test_after_a_compaction_it_is_given_again(self, desk: Desk) -> None:
        remember(desk.place, VPN, "Deploys need the VPN")
        await desk.at(Prompted(QUESTION))
        await desk.at(SessionStarted("compact"))
        assert isinstance(await desk.at(Prompted(QUESTION)), Context)

    async def test_recall_may_be_off(self, desk: Desk) -> None:
        remember(desk.place, VPN, "Deploys need the VPN")
        desk.place.settings("[features]\nrecall = false\n")
        assert await desk.at(Prompted(QUESTION)) == Nothing("recall is off")

    async def test_settings_are_followed(self, desk: Desk) -> None:
        remember(desk.place, VPN, "Deploys need the VPN")
        assert isinstance(await desk.at(Prompted("hello there")), Nothing)
        desk.place.settings("[memory]\nenabled = false\n")
        assert isinstance(await desk.at(Prompted(QUESTION)), Nothing)


@pytest.mark.parametrize(("session", "looks"), [("s1", True), (f"{TRIAL}ab", False)])
async def test_nothing_comes_of_a_trial(desk: Desk, session: str, looks: bool) -> None:
    await desk.at(Prompted(WISH), session)
    for moment in (AboutToCompact("", ""), Stopped(again=False, answer=""), SessionEnded()):
        await desk.at(moment, session)
    assert bool(desk.waiting) is looks


def finished(response: Any, outputs: tuple[str, ...], name: str = "Bash") -> ToolFinished:
    return ToolFinished(name, "toolu_1", {"command": "make"}, response, outputs)


class TestAToolsResult:
    LONG = "".join(f"line {n}\n" for n in range(5_000))

    async def test_a_long_output_goes_to_a_file(self, desk: Desk) -> None:
        response = {"stdout": self.LONG, "stderr": "", "interrupted": False, "isImage": False}
        found = await desk.at(finished(response, ("stdout", "stderr")))
        assert isinstance(found, ReplacedOutput)
        assert found.response.keys() == response.keys()
        assert {**found.response, "stdout": ""} == {**response, "stdout": ""}
        stored = desk.folder / "claude-code-s1" / "tool-results" / "toolu_1-stdout.txt"
        assert str(stored) in found.response["stdout"]
        assert len(found.response["stdout"]) < 4_000
        assert stored.read_text() == self.LONG

    async def test_text_stays_text(self, desk: Desk) -> None:
        found = await desk.at(finished(self.LONG, ("",)))
        assert isinstance(found, ReplacedOutput)
        assert isinstance(found.response, str)

    @pytest.mark.parametrize("response", [{"stdout": "short"}, {"stdout": None}, {}])
    async def test_what_is_short_stays(self, desk: Desk, response: Any) -> None:
        assert isinstance(await desk.at(finished(response, ("stdout", "stderr"))), Nothing)

    @pytest.mark.parametrize(
        "settings",
        ["[features]\ntool_result_storage = false\n", '[tools.Bash]\nresult_threshold = "never"\n'],
    )
    async def test_it_may_be_off(self, desk: Desk, settings: str) -> None:
        desk.place.settings(settings)
        assert isinstance(await desk.at(finished({"stdout": self.LONG}, ("stdout",))), Nothing)

    async def test_without_a_disk_it_stays_whole(self, desk: Desk) -> None:
        desk.folder.parent.mkdir(parents=True, exist_ok=True)
        desk.folder.write_text("in the way")
        assert isinstance(await desk.at(finished({"stdout": self.LONG}, ("stdout",))), Nothing)
        assert any("cannot keep a tool result" in what for what in desk.troubles)


TODO = {"todos": [{"content": "write the tests", "status": "in_progress"}]}


def worked(desk: Desk) -> None:
    """A Claude Code session in which something is left to do."""
    lines = [
        claude.prompt("please add a parser for dates"),
        claude.reply({"type": "tool_use", "id": "t1", "name": "TodoWrite", "input": TODO}, id="m1"),
        claude.result("t1", "ok"),
        claude.reply(claude.text("Shall I also support weeks?"), id="m2"),
    ]
    desk.transcript = write_lines(desk.place.base / "s1.jsonl", lines)


class TestACompaction:
    async def test_the_summarizer_is_told_what_is_owed(self, desk: Desk) -> None:
        worked(desk)
        found = await desk.at(AboutToCompact("auto", ""))
        assert isinstance(found, Instructions)
        for owed in (
            "> please add a parser for dates",
            "write the tests (in progress)",
            "support weeks?",
        ):
            assert owed in found.text
        notes = (desk.folder / "claude-code-s1" / "notes.md").read_text()
        assert "please add a parser for dates" in notes

    async def test_afterwards_the_model_is_told_again(self, desk: Desk) -> None:
        worked(desk)
        remember(desk.place, VPN, "Deploys need the VPN")
        found = await desk.at(SessionStarted("compact"))
        assert isinstance(found, Context)
        assert found.text.index("write the tests") < found.text.index("# Memory, kept by Reverie")
        assert "Deploys need the VPN" in found.text
        assert len(found.text) <= ROOM
        assert isinstance(await desk.at(SessionStarted("resume")), Nothing)

    async def test_without_a_transcript_there_is_only_memory(self, desk: Desk) -> None:
        desk.transcript = desk.place.base / "gone.jsonl"
        assert isinstance(await desk.at(AboutToCompact("auto", "")), Nothing)
        found = await desk.at(SessionStarted("compact"))
        assert isinstance(found, Context)
        assert found.text.startswith("# Memory, kept by Reverie")


class TestTheEnd:
    async def test_what_was_said_is_learnt_later(self, desk: Desk) -> None:
        desk.transcript = write_lines(desk.place.base / "s1.jsonl", [claude.prompt(WISH)])
        assert isinstance(await desk.at(Stopped(again=False, answer="ok")), Nothing)
        assert desk.memories == []
        desk.catch_up()
        assert len(desk.memories) == 1

    async def test_what_was_looked_through_is_not_looked_through_again(self, desk: Desk) -> None:
        """A memory that a person took out does not come back with the next turn."""
        line = claude.prompt(WISH)
        desk.transcript = write_lines(desk.place.base / "s1.jsonl", [line])
        await desk.at(Stopped(again=False, answer=""))
        desk.catch_up()
        [file] = desk.memories
        desk.place.app().memory().keeper.forget(file, Author("person"))
        write_lines(desk.transcript, [line, claude.reply(claude.text("done"))])
        await desk.at(SessionEnded())
        desk.catch_up()
        assert desk.memories == []

    async def test_a_person_says_every_how_many_turns(self, desk: Desk) -> None:
        desk.place.settings("[learning]\nevery = 3\n")
        waits = []
        for _ in range(6):
            await desk.at(Stopped(again=False, answer=""))
            waits.append(bool(desk.waiting))
            desk.waiting.clear()
        assert waits == [False, False, True, False, False, True]

    async def test_where_the_client_writes_nothing_readable_the_hooks_tell(
        self, desk: Desk
    ) -> None:
        desk.client = "gemini"
        await desk.at(Prompted(WISH))
        await desk.at(Answered("I will."))
        await desk.at(Stopped(again=False, answer="Done."))
        desk.catch_up()
        assert len(desk.memories) == 1

    async def test_what_was_only_overheard_is_learnt_too(self, desk: Desk) -> None:
        desk.client = "cursor"
        remember(desk.place, VPN, "vpn")
        assert isinstance(await desk.at(PromptSeen(QUESTION)), Nothing)
        assert isinstance(await desk.at(PromptSeen(WISH)), Nothing)
        await desk.at(Stopped(again=False, answer="I will."))
        desk.catch_up()
        assert len(desk.memories) == 2

    async def test_an_agent_that_saved_by_itself_is_left_alone(self, desk: Desk) -> None:
        directory = desk.place.app().memory_location.directory
        use = {
            "type": "tool_use",
            "id": "t",
            "name": "Write",
            "input": {"file_path": f"{directory}/a.md"},
        }
        lines = [claude.prompt(WISH), claude.reply(use), claude.result("t")]
        desk.transcript = write_lines(desk.place.base / "s1.jsonl", lines)
        await desk.at(Stopped(again=False, answer=""))
        desk.catch_up()
        assert desk.memories == []

    async def test_a_missing_transcript_is_no_trouble(self, desk: Desk) -> None:
        desk.transcript = desk.place.base / "gone.jsonl"
        await desk.at(Stopped(again=False, answer=""))
        desk.catch_up()
        assert desk.troubles == []

    async def test_a_dream_begins_when_it_is_time(self, desk: Desk) -> None:
        desk.place.settings("[dream]\nsessions = 2\n")
        await desk.at(Stopped(again=False, answer=""))
        desk.catch_up()
        assert desk.dreams == []
        await desk.at(Stopped(again=False, answer=""), "s2")
        desk.place.clock.advance(3_600)
        desk.catch_up()
        assert desk.dreams == [desk.place.app().project.root]
        await desk.at(Stopped(again=False, answer=""), "s2")
        desk.place.clock.advance(3_000)
        desk.catch_up()
        assert len(desk.dreams) == 1
