"""Which memories are visible where: several projects, a worktree, clients with hooks, a team."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.conversation import claude_lines as claude
from tests.conversation.build import write_lines
from tests.place import Place, git

from reverie import Declined, InputError, Memory, Remembered
from reverie.clients.hooks.events import (
    Context,
    HookEvent,
    Payload,
    Prompted,
    SessionStarted,
    Stopped,
)
from reverie.clients.hooks.service import HookService
from reverie.errors import SettingsError
from reverie.events import Event
from reverie.memory.changes.draft import NewMemory
from reverie.memory.format.revisions import Author
from reverie.memory.locations import person_location
from reverie.recall.attachment import MOST_FILES
from reverie.recall.service import recall, search
from reverie.workspace import Workspace

pytestmark = pytest.mark.anyio

ME = Author("user")
SHORT = "I prefer short answers"
TABS = "this repo uses tabs"
HOW_LONG = "how long should your answers be?"
INDENT = "does this repo use tabs or spaces?"


def repository(path: Path) -> Path:
    path.mkdir()
    git(path, "init", "-q")
    git(path, "commit", "-q", "--allow-empty", "-m", "begin")
    return path


@pytest.fixture
def projects(place: Place) -> dict[str, Path]:
    """Two repositories, and a worktree of the first."""
    one, two = repository(place.base / "one"), repository(place.base / "two")
    tree = place.base / "tree"
    git(one, "worktree", "add", "-q", tree)
    return {"one": one, "two": two, "tree": tree}


@dataclass
class Client:
    """A client that uses hooks; Reverie learns from its transcript when a turn ends."""

    place: Place
    folder: Path
    name: str
    heard: list[Event] = field(default_factory=list)
    attendant: HookService | None = None

    async def at(self, moment: Payload, transcript: Path | None = None) -> str:
        if self.attendant is None:
            app = Workspace.open(self.folder, clock=self.place.clock)
            self.attendant = HookService(app, self.heard.append, self._now, _no_dream)
        occasion = HookEvent(self.name, self.folder.name, str(self.folder), moment, transcript)
        found = await self.attendant.handle(occasion)
        return found.text if isinstance(found, Context) else ""

    async def says(self, text: str) -> None:
        lines = [claude.prompt(text), claude.reply(claude.text("Noted."))]
        path = write_lines(self.place.base / f"{self.folder.name}.jsonl", lines)
        await self.at(Stopped(again=False, answer=""), path)

    def _now(self, key: str, work: Callable[[], None]) -> None:
        work()


def _no_dream(project: Path) -> None:
    """Nothing here is old enough."""


@pytest.fixture
async def clients(place: Place, projects: dict[str, Path]) -> AsyncIterator[dict[str, Client]]:
    place.settings("learning.every = 1\n")
    names = {"one": "claude-code", "two": "codex", "tree": "gemini"}
    made = {key: Client(place, folder, names[key]) for key, folder in projects.items()}
    yield made
    for client in made.values():
        if client.attendant is not None:
            await client.attendant.aclose()


async def test_what_is_said_once_is_known_to_every_client_in_every_project(
    clients: dict[str, Client], place: Place
) -> None:
    for client in clients.values():
        assert await client.at(Prompted(HOW_LONG)) == ""
    await clients["one"].says(f"Remember: {SHORT}.")
    await clients["one"].says(f"Remember: {TABS}.")
    for name, client in clients.items():
        told = await client.at(Prompted(HOW_LONG))
        assert SHORT in told, name
        assert "(about the person, known in every project; saved" in told
        assert ("uses tabs" in await client.at(Prompted(INDENT))) is (name != "two")
        start = await client.at(SessionStarted("startup"))
        assert "## MEMORY.md about the person" in start
        assert SHORT in start
        assert ("uses tabs" in start) is (name != "two")
    [entry] = Workspace.open(place.base / "two").memory("person").store.entries()
    assert entry.type in ("user", "feedback")
    assert [*Workspace.open(place.base / "two").memory().store.entries()] == []


async def test_what_is_learnt_about_the_person_twice_is_kept_once(
    clients: dict[str, Client], place: Place
) -> None:
    await clients["one"].says(f"Remember: {SHORT}.")
    await clients["two"].says(f"Remember: {SHORT}.")
    files = [entry.file for entry in Memory.open(place.base / "two")]
    assert len(files) == 1


def test_the_library_knows_the_same(place: Place, projects: dict[str, Path]) -> None:
    with Memory.open(projects["one"], clock=place.clock) as memory:
        outcome = memory.remember(SHORT)
        assert isinstance(outcome, Remembered)
        assert outcome.topic.file == "person/user_i_prefer_short_answers.md"
        memory.remember(TABS)
    for name, folder in projects.items():
        with Memory.open(folder, clock=place.clock) as memory:
            [hit] = [hit for hit in memory.recall(HOW_LONG) if hit.sure]
            assert (hit.file, hit.text) == (outcome.topic.file, SHORT)
            assert memory.read(hit.file).body.strip() == SHORT
            known = {entry.file for entry in memory}
            assert ("project_this_repo_uses_tabs.md" in known) is (name != "two")
            again = memory.remember(SHORT)
            assert isinstance(again, Declined)
            assert again.existing == outcome.topic.file
            assert outcome.topic.file in again.reason


def test_history_of_both(place: Place) -> None:
    memory = Memory.open(clock=place.clock)
    memory.remember(TABS)
    place.clock.advance(60)
    first = memory.remember(SHORT)
    assert isinstance(first, Remembered)
    assert [change.summary for change in memory.history()] == [
        f"remember {SHORT}",
        f"remember {TABS}",
    ]
    assert first.topic.file in memory.history(first.topic.file)[0].files
    place.clock.advance(60)
    memory.undo()
    assert [entry.file for entry in memory] == ["project_this_repo_uses_tabs.md"]
    place.clock.advance(60)
    memory.undo()
    assert list(memory) == []
    # Both in one second: what was undone last comes back first.
    memory.redo()
    assert [entry.file for entry in memory] == ["project_this_repo_uses_tabs.md"]
    memory.redo()
    assert len(list(memory)) == 2


def test_two_changes_of_one_second_are_told_apart(place: Place) -> None:
    memory = Memory.open(clock=place.clock)
    memory.remember(TABS)
    memory.remember(SHORT)
    with pytest.raises(InputError, match="say which one"):
        memory.undo()


def test_as_it_was(place: Place) -> None:
    memory = Memory.open(clock=place.clock, settings={"recall.embedder": "none"})
    memory.remember(SHORT)
    before = datetime.fromtimestamp(place.clock.now() + 1, UTC)
    place.clock.advance(86_400)
    memory.forget("person/user_i_prefer_short_answers.md")
    assert memory.recall(HOW_LONG) == []
    [hit] = memory.recall(HOW_LONG, as_of=before)
    assert hit.file == "person/user_i_prefer_short_answers.md"


def test_moving(place: Place, projects: dict[str, Path]) -> None:
    memory = Memory.open(projects["one"], clock=place.clock)
    old = memory.remember(SHORT, scope="project")
    assert isinstance(old, Remembered)
    assert list(Memory.open(projects["two"])) == []
    moved = memory.move(old.topic.file, "person")
    assert moved == f"person/{old.topic.file}"
    assert [entry.file for entry in Memory.open(projects["two"])] == [moved]
    said = [change.summary for change in memory.history()]
    assert said.count(f"move {old.topic.file} to {moved}") == 2
    assert memory.read(moved).created == old.topic.created
    with pytest.raises(InputError, match="of the scope person already"):
        memory.move(moved, "person")
    back = memory.move(moved, "project")
    assert back == old.topic.file
    assert list(Memory.open(projects["two"])) == []


def test_moving_finds_another_name_and_keeps_the_chain(place: Place) -> None:
    memory = Memory.open(clock=place.clock)
    first = memory.remember("I prefer long answers", scope="project", name="Answers")
    second = memory.remember(SHORT, supersedes="user_answers.md", name="Brief")
    assert isinstance(first, Remembered)
    assert isinstance(second, Remembered)
    memory.remember("I like tea", scope="person", type="user", name="Brief")
    moved = memory.move(second.topic.file, "person")
    assert moved == "person/user_brief_2.md"
    assert memory.read(first.topic.file).superseded_by == moved


def test_it_can_be_off_and_no_project_turns_it_on(place: Place) -> None:
    place.settings("memory.person = false")
    place.settings("memory.person = true", "project")
    memory = Memory.open(clock=place.clock)
    outcome = memory.remember(SHORT)
    assert isinstance(outcome, Remembered)
    assert outcome.topic.file == "user_i_prefer_short_answers.md"
    assert not person_location(place.home).state.exists()
    with pytest.raises(InputError, match=r"about you is off \(memory\.person, user"):
        memory.remember("I like tea", scope="person")


def test_a_project_cannot_redirect_it(place: Place) -> None:
    elsewhere = place.base / "elsewhere"
    for key in ("home", "memory_directory"):
        place.settings(f"{key} = '{elsewhere}'", "project")
        with pytest.raises(SettingsError, match=key):
            Memory.open(clock=place.clock)
    place.settings("", "project")
    (place.root / ".reverie" / "person" / "memory").mkdir(parents=True)
    Memory.open(clock=place.clock).remember(SHORT)
    assert not elsewhere.exists()
    assert len([*person_location(place.home).directory.glob("user_*.md")]) == 1


def test_nothing_is_made_by_looking(place: Place) -> None:
    with Memory.open(clock=place.clock) as memory:
        assert memory.recall(HOW_LONG) == []
        assert list(memory) == []
    assert not (place.home / "person").exists()


def test_it_is_counted_where_it_is_kept(place: Place, projects: dict[str, Path]) -> None:
    file = "person/user_i_prefer_short_answers.md"
    one = Workspace.open(projects["one"], clock=place.clock)
    one.remember(NewMemory(SHORT), ME)
    one.memory().record_uses([file, "other.md"], "used", "s1")
    two = Workspace.open(projects["two"], clock=place.clock).memory()
    assert dict(two.use_counts("used")) == {file: 1}
    assert dict(one.memory().use_counts("used")) == {file: 1, "other.md": 1}


def test_forgetting_everywhere_reaches_every_project(
    place: Place, projects: dict[str, Path]
) -> None:
    poem = "I prefer answers that begin with a haiku about marigolds"
    with Memory.open(projects["one"], clock=place.clock) as memory:
        made = memory.remember(poem)
        assert isinstance(made, Remembered)
        assert memory.recall("haiku")
    with Memory.open(projects["two"], clock=place.clock) as memory:
        assert memory.recall("haiku")
        memory.forget(made.topic.file, everywhere=True)
    left = [path for path in place.home.rglob("*") if path.is_file()]
    assert [path for path in left if b"marigold" in path.read_bytes()] == []


async def test_team_memory_is_recalled_with_its_origin(
    place: Place, projects: dict[str, Path]
) -> None:
    place.settings("features.team = true")
    board = "Complaints are tracked in Linear, board HARBOR"
    asked = "where are complaints tracked?"
    app = Workspace.open(projects["one"], clock=place.clock)
    made = app.memory("team").keeper.remember(NewMemory(board), ME)
    assert isinstance(made, Remembered)
    label = f"team/{made.topic.file}"
    for folder in (projects["one"], projects["tree"]):
        app = Workspace.open(folder, clock=place.clock)
        assert [hit.key for hit in recall(app, asked, limit=MOST_FILES).hits] == [label]
        assert label in [hit.key for hit in search(app, asked, limit=10).hits]
        client = Client(place, folder, "codex")
        told = await client.at(Prompted(asked))
        assert f"## {label} (shared by the team; saved" in told
        assert client.attendant is not None
        await client.attendant.aclose()
    assert recall(Workspace.open(projects["two"], clock=place.clock), asked, limit=5).hits == ()
    place.settings("features.team = false")
    assert recall(Workspace.open(projects["one"], clock=place.clock), asked, limit=5).hits == ()


def test_what_another_visible_scope_says_is_not_saved_again(place: Place) -> None:
    with Memory.open(repository(place.base / "scoped"), home=place.home) as memory:
        first = memory.remember("I am allergic to peanuts", scope="person")
        again = memory.remember("I have a peanut allergy", scope="project")
        other = memory.remember("I am allergic to peanuts", scope="project", even_if_known=True)
    assert isinstance(first, Remembered)
    assert isinstance(again, Declined)
    assert again.existing == first.topic.file
    assert first.topic.file.startswith("person/")
    assert isinstance(other, Remembered)


def test_another_value_in_another_visible_scope_is_told(place: Place) -> None:
    with Memory.open(repository(place.base / "scoped"), home=place.home) as memory:
        first = memory.remember("My editor theme is Solarized", scope="person")
        second = memory.remember("My editor theme is Gruvbox", scope="project")
    assert isinstance(first, Remembered)
    assert isinstance(second, Remembered)
    assert [(one.file, one.likeness) for one in second.related] == [(first.topic.file, "update")]
    assert second.superseded is None


def test_the_same_without_a_common_word_is_found_in_the_other_scope(tmp_path: Path) -> None:
    with Memory.open(tmp_path, home=tmp_path / "home") as memory:
        first = memory.remember("I'm on annual leave from the 3rd to the 10th of August.")
        second = memory.remember("Off work 3–10 Aug, holiday.")
    assert isinstance(first, Remembered)
    assert isinstance(second, Remembered)
    assert first.topic.file.startswith("person/")
    assert not second.topic.file.startswith("person/")
    assert [one.file for one in second.related] == [first.topic.file]
