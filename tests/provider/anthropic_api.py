"""The Anthropic side: from a request's JSON to the reply, through every rule on the way."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tests.provider import anthropic_rules as rules
from tests.provider import anthropic_wire as wire
from tests.provider import compaction, shapes, thinking, turns
from tests.provider.batches import AnthropicBatchesApi
from tests.provider.blocks import Json, Prompt, listed, parse_prompt
from tests.provider.cache import Plan
from tests.provider.diagnostics import Fingerprint, diagnose
from tests.provider.editing import View, view
from tests.provider.models import ANTHROPIC, Model
from tests.provider.outlet import Outlet
from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest
from tests.provider.rejection import Rejection
from tests.provider.schema import smallest
from tests.provider.script import Reply, ScriptItem
from tests.provider.thinking import Checked
from tests.provider.transport import Delivery, Rendered, json_delivery


def betas_of(headers: Mapping[str, str]) -> frozenset[str]:
    named = headers.get("anthropic-beta", "")
    return frozenset(part.strip() for part in named.split(",") if part.strip())


@dataclass(frozen=True, slots=True)
class Reading:
    """A request that passed the rules, as the model will read it."""

    body: Json
    betas: frozenset[str]
    model: Model
    prompt: Prompt
    checked: Checked
    view: View

    @property
    def summarizing(self) -> bool:
        return self.body.get("compaction") is not None


def read(provider: Provider, request: RecordedRequest, *, counting: bool = False) -> Reading:
    """Apply every rule; raises Rejection at the first one broken."""
    body, betas = request.json, betas_of(request.headers)
    version = rules.check_version(request.headers.get("anthropic-version"))
    rules.check_parameters(body, version, counting=counting)
    model = provider.anthropic_model(str(body["model"]))
    shapes.check_messages(body["messages"], model, betas)
    shapes.check_system(body.get("system"))
    shapes.check_tools(body.get("tools"))
    rules.check_marker(body)
    prompt = parse_prompt(body)
    rules.check_betas(body, prompt, betas)
    rules.check_model(body, model)
    rules.check_format(body)
    rules.check_cache(prompt)
    _check_messages(body, prompt, model)
    start = compaction.verify(provider.seal, prompt)
    binding = (body.get("thinking") or {}).get("block_binding") or {}
    drop = binding.get("prefix_mismatch_behavior") == "drop_block"
    checked = thinking.check(provider.seal, prompt, model, start, drop=drop)
    edits = (body.get("context_management") or {}).get("edits") or []
    seen = view(replace(prompt, messages=checked.messages), edits, model)
    return Reading(body, betas, model, prompt, checked, seen)


def _check_messages(body: Json, prompt: Prompt, model: Model) -> None:
    summarizing = body.get("compaction") is not None
    turns.check_text(prompt)
    spoken = turns.merged(prompt)
    turns.check_order(spoken, model, summarizing=summarizing)
    turns.check_tools(spoken, summarizing=summarizing)
    if summarizing:
        compaction.check_request(body, prompt)


def check_window(reading: Reading) -> None:
    size, limit = reading.view.prompt.tokens, reading.model.window
    if size > limit:
        raise Rejection("window", f"prompt is too long: {size} tokens > {limit} maximum")


def echo(body: Json) -> ScriptItem:
    """The deterministic answer to an unscripted request."""
    output = (body.get("output_config") or {}).get("format")
    if output:
        return json.dumps(smallest(output["schema"]))
    last = next((m for m in reversed(body["messages"]) if m["role"] == "user"), {"content": ""})
    texts = [str(b["text"]) for b in listed(last["content"]) if b.get("type") == "text"]
    return f"echo: {' '.join(texts)[:200]}" if texts else "echo"


class AnthropicApi:
    """The endpoints under /v1 that speak Messages."""

    family = wire.AnthropicFamily()

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._outlet = Outlet(provider, self.family)
        self.batches = AnthropicBatchesApi(provider, self.messages)

    def messages(self, request: RecordedRequest, request_id: str) -> Delivery:
        reading = read(self._provider, request)
        check_window(reading)
        plan = self._provider.cache.plan(reading.view.prompt, reading.model.cache_minimum)
        fallback = Reply() if reading.body["max_tokens"] == 0 else echo(reading.body)
        if reading.summarizing:
            count = len(reading.body["messages"])
            fallback = f"Summary of {count} messages, {reading.view.prompt.tokens} tokens."
        return self._outlet.answer(
            request,
            request_id,
            fallback,
            lambda reply: self._render(reading, plan, reply),
            stream=bool(reading.body.get("stream")),
            begin=lambda: self._provider.cache.commit(plan),
        )

    def _render(self, reading: Reading, plan: Plan, reply: Reply) -> Rendered:
        provider, scene = self._provider, reading.checked.scene
        if reading.summarizing:
            texts = [getattr(part, "text", "") for part in reply.content]
            summary = None if reply.failed_summary else "".join(texts)
            blocks = [compaction.write(provider.seal, scene, reading.model, summary)]
            reply = replace(reply, stop_reason="compaction")
        else:
            ids = (provider.number("toolu") for _ in itertools.count())
            hide = (reading.body.get("thinking") or {}).get("display") == "omitted"
            blocks = wire.build_blocks(reply, scene, provider.seal, ids, hide=hide)
        if reading.body["max_tokens"] == 0:
            reply = replace(reply, stop_reason="max_tokens")
        message: Json = {
            "id": provider.number("msg"),
            "type": "message",
            "role": "assistant",
            "model": reading.model.id,
            "content": blocks,
            "stop_reason": wire.stop_reason(reply, blocks),
            "stop_sequence": reply.stop_sequence,
            "stop_details": None,
            "usage": _usage(reading, plan, reply, blocks),
            **_reports(reading),
            "diagnostics": self._diagnosis(reading, plan),
        }
        provider.fingerprints[message["id"]] = Fingerprint.of(reading.prompt, reading.body)
        return wire.render(message)

    def _diagnosis(self, reading: Reading, plan: Plan) -> Json | None:
        asked = reading.body.get("diagnostics") or {}
        if asked.get("previous_message_id") is None:
            return None
        earlier = self._provider.fingerprints.get(asked["previous_message_id"])
        now = Fingerprint.of(reading.prompt, reading.body)
        reason = diagnose(earlier, now, plan.read)
        return {"cache_miss_reason": reason} if reason is not None else None

    def count_tokens(self, request: RecordedRequest, request_id: str) -> Delivery:
        reading = read(self._provider, request, counting=True)
        body: Json = {"input_tokens": reading.view.prompt.tokens}
        if reading.body.get("context_management") is not None:
            body["context_management"] = {"original_input_tokens": reading.view.original}
        self._provider.finish(request, 200, None, body)
        return json_delivery(200, body, {"request-id": request_id})

    def models(self, request: RecordedRequest, request_id: str) -> Delivery:
        rules.check_version(request.headers.get("anthropic-version"))
        names = list(ANTHROPIC)
        body = {
            "data": [self._model(name) for name in names],
            "has_more": False,
            "first_id": names[0],
            "last_id": names[-1],
        }
        self._provider.finish(request, 200, None, body)
        return json_delivery(200, body, {"request-id": request_id})

    def model(self, request: RecordedRequest, request_id: str) -> Delivery:
        rules.check_version(request.headers.get("anthropic-version"))
        body = self._model(request.path.rsplit("/", 1)[-1])
        self._provider.finish(request, 200, None, body)
        return json_delivery(200, body, {"request-id": request_id})

    def _model(self, name: str) -> Json:
        return describe(self._provider.anthropic_model(name))


def _usage(reading: Reading, plan: Plan, reply: Reply, blocks: list[Json]) -> Json:
    usage = wire.build_usage(plan, blocks, reply)
    if reading.summarizing:
        return wire.summary_usage(usage)
    if compaction.COMPACTION_BETA in reading.betas:
        usage["iterations"] = [wire.iteration("message", usage)]
    return usage


def _reports(reading: Reading) -> Json:
    """What the server says it did to the input, each only where it was asked to say so."""
    found: Json = {}
    if reading.body.get("context_management") is not None:
        found["context_management"] = {"applied_edits": list(reading.view.applied)}
    if thinking.BINDING_BETA in reading.betas:
        found["input_transformations"] = list(reading.checked.dropped)
    return found


def describe(model: Model) -> Json:
    """A model as `GET /v1/models` shows it."""

    def can(supported: bool = True) -> Json:
        return {"supported": supported}

    types = ("adaptive", "between_tools", "disabled", "enabled")
    edits = ("clear_thinking_20251015", "clear_tool_uses_20250919")
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.id.replace("-", " ").title(),
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
        "line": model.id.split("-")[1],
        "max_input_tokens": model.window,
        "max_tokens": model.max_output,
        "capabilities": {
            **{name: can() for name in ("batch", "citations", "image_input", "pdf_input")},
            "code_execution": can(False),
            "structured_outputs": can(),
            "compaction": {**can(), "summarize": can()},
            "context_management": {
                **can(),
                **{name: can() for name in edits},
                "compact_20260112": can(False),
            },
            "effort": {**can(), **{level: can() for level in rules.EFFORTS}},
            "server_tools": {**can(False), "code_execution": can(False), "web_search": can(False)},
            "thinking": {**can(), "types": {kind: can(kind in model.thinking) for kind in types}},
        },
    }
