"""Going back to before a message: what was decided about the rest is open again."""

import pytest
from tests.conversation.build import AT, HEAD, answer, talk, user

from reverie.conversation.record_json import parse, render
from reverie.conversation.records import (
    CacheEdited,
    Compacted,
    Folded,
    HeadFrozen,
    MemoriesShown,
    NotesTaken,
    Opened,
    Record,
    Replaced,
    Rewound,
    Said,
    ToolResultsCleared,
)
from reverie.conversation.state import SessionState
from reverie.core.messages import Attachment, Message, Text, ToolResult, ToolUse, new_message

ASKED = user("read it")
SHOWN = new_message("user", Attachment("recall", "a memory"), after=ASKED, at=AT, origin="reverie")
CALL = new_message("assistant", ToolUse("t1", "Read"), after=SHOWN, at=AT, response="r1")
RESULT = new_message("user", ToolResult("t1", (Text("long"),)), after=CALL, at=AT, origin="tool")
DONE = answer("done", RESULT, "r2")
LATER = user("thank you", DONE)

STORY: tuple[Record, ...] = (
    Opened("s1", AT),
    HeadFrozen(HEAD),
    Said(ASKED),
    Said(SHOWN),
    MemoriesShown(("a.md",), 8),
    Said(CALL),
    Said(RESULT),
    Replaced("t1", "short"),
    ToolResultsCleared({"t1": "gone"}, "it pays"),
    CacheEdited(("t1",), RESULT.id),
    Said(DONE),
    NotesTaken(DONE.id, 100),
    Said(LATER),
)


def state(*more: Record) -> SessionState:
    return SessionState.replay((*STORY, *more))


@pytest.mark.parametrize(
    ("first", "left", "replaced", "shown", "noted"),
    [
        (LATER.id, [ASKED, SHOWN, CALL, RESULT, DONE], ["t1"], 1, True),
        (DONE.id, [ASKED, SHOWN, CALL, RESULT], ["t1"], 1, False),
        (RESULT.id, [ASKED, SHOWN, CALL], [], 1, False),
        (CALL.id, [ASKED, SHOWN], [], 1, False),
        (SHOWN.id, [ASKED], [], 0, False),
        (None, [], [], 0, False),
        ("of another session", [ASKED, SHOWN, CALL, RESULT, DONE, LATER], ["t1"], 1, True),
    ],
)
def test_what_is_left(
    first: str | None, left: list[Message], replaced: list[str], shown: int, noted: bool
) -> None:
    found = state(Rewound(first))
    assert found.messages == left
    assert list(found.replaced) == list(found.cleared) == replaced
    assert [id_ for edit in found.cache_edits for id_ in edit.tool_use_ids] == replaced
    assert len(found.memories_shown) == shown
    assert (found.notes is not None) == noted
    assert not found.measured


@pytest.mark.parametrize("record", [Rewound(None), Rewound("a")])
def test_the_record_survives(record: Rewound) -> None:
    assert parse(render(record)) == record


def test_what_is_said_again_may_be_decided_again() -> None:
    again = new_message("user", ToolResult("t1", (Text("other"),)), after=CALL, at=AT + 1)
    found = state(Rewound(RESULT.id), Said(again), Replaced("t1", "shorter"))
    assert found.shown[-1].tool_results[0].text == "shorter"


def test_a_fold_that_reaches_into_it_is_opened() -> None:
    marker = user("folded")
    found = state(Folded(CALL.id, DONE.id, marker, "snip"), Rewound(DONE.id))
    assert [message.id for message in found.shown] == [message.id for message in found.messages]
    assert found.folds == []


def test_a_summary_before_it_stays() -> None:
    records = talk(3)
    second = [r.message for r in records if isinstance(r, Said)][4]
    summary = user("the story so far")
    found = SessionState.replay(
        [*records, Compacted((summary,), second.id, "manual", 0, AT), Rewound(second.id)]
    )
    assert found.messages == [summary]
