"""From a message to the memories beside it; whatever fails, the turn goes on."""

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.place import FixedClock

from reverie.core.messages import Text, new_message
from reverie.errors import Overloaded, StorageError
from reverie.events import TroubleNoted
from reverie.memory.format import topic
from reverie.memory.format.manifest import ManifestEntry
from reverie.memory.format.revisions import Author, Put
from reverie.memory.history import GitHistory
from reverie.memory.store import FileStore
from reverie.models.offline import ScriptedModel
from reverie.recall.attachment import labels
from reverie.recall.pipeline import Ranked, Recall

ASK = new_message("user", Text("when can I ship the release?"))


class ByWords:
    """A ranker that counts shared words: enough to steer the pipeline."""

    def rank(self, question: str, entries: Sequence[ManifestEntry]) -> list[Ranked]:
        asked = set(question.lower().split())
        found = [(len(asked & set(e.description.lower().split())), e.file) for e in entries]
        return [Ranked(file, n, sure=n >= 2) for n, file in sorted(found, reverse=True) if n]


class Broken:
    def rank(self, question: str, entries: Sequence[ManifestEntry]) -> list[Ranked]:
        raise StorageError("the index is gone")


@pytest.fixture
def store(tmp_path: Path, clock: FixedClock) -> FileStore:
    made = FileStore(tmp_path / "memory", GitHistory(tmp_path / "history.git", clock))
    save(made, "freeze", "No release can ship after 2026-12-20")
    save(made, "tests", "Integration tests hit a real database")
    return made


def save(store: FileStore, name: str, description: str, body: str = "The body.", **more) -> None:
    memory = topic.new(name, description, "project", body, file=f"{name}.md", **more)
    store.apply((Put(memory.file, topic.render(memory)),), Author(), f"remember {name}")


@pytest.fixture
def heard() -> list[object]:
    return []


@pytest.fixture
def recall(store: FileStore, tmp_path: Path, clock: FixedClock, heard: list[object]) -> Recall:
    return Recall(
        store, ByWords(), clock, (tmp_path / "memory").joinpath, tmp_path, announce=heard.append
    )


def choosing(*files: str) -> ScriptedModel:
    return ScriptedModel(otherwise=json.dumps({"selected_memories": files}))


def trouble(heard: list[object]) -> list[str]:
    return [event.where for event in heard if isinstance(event, TroubleNoted)]


async def test_without_a_model_the_score_decides(recall: Recall, heard: list[object]):
    found = await recall.recollect(ASK)
    assert found.files == ("freeze.md",)
    assert "The body." in found.attachment.text
    assert found.how == "chosen by score"
    assert heard == []


async def test_no_good_match_shows_nothing(recall: Recall):
    found = await recall.recollect(new_message("user", Text("paint the shed green")))
    assert found.attachment is None
    assert found.files == ()


async def test_what_was_shown_is_counted_in_bytes(recall: Recall, store: FileStore):
    save(store, "ship", "when can I ship the release?", "日本語 und Größe.")
    found = await recall.recollect(ASK)
    assert recall.surfaced.bytes == len(found.attachment.text.encode()) > len(found.attachment.text)


async def test_a_selector_chooses(recall: Recall):
    recall.selector = choosing("tests.md")
    found = await recall.recollect(ASK, tools=("Bash",))
    assert found.files == ("tests.md",)
    assert found.how == "chosen by the selector"
    sent = recall.selector.requests[0].messages[0].text
    assert "freeze.md" in sent
    assert "Tools in use: Bash" in sent


async def test_a_selector_that_wants_nothing_is_believed(recall: Recall):
    recall.selector = choosing()
    assert (await recall.recollect(ASK)).attachment is None


@pytest.mark.parametrize(
    "reply",
    [
        "I would pick freeze.md",
        "{}",
        '{"selected_memories": "freeze.md"}',
        Overloaded("later"),
        "",
    ],
)
async def test_a_selector_that_fails_gives_way(recall: Recall, heard: list[object], reply):
    recall.selector = ScriptedModel(otherwise=reply)
    found = await recall.recollect(ASK)
    assert found.files == ("freeze.md",)
    assert trouble(heard) == ["recall.selector"]


async def test_names_nobody_knows_are_dropped(recall: Recall):
    recall.selector = choosing("../../etc/passwd", "made_up.md", "freeze.md")
    assert (await recall.recollect(ASK)).files == ("freeze.md",)


