"""`Memory`: a project's memory as a library."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.conversation import claude_lines as claude
from tests.conversation.build import user, write_lines
from tests.place import NOON, Place

from reverie import Declined, InputError, Memory, Remembered
from reverie.conversation.records import Opened, Said
from reverie.errors import ReverieError, SettingsError
from reverie.memory.changes.handles import short_ids

PORT = "The staging database runs on port 6543"
FREEZE = "Deploys freeze on 2026-12-20 because of the audit"


@pytest.fixture
def memory(place: Place):
    with Memory.open(clock=place.clock) as opened:
        yield opened


def kept(memory: Memory, text: str = PORT, **given: object) -> str:
    outcome = memory.remember(text, **given)  # type: ignore[arg-type]
    assert isinstance(outcome, Remembered)
    return outcome.topic.file


class TestRemembering:
    def test_and_reading(self, memory: Memory) -> None:
        file = kept(memory, type="project", name="Staging port")
        topic = memory.read(file)
        assert (topic.name, topic.type) == ("Staging port", "project")
        assert PORT in topic.body
        assert (memory.directory / file).is_file()
        assert [entry.file for entry in memory] == [file]

    def test_what_is_known_is_declined(self, memory: Memory) -> None:
        file = kept(memory)
        again = memory.remember(PORT)
        assert isinstance(again, Declined)
        assert again.existing == file
        assert isinstance(memory.remember(PORT, even_if_known=True), Remembered)

    def test_what_replaces_it(self, memory: Memory) -> None:
        file = kept(memory)
        fresh = kept(memory, "The staging database runs on port 7000", supersedes=file)
        assert memory.read(file).superseded_by == fresh

    def test_what_is_not_there(self, memory: Memory) -> None:
        file = kept(memory)
        with pytest.raises(InputError, match=f"did you mean {file}"):
            memory.read(f"{file[:-6]}.md")

    def test_every_name_of_it(self, memory: Memory) -> None:
        file = kept(memory)
        [id_] = short_ids([file]).values()
        for name in (
            id_,
            file,
            file.removesuffix(".md"),
            "staging database",
            memory.read(file).name,
        ):
            assert memory.read(name).file == file
        assert len(memory.history(id_)) == 1
        other = kept(memory, "The staging database is slow on Mondays", even_if_known=True)
        with pytest.raises(InputError, match="fits 2 memories; give the id of one"):
            memory.read("staging database")
        memory.forget(id_)
        assert [entry.file for entry in memory] == [other]


class TestFinding:
    def test_recall(self, memory: Memory) -> None:
        file = kept(memory)
        kept(memory, FREEZE)
        [first, *_] = memory.recall("on which port does the staging database run")
        assert first.file == file
        assert first.text == PORT
        assert first.why
        assert 0 < first.score <= 1

    def test_so_many(self, memory: Memory) -> None:
        for text in (PORT, FREEZE, "Mira owns the importer"):
            kept(memory, text)
        assert len(memory.recall("staging database", limit=1)) == 1

    def test_as_it_was(self, memory: Memory, place: Place) -> None:
        kept(memory)
        place.clock.advance(86_400)
        kept(memory, FREEZE)
        then = datetime.fromtimestamp(NOON + 3_600, UTC)
        assert [hit.text for hit in memory.recall("deploys freeze port", as_of=then)] != []
        assert "freeze" not in str(memory.recall("when do deploys freeze", as_of=then)).lower()

    def test_past_conversations(self, memory: Memory, place: Place) -> None:
        kept(memory)
        said = user("The zeppelin landed behind the greenhouse")
        place.journal("s1", Opened("s1", NOON), Said(said))
        [hit] = memory.search("zeppelin greenhouse", only="episodes")
        assert (hit.file, hit.session) == ("", "s1")
        assert "zeppelin" in hit.text
        assert "s1" not in {hit.session for hit in memory.search("zeppelin", only="memories")}
        assert {hit.session for hit in memory.search("zeppelin port")} == {"", "s1"}

    def test_conversations_of_claude_code_stay_in_the_index(
        self, memory: Memory, place: Place
    ) -> None:
        name = "".join(char if char.isalnum() else "-" for char in str(place.root))
        path = place.person / ".claude" / "projects" / name / "c1.jsonl"
        path.parent.mkdir(parents=True)
        line = claude.prompt("The zeppelin landed behind the greenhouse")
        write_lines(path, [line | {"cwd": str(place.root)}])
        [hit] = memory.search("zeppelin", only="episodes")
        assert hit.session == "c1"

    def test_each_conversation_is_shown_once(self, memory: Memory, place: Place) -> None:
        for session in ("s1", "s2"):
            said = [Said(user(f"The zeppelin landed {n} times")) for n in range(3)]
            place.journal(session, Opened(session, NOON), *said)
        hits = memory.search("zeppelin landed", only="episodes")
        assert sorted(hit.session for hit in hits) == ["s1", "s2"]

    def test_after_closing_it_opens_again(self, memory: Memory) -> None:
        kept(memory)
        memory.close()
        assert memory.recall("staging database port")


class TestHistory:
    def test_a_change_is_undone(self, memory: Memory) -> None:
        file = kept(memory)
        memory.forget(file)
        assert list(memory) == []
        undone = memory.undo()
        assert [entry.file for entry in memory] == [file]
        assert memory.history()[0].id == undone.id
        assert len(memory.history()) == 3
        assert len(memory.history(limit=2)) == 2
        assert len(memory.history(file)) == 3

    def test_an_older_change(self, memory: Memory) -> None:
        first = memory.remember(PORT)
        second = kept(memory, FREEZE)
        assert isinstance(first, Remembered)
        memory.undo(first.revision.id)
        assert [entry.file for entry in memory] == [second]

    def test_an_edit_by_hand_is_part_of_it(self, memory: Memory) -> None:
        path = memory.directory / kept(memory)
        path.write_text(path.read_text().replace("6543", "7000"))
        assert "6543" not in memory.read(path.name).body
        memory.undo()
        assert "6543" in memory.read(path.name).body

    def test_nothing_to_undo(self, memory: Memory) -> None:
        with pytest.raises(InputError, match="nothing to undo"):
            memory.undo()

    def test_for_good(self, memory: Memory) -> None:
        file = kept(memory)
        memory.forget(file, everywhere=True)
        assert memory.history(file) == []
        with pytest.raises(InputError):
            memory.read(file)


class TestOpening:
    def test_another_project_and_home(self, place: Place) -> None:
        other = place.base / "other"
        other.mkdir()
        memory = Memory.open(other, home=place.base / "home")
        kept(memory)
        assert memory.directory.is_relative_to(place.base / "home")
        assert list(Memory.open(home=place.base / "home")) == []
        assert len(list(Memory.open(str(other), home=str(place.base / "home")))) == 1

    def test_the_working_directory_may_change(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory = Memory.open()
        kept(memory)
        monkeypatch.chdir(place.base)
        assert len(list(memory)) == 1
        assert memory.place.project == place.root

    @pytest.mark.parametrize(
        "settings", [{"memory.enabled": False}, {"memory": {"enabled": False}}]
    )
    def test_settings_as_keys_or_tables(self, place: Place, settings: dict[str, object]) -> None:
        with pytest.raises(InputError, match="memory is off"):
            Memory.open(settings=settings)

    def test_an_unknown_setting(self, place: Place) -> None:
        with pytest.raises(SettingsError, match=r"recall\.late"):
            Memory.open(settings={"recall.lat": "drop"})

    def test_a_cap_that_is_lifted(self, place: Place) -> None:
        Memory.open(settings={"spend.day": None, "memory_directory": place.base / "m"})

    @pytest.mark.parametrize("path", ["nowhere", "file"])
    def test_no_folder(self, place: Place, path: str) -> None:
        (place.root / "file").write_text("")
        with pytest.raises(ReverieError, match=f"the project '{path}' is not a folder"):
            Memory.open(path)
        assert not Path(path).is_dir()
