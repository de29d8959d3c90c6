"""Entries: add, get, list, update, delete, import and export, sync and async."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.flows.examples import Example, examples, run
from tests.place import Place
from tests.provider.provider import Provider

from reverie import AsyncMemory, InputError, Memory, Remembered


@pytest.fixture
def memory(place: Place):
    with Memory.open(clock=place.clock) as opened:
        yield opened


def texts(memory: Memory, **given: Any) -> list[str]:
    return [entry.memory for entry in memory.list(**given)]


class TestAdding:
    def test_a_conversation(self, memory: Memory) -> None:
        said = [
            {"role": "user", "content": "Please always answer in short sentences."},
            {"role": "assistant", "content": "Understood. The sky is green."},
        ]
        added = memory.add(said, metadata={"channel": "chat"})
        [entry] = added.results
        assert "short sentences" in entry.memory
        assert entry.metadata == {"channel": "chat"}
        assert not any("green" in text for text in texts(memory))

    def test_a_text_and_what_is_known(self, memory: Memory) -> None:
        [entry] = memory.add("The clinic opens at 8", metadata={"year": 2026}).results
        assert (entry.memory, entry.metadata) == ("The clinic opens at 8", {"year": 2026})
        again = memory.add("The clinic opens at 8")
        assert again.results == ()
        assert again.declined[0].existing == entry.id

    def test_without_inference(self, memory: Memory) -> None:
        said = [{"role": "user", "content": "The gate code changes on Mondays"}]
        assert len(memory.add(said, infer=False).results) == 1

    def test_a_secret_in_metadata_is_taken_out(self, memory: Memory) -> None:
        token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
        [entry] = memory.add("The deploy user is robot", metadata={"token": token}).results
        assert token not in (memory.directory / entry.id).read_text()


class TestReading:
    def test_one(self, memory: Memory) -> None:
        [entry] = memory.add("The clinic opens at 8").results
        assert memory.get(entry.id) == entry
        assert memory.get("nowhere.md") is None

    def test_pages(self, memory: Memory) -> None:
        for number in range(5):
            memory.add(f"Room {number} belongs to team {number}")
        page = memory.list(limit=2)
        seen = [entry.id for entry in page]
        while page.cursor is not None:
            page = memory.list(limit=2, cursor=page.cursor)
            seen += [entry.id for entry in page]
        assert len(seen) == len(set(seen)) == 5
        with pytest.raises(InputError, match="leads nowhere"):
            memory.list(cursor="gone.md")
        with pytest.raises(InputError, match="limit is 0"):
            memory.list(limit=0)

    @pytest.mark.parametrize(
        ("filters", "found"),
        [
            ({"team": "red"}, {"a", "b"}),
            ({"team": ["blue", "green"]}, {"c"}),
            ({"year": {"gte": 2026}}, {"b", "c"}),
            ({"year": {"gt": 2025, "lt": 2027}, "team": "red"}, {"b"}),
            ({"team": {"ne": "red"}}, {"c"}),
            ({"team": {"contains": "LU"}}, {"c"}),
            ({"team": {"in": ["red"]}, "type": "project"}, {"a", "b"}),
            ({"nothing": None, "scope": "person"}, set()),
        ],
    )
    def test_filters(self, memory: Memory, filters: dict[str, Any], found: set[str]) -> None:
        rows = {
            "a": ("The apples are stored in hall 1", "red", 2025),
            "b": ("Pears go to the market by train", "red", 2026),
            "c": ("Cherries need a cold truck", "blue", 2027),
        }
        for name, (text, team, year) in rows.items():
            memory.remember(
                text, type="project", metadata={"team": team, "year": year, "name": name}
            )
        assert {entry.metadata["name"] for entry in memory.list(filters=filters)} == found

    def test_recall_passes_them_too(self, memory: Memory) -> None:
        memory.remember("The north gate opens at 6", metadata={"gate": "north"})
        memory.remember("The south gate opens at 9", metadata={"gate": "south"})
        found = memory.recall("when does the gate open?", filters={"gate": "south"})
        assert [hit.text for hit in found] == ["The south gate opens at 9"]

    def test_a_wrong_filter_is_explained(self, memory: Memory) -> None:
        memory.add("The clinic opens at 8", metadata={"year": 2026})
        with pytest.raises(
            InputError, match=r"filters\['year'\]: there is no 'above'; there are: eq"
        ):
            memory.list(filters={"year": {"above": 1}})
        with pytest.raises(InputError, match="cannot be compared"):
            memory.list(filters={"year": {"gt": "x"}})


class TestChanging:
    def test_update_keeps_what_is_left_out(self, memory: Memory) -> None:
        [entry] = memory.add("The clinic opens at 8", metadata={"year": 2026}).results
        changed = memory.update(entry.id, "The clinic opens at 7")
        assert (changed.id, changed.memory, changed.metadata) == (
            entry.id,
            "The clinic opens at 7",
            {"year": 2026},
        )
        assert changed.updated_at is not None
        assert [hit.file for hit in memory.recall("when does the clinic open? at 7")] == [entry.id]
        assert memory.update(entry.id, metadata={}).metadata == {}
        memory.undo()
        memory.undo()
        assert texts(memory) == ["The clinic opens at 8"]
        with pytest.raises(InputError, match="use delete"):
            memory.update(entry.id, "  ")
        with pytest.raises(InputError, match="not text"):
            memory.update(entry.id, "The clinic\0opens")

    def test_a_greeting_and_an_unknown_format_are_refused(self, memory: Memory) -> None:
        [refused] = memory.add("hi").declined
        assert "a greeting" in refused.reason
        with pytest.raises(InputError, match=r"nothing is exported as \.gz"):
            memory.export(memory.directory.parent / "x.tar.gz")

    def test_what_was_made_from_the_old_text_follows_the_new_one(self, memory: Memory) -> None:
        [entry] = memory.add("The night pharmacy is on Kanalstraat 8. It rings.").results
        changed = memory.update(entry.id, "The night pharmacy is on Molenweg 3")
        assert changed.name == changed.description == "The night pharmacy is on Molenweg 3"
        assert "Kanalstraat" not in (memory.directory / "MEMORY.md").read_text()

    def test_what_was_written_by_hand_stays(self, memory: Memory) -> None:
        named = memory.remember("The clinic opens at 8", name="Clinic", strict=True)
        assert isinstance(named, Remembered)
        memory.update(named.topic.file, description="When it opens")
        changed = memory.update(named.topic.file, "The clinic opens at 7")
        assert (changed.name, changed.description) == ("Clinic", "When it opens")
        changed = memory.update(named.topic.file, "It opens at 6", name="Clinics")
        assert (changed.name, changed.description) == ("Clinics", "When it opens")

    def test_an_update_has_absolute_dates_and_its_period(self, memory: Memory) -> None:
        [entry] = memory.add("No deploys until Tuesday").results
        changed = memory.update(entry.id, "No deploys until next Thursday")
        assert changed.memory == changed.name == "No deploys until 2025-06-19"
        assert memory.read(entry.id).valid_until == "2025-06-19"

    def test_delete_all_is_one_change_and_leaves_the_person(
        self, memory: Memory, place: Place
    ) -> None:
        memory.add("Room 1 belongs to accounting")
        memory.add("Parcels arrive on Thursdays", metadata={"keep": True})
        memory.remember("I prefer tea", scope="person")
        place.clock.advance(60)
        assert memory.delete_all(filters={"keep": {"ne": True}}) == 1
        place.clock.advance(60)
        assert memory.delete_all() == 1
        assert texts(memory) == ["I prefer tea"]
        memory.undo()
        assert "Parcels arrive on Thursdays" in texts(memory)

    def test_delete(self, memory: Memory) -> None:
        [entry] = memory.add("The clinic opens at 8").results
        memory.delete(entry.id)
        assert memory.get(entry.id) is None
        with pytest.raises(InputError, match="no memory"):
            memory.delete(entry.id)


def test_export_and_import(memory: Memory, place: Place, tmp_path: Path) -> None:
    memory.add("The clinic opens at 8", metadata={"year": 2026})
    text = memory.export(tmp_path / "all.zip")
    assert json.loads(text)["memories"][0]["text"].count("2026") >= 1
    with Memory.open(user="alice", clock=place.clock) as alice:
        plan = alice.import_(tmp_path / "all.zip", dry_run=True)
        assert len(plan.files) == 1
        assert texts(alice) == []
        alice.import_(tmp_path / "all.zip")
        [entry] = alice.list()
        assert (entry.memory, entry.metadata) == ("The clinic opens at 8", {"year": 2026})
        again = alice.import_(tmp_path / "all.zip")
        assert (again.files, len(again.declined)) == ((), 1)


async def test_the_same_as_coroutines(place: Place) -> None:
    async with await AsyncMemory.open(clock=place.clock) as memory:
        [entry] = (await memory.add("The clinic opens at 8", metadata={"year": 2026})).results
        assert await memory.get(entry.id) == entry
        assert (await memory.recall("when does the clinic open?"))[0].file == entry.id
        assert len(await memory.list(filters={"year": 2026})) == 1
        await memory.update(entry.id, "The clinic opens at 7")
        assert await memory.delete_all() == 1
        assert (await memory.undo()).files
    assert AsyncMemory.recall.__doc__ == Memory.recall.__doc__


@pytest.mark.parametrize("example", examples("docs/from-mem0.md"), ids=str)
def test_the_page_for_users_of_mem0(example: Example, place: Place, provider: Provider) -> None:
    assert "nuts" in run(example, place, provider)
