"""Extraction in batches: half the price, the same checks, and no step at which a crash spends twice."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.conversation.build import answer, user
from tests.flows.sessions import MODEL, Desk
from tests.flows.test_past_sessions import PAYROLL, PREFERENCE, Reader, talked
from tests.place import NOON, Place
from tests.provider.provider import Provider
from tests.provider.script import HttpError, ToolCall

from reverie.agent.processes import Background
from reverie.conversation.records import Opened, Said
from reverie.errors import InputError, ModelError
from reverie.events import Event, MemoriesSaved
from reverie.learning import ended_sessions
from reverie.learning.batches import Collected, Sent, cancel, collect, submit
from reverie.learning.past_sessions import batch_estimate, plan_reading, read_sessions
from reverie.learning.pending import Pending, UnreadTurns
from reverie.workspace import Workspace
from reverie.workspace.changes import waiting

BILLING = "Bruno owns the billing service since 2026-05."


@pytest.fixture
def desk(place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Desk:
    provider.respond(Reader(place))
    provider.batches.now = place.clock.now
    return Desk(place, provider, monkeypatch)


async def send(app: Workspace) -> Sent:
    return await submit(app, plan_reading(app))


def spent(app: Workspace) -> float:
    return sum(entry.cost or 0.0 for entry in app.ledger.entries())


def held(app: Workspace) -> float:
    """Dollars that are reserved and neither spent nor released."""
    path = app.ledger.path
    records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {record.get("ticket") for record in records if record["type"] != "reserved"}
    kept = (record for record in records if record["ticket"] not in done)
    return float(sum(record["cost"] for record in kept))


async def test_the_same_is_learnt_for_half_the_price(desk: Desk) -> None:
    talked(desk.place, "s1", "Good morning.", PAYROLL, PREFERENCE)
    app = desk.app()
    sent = await send(app)
    # The rules have read it at once; the model's part is reserved, and not read by another.
    assert [len(one.learnt.saved) for one in sent.read] == [1]
    assert sent.batch is not None
    assert sent.batch.most is not None
    assert held(app) == pytest.approx(sent.batch.most)
    assert plan_reading(app).open == ()
    assert await collect(app) == Collected()
    desk.provider.end_batches()
    [one] = (await collect(app)).read
    [stored] = [app.memory().store.read(file) for file in one.learnt.saved]
    assert stored is not None
    assert stored.topic.source[0].startswith("s1#")
    assert (stored.topic.origin, PAYROLL in stored.topic.body) == ("user", True)
    # Half of what the same tokens cost otherwise, in one request.
    [entry] = app.ledger.entries()
    prices = app.bare_model(MODEL).prices
    assert prices is not None
    assert one.cost == entry.cost == pytest.approx(prices.cost(entry.usage) / 2)
    assert (entry.purpose, entry.model, held(app)) == ("extract", "claude-sonnet-5-5", 0)
    # All is done: nothing waits, nothing is open, nothing is left at the provider.
    assert Pending.of(app).load() == []
    assert plan_reading(app).open == ()
    assert desk.provider.batches.jobs == {}
    desk.provider.expect_conversation("the session in the ordinary way")
    ordinary = [one async for one in read_sessions(app, plan_reading(app, again=True))]
    assert one.cost is not None
    assert ordinary[0].cost is not None
    assert one.cost < ordinary[0].cost / 2


async def test_the_checks_are_those_of_an_ordinary_reading(desk: Desk) -> None:
    asked = user("Who owns payroll?", at=NOON)
    told = answer(PAYROLL, asked, at=NOON + 1)
    desk.place.journal("s1", Opened("s1", NOON), Said(asked), Said(told))
    app = desk.app()
    await send(app)
    folder = app.memory_location.directory

    def write(name: str, text: str) -> ToolCall:
        head = f"name: {name}\ndescription: {text}\ntype: project\nsource: [2]\n"
        path = str(folder / f"project_{name}.md")
        return ToolCall("Write", {"path": path, "content": f"---\n{head}---\n\n{text}\n"})

    secret = "The deploy key is ghp_16C7e42F292c6912E7710c838347Ae178B4a."
    # The write to the index is refused, because it was not read before; the model is not asked about it.
    index = folder / "MEMORY.md"
    index.parent.mkdir(parents=True, exist_ok=True)
    index.write_text("- [Old](old.md) — old\n")
    line = ToolCall("Write", {"path": str(index), "content": "- [Payroll](project_payroll.md)\n"})
    desk.provider.script([write("payroll", PAYROLL), write("key", secret), line])
    desk.provider.end_batches()
    [one] = (await collect(app)).read
    # What only the assistant said waits for the person; a secret goes nowhere.
    assert (one.learnt.saved, PAYROLL in one.learnt.waiting) == ((), True)
    assert "ghp_" not in repr(waiting(app))


async def test_what_the_model_must_read_first_is_asked_at_the_full_price(desk: Desk) -> None:
    talked(desk.place, "s1", PAYROLL)
    app = desk.app()
    await send(app)
    desk.provider.script(ToolCall("Read", {"path": str(app.memory_location.directory)}))
    desk.provider.end_batches()
    desk.provider.expect_conversation("what follows the answer of the batch")
    await collect(app)
    prices = app.bare_model(MODEL).prices
    assert prices is not None
    first, second = app.ledger.entries()
    assert first.cost == pytest.approx(prices.cost(first.usage) / 2)
    assert second.cost == pytest.approx(prices.cost(second.usage))


async def test_what_has_no_answer_is_read_once_in_the_ordinary_way(desk: Desk) -> None:
    talked(desk.place, "s1", PAYROLL)
    talked(desk.place, "s2", "Good evening.")
    talked(desk.place, "s3", "Good night.")
    app = desk.app("spend.purpose.extract=5")
    await send(app)
    # Of the requests, the last is answered first: s3 fails, s2 is answered, s1 expires.
    desk.provider.script(HttpError(400, "too strange"), "Nothing.")
    desk.provider.end_batches(expired=(0,))
    desk.provider.expect_conversation("s1 in the ordinary way", within=3)
    desk.provider.expect_conversation("s3 in the ordinary way", within=5)
    done = await collect(app)
    assert [one.name for one in done.read] == ["s1", "s2", "s3"]
    assert [len(one.learnt.saved) for one in done.read] == [1, 0, 0]
    assert [note.partition(":")[0] for note in done.notes] == ["s1", "s3"]
    assert "within a day" in done.notes[0]
    assert "too strange" in done.notes[1]
    assert held(app) == pytest.approx(0)
    assert (Pending.of(app).load(), plan_reading(app).open) == ([], ())


async def test_the_ordinary_way_is_tried_once(desk: Desk) -> None:
    talked(desk.place, "s1", PAYROLL)
    app = desk.app()
    sent = await send(app)
    assert sent.batch is not None
    # A process has begun to read it in the ordinary way, and died.
    Pending.of(app).put(sent.batch.with_again(sent.batch.pieces[0].id))
    desk.provider.end_batches(expired=(0,))
    done = await collect(app)
    assert (done.read, list(app.ledger.entries()), held(app)) == ((), [], 0)
    # It is for the person to read it again.
    assert len(plan_reading(app).open) == 1


async def test_a_cap_leaves_out_what_does_not_fit(desk: Desk) -> None:
    for number in range(3):
        talked(desk.place, f"s{number}", PAYROLL)
    app = desk.app("spend.purpose.extract=0.12")
    sent = await send(app)
    assert sent.batch is not None
    assert 0 < len(sent.batch.sessions) < 3
    assert "raise spend.purpose.extract" in sent.notes[0]
    assert held(app) <= 0.12
    # The reservation holds for other processes and days after this one, too.
    desk.place.clock.advance(86_400)
    again = desk.app("spend.purpose.extract=0.12").ledger.spent("extract", "")
    assert again.purpose == again.day == pytest.approx(sent.batch.most)
    left = [one.name for one in plan_reading(app).open]
    assert set(left) == {"s0", "s1", "s2"} - set(sent.batch.sessions)


async def test_a_refused_batch_leaves_nothing_behind(desk: Desk) -> None:
    talked(desk.place, "s1", PAYROLL)
    app = desk.app("providers.anthropic.api_key_env=BAD_KEY")
    os.environ["BAD_KEY"] = "bad"
    desk.provider.expect_violation("auth")
    try:
        with pytest.raises(ModelError, match="refused the key"):
            await send(app)
    finally:
        del os.environ["BAD_KEY"]
    assert (Pending.of(app).load(), held(app)) == ([], 0)
    assert len(plan_reading(app).open) == 1


async def test_a_batch_that_was_accepted_without_a_word_is_found(desk: Desk) -> None:
    talked(desk.place, "s1", PAYROLL)
    app = desk.app()
    desk.provider.batches.cut.add("create")
    with pytest.raises(ModelError, match="sends nothing twice"):
        await send(app)
    desk.provider.batches.cut.clear()
    [batch] = Pending.of(app).load()
    assert batch.id == ""
    # Nobody can tell before it has ended; until then nothing is sent again, and the money stays reserved.
    desk.place.clock.advance(3_600)
    assert (await collect(app)).read == ()
    assert plan_reading(app).open == ()
    assert held(app) > 0
    desk.provider.end_batches()
    [one] = (await collect(app)).read
    assert len(one.learnt.saved) == 1
    assert (len(list(app.ledger.entries())), held(app)) == (1, pytest.approx(0))


async def test_a_batch_that_never_arrived_is_given_up_after_a_while(desk: Desk) -> None:
    talked(desk.place, "s1", PAYROLL)
    app = desk.app()
    desk.provider.batches.cut.add("create")
    with pytest.raises(ModelError):
        await send(app)
    desk.provider.batches.cut.clear()
    desk.provider.batches.jobs.clear()
    assert await collect(app) == Collected()
    desk.place.clock.advance(3_600)
    assert "not submitted after all" in (await collect(app)).notes[0]
    assert (Pending.of(app).load(), held(app)) == ([], 0)
    assert len(plan_reading(app).open) == 1


class Crash(BaseException):
    """The process ends here."""


@contextmanager
def crash_at(step: int, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """End at the nth write to the ledger or to the file of batches, before or after it by turns."""
    replace, open_, seen = os.replace, os.open, 0

    def count(name: object) -> bool:
        nonlocal seen
        watched = str(name).endswith(("learning-batches.json", "ledger.jsonl"))
        seen += watched
        return watched and seen == (step + 1) // 2

    def replaced(source: Any, target: Any, **more: Any) -> None:
        now = count(target)
        if now and step % 2:
            raise Crash
        replace(source, target, **more)
        if now:
            raise Crash

    def opened(path: Any, *more: Any, **named: Any) -> int:
        writes = str(path).endswith("ledger.jsonl") and more and more[0] & os.O_APPEND
        if writes and count(path):
            raise Crash
        return open_(path, *more, **named)

    with patch.context() as patched:
        patched.setattr(os, "replace", replaced)
        patched.setattr(os, "open", opened)
        yield


async def test_a_crash_at_any_step_loses_nothing_and_spends_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashes = 0
    for step in range(1, 60):
        name = f"s{step}"
        talked(desk.place, name, PAYROLL.replace("payroll", f"payroll{step}"))
        app = desk.app()
        before = len(desk.provider.requests)
        crashed = False
        try:
            with crash_at(step, monkeypatch):
                await send(app)
                desk.provider.end_batches()
                await collect(app)
        except Crash:
            crashed = True
        crashes += crashed
        # The next processes, as long as there is something to do.
        for _ in range(3):
            desk.place.clock.advance(3_600)
            desk.provider.end_batches()
            await collect(app)
            if plan_reading(app).open:
                await send(app)
        asked = [one for one in desk.provider.requests[before:] if one.api == "batched"]
        entries = [one for one in app.ledger.entries() if one.session == f"extract-{name}"]
        assert (len(asked), len(entries)) == (1, 1), f"step {step}"
        assert (Pending.of(app).load(), held(app)) == ([], pytest.approx(0)), f"step {step}"
        assert plan_reading(app).open == ()
        if not crashed:
            break
    assert crashes >= 8


async def test_a_second_process_waits_its_turn(desk: Desk) -> None:
    talked(desk.place, "s1", PAYROLL)
    app = desk.app()
    from reverie.files.locks import sole

    with sole(Pending.of(app).lock, ""), pytest.raises(InputError, match="another process"):
        await send(app)
    assert desk.provider.batches.jobs == {}


async def test_cancelled_sessions_are_open_again(desk: Desk) -> None:
    talked(desk.place, "s1", PAYROLL)
    app = desk.app()
    await send(app)
    assert len(await cancel(app)) == 1
    desk.provider.end_batches()
    done = await collect(app)
    assert (done.read, "cancelled" in done.notes[0]) == ((), True)
    assert (held(app), len(plan_reading(app).open)) == (0, 1)
    assert await cancel(app) == []


async def test_turns_that_waited_for_the_next_session_are_not_paid_twice(desk: Desk) -> None:
    talked(desk.place, "s1", PAYROLL)
    app = desk.app()
    unread = UnreadTurns.of(app)
    unread.add("s1", plan_reading(app).open[0].load()[1], 0.1)
    assert len(unread.load()) == 1
    await send(app)
    assert unread.load() == []


class TestInTheBackground:
    def app(self, desk: Desk, *more: str) -> Workspace:
        return desk.app("features.extract=true", "learning.batch=when-idle", *more)

    async def test_ended_sessions_are_sent_and_collected(self, desk: Desk) -> None:
        talked(desk.place, "s1", PAYROLL)
        talked(desk.place, "s2", "Could you look at the parser, please?")
        app = self.app(desk)
        # They have only just ended.
        await ended_sessions.look_after(app)
        assert Pending.of(app).load() == []
        assert not ended_sessions.due(app)
        desk.place.clock.advance(7_200)
        assert ended_sessions.due(app)
        await ended_sessions.look_after(app)
        [batch] = Pending.of(app).load()
        # The second states nothing.
        assert batch.sessions == ("s1",)
        desk.provider.end_batches()
        desk.place.clock.advance(600)
        heard: list[Event] = []
        background = Background(heard.append)
        ended_sessions.begin(app, background, heard.append)
        await background.drain()
        [saved] = [event for event in heard if isinstance(event, MemoriesSaved)]
        assert len(saved.files) == 1
        # The next look finds no session that was not looked at.
        desk.place.clock.advance(7_200)
        await ended_sessions.look_after(app)
        assert Pending.of(app).load() == []

    async def test_only_where_the_settings_say_so(self, desk: Desk) -> None:
        talked(desk.place, "s1", PAYROLL)
        desk.place.clock.advance(7_200)
        assert not ended_sessions.due(desk.app("features.extract=true"))
        assert not ended_sessions.due(self.app(desk, "features.extract=false"))
        local = self.app(desk, "models.main=ollama:llama")
        await ended_sessions.look_after(local)
        assert (Pending.of(local).load(), desk.provider.requests) == ([], [])

    async def test_a_batch_is_collected_whatever_the_setting(self, desk: Desk) -> None:
        talked(desk.place, "s1", PAYROLL)
        app = desk.app()
        await send(app)
        assert ended_sessions.due(app)
        await collect(app)
        assert not ended_sessions.due(app)


def test_the_estimate_is_less_than_half(desk: Desk) -> None:
    talked(desk.place, "s1", PAYROLL)
    plan = plan_reading(desk.app())
    estimate = batch_estimate(plan)
    assert plan.cost is not None
    assert estimate is not None
    assert 0 < estimate < plan.cost / 2
