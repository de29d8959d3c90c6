"""Chat Completions and Responses on the wire: errors, bodies and their streams."""

import json
from collections.abc import Iterator

from tests.provider.blocks import Json, compact, count_json, count_text
from tests.provider.openai_rules import seal_item
from tests.provider.rejection import openai_error
from tests.provider.script import HttpError, Reply, Text, Thinking, ToolCall, TooLong
from tests.provider.seal import Seal
from tests.provider.transport import Rendered

_PIECE = 12


class OpenAiFamily:
    name = "openai"

    def error_body(self, error: HttpError, request_id: str) -> Json:
        return openai_error(error.status, error.message, error.code, error.param)

    def error_event(self, error: HttpError) -> bytes:
        return data(openai_error(error.status, error.message, error.code, error.param))

    def too_long(self, fault: TooLong) -> tuple[int, Json]:
        return 400, too_long_body(fault)


def too_long_body(fault: TooLong) -> Json:
    """The refusal in the words of OpenAI or of a local server."""
    tokens, maximum = fault.tokens, fault.maximum
    match fault.flavour:
        case "llama.cpp":
            message = (
                f"request ({tokens} tokens) exceeds the available context size ({maximum} tokens)"
            )
            error: Json = {"code": 400, "message": message, "type": "exceed_context_size_error"}
            return {"error": {**error, "n_prompt_tokens": tokens, "n_ctx": maximum}}
        case "vllm":
            message = (
                f"This model's maximum context length is {maximum} tokens. However, you requested "
                f"{tokens} tokens in the messages. Please reduce the length of the messages."
            )
            return {
                "error": {"message": message, "type": "BadRequestError", "param": None, "code": 400}
            }
        case "ollama":
            message = f"input length exceeds the context length ({tokens} > {maximum})"
            return {"error": {"message": message, "type": "api_error", "param": None, "code": None}}
        case "native":
            message = (
                f"This model's maximum context length is {maximum} tokens. However, your messages "
                f"resulted in {tokens} tokens. Please reduce the length of the messages."
            )
            return openai_error(400, message, "context_length_exceeded", "messages")


def data(value: Json) -> bytes:
    return b"data: " + compact(value) + b"\n\n"


def _pieces(text: str) -> list[str]:
    return [text[i : i + _PIECE] for i in range(0, len(text), _PIECE)]


def output_tokens(reply: Reply) -> tuple[int, int]:
    """Tokens of the whole reply, and of the reasoning in it."""
    reasoning = sum(count_text(p.text) for p in reply.content if isinstance(p, Thinking))
    said = sum(count_text(p.text) for p in reply.content if isinstance(p, Text))
    calls = sum(
        count_json({"name": p.name, "arguments": p.input})
        for p in reply.content
        if isinstance(p, ToolCall)
    )
    total = reply.output_tokens if reply.output_tokens is not None else reasoning + said + calls
    return total, reasoning


def chat_usage(prompt: int, cached: int, written: int, reply: Reply) -> Json:
    total, reasoning = output_tokens(reply)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": total,
        "total_tokens": prompt + total,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


