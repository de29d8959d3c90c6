"""Layer 2: old tool results are cleared when that costs nothing, or pays for itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.clearing import (
    AUTOMATIC,
    EDITS_CACHES,
    EXPLICIT,
    STEP,
    UNCACHED,
    Talk,
    careful,
    ids,
)
from tests.core.build import conversations

from reverie.context import NotDue, microcompaction
from reverie.context.microcompaction import (
    CLEARED,
    Clear,
    Due,
    EditCache,
    Policy,
    ToolResultLedger,
    Way,
    compactable,
    context_edits,
)
from reverie.context.microcompaction.ledger import Held
from reverie.context.tool_results import persisted
from reverie.core.messages import Image, Message, Text, ToolResult
from reverie.core.request import ClearThinking, ClearToolUses
from reverie.core.usage import FREE, Prices
from reverie.core.window import Capabilities, Window, message_tokens, text_tokens
from reverie.events import Event, LayerFired

HOUR = 3_600.0
NARROW = Window(90_000, "test")


@pytest.fixture
def talk() -> Talk:
    return Talk()


def cleared(due: Due | NotDue) -> Clear:
    assert isinstance(due, Due), due
    change = microcompaction.plan(due)
    assert isinstance(change, Clear), change
    return change


# ── whose results ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("tool", ["Read", "Bash", "Grep", "Glob", "Edit", "Write", "WebFetch"])
def test_what_can_be_looked_up_again_may_go(tool: str) -> None:
    assert compactable(tool)


@pytest.mark.parametrize("tool", ["", "Task", "AskUser", "mcp__files__Read", "Bashful"])
def test_other_tools_are_left_alone(tool: str) -> None:
    assert not compactable(tool)


def test_a_tool_may_declare_itself_but_no_server_of_others() -> None:
    declared = frozenset({"Weather", "mcp__weather"})
    assert compactable("Weather", declared)
    assert not compactable("mcp__weather", declared)


# ── the ledger ───────────────────────────────────────────────────────────────


def follow(
    messages: list[Message], texts: dict[str, str], ledger: ToolResultLedger | None = None
) -> ToolResultLedger:
    ledger = ledger or ToolResultLedger(frozenset({"read"}))
    ledger.follow(messages, {}, texts)
    return ledger


def same(one: ToolResultLedger, other: ToolResultLedger) -> None:
    for name in ("held", "tokens", "gain", "seen", "start", "replied_at", "last"):
        assert getattr(one, name) == getattr(other, name), name


@given(conversations(), st.data())
def test_following_step_by_step_is_following_at_once(
    messages: list[Message], data: st.DataObject
) -> None:
    ledger = ToolResultLedger(frozenset({"read"}))
    for end in sorted(data.draw(st.lists(st.integers(0, len(messages)), max_size=4))):
        follow(messages[:end], {}, ledger)
    same(follow(messages, {}, ledger), follow(messages, {}))
    assert ledger.tokens == sum(map(message_tokens, messages))


@given(conversations(), conversations(), st.data())
def test_a_history_that_changed_is_learnt_anew(
    before: list[Message], after: list[Message], data: st.DataObject
) -> None:
    kept = data.draw(st.integers(0, len(before)))
    ledger = follow(before, {})
    same(follow([*after, *before[kept:]], {}, ledger), follow([*after, *before[kept:]], {}))


def test_a_cleared_result_is_no_longer_held(talk: Talk) -> None:
    first, second = talk.rounds(2)
    talk.conditions()
    talk.cleared = {first: "[gone]"}
    talk.conditions()
    assert [held.id for held in talk.ledger.held] == [second]
    assert talk.ledger.held[0].place < 1_000


def test_a_stored_result_counts_as_what_stands_for_it(talk: Talk) -> None:
    stored = talk.round(50_000)
    talk.replaced[stored] = persisted("x", "/kept/a.txt", "a preview")
    talk.conditions()
    (held,) = talk.ledger.held
    assert held.tokens < 100
    assert held.path == "/kept/a.txt"


def test_pictures_alone_are_not_held(talk: Talk) -> None:
    talk.round()
    picture = ToolResult("call-1", (Image("image/png", "AAAA"),))
    talk.messages[-1] = Message("m", "user", (picture,))
    talk.conditions()
    assert talk.ledger.held == []
    assert talk.ledger.tokens > 1_999


# ── after a pause ────────────────────────────────────────────────────────────

PAUSED = Policy(time=True, batch=False)


@pytest.mark.parametrize(
    ("pause", "keep", "gone"),
    [
        pytest.param(HOUR, 5, 0, id="an hour is not more than an hour"),
        pytest.param(HOUR + 1, 5, 3, id="all but the newest five"),
        pytest.param(HOUR + 1, 7, 1, id="all but the newest seven"),
        pytest.param(HOUR + 1, 0, 7, id="never fewer than one stays"),
        pytest.param(HOUR + 1, 99, 0, id="all are among the newest"),
    ],
)
def test_after_a_pause_old_results_go(talk: Talk, pause: float, keep: int, gone: int) -> None:
    every = talk.rounds(8)
    talk.reply()
    talk.ask()
    due = talk.due(Policy(time=True, batch=False, keep=keep), now=talk.at + pause)
    assert ids(due) == every[:gone]


def test_the_marker_after_a_pause(talk: Talk) -> None:
    plain, stored, *_ = talk.rounds(8)
    talk.replaced[stored] = persisted("x", "/kept/b.txt", "a preview, " * 40)
    talk.reply()
    change = cleared(talk.due(PAUSED, now=talk.at + HOUR + 1))
    assert change.texts[plain] == "[Old tool result content cleared]" == CLEARED
    assert change.texts[stored] == "[Old tool result content cleared; it is saved in /kept/b.txt]"


def test_a_result_shorter_than_its_marker_stays(talk: Talk) -> None:
    short = talk.round(text="ok")
    talk.rounds(8)
    talk.reply()
    due = talk.due(PAUSED, now=talk.at + HOUR + 1)
    assert short in ids(due)
    assert short not in cleared(due).texts


def test_the_pause_is_off_by_default(talk: Talk) -> None:
    talk.rounds(8)
    talk.reply()
    assert isinstance(talk.due(now=talk.at + HOUR + 1), NotDue)


def test_what_the_model_has_not_seen_never_goes(talk: Talk) -> None:
    seen = talk.rounds(3)
    talk.parallel(8)
    assert ids(talk.due(Policy(time=True, keep=1), now=talk.at + HOUR + 1)) == seen


def test_a_response_in_pieces_has_not_seen_its_own_results(talk: Talk) -> None:
    """Some clients record each call of a response with its result, one after the other."""
    seen = talk.rounds(3)
    talk.parallel(8, in_pieces=True)
    assert ids(talk.due(Policy(time=True, keep=1), now=talk.at + HOUR + 1)) == seen


# ── by cache edits ───────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rounds", "changes", "dropped"),
    [
        pytest.param(20, {}, 0, id="at the threshold"),
        pytest.param(21, {}, 16, id="over it: all but five"),
        pytest.param(20, {"window": NARROW}, 15, id="under it, but the window fills up"),
        pytest.param(21, {"main": False}, 0, id="never in a fork"),
        pytest.param(21, {"capabilities": EXPLICIT}, 0, id="the provider cannot"),
        pytest.param(21, {"context": 10_000}, 0, id="a small context"),
        pytest.param(21, {"edited": {"call-1", "call-2"}}, 0, id="dropped ones are not live"),
        pytest.param(23, {"edited": {"call-1", "call-2"}}, 16, id="nor dropped twice"),
    ],
)
def test_dropping_results_from_the_cache(
    talk: Talk, rounds: int, changes: dict[str, object], dropped: int
) -> None:
    every = talk.rounds(rounds, 3_000)
    talk.reply()
    policy = careful(batch=False)
    due = talk.due(policy, **({"capabilities": EDITS_CACHES} | changes))
    already = len(changes.get("edited", ()))  # type: ignore[arg-type]
    assert ids(due) == (every[already : already + dropped] if dropped else [])


def test_a_cache_edit_names_its_place_and_leaves_the_messages(talk: Talk) -> None:
    every = talk.rounds(21, 3_000)
    talk.reply()
    due = talk.due(capabilities=EDITS_CACHES)
    assert isinstance(due, Due)
    edit = microcompaction.plan(due)
    assert isinstance(edit, EditCache)
    assert edit.tool_use_ids == tuple(every[:16])
    assert edit.after_message == talk.messages[-1].id
    assert edit.freed == 16 * 3_000


# ── in batches ───────────────────────────────────────────────────────────────


def busy() -> Talk:
    """60 rounds of a thousand tokens, a request every ten seconds."""
    talk = Talk()
    talk.rounds(60)
    talk.reply()
    talk.ask()
    return talk


@pytest.mark.parametrize(
    ("changes", "policy", "reason"),
    [
        ({}, careful(batch=False), "clearing in batches is off"),
        ({"context": 39_999}, careful(), "a context of 39,999 tokens is left alone"),
        ({}, careful(least_freed=80_000), "old tool results hold less than 80,000 tokens"),
        ({}, careful(keep=55), "old tool results hold less than 8,000 tokens"),
        ({}, careful(keep_tokens=54_000), "old tool results hold less than 8,000 tokens"),
        ({"prices": None}, careful(), "the window has room, and prices are not known"),
        ({"prices": FREE}, careful(), "the window has room, and prices are not known"),
        (
            {"calls": 1},
            careful(margin=20),
            "clearing old tool results would cost more than it saves",
        ),
    ],
)
def test_when_no_batch_is_due(changes: dict[str, object], policy: Policy, reason: str) -> None:
    assert busy().due(policy, **changes) == NotDue(reason)


def test_no_results_no_batch(talk: Talk) -> None:
    talk.rounds(60, tool="Task")
    assert talk.due() == NotDue("there are no tool results that may be cleared")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="many calls to come"),
        pytest.param({"window": NARROW, "prices": None}, id="pressure, no prices"),
        pytest.param({"window": NARROW, "prices": FREE}, id="pressure, a model that is free"),
        pytest.param({"capabilities": UNCACHED, "calls": 1}, id="nothing is cached"),
    ],
)
def test_a_batch_keeps_the_newest(changes: dict[str, object]) -> None:
    assert ids(busy().due(**changes)) == [f"call-{i}" for i in range(1, 51)]


def test_results_of_other_tools_are_neither_cleared_nor_counted_as_newest(talk: Talk) -> None:
    old = talk.rounds(60)
    talk.rounds(20, tool="Task")
    talk.reply()
    assert ids(talk.due()) == old[:50]


def test_more_calls_to_come_make_it_pay(talk: Talk) -> None:
    """With n calls to come, (n + 1) × T tokens are read no more, and 11.5 × W are written anew."""
    talk.rounds(30)
    talk.reply(40_000)
    talk.rounds(10)
    talk.reply()
    policy = careful(margin=1.0)
    freed = 30 * (1_000 - 60)
    rewritten = 40_000 + 10 * 1_000 + 30 * 60
    pays_from = int(11.5 * rewritten / freed)
    assert isinstance(talk.due(policy, calls=pays_from - 2), NotDue)
    assert len(ids(talk.due(policy, calls=pays_from + 2))) == 30


def test_the_margin_asks_for_more(talk: Talk) -> None:
    talk.rounds(30)
    talk.reply(40_000)
    talk.rounds(10)
    talk.reply()
    assert isinstance(talk.due(careful(margin=1.0), calls=25), Due)
    assert isinstance(talk.due(careful(margin=1.5), calls=25), NotDue)


def test_a_lapsed_cache_makes_it_free(talk: Talk) -> None:
    talk.rounds(30)
    talk.reply(100_000)
    talk.ask()
    policy = careful(margin=50.0)
    assert isinstance(talk.due(policy, now=talk.at + 300), NotDue)
    assert len(ids(talk.due(policy, now=talk.at + 301))) == 20
    assert isinstance(talk.due(policy, now=talk.at + 301, ttl="1h"), NotDue)


def test_a_batch_may_begin_late_where_little_has_to_be_rewritten(talk: Talk) -> None:
    """Early small results sit before a long stretch of talk; clearing them would rewrite it."""
    early = talk.rounds(5, 200)
    talk.reply(300_000)
    late = talk.rounds(30, 3_000)
    talk.reply()
    found = ids(talk.due(careful(margin=1.0), capabilities=AUTOMATIC))
    assert found == late[:25]
    assert not set(early) & set(found)


def test_marks_that_lapsed_are_not_found_again(talk: Talk) -> None:
    """Explicit caches: what was marked long ago is gone, so everything would be rewritten."""
    talk.reply(100_000)
    talk.ask()
    talk.rounds(45, 1_000)
    talk.reply()
    policy = careful(margin=1.0, calls=30)
    assert STEP * 45 > 300
    due = talk.due(policy)
    assert isinstance(due, Due)
    # The first of them were sent more than five minutes ago: the batch begins after those.
    assert ids(due)[0] == "call-16"
    hour = talk.due(policy, ttl="1h", prices=Prices(5, 25, 0.5, 6.25, 6.25))
    assert ids(hour)[0] == "call-2"


@given(
    st.lists(st.tuples(st.integers(0, 6_000), st.integers(0, 9_000)), min_size=6, max_size=25),
    st.integers(1, 300),
    st.sampled_from([EXPLICIT, AUTOMATIC]),
    st.sampled_from([1.0, 2.0]),
)
def test_no_other_start_would_save_more(
    rounds: list[tuple[int, int]], calls: int, capabilities: Capabilities, margin: float
) -> None:
    talk = Talk()
    for size, said in rounds:
        talk.round(size)
        talk.reply(said)
        talk.at += 50
    policy = careful(least_context=0, least_freed=500, keep_tokens=0, margin=margin, calls=calls)
    conditions = talk.conditions(capabilities=capabilities)
    due = microcompaction.due(talk.ledger, conditions, policy)
    tried = [
        _worth_of_start(talk, start, calls, capabilities, margin)
        for start in range(len(talk.ledger.held) - policy.keep)
    ]
    best = max((net for freed, net in tried if freed >= 500), default=0.0)
    if isinstance(due, NotDue):
        assert best <= 1e-6
    else:
        start = [held.id for held in talk.ledger.held].index(due.results[0].id)
        assert tried[start][1] == pytest.approx(best)


def _worth_of_start(
    talk: Talk, start: int, calls: int, capabilities: Capabilities, margin: float
) -> tuple[int, float]:
    """The formula of the module, word for word, for one start."""
    held = talk.ledger.held
    going = held[start:-5]
    freed = sum(max(0, one.tokens - 60) for one in going)
    if capabilities is AUTOMATIC:
        found = held[start].place
    else:
        found = held[start].mark if talk.at - held[start].at <= 300 else talk.ledger.start
    rewritten = max(0, talk.ledger.seen - found - freed)
    return freed, (calls + 1) * freed * 0.5 - margin * rewritten * (6.25 - 0.5)


# ── markers ──────────────────────────────────────────────────────────────────


def test_the_marker_of_a_batch_keeps_what_was_found_out(talk: Talk) -> None:
    log = "compiling\n" * 300 + "error: the coin is bent\n" + "compiling\n" * 20
    failed = talk.round(text=log)
    stored = talk.round(text=log)
    talk.replaced[stored] = persisted(log, "/kept/a.txt", "a preview, " * 40)
    talk.rounds(60)
    talk.reply()
    texts = cleared(talk.due()).texts
    marker = "[Old tool result cleared: 321 lines; error: the coin is bent"
    assert texts[failed] == f"{marker}]"
    assert texts[stored] == f"{marker}; saved in /kept/a.txt]"


def test_a_result_not_clearly_longer_than_its_marker_stays(talk: Talk) -> None:
    talk.rounds(5)
    short = talk.round(text="ok, done: 12 files written")
    talk.rounds(60)
    talk.reply()
    due = talk.due()
    assert short in ids(due)
    assert short not in cleared(due).texts


def test_a_plan_counts_what_it_really_frees() -> None:
    change = cleared(busy().due())
    assert change.freed == sum(1_000 - text_tokens(text) for text in change.texts.values())
    assert len(change.texts) == 50


def test_when_no_marker_is_shorter_there_is_no_plan(talk: Talk) -> None:
    for _ in range(8):
        talk.round(text="ok")
    talk.reply()
    due = talk.due(PAUSED, now=talk.at + HOUR + 1)
    assert isinstance(due, Due)
    assert isinstance(microcompaction.plan(due), NotDue)


def test_batches_are_rare() -> None:
    """A hundred rounds after a batch: the next one waits until as much has gathered again."""
    talk = busy()
    batches = 0
    for _ in range(100):
        due = talk.due()
        if isinstance(due, Due):
            batches += 1
            talk.cleared |= cleared(due).texts
        talk.round()
    assert 1 < batches <= 8


# ── run ──────────────────────────────────────────────────────────────────────


def test_a_batch_registers_its_break_and_is_announced() -> None:
    talk = busy()
    change = cleared(talk.due())
    expected: list[str] = []
    announced: list[Event] = []
    conditions = talk.conditions()
    microcompaction.run(change, conditions, expected.append, announced.append)
    assert expected == [f"microcompaction: {change.why}"]
    after = conditions.context - change.freed
    assert announced == [LayerFired("microcompaction", conditions.context, after, change.why)]


def test_a_cache_edit_is_no_break(talk: Talk) -> None:
    expected: list[str] = []
    announced: list[Event] = []
    edit = EditCache(("a",), "m", 500, "too many")
    microcompaction.run(edit, talk.conditions(context=9_000), expected.append, announced.append)
    assert expected == []
    assert announced == [LayerFired("microcompaction", 9_000, 8_500, "too many")]


# ── on the provider's side ───────────────────────────────────────────────────

MANAGES = Capabilities(context_management=True)
MILLION = Window(1_000_000, "test")


@pytest.mark.parametrize(
    ("capabilities", "window", "thinking", "edits"),
    [
        (Capabilities(), MILLION, "adaptive", ()),
        (MANAGES, MILLION, None, (ClearToolUses(180_000, 140_000),)),
        (MANAGES, MILLION, "off", (ClearToolUses(180_000, 140_000),)),
        (MANAGES, MILLION, "adaptive", (ClearThinking(), ClearToolUses(180_000, 140_000))),
        (MANAGES, Window(200_000, "test"), None, (ClearToolUses(147_000, 114_333),)),
    ],
)
def test_what_the_provider_is_asked_to_clear(
    capabilities: Capabilities, window: Window, thinking: str | None, edits: tuple[object, ...]
) -> None:
    assert context_edits(capabilities, window, thinking) == edits


def test_the_provider_is_told_which_tools_to_leave_alone() -> None:
    tools = ["Read", "Task", "mcp__db__query", "Weather"]
    (edit,) = context_edits(MANAGES, MILLION, None, tools, frozenset({"Weather"}))
    assert isinstance(edit, ClearToolUses)
    assert edit.exclude == ("Task", "mcp__db__query")


def test_text_beside_a_picture_may_go(talk: Talk) -> None:
    talk.round()
    both = ToolResult("call-1", (Text("word" * 500), Image("image/png", "AAAA")))
    talk.messages[-1] = Message("m", "user", (both,))
    talk.conditions()
    assert talk.ledger.held[0].tokens == 500


# ── limits ───────────────────────────────────────────────────────────────────


def test_nothing_is_rewritten_or_freed_unless_it_is_said() -> None:
    assert Due("time", (), "", "").rewritten == 0
    assert Clear({}, 5, "").rewritten == 0
    assert EditCache((), "").freed == 0


def one(size: int, way: Way, text: str = "") -> Due:
    """A result of this many tokens that is to be cleared."""
    held = Held(ToolResult("r", (Text(text),)), size, size, 0, 0, 0.0)
    return Due(way, (held,), "", "", outlines={"r": "12 lines; all well"})


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_when_a_marker_is_short_enough(more: int) -> None:
    plain = text_tokens("[Old tool result content cleared]")
    telling = text_tokens("[Old tool result cleared: 12 lines; all well]")
    for way, size in (("time", plain), ("batch", 2 * telling)):
        change = microcompaction.plan(one(size + more, way))
        assert isinstance(change, Clear if more == 1 else NotDue)
        if isinstance(change, Clear):
            assert change.freed == size + 1 - (plain if way == "time" else telling)


def test_a_result_without_an_outline_is_told_by_its_lines() -> None:
    due = replace(one(900, "batch", "compiling\nerror: bent"), outlines={"other": "x"})
    assert cleared(due).texts == {"r": "[Old tool result cleared: 2 lines; error: bent]"}
    assert cleared(one(900, "batch", "x")).texts == {
        "r": "[Old tool result cleared: 12 lines; all well]"
    }


@pytest.mark.parametrize(("seconds", "said"), [(HOUR + 1, "60"), (90 * 60, "90")])
def test_a_pause_is_told_in_minutes(talk: Talk, seconds: float, said: str) -> None:
    talk.rounds(8)
    talk.reply()
    due = talk.due(PAUSED, now=talk.at + seconds)
    assert isinstance(due, Due)
    assert due.why == f"a pause of {said} minutes"


@pytest.mark.parametrize(("context", "asked"), [(39_999, False), (40_000, True), (40_001, True)])
def test_a_small_context_is_left_alone(talk: Talk, context: int, asked: bool) -> None:
    talk.rounds(30)
    talk.reply()
    edits = talk.due(Policy(), context=context, capabilities=EDITS_CACHES)
    assert isinstance(edits, Due) is asked
    batched = talk.due(Policy(least_freed=1, calls=1_000), context=context)
    assert isinstance(batched, Due) is asked
