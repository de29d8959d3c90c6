"""`reverie extract` with a model: the plan first, under caps, and resumable wherever it ended."""

import asyncio
import json

import pytest
from tests.conversation.build import answer, user
from tests.flows.sessions import MODEL, Desk, hear
from tests.place import NOON, Place
from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest
from tests.provider.script import HttpError, ScriptItem, ToolCall

from reverie import AsyncMemory, Memory
from reverie.conversation.records import Opened, Said
from reverie.learning.extraction.prompts import BATCH_CHARACTERS
from reverie.learning.past_sessions import ReadSession, plan_reading, read_sessions
from reverie.workspace import Workspace
from reverie.workspace.changes import waiting

PAYROLL = "Bruno owns the payroll service since 2026-03."
PREFERENCE = "From now on always use pnpm instead of npm in this repository."


@pytest.fixture
def desk(place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Desk:
    provider.respond(Reader(place))
    return Desk(place, provider, monkeypatch)


class Reader:
    """A model that keeps what is said of Bruno, citing the message by its number."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def __call__(self, request: RecordedRequest) -> ScriptItem:
        last = json.dumps(request.json["messages"][-1])
        if "tool_result" in last or PAYROLL not in last:
            return "Nothing more."
        number = last.split(f". user: {PAYROLL}")[0].rsplit("\\n", 1)[-1]
        head = f"name: Payroll\ndescription: {PAYROLL}\ntype: project\nsource: [{number}]\n"
        path = self._place.app().memory_location.directory / "project_payroll.md"
        content = f"---\n{head}---\n\n{PAYROLL}\n"
        return ToolCall("Write", {"path": str(path), "content": content})


def talked(place: Place, name: str, *texts: str) -> None:
    said = [Said(user(text, at=NOON + n)) for n, text in enumerate(texts)]
    place.journal(name, Opened(name, NOON), *said)


async def read(app: Workspace, **options: bool) -> list[ReadSession]:
    return [one async for one in read_sessions(app, plan_reading(app, **options))]


async def test_a_model_finds_what_no_rule_does_through_the_same_gate(desk: Desk) -> None:
    talked(desk.place, "s1", "Good morning.", PAYROLL, PREFERENCE)
    app = desk.app()
    [one] = await read(app)
    assert (one.name, one.messages, one.model, one.learnt.waiting) == ("s1", 3, MODEL, ())
    assert len(one.learnt.saved) == 2
    stored = app.memory().store.read(one.learnt.saved[1])
    assert stored is not None
    assert stored.topic.source[0].startswith("s1#")
    assert (stored.topic.origin, PAYROLL in stored.topic.body) == ("user", True)
    assert one.cost == pytest.approx(sum(e.cost or 0 for e in app.ledger.entries()))
    assert one.cost
    assert {entry.purpose for entry in app.ledger.entries()} == {"extract"}


async def test_what_only_the_assistant_said_waits_in_the_inbox(desk: Desk) -> None:
    asked = user("Who owns payroll?", at=NOON)
    told = answer(PAYROLL, asked, at=NOON + 1)
    desk.place.journal("s1", Opened("s1", NOON), Said(asked), Said(told))
    head = f"name: Payroll\ndescription: {PAYROLL}\ntype: project\nsource: [2]\n"
    path = desk.app().memory_location.directory / "project_payroll.md"
    content = f"---\n{head}---\n\n{PAYROLL}\n"
    desk.provider.script(ToolCall("Write", {"path": str(path), "content": content}), "Done.")
    [one] = await read(desk.app())
    assert (one.learnt.saved, one.learnt.waiting) == ((), (PAYROLL,))
    assert len(waiting(desk.app())) == 1


def test_the_plan_says_what_it_would_cost(desk: Desk) -> None:
    talked(desk.place, "s1", "Good morning.", PAYROLL)
    talked(desk.place, "s2", "Good evening.")
    plan = plan_reading(desk.app("spend.purpose.extract=0.4"))
    assert (len(plan.open), plan.messages, plan.choice.model, plan.choice.most) == (
        2,
        3,
        MODEL,
        0.4,
    )
    assert plan.cost
    assert 0.01 < plan.cost < 0.2
    assert plan_reading(desk.app(), use_model=False).cost == 0.0
    assert desk.provider.requests == []


class TestCursor:
    async def test_a_session_is_read_once_and_from_where_it_grew(self, desk: Desk) -> None:
        talked(desk.place, "s1", "Good morning.")
        app = desk.app()
        await read(app)
        assert plan_reading(app).open == ()
        asked = len(desk.provider.requests)
        talked(desk.place, "s1", PAYROLL)
        [grown] = plan_reading(app).open
        assert [message.text for message in grown.load()[1]] == [PAYROLL]
        desk.provider.expect_conversation("the second run")
        [one] = await read(app)
        assert len(one.learnt.saved) == 1
        told = json.dumps(desk.provider.requests[asked].json["messages"])
        assert "Good morning" not in told
        assert plan_reading(app, again=True).messages == 2

    async def test_what_the_rules_read_is_open_to_a_model(self, desk: Desk) -> None:
        talked(desk.place, "s1", PAYROLL)
        await read(desk.app(), use_model=False)
        assert plan_reading(desk.app(), use_model=False).open == ()
        assert plan_reading(desk.app()).messages == 1

    async def test_an_interrupted_run_goes_on_where_it_was(self, desk: Desk) -> None:
        long = "A very long story about a ship. " * (BATCH_CHARACTERS // 3 // 32)
        talked(desk.place, "s1", *(f"Part {n}. {long}" for n in range(12)), PAYROLL)
        app = desk.app()
        pieces: list[str] = []

        def respond(request: RecordedRequest) -> ScriptItem:
            last = json.dumps(request.json["messages"][-1])
            if "tool_result" not in last:
                pieces.append(last)
            if len(pieces) == 2:
                task.cancel()
            elif PAYROLL not in json.dumps(request.json["messages"]):
                desk.provider.expect_conversation("the next piece")
            return reader(request)

        reader = Reader(desk.place)
        desk.provider.respond(respond)
        task = asyncio.ensure_future(read(app))
        with pytest.raises(asyncio.CancelledError):
            await task
        [left] = plan_reading(app).open
        assert 0 < left.count < sum(map(len, left.load())) == 13
        [one] = await read(app)
        assert len(one.learnt.saved) == 1
        assert plan_reading(app).open == ()
        # The first piece was read by the first run alone.
        assert sum("Part 0." in piece for piece in pieces) == 1

    async def test_a_fork_that_read_it_live_counts(self, desk: Desk) -> None:
        async with desk.session("features.extract=true") as session:
            await hear(session, "The billing service is owned by Anna.")
        assert len(desk.provider.requests) == 2
        assert plan_reading(desk.app()).open == ()
        assert len(plan_reading(desk.app(), use_model=False).open) == 1

    async def test_where_nothing_was_stated_no_model_has_read_it(self, desk: Desk) -> None:
        async with desk.session("features.extract=true") as session:
            await hear(session, "Good morning to you.")
        assert len(desk.provider.requests) == 1
        [left] = plan_reading(desk.app()).open
        # The question, the date and the reply.
        assert left.count == 3


class TestFailure:
    async def test_the_rules_read_on_and_a_model_may_come_back(self, desk: Desk) -> None:
        talked(desk.place, "s1", PREFERENCE, PAYROLL)
        talked(desk.place, "s2", "Remember that Anna owns billing.")
        desk.provider.script(HttpError(400, "no such luck"))
        first, second = await read(desk.app())
        assert (len(first.learnt.saved), first.model) == (1, "")
        assert "no such luck" in first.learnt.troubles[0]
        assert len(second.learnt.saved) == 1
        assert len(desk.provider.requests) == 1
        assert {one.name for one in plan_reading(desk.app()).open} == {"s1", "s2"}

    async def test_a_cap_is_kept_before_the_call(self, desk: Desk) -> None:
        talked(desk.place, "s1", PREFERENCE)
        [one] = await read(desk.app("spend.purpose.extract=0.0001"))
        assert "raise spend.purpose.extract" in one.learnt.troubles[0]
        assert (desk.provider.requests, len(one.learnt.saved)) == ([], 1)


class TestMessagesOfAProgram:
    """`Memory.add(messages)`: by the rules, then with the model for learning."""

    SAID = tuple({"role": "user", "content": text} for text in ("Hello.", PAYROLL, PREFERENCE))

    def memory(self, desk: Desk) -> Memory:
        url = desk.provider.anthropic_url
        settings = {"models.main": MODEL, "providers.anthropic.base_url": url}
        return Memory.open(desk.place.root, settings=settings, clock=desk.place.clock)

    def test_the_model_finds_what_no_rule_does(self, desk: Desk) -> None:
        with self.memory(desk) as memory:
            added = memory.add(self.SAID, metadata={"channel": "chat"})
        assert PAYROLL in [entry.memory for entry in added.results]
        assert len(added.results) == 2
        assert {entry.metadata["channel"] for entry in added.results} == {"chat"}
        assert {entry.purpose for entry in desk.app().ledger.entries()} == {"extract"}

    async def test_in_a_running_loop(self, desk: Desk) -> None:
        with self.memory(desk) as memory:
            assert len(memory.add(self.SAID).results) == 2
        desk.provider.expect_conversation("the second run")
        again = await AsyncMemory(self.memory(desk)).add(self.SAID)
        assert again.results == ()

    def test_rules_alone_on_request(self, desk: Desk) -> None:
        with self.memory(desk) as memory:
            assert len(memory.add(self.SAID, infer="rules").results) == 1
        assert desk.provider.requests == []

    def test_a_model_that_fails_leaves_what_the_rules_found(self, desk: Desk) -> None:
        desk.provider.script(HttpError(400, "no such luck"))
        with self.memory(desk) as memory:
            added = memory.add(self.SAID)
        assert len(added.results) == 1
        assert any("no such luck" in one.reason for one in added.declined)
