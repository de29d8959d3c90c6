"""A service with several users: no user can read another's memory."""

import logging
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.conversation import claude_lines
from tests.conversation.build import user as user_message
from tests.conversation.build import write_lines
from tests.place import NOON, Place, git

from reverie import Agent, Context, InputError, Memory, Remembered
from reverie.conversation.records import Opened, Said
from reverie.events import Event, MemoriesSaved, MemoriesSurfaced
from reverie.memory.opening import changes
from reverie.models.offline import ScriptedModel
from reverie.recall.service import index_past_sessions, search
from reverie.workspace import Workspace

SECRET = "The launch code of Bob's zeppelin is marigold"
OWNER = "I prefer short answers about zeppelins"
QUESTION = "what is the launch code of the zeppelin?"
LATER = datetime.fromtimestamp(NOON + 3_600, UTC)


def of(place: Place, user: str | None) -> Memory:
    return Memory.open(place.root, user=user, clock=place.clock)


@pytest.fixture
def alice(place: Place):
    """Bob and the machine's owner have memories; Alice has one of her own."""
    for user, text in (("bob", SECRET), (None, OWNER), (None, f"{SECRET} (owner)")):
        with of(place, user) as memory:
            assert isinstance(memory.remember(text, name=text.partition(" is ")[0]), Remembered)
    with of(place, "alice") as memory:
        memory.remember("Alice's importer runs at midnight")
        yield memory


def bobs_file(place: Place) -> Path:
    bob = of(place, "bob")
    return bob.directory / next(iter(bob)).file


class TestUsersCannotReadEachOther:
    def test_by_searching(self, alice: Memory) -> None:
        found = [
            *alice.recall(QUESTION, limit=50),
            *alice.search(QUESTION, limit=50),
            *alice.recall(QUESTION, limit=50, as_of=LATER),
        ]
        assert {hit.file for hit in found} <= {next(iter(alice)).file}
        assert "marigold" not in str(found)
        assert "short answers" not in str(found)

    def test_by_listing(self, alice: Memory) -> None:
        assert [entry.name for entry in alice] == ["Alice's importer runs at midnight"]
        assert [change.summary for change in alice.history()] == [
            "remember Alice's importer runs at midnight"
        ]

    def test_by_paths(self, alice: Memory, place: Place) -> None:
        file = bobs_file(place)
        folder = file.parent.parent.name
        guesses = (
            str(file),
            f"../../{folder}/memory/{file.name}",
            f"../../../users/{folder}/memory/{file.name}",
            f"..%2f..%2f{folder}/memory/{file.name}",
            f"../../bob/{file.name}",
            f"users/{folder}/memory/{file.name}",
            file.name,
            f"person/{file.name}",
            f"team/{file.name}",
            "person/user_i_prefer_short_answers_about_zeppelins.md",
        )
        for guess in guesses:
            with pytest.raises(InputError) as error:
                alice.read(guess)
            assert "marigold" not in str(error.value)
            with pytest.raises(InputError):
                alice.forget(guess)
            with pytest.raises(InputError):
                alice.forget(guess, everywhere=True)
            with pytest.raises(InputError):
                alice.move(guess, "project")
            with pytest.raises(InputError):
                alice.remember("The code changed", supersedes=guess)
        assert file.is_file()

    def test_by_history(self, alice: Memory, place: Place) -> None:
        theirs = of(place, "bob").history()[0]
        owners = of(place, None).history()
        for revision in (theirs, *owners):
            with pytest.raises(InputError):
                alice.undo(revision.id)
        for name in (bobs_file(place).name, f"../../bob/{bobs_file(place).name}"):
            assert alice.history(name) == []
        alice.undo()
        assert list(alice) == []
        with pytest.raises(InputError, match="has one memory"):
            alice.history("person/x.md")

    def test_by_what_is_exported_or_kept_open(self, alice: Memory, place: Place) -> None:
        memory = Workspace.open(place.root, user="alice").memory()
        assert [part.scope for part in memory.parts] == ["project"]
        assert "marigold" not in str([*changes(memory.private)])
        assert {path.name for path in memory.store.root.iterdir() if path.suffix == ".md"} == {
            "MEMORY.md",
            next(iter(alice)).file,
        }

    @pytest.mark.parametrize("user", ["../../bob", "bob/", "BOB", "bob ", "users/bob", "../bob"])
    def test_by_a_name_like_theirs(self, alice: Memory, place: Place, user: str) -> None:
        with of(place, user) as memory:
            assert memory.recall(QUESTION, limit=50) == []
            assert list(memory) == []

    def test_by_a_link_in_ones_own_folder(self, alice: Memory, place: Place) -> None:
        (alice.directory / "stolen.md").symlink_to(bobs_file(place))
        assert "marigold" not in str(alice.recall(QUESTION, limit=50))
        with pytest.raises(InputError):
            alice.read("stolen.md")

    def test_by_asking_for_a_scope(self, alice: Memory) -> None:
        with pytest.raises(InputError, match="'alice' has one memory"):
            alice.remember("I prefer short answers", scope="person")
        with pytest.raises(InputError, match="'alice' has one memory"):
            alice.move(next(iter(alice)).file, "person")
        with pytest.raises(InputError, match="not open to the user 'alice'"):
            alice.move(next(iter(alice)).file, "team")

    def test_by_past_conversations(self, alice: Memory, place: Place) -> None:
        place.journal("s1", Opened("s1", NOON), Said(user_message(SECRET)))
        claude = (
            place.person / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(place.root))
        )
        claude.mkdir(parents=True)
        line = claude_lines.prompt(SECRET, cwd=str(place.root), sessionId="s2")
        write_lines(claude / "s2.jsonl", [line])
        app = Workspace.open(place.root, user="alice", clock=place.clock)
        index_past_sessions(app)
        assert "marigold" not in str(search(app, "zeppelin launch code", limit=50))
        owner = place.app()
        index_past_sessions(owner)
        found = search(owner, "zeppelin launch code", limit=50, scope="episodes")
        assert {hit.session for hit in found.hits} == {"s1", "s2"}


