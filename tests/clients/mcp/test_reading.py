"""The reading tools with a clock of the test's own, or a failing disk."""

import shutil

import pytest
from tests.clients.mcp.stage import Stage
from tests.conversation.build import Said, user
from tests.place import FixedClock

from reverie.clients.mcp.answers import Caller
from reverie.clients.mcp.reading import list_memories, recall, search_past
from reverie.clients.mcp.tools import BY_NAME, checked
from reverie.clients.mcp.writing import remember
from reverie.workspace import Workspace


class Hurried:
    """A clock that advances ten seconds with every look."""

    at = 1_750_000_000.0

    def now(self) -> float:
        self.at += 10
        return self.at


def test_a_search_does_not_read_for_ever(place: Stage) -> None:
    for name in ("one", "two", "three", "four"):
        place.journal(name, Said(user(f"the {name} tapir is asleep")))
    app = Workspace.open(place.root, home=place.home, clock=Hurried())
    arguments = checked(BY_NAME["search_past"], {"words": "tapir asleep"})
    unread = []
    for _ in range(6):
        answer = search_past(app, arguments, Caller())
        unread.append("were not read yet; ask again" in answer.data["about"])
    assert unread[0]
    assert not unread[-1]
    assert {one["session"] for one in answer.data["found"]} == {"one", "two", "three", "four"}


def test_recall_that_cannot_be_counted_still_answers(
    place: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    app = place.app()
    arguments = checked(BY_NAME["remember"], {"text": "The tapir sleeps in the north house"})
    remember(app, arguments, Caller("test"))
    uses = app.memory().place.state / "uses.jsonl"
    uses.unlink(missing_ok=True)
    uses.mkdir()
    answer = recall(
        app, checked(BY_NAME["recall"], {"question": "where does the tapir sleep"}), Caller()
    )
    assert answer.data["memories"]
    assert "recall was not counted" in caplog.text
    shutil.rmtree(uses)


def test_what_is_recalled_is_counted_for_the_session(place: Stage) -> None:
    app = place.app()
    question = checked(BY_NAME["recall"], {"question": "where does the tapir sleep"})
    [memory] = recall(app, question, Caller("test", "s-1")).data["memories"]
    assert app.memory().uses.counts("recalled")[memory["file"]] == 1
    assert '"session":"s-1"' in (app.memory().place.state / "uses.jsonl").read_text().replace(
        " ", ""
    )


def test_what_has_expired_says_so(place: Stage) -> None:
    clock = FixedClock()
    app = Workspace.open(place.root, home=place.home, clock=clock)
    text = "No deploys from 20 December to 6 January"
    saved = remember(app, checked(BY_NAME["remember"], {"text": text}), Caller())
    assert "it holds from 2025-12-20 until 2026-01-06" in saved.data["changes"]

    def standing() -> str:
        answer = list_memories(app, checked(BY_NAME["list_memories"], {}), Caller())
        [row] = [one for one in answer.data["memories"] if one["file"] == saved.data["file"]]
        assert row["standing"] in answer.text
        return row["standing"]

    assert standing() == "from 2025-12-20"
    clock.advance(300 * 86_400)
    assert standing() == "expired 2026-01-06"
    found = recall(app, checked(BY_NAME["recall"], {"question": "deploys in December"}), Caller())
    warnings = {one["file"]: one.get("warnings", []) for one in found.data["memories"]}
    assert "Expired: it held until 2026-01-06." in warnings[saved.data["file"]]
