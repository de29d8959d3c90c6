"""The OpenAI side: Chat Completions, Responses, compaction, embeddings and models."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass

from tests.provider import openai_wire as wire
from tests.provider.batches import OpenAiBatchesApi
from tests.provider.blocks import Json, canonical, count_json, count_text, listed
from tests.provider.embeddings import check_embeddings, render_embeddings
from tests.provider.models import OPENAI
from tests.provider.openai_rules import check_chat, check_items, item_text, seal_item
from tests.provider.outlet import Outlet
from tests.provider.outline import input_items
from tests.provider.prefix_cache import MINIMUM, STEP, Piece
from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest
from tests.provider.rejection import Rejection
from tests.provider.schema import smallest
from tests.provider.script import Reply, ScriptItem, TooLong
from tests.provider.transport import Delivery, Rendered, json_delivery


@dataclass(frozen=True, slots=True)
class Charge:
    """What one prompt costs."""

    total: int
    cached: int

    @property
    def written(self) -> int:
        fresh = (self.total - self.cached) // STEP * STEP
        return fresh if self.total >= MINIMUM else 0


def _pieces(head: list[Json], items: list[Json]) -> tuple[Piece, ...]:
    """A prompt in pieces: tools and formats are JSON, the rest is text."""
    settings = [Piece(canonical(one), count_json(one)) for one in head]
    texts = [Piece(canonical(one), count_text(item_text(one) or _calls(one))) for one in items]
    return (*settings, *texts)


def _calls(message: Json) -> str:
    return json.dumps(message.get("tool_calls") or message, ensure_ascii=False)


def _last_text(items: list[Json]) -> str:
    said = [item_text(item) for item in items if item.get("role") == "user"]
    return f"echo: {said[-1][:200]}" if said else "echo"


def _wanted_schema(body: Json) -> Json | None:
    shape = body.get("response_format") or (body.get("text") or {}).get("format") or {}
    if shape.get("type") != "json_schema":
        return None
    found = (shape.get("json_schema") or shape).get("schema")
    return found if isinstance(found, dict) else None


def _echo(body: Json, items: list[Json]) -> ScriptItem:
    schema = _wanted_schema(body)
    return json.dumps(smallest(schema)) if schema is not None else _last_text(items)


class OpenAiApi:
    """The endpoints under /v1 that speak OpenAI."""

    family = wire.OpenAiFamily()

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._outlet = Outlet(provider, self.family)
        answering = {"/v1/chat/completions": self.chat, "/v1/responses": self.responses}
        self.batches = OpenAiBatchesApi(provider, answering)

    def _charge(self, model: str, pieces: tuple[Piece, ...]) -> Charge:
        total = sum(piece.tokens for piece in pieces)
        limit = self._provider.openai_model(model).window
        if total > limit:
            body = wire.too_long_body(TooLong(total, limit))
            raise Rejection("window", str(body["error"]["message"]), extra=body)
        return Charge(total, self._provider.prefix_cache.read(model, pieces))

    def _numbers(self, kind: str) -> Iterator[str]:
        return (self._provider.number(kind) for _ in itertools.count())

    def chat(self, request: RecordedRequest, request_id: str) -> Delivery:
        body, provider = request.json, self._provider
        model = provider.openai_model(str(body.get("model"))).id
        check_chat(body)
        head = [*(body.get("tools") or []), *listed([body.get("response_format")])]
        pieces = _pieces(head, body["messages"])
        charge = self._charge(model, pieces)

        def render(reply: Reply) -> Rendered:
            usage = wire.chat_usage(charge.total, charge.cached, charge.written, reply)
            show = bool((body.get("stream_options") or {}).get("include_usage"))
            id_, ids = provider.number("chatcmpl"), self._numbers("call")
            return wire.render_chat(id_, model, reply, usage, ids, show_usage=show)

        return self._outlet.answer(
            request,
            request_id,
            _echo(body, body["messages"]),
            render,
            stream=bool(body.get("stream")),
            begin=lambda: provider.prefix_cache.write(model, pieces),
        )

    def _items(self, body: Json) -> list[Json]:
        """The input, after what the named earlier response has seen and said."""
        named = body.get("previous_response_id")
        if named is None:
            return input_items(body)
        if named not in self._provider.responses:
            raise Rejection(
                "previous-response",
                f"Previous response with id '{named}' not found.",
                code="previous_response_not_found",
            )
        return [*self._provider.responses[named], *input_items(body)]

    def _prompt(self, body: Json, items: list[Json]) -> tuple[Piece, ...]:
        told = (
            [{"role": "developer", "content": body["instructions"]}]
            if body.get("instructions")
            else []
        )
        head = [*(body.get("tools") or []), *listed([(body.get("text") or {}).get("format")])]
        return _pieces(head, [*told, *items])

    def responses(self, request: RecordedRequest, request_id: str) -> Delivery:
        body, provider = request.json, self._provider
        model = provider.openai_model(str(body.get("model"))).id
        items = self._items(body)
        if not items:
            raise Rejection("messages", "Missing required parameter: 'input'.")
        check_items(items, provider.seal)
        pieces = self._prompt(body, items)
        charge = self._charge(model, pieces)
        return self._outlet.answer(
            request,
            request_id,
            _echo(body, items),
            lambda reply: self._response(body, items, charge, reply),
            stream=bool(body.get("stream")),
            begin=lambda: provider.prefix_cache.write(model, pieces),
        )

    def _response(self, body: Json, items: list[Json], charge: Charge, reply: Reply) -> Rendered:
        provider = self._provider
        ids = (provider.number("item").removeprefix("item_") for _ in itertools.count())
        response: Json = {
            "id": provider.number("resp"),
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "instructions": body.get("instructions"),
            "metadata": {},
            "model": body["model"],
            "output": wire.output_items(reply, provider.seal, ids),
            "parallel_tool_calls": True,
            "previous_response_id": body.get("previous_response_id"),
            "tool_choice": body.get("tool_choice") or "auto",
            "tools": body.get("tools") or [],
            "usage": wire.responses_usage(charge.total, charge.cached, charge.written, reply),
        }
        if reply.stop_reason == "max_tokens":
            response["status"] = "incomplete"
            response["incomplete_details"] = {"reason": "max_output_tokens"}
        provider.responses[response["id"]] = [*items, *response["output"]]
        return wire.render_response(response)

    def compact(self, request: RecordedRequest, request_id: str) -> Delivery:
        body, provider = request.json, self._provider
        model = provider.openai_model(str(body.get("model"))).id
        items = self._items(body)
        check_items(items, provider.seal)
        pieces = self._prompt(body, items)
        charge = self._charge(model, pieces)
        return self._outlet.answer(
            request,
            request_id,
            f"Summary of {len(items)} items.",
            lambda reply: self._compacted(items, charge, reply),
            stream=False,
            begin=lambda: provider.prefix_cache.write(model, pieces),
        )

    def _compacted(self, items: list[Json], charge: Charge, reply: Reply) -> Rendered:
        kept = [_kept(item, i) for i, item in enumerate(items) if item.get("role") == "user"]
        summary = "".join(getattr(part, "text", "") for part in reply.content)
        number = self._provider.number("cmp")
        usage = wire.responses_usage(charge.total, charge.cached, charge.written, reply)
        item = {
            "type": "compaction",
            "id": number,
            "encrypted_content": seal_item(self._provider.seal, "compaction", summary),
        }
        body: Json = {
            "id": f"resp_{number}",
            "object": "response.compaction",
            "created_at": 0,
            "output": [*kept, item],
            "usage": usage,
        }
        return Rendered(body, (), usage)

    def count(self, request: RecordedRequest, request_id: str) -> Delivery:
        """The size of an input, without an answer to it."""
        items = self._items(request.json)
        model = self._provider.openai_model(str(request.json.get("model"))).id
        charge = self._charge(model, self._prompt(request.json, items))
        body: Json = {"object": "response.input_tokens", "input_tokens": charge.total}
        self._provider.finish(request, 200, None, body)
        return json_delivery(200, body, {"x-request-id": request_id})

    def embeddings(self, request: RecordedRequest, request_id: str) -> Delivery:
        """One vector a text; a scripted reply stands for that, a fault for itself."""
        body, sizes = request.json, self._provider.embedding_sizes
        texts = check_embeddings(body, sizes)
        return self._outlet.answer(
            request,
            request_id,
            "vectors",
            lambda reply: render_embeddings(body, texts, sizes[body["model"]]),
            stream=False,
            begin=lambda: None,
        )

    def models(self, request: RecordedRequest, request_id: str) -> Delivery:
        local = [name for name in self._provider.window if not name.startswith("claude-")]
        listing = [self._described(name) for name in dict.fromkeys([*OPENAI, *local])]
        body: Json = {"object": "list", "data": listing}
        self._provider.finish(request, 200, None, body)
        return json_delivery(200, body, {"x-request-id": request_id})

    def model(self, request: RecordedRequest, request_id: str) -> Delivery:
        body = self._described(self._provider.openai_model(request.path.rsplit("/", 1)[-1]).id)
        self._provider.finish(request, 200, None, body)
        return json_delivery(200, body, {"x-request-id": request_id})

    def _described(self, name: str) -> Json:
        """OpenAI says nothing of windows; a local server such as vLLM does."""
        body: Json = {"id": name, "object": "model", "created": 0, "owned_by": "tests"}
        local = name not in OPENAI and name in self._provider.window
        return body | ({"max_model_len": self._provider.window[name]} if local else {})


def _kept(item: Json, index: int) -> Json:
    content = [
        {**part, "type": "input_text"} if part.get("type") == "text" else part
        for part in listed(item.get("content"))
    ]
    return {
        "type": "message",
        "id": item.get("id") or f"msg_kept_{index}",
        "role": "user",
        "status": "completed",
        "content": content,
    }
