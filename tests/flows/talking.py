"""A conversation over the real wire: our stack, the official SDK, the provider on loopback."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.provider.provider import Provider

from reverie.conversation import journal
from reverie.conversation.conversation import Conversation
from reverie.conversation.journal import Journal
from reverie.conversation.state import SessionState
from reverie.core.messages import Message, Text, ToolResult
from reverie.core.request import Head, Options, ToolSpec
from reverie.core.transcript import open_tool_uses
from reverie.events import Event
from reverie.models import catalog
from reverie.models.anthropic import AnthropicModel

READ = ToolSpec.of(
    "Read", "Read a file. " * 40, {"type": "object", "properties": {"path": {"type": "string"}}}
)


def head(model: str, *, thinking: bool = True) -> Head:
    options = Options(max_tokens=4096, thinking="adaptive" if thinking else None)
    return Head(model, (Text("You are careful. " * 400),), (READ,), options)


class SharedClock:
    """The provider's time is ours too, so that a test moves both at once."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def now(self) -> float:
        return 1_800_000_000 + self._provider.clock.now


def resume(path: Path) -> SessionState | None:
    return SessionState.replay(journal.load(path).records) if path.exists() else None


@asynccontextmanager
async def talking(
    provider: Provider, path: Path, model: str, *, thinking: bool = True
) -> AsyncIterator[Conversation]:
    """A conversation on `path`: begun, or resumed when the file is already there."""
    row = catalog.find(model)
    assert row is not None
    sdk = AnthropicModel(
        model,
        api_key="test",
        capabilities=row.capabilities,
        prices=row.prices,
        base_url=provider.anthropic_url,
        retries=0,
    )
    resumed = resume(path)
    with Journal(path) as file:
        conversation = Conversation(
            file, sdk, SharedClock(provider), state=resumed or SessionState()
        )
        if resumed is None:
            conversation.open("s1", head(model, thinking=thinking))
        try:
            yield conversation
        finally:
            await sdk.aclose()


async def send(conversation: Conversation) -> list[Event]:
    return [event async for event in conversation.send()]


async def turn(conversation: Conversation, text: str) -> list[Event]:
    """Say something, and answer tool calls until the model is done."""
    conversation.say(Text(text))
    events = await send(conversation)
    while calls := open_tool_uses(conversation.state.messages):
        results = (ToolResult(call.id, (Text(f"contents of {call.id}\n" * 30),)) for call in calls)
        conversation.say(*results, origin="tool")
        events += await send(conversation)
    return events


def replace_in(conversation: Conversation, index: int, message: Message) -> None:
    """Edit history, as a layer would."""
    conversation.state.messages[index] = message
