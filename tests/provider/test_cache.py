"""Prompt-cache semantics, read off the usage numbers."""

from dataclasses import dataclass

import anthropic
import anyio
import pytest
from tests.provider import Gate, Held, HttpError, Provider, Reply, StreamError, Text, overloaded
from tests.provider.blocks import Json
from tests.provider.samples import HOUR, MARK, ask, assistant, prose, text, tool, user


@dataclass(frozen=True, slots=True)
class Bill:
    fresh: int
    written: int
    read: int


def send(client: anthropic.Anthropic, body: Json) -> Bill:
    usage = client.messages.create(**body).usage
    return Bill(
        usage.input_tokens,
        usage.cache_creation_input_tokens or 0,
        usage.cache_read_input_tokens or 0,
    )


def test_written_once_then_read(claude: anthropic.Anthropic) -> None:
    body = ask(user("hi!!"), system=[text(prose(600), MARK)])
    assert send(claude, body) == Bill(1, 600, 0)
    assert send(claude, body) == Bill(1, 0, 600)


def test_nothing_without_a_breakpoint(claude: anthropic.Anthropic) -> None:
    body = ask(user("hi!!"), system=prose(600))
    assert send(claude, body) == send(claude, body) == Bill(601, 0, 0)


def test_below_the_minimum_nothing_is_written(
    provider: Provider, claude: anthropic.Anthropic
) -> None:
    body = ask(user("hi!!"), system=[text(prose(511), MARK)])
    assert send(claude, body) == send(claude, body) == Bill(512, 0, 0)
    provider.expect_conversation("just enough")
    assert send(claude, ask(user("hi!!"), system=[text(prose(512), MARK)])) == Bill(1, 512, 0)


def test_the_minimum_is_the_models_and_counts_the_whole_prefix(
    provider: Provider, claude: anthropic.Anthropic
) -> None:
    body = ask(user(text(prose(500), MARK), "hi!!"), system=prose(600), model="claude-sonnet-4-6")
    assert send(claude, body) == Bill(1, 1100, 0)
    provider.cache_minimum["claude-sonnet-4-6"] = 2000
    provider.clock.advance(301)
    assert send(claude, body) == Bill(1101, 0, 0)


def test_a_growing_conversation_reads_all_but_its_tail(claude: anthropic.Anthropic) -> None:
    history = [user(prose(1000))]
    assert send(claude, ask(*history, cache_control=MARK)) == Bill(0, 1000, 0)
    history += [assistant(prose(10)), user(prose(20))]
    assert send(claude, ask(*history, cache_control=MARK)) == Bill(0, 30, 1000)
    history += [assistant(prose(10)), user(prose(20))]
    assert send(claude, ask(*history, cache_control=MARK)) == Bill(0, 30, 1030)


def steps(count: int) -> Json:
    return user(*(text(prose(10, "b"), None) for _ in range(count)))


@pytest.mark.parametrize(
    ("added", "middle", "expected"),
    [
        (19, False, Bill(0, 190, 1000)),
        (20, False, Bill(0, 1200, 0)),
        (21, False, Bill(0, 1210, 0)),
        (21, True, Bill(0, 210, 1000)),
    ],
)
def test_look_back_is_twenty_blocks(
    claude: anthropic.Anthropic, added: int, middle: bool, expected: Bill
) -> None:
    first = user(text(prose(1000), MARK))
    send(claude, ask(first))
    more = steps(added)
    more["content"][-1]["cache_control"] = MARK
    if middle:
        more["content"][9]["cache_control"] = MARK
    assert send(claude, ask(user(prose(1000)), more)) == expected


def test_entries_exist_only_at_breakpoints(provider: Provider, claude: anthropic.Anthropic) -> None:
    send(claude, ask(user(prose(600), text(prose(600, "b"), MARK))))
    provider.expect_break("only the first block is shared")
    shared_start = ask(user(text(prose(600), MARK), prose(600, "c")))
    assert send(claude, shared_start) == Bill(600, 600, 0)


@pytest.mark.parametrize(("mark", "lifetime"), [(MARK, 300), (HOUR, 3600)])
def test_lifetime_and_free_refresh(
    provider: Provider, claude: anthropic.Anthropic, mark: Json, lifetime: float
) -> None:
    body = ask(user("hi!!"), system=[text(prose(600), mark)])
    assert send(claude, body) == Bill(1, 600, 0)
    for _ in range(2):
        provider.clock.advance(lifetime - 1)
        assert send(claude, body) == Bill(1, 0, 600)
    provider.clock.advance(lifetime)
    assert send(claude, body) == Bill(1, 600, 0)


def test_two_lifetimes_are_billed_apart(claude: anthropic.Anthropic) -> None:
    body = ask(user(text(prose(100), MARK), "hi!!"), system=[text(prose(600), HOUR)])
    usage = claude.messages.create(**body).usage
    assert usage.cache_creation is not None
    assert usage.cache_creation.ephemeral_1h_input_tokens == 600
    assert usage.cache_creation.ephemeral_5m_input_tokens == 100
    assert (usage.input_tokens, usage.cache_creation_input_tokens) == (1, 700)


def test_moving_a_marker_is_no_change_of_content(claude: anthropic.Anthropic) -> None:
    send(claude, ask(user(text(prose(600), MARK))))
    moved = ask(user(prose(600)), assistant("yes!"), user(text("more", MARK)))
    assert send(claude, moved) == Bill(0, 2, 600)
    string = ask(
        {"role": "user", "content": prose(600)}, assistant("yes!"), user(text("more", MARK))
    )
    assert send(claude, string) == Bill(0, 0, 602)


