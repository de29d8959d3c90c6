"""Messages replies on the wire: blocks, usage, the message, and its stream of events."""

import json
from collections.abc import Iterator

from tests.provider import thinking
from tests.provider.blocks import THINKING, Json, canonical, compact, count_block
from tests.provider.cache import Plan
from tests.provider.rejection import anthropic_error, anthropic_type
from tests.provider.script import Content, HttpError, Reply, Text, Thinking, ToolCall, TooLong
from tests.provider.seal import Seal
from tests.provider.thinking import Scene
from tests.provider.transport import Rendered

_PIECE = 12


class AnthropicFamily:
    name = "anthropic"

    def error_body(self, error: HttpError, request_id: str) -> Json:
        return anthropic_error(error.status, error.message, error.code, request_id)

    def error_event(self, error: HttpError) -> bytes:
        body = {"type": anthropic_type(error.status), "message": error.message}
        return event("error", {"error": body})

    def too_long(self, fault: TooLong) -> tuple[int, Json]:
        message = f"prompt is too long: {fault.tokens} tokens > {fault.maximum} maximum"
        return 400, anthropic_error(400, message, None, "req_scripted")


def event(kind: str, data: Json) -> bytes:
    return f"event: {kind}\ndata: ".encode() + compact({"type": kind, **data}) + b"\n\n"


def _block(content: Content, scene: Scene, seal: Seal, call_id: str, *, hide: bool) -> Json:
    match content:
        case Text(text):
            return {"type": "text", "text": text, "citations": None}
        case Thinking(text):
            shown = "" if hide else text
            signature = thinking.sign(seal, scene, shown)
            return {"type": "thinking", "thinking": shown, "signature": signature}
        case ToolCall(name, arguments, id_):
            return {"type": "tool_use", "id": id_ or call_id, "name": name, "input": arguments}


def build_blocks(
    reply: Reply, scene: Scene, seal: Seal, call_ids: Iterator[str], *, hide: bool
) -> list[Json]:
    """The blocks of a reply, each thinking block signed where it stands."""
    scene = thinking.reply_scene(scene)
    blocks: list[Json] = []
    for content in reply.content:
        call_id = next(call_ids) if isinstance(content, ToolCall) else ""
        block = _block(content, scene, seal, call_id, hide=hide)
        scene = thinking.after(scene, block, canonical(block))
        blocks.append(block)
    return blocks


def build_usage(plan: Plan, blocks: list[Json], reply: Reply) -> Json:
    output = sum(count_block(block) for block in blocks)
    thought = sum(count_block(block) for block in blocks if block["type"] in THINKING)
    return {
        "input_tokens": plan.fresh,
        "cache_creation_input_tokens": plan.created,
        "cache_read_input_tokens": plan.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": plan.written["5m"],
            "ephemeral_1h_input_tokens": plan.written["1h"],
        },
        "output_tokens": reply.output_tokens if reply.output_tokens is not None else output,
        "output_tokens_details": {"thinking_tokens": thought},
        "service_tier": "standard",
    }


def iteration(kind: str, usage: Json) -> Json:
    """One entry of `usage.iterations`."""
    names = (
        "input_tokens",
        "output_tokens",
        "cache_creation",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    )
    return {"type": kind, **{name: usage[name] for name in names}}


def summary_usage(usage: Json) -> Json:
    """Usage of a summary: its tokens stand in `iterations`, never at the top level."""
    empty = {
        "input_tokens": 0,
        "output_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": dict.fromkeys(usage["cache_creation"], 0),
    }
    return {**usage, **empty, "iterations": [iteration("compaction", usage)]}


def stop_reason(reply: Reply, blocks: list[Json]) -> str:
    if reply.stop_reason is not None:
        return reply.stop_reason
    return "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"


def _pieces(text: str) -> list[str]:
    return [text[i : i + _PIECE] for i in range(0, len(text), _PIECE)]


def _deltas(block: Json) -> tuple[Json, list[Json]]:
    """The empty block a stream starts with, and the deltas that fill it."""
    match block["type"]:
        case "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
            return {**block, "text": ""}, deltas
        case "thinking":
            deltas = [
                {"type": "thinking_delta", "thinking": piece}
                for piece in _pieces(block["thinking"])
            ]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {**block, "thinking": "", "signature": ""}, deltas
        case "tool_use":
            written = json.dumps(block["input"], ensure_ascii=False)
            # The first delta is empty, as on the real wire.
            deltas = [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in ["", *_pieces(written)]
            ]
            return {**block, "input": {}}, deltas
        case _:
            delta = {
                "type": "compaction_delta",
                "content": block["content"],
                "encrypted_content": block["encrypted_content"],
            }
            return {**block, "content": None}, [delta]


def _events(message: Json) -> Iterator[bytes]:
    usage = message["usage"]
    start = {
        **message,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": min(1, usage["output_tokens"])},
    }
    start.pop("context_management", None)
    yield event("message_start", {"message": start})
    yield event("ping", {})
    for index, block in enumerate(message["content"]):
        empty, deltas = _deltas(block)
        yield event("content_block_start", {"index": index, "content_block": empty})
        for delta in deltas:
            yield event("content_block_delta", {"index": index, "delta": delta})
        yield event("content_block_stop", {"index": index})
    delta_usage = {
        key: value for key, value in usage.items() if key not in {"service_tier", "cache_creation"}
    }
    tail: Json = {
        "delta": {
            "stop_reason": message["stop_reason"],
            "stop_sequence": message["stop_sequence"],
            "stop_details": None,
        },
        "usage": delta_usage,
    }
    if "context_management" in message:
        tail["context_management"] = message["context_management"]
    yield event("message_delta", tail)
    yield event("message_stop", {})


def render(message: Json) -> Rendered:
    return Rendered(message, tuple(_events(message)), message["usage"])