_FINISH = {
    "end_turn": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


def render_chat(
    id_: str, model: str, reply: Reply, usage: Json, call_ids: Iterator[str], *, show_usage: bool
) -> Rendered:
    text = "".join(part.text for part in reply.content if isinstance(part, Text))
    calls: list[Json] = [
        {
            "id": part.id or next(call_ids),
            "type": "function",
            "function": {"name": part.name, "arguments": json.dumps(part.input)},
        }
        for part in reply.content
        if isinstance(part, ToolCall)
    ]
    usual = "tool_calls" if calls else "stop"
    finish = _FINISH.get(reply.stop_reason, reply.stop_reason) if reply.stop_reason else usual
    head = {"id": id_, "created": 0, "model": model}
    message: Json = {"role": "assistant", "content": text or None, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    body = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
    chunks = list(_chat_deltas(text, calls))
    events = [_chunk(head, delta, None) for delta in chunks]
    ending = [_chunk(head, {}, finish)]
    if show_usage:
        ending.append(
            data({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        )
    ending.append(b"data: [DONE]\n\n")
    return Rendered(body, (*events, *ending), usage, len(ending))


def _chunk(head: Json, delta: Json, finish: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return data({**head, "object": "chat.completion.chunk", "choices": [choice]})


def _chat_deltas(text: str, calls: list[Json]) -> Iterator[Json]:
    yield {"role": "assistant", "content": "" if text else None}
    for piece in _pieces(text):
        yield {"content": piece}
    for index, call in enumerate(calls):
        named = {"name": call["function"]["name"], "arguments": ""}
        yield {"tool_calls": [{"index": index, **call, "function": named}]}
        for piece in _pieces(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def responses_usage(prompt: int, cached: int, written: int, reply: Reply) -> Json:
    total, reasoning = output_tokens(reply)
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "output_tokens": total,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": prompt + total,
    }


def output_items(reply: Reply, seal: Seal, ids: Iterator[str]) -> list[Json]:
    """A reply as output items: reasoning, message or function call."""
    items: list[Json] = []
    for part in reply.content:
        number = next(ids)
        match part:
            case Thinking(text):
                items.append(
                    {
                        "type": "reasoning",
                        "id": f"rs_{number}",
                        "summary": [{"type": "summary_text", "text": text}],
                        "encrypted_content": seal_item(seal, "reasoning", text),
                    }
                )
            case Text(text):
                content = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
                items.append(
                    {
                        "type": "message",
                        "id": f"msg_{number}",
                        "role": "assistant",
                        "status": "completed",
                        "content": [content],
                    }
                )
            case ToolCall(name, arguments, id_):
                items.append(
                    {
                        "type": "function_call",
                        "id": f"fc_{number}",
                        "call_id": id_ or f"call_{number}",
                        "name": name,
                        "arguments": json.dumps(arguments),
                        "status": "completed",
                    }
                )
    return items


def _item_events(index: int, item: Json) -> Iterator[tuple[str, Json]]:
    place = {"item_id": item["id"], "output_index": index}
    match item["type"]:
        case "message":
            part = item["content"][0]
            spot = {**place, "content_index": 0}
            empty = {**part, "text": ""}
            added = {**item, "status": "in_progress", "content": []}
            yield "output_item.added", {"output_index": index, "item": added}
            yield "content_part.added", {**spot, "part": empty}
            for piece in _pieces(part["text"]):
                yield "output_text.delta", {**spot, "delta": piece, "logprobs": []}
            yield "output_text.done", {**spot, "text": part["text"], "logprobs": []}
            yield "content_part.done", {**spot, "part": part}
        case "function_call":
            added = {**item, "status": "in_progress", "arguments": ""}
            yield "output_item.added", {"output_index": index, "item": added}
            for piece in _pieces(item["arguments"]):
                yield "function_call_arguments.delta", {**place, "delta": piece}
            yield (
                "function_call_arguments.done",
                {**place, "arguments": item["arguments"], "name": item["name"]},
            )
        case _:
            text = item["summary"][0]["text"]
            spot = {**place, "summary_index": 0}
            yield "output_item.added", {"output_index": index, "item": {**item, "summary": []}}
            empty_part = {"type": "summary_text", "text": ""}
            yield "reasoning_summary_part.added", {**spot, "part": empty_part}
            for piece in _pieces(text):
                yield "reasoning_summary_text.delta", {**spot, "delta": piece}
            yield "reasoning_summary_text.done", {**spot, "text": text}
            yield "reasoning_summary_part.done", {**spot, "part": item["summary"][0]}
    yield "output_item.done", {"output_index": index, "item": item}


def render_response(response: Json) -> Rendered:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    steps: list[tuple[str, Json]] = [
        ("created", {"response": begun}),
        ("in_progress", {"response": begun}),
    ]
    for index, item in enumerate(response["output"]):
        steps.extend(_item_events(index, item))
    steps.append(("completed", {"response": response}))
    events = tuple(
        f"event: response.{kind}\n".encode()
        + data({"type": f"response.{kind}", "sequence_number": number, **body})
        for number, (kind, body) in enumerate(steps)
    )
    return Rendered(response, events, response["usage"])