LEVELS: list[tuple[str, Json, int]] = [
    # what changes, the change, what can still be read
    ("model", {"model": "claude-fable-5"}, 0),
    ("tools", {"tools": [tool("write")]}, 0),
    ("system", {"system": [text(prose(700, "z"), MARK)]}, 0),
    ("speed", {"speed": "fast"}, 0),
    ("tool_choice", {"tool_choice": {"type": "auto"}}, 1300),
    ("thinking", {"thinking": {"type": "adaptive"}}, 1300),
    ("effort", {"output_config": {"effort": "low"}}, 1300),
    ("nothing", {}, 1900),
    ("metadata", {"metadata": {"user_id": "u"}}, 1900),
    ("diagnostics", {"diagnostics": {"previous_message_id": None}}, 1900),
]


@pytest.mark.parametrize(("name", "change", "kept"), LEVELS)
def test_what_invalidates_what(
    provider: Provider, claude: anthropic.Anthropic, name: str, change: Json, kept: int
) -> None:
    tools = [tool(description="d" * 1100)]
    body = ask(user(text(prose(600), MARK)), system=[text(prose(700), MARK)], tools=tools)
    first = send(claude, body)
    fixed = first.written - 1900
    if kept < 1900:
        provider.expect_break(name)
    again = send(claude, body | change)
    assert again.read == (kept + fixed if kept else 0)


def test_tools_survive_a_change_of_system(provider: Provider, claude: anthropic.Anthropic) -> None:
    tools = [tool(description="d" * 1100) | {"cache_control": MARK}]
    first = send(claude, ask(user("hi!!"), system="one.", tools=tools))
    provider.expect_break("system")
    second = send(claude, ask(user("hi!!"), system="two.", tools=tools))
    assert (second.read, second.written) == (first.written, 0)


def test_prewarming(claude: anthropic.Anthropic) -> None:
    body = ask(user("hi!!"), system=[text(prose(600), MARK)])
    assert send(claude, body | {"max_tokens": 0}) == Bill(1, 600, 0)
    assert send(claude, body) == Bill(1, 0, 600)


@pytest.mark.parametrize("fault", [overloaded(), StreamError()])
def test_a_failed_request_writes_nothing(
    provider: Provider, claude: anthropic.Anthropic, fault: HttpError | StreamError
) -> None:
    body = ask(user("hi!!"), system=[text(prose(600), MARK)])
    provider.script(fault)
    with pytest.raises(anthropic.OverloadedError):
        claude.messages.create(**body)
    assert send(claude, body) == Bill(1, 600, 0)


async def test_forks_sent_at_once_all_miss(
    provider: Provider, async_claude: anthropic.AsyncAnthropic
) -> None:
    """An entry is readable only once the response that writes it has begun."""
    gates = [Gate(), Gate()]
    provider.script(*(Held(Reply((Text("x"),)), gate) for gate in gates), "later")
    body = ask(user("hi!!"), system=[text(prose(600), MARK)])
    read: list[int] = []

    async def fork() -> None:
        usage = (await async_claude.messages.create(**body)).usage
        read.append(usage.cache_read_input_tokens or 0)

    async with anyio.create_task_group() as tasks:
        for gate in gates:
            tasks.start_soon(fork)
            await anyio.to_thread.run_sync(gate.wait_reached)
        for gate in gates:
            gate.release()
    await fork()
    assert read == [0, 0, 600]


async def test_a_stream_that_has_begun_can_be_read_from(
    provider: Provider, async_claude: anthropic.AsyncAnthropic
) -> None:
    gate = Gate()
    provider.script(Held(Reply((Text("a long reply"),)), gate, after=2))
    body = ask(user("hi!!"), system=[text(prose(600), MARK)])
    async with async_claude.messages.stream(**body) as stream:
        async for event in stream:
            if event.type == "message_start":
                break
        fork = await async_claude.messages.create(**body)
        gate.release()
        await stream.until_done()
    assert fork.usage.cache_read_input_tokens == 600


DIAGNOSES: list[tuple[Json, str]] = [
    ({"model": "claude-fable-5"}, "model_changed"),
    ({"system": "other"}, "system_changed"),
    ({"tools": [tool("write")]}, "tools_changed"),
    ({"messages": [user("edited"), assistant("a"), user("b")]}, "messages_changed"),
    ({"tool_choice": {"type": "none"}}, "unavailable"),
]


@pytest.mark.parametrize(("change", "reason"), DIAGNOSES)
def test_diagnostics(
    provider: Provider, claude: anthropic.Anthropic, change: Json, reason: str
) -> None:
    body = ask(user("hi"), system="one", tools=[tool()])
    first = claude.messages.create(**body, diagnostics={"previous_message_id": None})
    assert first.diagnostics is None
    provider.expect_break(reason)
    second = claude.messages.create(
        **(body | change), diagnostics={"previous_message_id": first.id}
    )
    assert second.diagnostics is not None
    assert second.diagnostics.cache_miss_reason is not None
    assert second.diagnostics.cache_miss_reason.type == reason


def test_diagnostics_without_a_miss_and_without_a_record(claude: anthropic.Anthropic) -> None:
    first = claude.messages.create(**ask(user("hi")))
    longer = ask(user("hi"), assistant("yes"), user("more"))
    same = claude.messages.create(**longer, diagnostics={"previous_message_id": first.id})
    assert same.diagnostics is None
    lost = claude.messages.create(**longer, diagnostics={"previous_message_id": "msg_none"})
    assert lost.diagnostics is not None
    assert lost.diagnostics.cache_miss_reason is not None
    assert lost.diagnostics.cache_miss_reason.type == "previous_message_not_found"