async def test_a_slow_selector_gives_way(recall: Recall, heard: list[object]):
    class Slow(ScriptedModel):
        async def stream(self, request):
            await asyncio.Event().wait()
            yield

    recall.selector = Slow()
    recall.timeout = 0.01
    assert (await recall.recollect(ASK)).files == ("freeze.md",)
    assert trouble(heard) == ["recall.selector"]


async def test_a_broken_index_stops_nothing(recall: Recall, heard: list[object]):
    recall.ranker = Broken()
    recall.selector = choosing("freeze.md")
    assert (await recall.recollect(ASK)).files == ("freeze.md",)
    assert trouble(heard) == ["recall.rank"]


async def test_a_file_that_went_away_is_left_out(recall: Recall, store: FileStore):
    recall.selector = choosing("freeze.md", "tests.md")
    read = store.read
    store.read = lambda file: None if file == "freeze.md" else read(file)
    assert (await recall.recollect(ASK)).files == ("tests.md",)


async def test_nothing_is_given_twice_until_the_conversation_is_compacted(recall: Recall):
    assert (await recall.recollect(ASK)).files == ("freeze.md",)
    assert (await recall.recollect(ASK)).files == ()
    recall.surfaced.reset()
    assert (await recall.recollect(ASK)).files == ("freeze.md",)


async def test_what_the_agent_read_itself_is_not_repeated(recall: Recall):
    found = await recall.recollect(ASK, seen=frozenset({"freeze.md", "tests.md"}))
    assert found.attachment is None
    assert "already" in found.how


async def test_at_most_five(recall: Recall, store: FileStore):
    for i in range(9):
        save(store, f"release_{i}", f"the release can ship {i}")
    assert len((await recall.recollect(ASK)).files) == 5


async def test_a_shortlist_is_made_by_relevance_not_by_age(recall: Recall, store: FileStore):
    puts = []
    for i in range(230):
        memory = topic.new(f"n{i}", f"note number {i}", "project", "b", file=f"n_{i}.md")
        puts.append(Put(memory.file, topic.render(memory)))
    store.apply(puts, Author(), "many")
    recall.selector = choosing("freeze.md")
    found = await recall.recollect(ASK)
    assert found.files == ("freeze.md",)
    listed = recall.selector.requests[0].messages[0].text
    assert listed.count("\n- ") == 200


async def test_standing_is_labelled(recall: Recall, store: FileStore):
    save(
        store,
        "old_release",
        "the release can ship when QA says so",
        superseded_by="freeze.md",
        valid_until="2025-01-01",
        confidence=0.3,
    )
    recall.selector = choosing("old_release.md")
    text = (await recall.recollect(ASK)).attachment.text
    assert "> Superseded by freeze.md; kept for history." in text
    assert "> Expired: it held until 2025-01-01." in text
    assert "> Uncertain (confidence 0.3)." in text


async def test_what_was_replaced_is_not_shown_by_score_unless_the_past_is_asked_about(
    recall: Recall, store: FileStore
):
    save(store, "old", "when can I ship the release", superseded_by="freeze.md")
    assert (await recall.recollect(ASK)).files == ("freeze.md",)
    asked = new_message("user", Text("when could we formerly ship the release?"))
    assert "old.md" in (await recall.recollect(asked)).files


async def test_a_question_about_the_past_is_shown_what_the_found_memory_replaced(
    recall: Recall, store: FileStore
):
    save(store, "old", "Ferries sail every Monday", superseded_by="freeze.md")
    assert (await recall.recollect(ASK)).files == ("freeze.md",)
    recall.surfaced.reset()
    asked = new_message("user", Text("when could we ship the release in the past?"))
    assert (await recall.recollect(asked)).files == ("old.md", "freeze.md")


async def test_a_follow_up_is_searched_with_what_was_said_before(recall: Recall):
    recall.selector = choosing()
    await recall.recollect(new_message("user", Text("how do integration checks hit it?")))
    recall.selector = None
    found = await recall.recollect(new_message("user", Text("and the tests?")))
    assert found.files == ("tests.md",)


async def test_what_is_archived_is_not_even_offered(recall: Recall, store: FileStore):
    save(store, "away", "the release can ship when QA says so", archived="2025-01-01")
    recall.selector = choosing("away.md", "freeze.md")
    assert (await recall.recollect(ASK)).files == ("freeze.md",)
    assert "away.md" not in recall.selector.requests[0].messages[0].text


def test_an_archived_memory_says_so():
    memory = topic.new("n", "d", "project", "b", archived="2025-01-01")
    said = labels(memory, datetime(2025, 6, 15, tzinfo=UTC))
    assert said == ("Archived on 2025-01-01; kept, but no longer in use.",)


