"""A session left and resumed after every turn sends the very bytes of one that never stopped."""

import json
import shutil
from typing import Any

import pytest
from tests.flows.sessions import Desk, hear, reader
from tests.place import NOON, Place
from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest
from tests.provider.script import Reply, ScriptItem, Text, Thinking, ToolCall

from reverie.session.options import SessionOptions

TURNS = 12
OPTIONS = SessionOptions(session="same", mode="bypass")


def answer(request: RecordedRequest, *, thinking: bool) -> ScriptItem:
    """As the reader, with ids that depend on the conversation alone."""
    said = reader(request)
    if not isinstance(said, ToolCall):
        return said
    call = ToolCall(said.name, said.input, f"toolu_{len(json.dumps(request.json['messages'])):08}")
    thought = (Thinking("I should read it."),) if thinking else ()
    return Reply((*thought, Text("Reading."), call))


def bodies(provider: Provider, start: int) -> list[dict[str, Any]]:
    parts = ("model", "system", "tools", "messages", "thinking")
    found = [request.json for request in provider.requests[start:]]
    return [{part: body.get(part) for part in parts} for body in found]


@pytest.mark.parametrize("thinking", [True, False])
@pytest.mark.parametrize("batches", ["true", "false"])
async def test_resumed_after_every_turn(
    place: Place,
    provider: Provider,
    monkeypatch: pytest.MonkeyPatch,
    thinking: bool,
    batches: str,
) -> None:
    desk = Desk(place, provider, monkeypatch)
    provider.respond(lambda request: answer(request, thinking=thinking))
    for i in range(TURNS):
        desk.write(f"part_{i}.py", f"part_{i} = 'a line of source that says little'\n" * 500)
    overrides = (
        "features.microcompact_server=false",
        f"features.microcompact_batch={batches}",
        "notes.refine=due",
    )
    await run(desk, overrides, resumed=False)
    first = len(provider.requests)
    # The key of the reminders is made for a home; the bytes can only be the same with the same key.
    secret = (place.home / "reminders.key").read_bytes()
    shutil.rmtree(place.home)
    place.home.mkdir()
    (place.home / "reminders.key").write_bytes(secret)
    (place.home / "reminders.key").chmod(0o600)
    place.clock.at = NOON
    await run(desk, overrides, resumed=True)
    assert bodies(provider, 0)[:first] == bodies(provider, first)
    assert first > 2 * TURNS
    # A compaction by price was weighed, refused and done on the way.
    assert "no longer in the window" in str(bodies(provider, first))


async def run(desk: Desk, overrides: tuple[str, ...], *, resumed: bool) -> None:
    await desk.set_window(60_000)
    prompts = [f"Please read part_{i}.py, request {i}." for i in range(TURNS)]
    if not resumed:
        async with desk.session(*overrides, options=OPTIONS) as session:
            for prompt in prompts:
                await desk.hear(session, prompt)
                desk.place.clock.advance(30)
        return
    for i, prompt in enumerate(prompts):
        async with desk.session(*overrides, options=OPTIONS, resume=i > 0) as session:
            # The same requests again break nothing: they were all sent before.
            await hear(session, prompt)
        desk.place.clock.advance(30)
