"""Programs with their own loop on the official SDKs, which the tests of `Context` drive."""

import json
from collections.abc import Callable
from typing import Any

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from tests.place import Place
from tests.provider.provider import Provider

from reverie import Context, Memory
from reverie.events import Event, LayerFired

CLAUDE = "anthropic:claude-sonnet-5-5"
SYSTEM = "You tell people about the weather."
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
ABOUT = {"name": "get_weather", "description": "The weather of a city."}

Run = Callable[[dict[str, Any]], str]


def sunny(given: dict[str, Any]) -> str:
    return "sunny"


class Loop:
    """What all loops share: their own history and SDK client, and two calls to `Context`."""

    model = CLAUDE
    tools: tuple[Any, ...]

    def __init__(self, place: Place, provider: Provider, *, run: Run = sunny, **given: Any) -> None:
        self.provider = provider
        self.run = run
        self.received: list[Event] = []
        self.messages: list[Any] = []
        settings = {
            "providers.anthropic.base_url": provider.anthropic_url,
            "providers.openai.base_url": provider.openai_url,
            "providers.local.kind": "openai",
            "providers.local.base_url": provider.openai_url,
            **given.pop("settings", {}),
        }
        self.memory = Memory.open(place.root, settings=settings, clock=place.clock)
        options: dict[str, Any] = {"system": SYSTEM, "tools": self.tools, "memory": self.memory}
        self.context = Context(model=self.model, listener=self._receive, **(options | given))

    def _receive(self, event: Event) -> None:
        self.received.append(event)
        if isinstance(event, LayerFired) and event.layer != "tool results":
            self.provider.expect_break(event.layer)

    def events(self, kind: type) -> list[Any]:
        return [event for event in self.received if isinstance(event, kind)]

    async def say(self, text: str) -> str:
        self.messages.append({"role": "user", "content": text})
        while (answer := await self.step()) is None:
            pass
        return answer

    async def step(self) -> str | None:
        """One model call; the answer, or None if tools were run."""
        raise NotImplementedError

    async def close(self) -> None:
        await self.context.aclose()
        self.memory.close()
        await self.client.close()  # type: ignore[attr-defined]


class ClaudeLoop(Loop):
    """The Messages API, not streamed."""

    tools = (ABOUT | {"input_schema": SCHEMA},)

    def __init__(self, place: Place, provider: Provider, **given: Any) -> None:
        super().__init__(place, provider, **given)
        self.client = AsyncAnthropic(api_key="mine", base_url=provider.anthropic_url)

    async def ask(self, **arguments: Any) -> Any:
        return await self.client.beta.messages.create(**arguments)

    def keep(self, response: Any) -> None:
        self.messages.append({"role": "assistant", "content": response.content})

    async def step(self) -> str | None:
        prepared = await self.context.prepare(self.messages)
        response = await self.ask(**prepared.arguments)
        await self.context.observe(response)
        self.keep(response)
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": self.run(block.input)}
            for block in response.content
            if block.type == "tool_use"
        ]
        if not results:
            return "".join(block.text for block in response.content if block.type == "text")
        self.messages.append({"role": "user", "content": results})
        return None


class StreamingLoop(ClaudeLoop):
    """The same with the SDK's stream helper; it keeps plain dictionaries, without thinking."""

    async def ask(self, **arguments: Any) -> Any:
        async with self.client.beta.messages.stream(**arguments) as stream:
            self.text = "".join([text async for text in stream.text_stream])
            return await stream.get_final_message()

    def keep(self, response: Any) -> None:
        blocks = [block.model_dump() for block in response.content if block.type != "thinking"]
        self.messages.append({"role": "assistant", "content": blocks})


class ChatLoop(Loop):
    """Chat Completions with a local server; the system prompt is the first message."""

    model = "local:local"
    tools = ({"type": "function", "function": ABOUT | {"parameters": SCHEMA}},)

    def __init__(self, place: Place, provider: Provider, **given: Any) -> None:
        super().__init__(place, provider, **({"system": ""} | given))
        self.messages.append({"role": "system", "content": SYSTEM})
        self.client = AsyncOpenAI(api_key="mine", base_url=provider.openai_url)

    async def ask(self, **arguments: Any) -> Any:
        return await self.client.chat.completions.create(**arguments)

    async def step(self) -> str | None:
        prepared = await self.context.prepare(self.messages)
        response = await self.ask(**prepared.arguments)
        await self.context.observe(response)
        message = response.choices[0].message
        self.messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = self.run(json.loads(call.function.arguments))
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return None


class ChatStreamingLoop(ChatLoop):
    async def ask(self, **arguments: Any) -> Any:
        usage = {"include_usage": True}
        async with self.client.chat.completions.stream(**arguments, stream_options=usage) as stream:
            return await stream.get_final_completion()


class ResponsesLoop(Loop):
    """The Responses API, nothing kept on the server: the output goes back as items."""

    model = "openai:gpt-5.5"
    tools = ({"type": "function", **ABOUT, "parameters": SCHEMA},)

    def __init__(self, place: Place, provider: Provider, **given: Any) -> None:
        super().__init__(place, provider, **given)
        self.client = AsyncOpenAI(api_key="mine", base_url=provider.openai_url)

    async def ask(self, **arguments: Any) -> Any:
        return await self.client.responses.create(**arguments)

    async def step(self) -> str | None:
        prepared = await self.context.prepare(self.messages)
        response = await self.ask(**prepared.arguments)
        await self.context.observe(response)
        self.messages += response.output
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return response.output_text
        for call in calls:
            result = self.run(json.loads(call.arguments))
            output = {"type": "function_call_output", "call_id": call.call_id, "output": result}
            self.messages.append(output)
        return None


class ResponsesStreamingLoop(ResponsesLoop):
    async def ask(self, **arguments: Any) -> Any:
        async with self.client.responses.stream(**arguments) as stream:
            return await stream.get_final_response()


LOOPS = (
    ClaudeLoop,
    StreamingLoop,
    ChatLoop,
    ChatStreamingLoop,
    ResponsesLoop,
    ResponsesStreamingLoop,
)