async def test_anchors_are_checked(recall: Recall, store: FileStore):
    save(store, "ship", "how to ship the release", anchors=("src/ship.py",))
    recall.selector = choosing("ship.md")
    text = (await recall.recollect(ASK)).attachment.text
    assert "src/ship.py, which it names, no longer exists." in text


async def test_it_can_be_cancelled_at_any_moment(recall: Recall):
    class Waiting(ScriptedModel):
        async def stream(self, request):
            await asyncio.Event().wait()
            yield

    recall.selector = Waiting()
    task = asyncio.create_task(recall.recollect(ASK))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert recall.surfaced.files == set()


async def test_off_is_off(recall: Recall):
    assert (await recall.recollect(ASK, enabled=False)).how == "recall is off"


async def test_what_is_shown_and_what_helps_is_counted(recall: Recall):
    counted: list[tuple[tuple[str, ...], str]] = []
    recall.count = lambda files, use: counted.append((tuple(files), use))
    await recall.recollect(ASK)
    assert counted == [(("freeze.md",), "recalled")]
    assert recall.replied("No idea.") == ()
    assert recall.replied("freeze.md says no.") == ("freeze.md",)
    assert recall.replied("Again, freeze.md says no.") == ()
    assert counted[1:] == [(("freeze.md",), "used")]


async def test_counting_that_fails_stops_nothing(recall: Recall, heard: list[object]):
    def full(files: Sequence[str], use: str) -> None:
        raise StorageError("the disk is full")

    recall.count = full
    assert (await recall.recollect(ASK)).files == ("freeze.md",)
    assert recall.replied("freeze.md") == ("freeze.md",)
    assert trouble(heard) == ["recall.uses", "recall.uses"]


# --- what has expired ---


async def test_what_has_expired_gives_way_to_what_holds(recall: Recall, store: FileStore):
    save(store, "june", "the release can ship on request", valid_until="2025-06-14")
    found = await recall.recollect(ASK)
    assert found.files == ("freeze.md",)
    assert found.left_out == (("june.md", "it held until 2025-06-14"),)
    recall.surfaced.files.clear()
    recall.selector = choosing("june.md", "freeze.md")
    assert (await recall.recollect(ASK)).files == ("freeze.md",)


async def test_what_has_expired_is_better_than_nothing(recall: Recall, store: FileStore):
    save(store, "june", "the release can ship on request", valid_until="2025-06-14")
    recall.selector = choosing("june.md")
    found = await recall.recollect(ASK)
    assert found.files == ("june.md",)
    assert "> Expired: it held until 2025-06-14." in found.attachment.text


async def test_a_question_about_the_past_sees_what_has_expired(recall: Recall, store: FileStore):
    save(store, "june", "the release can ship on request", valid_until="2025-06-14")
    asked = new_message("user", Text("when could the release ship in May 2025?"))
    recall.selector = choosing("june.md", "freeze.md")
    assert (await recall.recollect(asked)).files == ("june.md", "freeze.md")


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"valid_until": "2025-06-15"}, ()),
        ({"valid_until": "2025-06-14"}, ("Expired: it held until 2025-06-14.",)),
        ({"valid_from": "2025-06-16"}, ("Not yet in force: it holds from 2025-06-16.",)),
        ({"valid_from": "2025-06-15"}, ()),
    ],
)
def test_the_last_day_still_counts(limits, said):
    memory = topic.new("n", "d", "project", "b", **limits)
    assert labels(memory, datetime(2025, 6, 15, 12).astimezone()) == said


async def test_what_replaced_a_memory_is_shown_in_its_place(
    store: FileStore, recall: Recall
) -> None:
    save(store, "old", "Ferries ship on Mondays only", superseded_by="middle.md")
    save(store, "middle", "Since May it is different", superseded_by="new.md")
    save(store, "new", "Nothing leaves before noon")
    asked = new_message("user", Text("do ferries ship on Mondays?"))
    assert (await recall.recollect(asked)).files == ("new.md",)


async def test_what_was_replaced_by_nothing_known_is_not_shown(
    store: FileStore, recall: Recall
) -> None:
    save(store, "old", "Ferries ship on Mondays only", superseded_by="gone.md")
    save(store, "one", "Trucks drive on Mondays only", superseded_by="two.md")
    save(store, "two", "Trucks drive on Mondays twice", superseded_by="one.md")
    asked = new_message("user", Text("do ferries or trucks drive or ship on Mondays only?"))
    assert (await recall.recollect(asked)).files == ()
