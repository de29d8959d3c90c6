"""A framework's history through a `Context` and back, without a framework in the way."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.place import Place

from reverie.adapters.bridge import Bridge, Bridges, Given, Head, Turn, joined, mark, plain_name
from reverie.app import App
from reverie.core.messages import Message, Text, Thinking, ToolResult, ToolUse
from reverie.core.reply import Reply
from reverie.events import TroubleNoted

HEAD = Head("offline", "Be brief.")


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
    heard: list[Any] = []
    off: Given = {"memory": False, "listener": heard.append, "project": place.root}
    made: Bridge[Any] = Bridge(Plain(), off)
    yield made
    made.close()
    assert not [event for event in heard if isinstance(event, TroubleNoted)]


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(history=histories())
def test_what_needs_no_change_stays_the_frameworks_own(
    bridge: Bridge[Any], history: list[Any]
) -> None:
    sent = bridge.prepare_sync(HEAD, history)
    assert len(sent) == len(history)
    assert all(one is other[1] for (_, one), other in zip(sent, history, strict=True))


def test_a_long_result_is_replaced_in_its_own_entry(bridge: Bridge[Any]) -> None:
    calls = (ToolUse("a", "look"), ToolUse("b", "look"))
    results = (ToolResult("a", (Text("x\n" * 40_000),)), ToolResult("b", (Text("short"),)))
    history = [user("Look."), assistant(*calls), (Message("", "user", results), "note")]
    (replaced, note) = bridge.prepare_sync(HEAD, history)[-1]
    assert note == "note"
    [(call, text)] = replaced
    assert call == "a"
    assert text.startswith("<persisted-output>")


def test_what_was_not_prepared_is_not_observed(bridge: Bridge[Any]) -> None:
    bridge.observe_sync(Reply("r1", "offline", (Text("Hello."),), "end"))
    sent = bridge.prepare_sync(HEAD, [user("Hello!")])
    assert len(sent) == 1


def test_another_head_goes_on_with_the_conversation(bridge: Bridge[Any]) -> None:
    history = [user("Hello!")]
    bridge.prepare_sync(HEAD, history)
    bridge.observe_sync(Reply("r1", "offline", (Text("Hello."),), "end"))
    history += [assistant(Text("Hello.")), user("And now?")]
    assert len(bridge.prepare_sync(Head("offline", "Be verbose."), history)) == 3


def test_a_closed_one_goes_on(bridge: Bridge[Any], place: Place) -> None:
    history = [user("Hello!")]
    bridge.prepare_sync(HEAD, history)
    bridge.close()
    assert len(bridge.prepare_sync(HEAD, history)) == 1
    assert len(list(App.open(place.root).project.sessions.glob("*.jsonl"))) == 1


def test_failure_falls_through_and_is_told(place: Place) -> None:
    heard: list[Any] = []
    bridge: Bridge[Any] = Bridge(Plain(), {"listener": heard.append})
    history = [assistant(Text("I begin."))]
    assert bridge.prepare_sync(HEAD, history) == history
    [trouble] = heard
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


def test_turns_that_say_nothing_go_along() -> None:
    silent = Turn(Message("", "assistant", ()), ("silent",))
    said = Turn(Message("", "user", (Text("Hi"),)), ("said",))
    assert [turn.entries for turn in joined([silent, said])] == [("silent", "said")]
    assert [turn.entries for turn in joined([said, silent])] == [("said", "silent")]
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
