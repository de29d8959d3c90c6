"""Rules about the headers and parameters of a Messages request."""

from tests.provider.blocks import LEVELS, THINKING, Json, Prompt, marker
from tests.provider.cache import SECONDS, breakpoints
from tests.provider.compaction import COMPACTION_BETA
from tests.provider.editing import EDITING_BETA
from tests.provider.models import Model
from tests.provider.rejection import Rejection
from tests.provider.schema import check_schema
from tests.provider.shapes import TOOL_CHANGE_BETAS
from tests.provider.thinking import BINDING_BETA

SAMPLING = ("temperature", "top_p", "top_k")
SAMPLING_REMOVED_IN = "2026-10-21"
EFFORTS = ("low", "medium", "high", "xhigh", "max")
MAX_BREAKPOINTS = 4
PARAMETERS = frozenset(
    [
        "max_tokens",
        "messages",
        "model",
        "cache_control",
        "container",
        "diagnostics",
        "inference_geo",
        "metadata",
        "output_config",
        "service_tier",
        "speed",
        "stop_sequences",
        "stream",
        "system",
        "thinking",
        "tool_choice",
        "tools",
        "user_profile_id",
        "workspace_id",
        "compaction",
        "context_management",
        "fallback_credit_token",
        "fallbacks",
        "mcp_servers",
        "thread",
        "betas",
    ]
)


def check_version(version: str | None) -> str:
    if not version:
        raise Rejection("version", "anthropic-version: header is required")
    return version


def check_parameters(body: Json, version: str, *, counting: bool) -> None:
    for name in SAMPLING:
        if name in body and version >= SAMPLING_REMOVED_IN:
            raise Rejection("sampling", f"{name}: removed in API version {SAMPLING_REMOVED_IN}")
    for name in body:
        if name not in PARAMETERS and name not in SAMPLING:
            raise Rejection("parameter", f"{name}: Extra inputs are not permitted")
    required = ("model", "messages") if counting else ("model", "messages", "max_tokens")
    for name in required:
        if name not in body:
            raise Rejection("parameter", f"{name}: Field required")
    if body.get("thread") is not None:
        raise Rejection("parameter", "thread: this server does not keep threads; pass thread=False")


def check_betas(body: Json, prompt: Prompt, betas: frozenset[str]) -> None:
    """A beta parameter without its header is an unknown parameter."""
    binding = (body.get("thinking") or {}).get("block_binding")
    summary = any(block.type == "compaction" for block in prompt.messages)
    changes = any(block.type in {"tool_addition", "tool_removal"} for block in prompt.messages)
    wanted = (
        ("context_management", body.get("context_management") is not None, (EDITING_BETA,)),
        ("compaction", body.get("compaction") is not None, (COMPACTION_BETA,)),
        ("messages: `compaction` blocks", summary, (COMPACTION_BETA, "compact-2026-01-12")),
        ("thinking.block_binding", binding is not None, (BINDING_BETA,)),
        ("messages: tool changes", changes, TOOL_CHANGE_BETAS),
    )
    for name, used, headers in wanted:
        if used and not betas.intersection(headers):
            raise Rejection(
                "beta",
                f"{name}: Extra inputs are not permitted (needs anthropic-beta: "
                f"{' or '.join(headers)})",
            )


def check_model(body: Json, model: Model) -> None:
    """What this model does not take."""
    thinking = body.get("thinking") or {}
    kind = thinking.get("type")
    if thinking and kind not in model.thinking:
        raise Rejection("thinking-type", f"thinking.type: {kind!r} is not supported on {model.id}")
    if _forced(body) and not model.forced_tools:
        raise Rejection(
            "tool-choice", f"tool_choice: forced tool use is not supported on {model.id}"
        )
    effort = (body.get("output_config") or {}).get("effort")
    if effort is not None and effort not in EFFORTS:
        raise Rejection("effort", f"output_config.effort: Input should be one of {EFFORTS}")
    limit = body.get("max_tokens", 1)
    if not isinstance(limit, int) or limit < 0:
        raise Rejection("max-tokens", "max_tokens: Input should be greater than or equal to 0")
    if limit > model.max_output:
        raise Rejection(
            "max-tokens",
            f"max_tokens: {limit} > {model.max_output}, which is the maximum allowed number of "
            f"output tokens for {model.id}",
        )
    if limit == 0:
        _check_prewarm(body)


def _forced(body: Json) -> bool:
    return (body.get("tool_choice") or {}).get("type") in {"any", "tool"}


def _check_prewarm(body: Json) -> None:
    """`max_tokens: 0` only fills the cache, so nothing that shapes output may come with it."""
    conflicts = {
        "stream": bool(body.get("stream")),
        "thinking": (body.get("thinking") or {}).get("type") == "enabled",
        "output_config.format": bool((body.get("output_config") or {}).get("format")),
        "a forced tool_choice": _forced(body),
    }
    for name, present in conflicts.items():
        if present:
            raise Rejection("max-tokens", f"max_tokens: 0 cannot be combined with {name}")


def check_format(body: Json) -> None:
    output = (body.get("output_config") or {}).get("format")
    if output is None:
        return
    if output.get("type") != "json_schema" or not isinstance(output.get("schema"), dict):
        raise Rejection(
            "output-format", "output_config.format: needs type json_schema and a schema"
        )
    problem = check_schema(output["schema"])
    if problem:
        raise Rejection("output-format", f"output_config.format.schema: {problem}")


def check_cache(prompt: Prompt) -> None:
    """How many breakpoints, where, and in which order of lifetime."""
    for block in prompt.blocks:
        if block.ttl is None:
            continue
        if block.ttl not in SECONDS:
            raise Rejection(
                "cache-ttl", f"{block.path}.cache_control.ttl: Input should be 5m or 1h"
            )
        if block.type in THINKING:
            raise Rejection(
                "cache-thinking",
                f"{block.path}.{block.type}.cache_control: Extra inputs are not permitted",
            )
        if block.type == "text" and not block.data.get("text"):
            raise Rejection(
                "cache-empty", f"{block.path}: cache_control cannot be set for empty text blocks"
            )
    marks = breakpoints(prompt)
    if len(marks) > MAX_BREAKPOINTS:
        raise Rejection(
            "cache-breakpoints",
            f"A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. "
            f"Found {len(marks)}.",
        )
    short: str | None = None
    for mark in marks:
        path = prompt.blocks[mark.position].path
        if mark.ttl == "1h" and short is not None:
            raise Rejection(
                "cache-order",
                f"{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a "
                f"ttl='5m' cache_control block ({short}). Blocks are processed in the order "
                f"{', '.join(LEVELS)}.",
            )
        if mark.ttl == "5m":
            short = path


def check_marker(body: Json) -> None:
    ttl = marker(body)
    if ttl is not None and ttl not in SECONDS:
        raise Rejection("cache-ttl", "cache_control.ttl: Input should be 5m or 1h")
