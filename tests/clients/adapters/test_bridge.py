"""A framework's history through a `Context` and back, without a framework in the way."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.place import Place

from reverie.adapters.bridge import (
    AdapterOptions,
    Bridge,
    Bridges,
    Head,
    Turn,
    joined,
    mark,
    plain_name,
)
from reverie.core.messages import Message, Text, Thinking, ToolResult, ToolUse
from reverie.core.request import Reply
from reverie.events import TroubleNoted
from reverie.workspace import Workspace

HEAD = Head("offline", "Be brief.")
RUN = "run"


class Plain:
    """Entries are (message, note) pairs; the note stands for what only a framework knows."""

    def read(self, entries: Any) -> list[Turn[Any]]:
        return [Turn(message, ((message, note),)) for message, note in entries]

    def with_results(self, entries: Any, texts: Any) -> list[Any]:
        return [(tuple(texts.items()), note) for _, note in entries]

    def written(self, message: Message, names: Any) -> list[Any]:
        return [(message, "ours")]


def user(text: str) -> Any:
    return Message("", "user", (Text(text),)), object()


def assistant(*blocks: Any) -> Any:
    return Message("", "assistant", blocks), object()


def reply(text: str) -> Reply:
    return Reply("", "offline", (Text(text),), "end")


# A result that says nothing is sent with a word about that.
texts = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20).filter(
    lambda text: bool(text.strip())
)


@st.composite
def histories(draw: st.DrawFn) -> list[Any]:
    """Whole turns with parallel calls, then a question."""
    history: list[Any] = []
    for turn in range(draw(st.integers(0, 4))):
        history.append(user(draw(texts)))
        calls = [ToolUse(f"c{turn}-{n}", "look", "{}") for n in range(draw(st.integers(0, 3)))]
        if calls:
            # Histories come one after the other: the same message always has the same thinking.
            thought = (Thinking("hm", "sig"),) if len(calls) == 2 else ()
            history.append(assistant(*thought, *calls))
            results = (ToolResult(call.id, (Text(draw(texts)),)) for call in calls)
            history.append((Message("", "user", tuple(results)), object()))
        history.append(assistant(Text(draw(texts))))
    return [*history, user(draw(texts))]


@pytest.fixture
def bridge(place: Place) -> Iterator[Bridge[Any]]:
    events: list[Any] = []
    off: AdapterOptions = {"memory": False, "listener": events.append, "project": place.root}
    made: Bridge[Any] = Bridge(Plain(), off)
    yield made
    made.close()
    assert not [event for event in events if isinstance(event, TroubleNoted)]


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(history=histories())
def test_what_needs_no_change_stays_the_frameworks_own(
    bridge: Bridge[Any], history: list[Any]
) -> None:
    sent = bridge.prepare_sync(RUN, lambda: HEAD, history)
    assert len(sent) == len(history)
    assert all(one is other[1] for (_, one), other in zip(sent, history, strict=True))


def test_a_long_result_is_replaced_in_its_own_entry(bridge: Bridge[Any]) -> None:
    calls = (ToolUse("a", "look"), ToolUse("b", "look"))
    results = (ToolResult("a", (Text("x\n" * 40_000),)), ToolResult("b", (Text("short"),)))
    history = [user("Look."), assistant(*calls), (Message("", "user", results), "note")]
    (replaced, note) = bridge.prepare_sync(RUN, lambda: HEAD, history)[-1]
    assert note == "note"
    [(call, text)] = replaced
    assert call == "a"
    assert text.startswith("<persisted-output>")


def test_what_was_not_prepared_is_not_observed(bridge: Bridge[Any]) -> None:
    bridge.observe_sync(RUN, lambda: reply("Hello."))
    sent = bridge.prepare_sync(RUN, lambda: HEAD, [user("Hello!")])
    assert len(sent) == 1


def test_another_head_goes_on_with_the_conversation(bridge: Bridge[Any]) -> None:
    history = [user("Hello!")]
    bridge.prepare_sync(RUN, lambda: HEAD, history)
    bridge.observe_sync(RUN, lambda: reply("Hello."))
    history += [assistant(Text("Hello.")), user("And now?")]
    assert len(bridge.prepare_sync(RUN, lambda: Head("offline", "Be verbose."), history)) == 3


def test_a_closed_one_goes_on(bridge: Bridge[Any], place: Place) -> None:
    history = [user("Hello!")]
    bridge.prepare_sync(RUN, lambda: HEAD, history)
    bridge.close()
    assert len(bridge.prepare_sync(RUN, lambda: HEAD, history)) == 1
    assert len(list(Workspace.open(place.root).project.sessions.glob("*.jsonl"))) == 1


def test_failure_falls_through_and_is_reported(place: Place) -> None:
    events: list[Any] = []
    bridge: Bridge[Any] = Bridge(Plain(), {"listener": events.append})
    history = [assistant(Text("I begin."))]
    assert bridge.prepare_sync(RUN, lambda: HEAD, history) == history
    [trouble] = events
    assert "the first message is the assistant's" in trouble.what
    bridge.close()


def test_conversations_that_were_not_used_for_long_make_room(place: Place) -> None:
    bridges: Bridges[Any] = Bridges(Plain(), {"memory": False}, "test")
    first = bridges.of("0")
    for number in range(64):
        bridges.of(str(number))
    assert bridges.of("0") is first
    for number in range(64, 128):
        bridges.of(str(number))
    assert bridges.of("0") is not first
    bridges.close()


class Listened:
    """A bridge that several runs use, and its events."""

    def __init__(self, place: Place) -> None:
        self.events: list[Any] = []
        self.bridge: Bridge[Any] = Bridge(
            Plain(), {"memory": False, "listener": self.events.append, "project": place.root}
        )

    @property
    def troubles(self) -> list[str]:
        return [event.what for event in self.events if isinstance(event, TroubleNoted)]


def test_a_reply_is_never_stored_under_another_runs_question(place: Place) -> None:
    one = Listened(place)
    one.bridge.prepare_sync("ann", lambda: HEAD, [user("A question of Ann")])
    one.bridge.prepare_sync("ben", lambda: HEAD, [user("A question of Ben")])
    one.bridge.observe_sync("ann", lambda: reply("For Ann."))
    [trouble] = one.troubles
    assert "another run of the same conversation" in trouble
    one.bridge.observe_sync("ben", lambda: reply("For Ben."))
    one.bridge.observe_sync("ann", lambda: reply("For Ann."))
    one.bridge.close()
    assert len(one.troubles) == 2
    [journal] = Workspace.open(place.root).project.sessions.glob("*.jsonl")
    assert "For Ben." in journal.read_text()
    assert "For Ann." not in journal.read_text()


def test_an_unreadable_head_or_reply_does_not_stop_the_agent(place: Place) -> None:
    def fail() -> Any:
        raise KeyError("odd")

    one = Listened(place)
    history = [user("Hello!")]
    assert one.bridge.prepare_sync(RUN, fail, history) == history
    one.bridge.prepare_sync(RUN, lambda: HEAD, history)
    one.bridge.observe_sync(RUN, fail)
    one.bridge.close()
    assert [trouble.rpartition("; ")[2] for trouble in one.troubles] == [
        "the history is sent as it is",
        "a reply was not recorded",
    ]


class TestHistoriesWithoutAName:
    @pytest.fixture
    def bridges(self, place: Place) -> Iterator[Bridges[Any]]:
        made: Bridges[Any] = Bridges(Plain(), {"memory": False}, "test")
        yield made
        made.close()

    def answered(self, bridges: Bridges[Any], history: list[Any], text: str) -> Bridge[Any]:
        found = bridges.of_history(history)
        found.prepare_sync(RUN, lambda: HEAD, history)
        found.observe_sync(RUN, lambda: reply(text))
        return found

    def test_go_on_where_they_were_answered(self, bridges: Bridges[Any]) -> None:
        ann = self.answered(bridges, [user("Hi")], "Hello Ann.")
        ben = self.answered(bridges, [user("Hi")], "Hello Ben.")
        assert ann is not ben
        for bridge, name in ((ann, "Ann"), (ben, "Ben")):
            history = [user("Hi"), assistant(Text(f"Hello {name}.")), user("And now?")]
            assert self.answered(bridges, history, "Goodbye.") is bridge
            history += [assistant(Text("Goodbye.")), user("One more thing")]
            assert bridges.of_history(history) is bridge

    def test_are_apart_from_elsewhere(self, bridges: Bridges[Any]) -> None:
        first = self.answered(bridges, [user("Hi")], "Hello.")
        others = (
            [user("Something else")],
            [user("Hi")],
            [user("Hi"), assistant(Text("Not said here.")), user("Go on")],
            [user("Hi"), assistant(Text("Hello."))],
        )
        assert all(bridges.of_history(other) is not first for other in others)

    def test_are_apart_while_an_answer_is_awaited(self, bridges: Bridges[Any]) -> None:
        first = bridges.of_history([user("Hi")])
        assert bridges.of_history([user("Hi"), user("Are you there?")]) is not first

    def test_that_cannot_be_read_get_one_of_their_own(self, bridges: Bridges[Any]) -> None:
        assert bridges.of_history([None]) is not bridges.of_history([None])


def test_turns_that_say_nothing_go_along() -> None:
    silent = Turn(Message("", "assistant", ()), ("silent",))
    spoken = Turn(Message("", "user", (Text("Hi"),)), ("spoken",))
    assert [turn.entries for turn in joined([silent, spoken])] == [("silent", "spoken")]
    assert [turn.entries for turn in joined([spoken, silent])] == [("spoken", "silent")]
    assert joined([silent]) == []


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "", "ticket 42", "x" * 300, "ü"])
def test_any_name_becomes_a_file_name(name: str) -> None:
    plain = plain_name(name)
    assert plain
    assert "/" not in plain
    assert not plain.startswith(".")
    assert len(plain) < 120
    assert plain != plain_name(f"{name}?")


def test_a_plain_name_stays() -> None:
    assert plain_name("ticket-42.b_1") == "ticket-42.b_1"


def test_marks_differ_by_content() -> None:
    one, other = ({"type": "image", "data": data} for data in "ab")
    assert mark(one) == mark(dict(one))
    assert mark(one) != mark(other)
    assert mark(one).text.startswith("[image ")