@pytest.mark.anyio
class TestConversations:
    async def test_each_in_a_folder_of_its_own(self, alice: Memory, place: Place) -> None:
        model = ScriptedModel(otherwise="Fine.")
        async with Context(model=model, user="bob", session="talk", project=place.root) as bob:
            sent = await bob.prepare([{"role": "user", "content": QUESTION}])
            assert "marigold" in str(sent.request)
        async with Context(model=model, user="alice", session="talk", project=place.root) as own:
            sent = await own.prepare([{"role": "user", "content": QUESTION}])
            assert "marigold" not in str(sent.request)
            assert "short answers" not in str(sent.request)
            assert len(sent.request.messages) == 1
        assert place.app().journals() == []

    async def test_of_the_memory_that_was_given(self, alice: Memory, place: Place) -> None:
        async with Context(model=ScriptedModel(otherwise="Fine."), memory=alice) as own:
            sent = await own.prepare([{"role": "user", "content": "When does the importer run?"}])
            assert "midnight" in str(sent.request)
        assert alice.directory.parent.joinpath("sessions").is_dir()
        with pytest.raises(InputError, match="not theirs"):
            Context(memory=alice, user="bob")
        with pytest.raises(InputError, match="not theirs"):
            Context(memory=of(place, None), user="bob")

    async def test_what_an_agent_learns_is_the_users(self, alice: Memory, place: Place) -> None:
        heard: list[Event] = []
        async with Agent(
            ScriptedModel(otherwise="Noted."),
            user="carol",
            project=place.root,
            listener=heard.append,
        ) as agent:
            await agent.ask("Remember that I prefer long answers with poems in them.")
        [learnt] = [event for event in heard if isinstance(event, MemoriesSaved)]
        [entry] = of(place, "carol")
        assert learnt.files == (entry.file,)
        assert "poems" in entry.description
        assert "poems" not in str([*of(place, None), *alice])
        assert not any(isinstance(event, MemoriesSurfaced) for event in heard)


def test_the_place_of_a_user(place: Place) -> None:
    memory = of(place, "alice@example.com")
    memory.remember("The importer runs at midnight")
    state = place.app().project.folder
    assert memory.user == "alice@example.com"
    assert memory.directory.parent.parent == state / "users"
    assert memory.directory.parent.name.startswith("alice-example-com-")
    assert {path.name for path in memory.directory.parent.iterdir()} >= {"history.git", "memory"}
    assert of(place, None).user is None


def test_which_project_was_opened_is_logged(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    git(place.root, "init", "-q")
    inner = place.root / "src" / "deep"
    inner.mkdir(parents=True)
    with caplog.at_level(logging.INFO):
        memory = Memory.open(inner)
    assert memory.project == place.root
    [line] = [line for line in caplog.messages if "using its memory" in line]
    assert str(inner) in line
    caplog.clear()
    assert Memory.open(place.root).project == place.root
    assert "using its memory" not in caplog.text
